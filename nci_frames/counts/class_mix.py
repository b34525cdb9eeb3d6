"""Counts by true class -> counts of one class against the rest, at a mix of all."""

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.counts.class_counts import Priors, one_mix, read_priors
from nci_frames.counts.pooling import pool_counts
from nci_frames.schemas import COUNTS, TRUE_CLASS, WEIGHT, checked, collect


@checked
def counts_at_mix(by_class: pl.DataFrame | pl.LazyFrame, /, *, priors: Priors) -> pl.DataFrame:
    """Mix counts by true class, so that their TPR and FPR are those of one class against the rest.

    Parameters
    ----------
    by_class
        Counts of a log of one class against all others, with the key ``true_class``: what ``count_confusion``
        returns where the true class is a segment of this name.
    priors
        The shares of the classes: ``{class: share}``, "uniform", or "observed", those of each group.

    Returns
    -------
    A counts frame, sorted:

    %(columns of counts)s

    Keys are those of *by_class* without ``true_class``, and ``weight``: the rows of each class are a stratum,
    whose rows weigh so much that the classes have the shares *priors*. Every function of counts takes it; the
    observed prevalence is the share of the class that was asked about.

    Raises
    ------
    ParameterError
        If *priors* are no shares of all classes; if a class with a share has no rows in a group; or if rows
        have weights already.
    SchemaError
        If *by_class* is not a counts frame with the key ``true_class``.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": "a", "true_class": ["cat", "dog", "owl"], "threshold": 0.5,
    ...     "tp": [80, 0, 0], "fp": [0, 30, 1], "fn": [20, 0, 0], "tn": [0, 70, 99],
    ... })
    >>> for dogs in (0.1, 0.7):
    ...     mix = {"cat": 0.2, "dog": dogs, "owl": 0.8 - dogs}
    ...     rates = nf.compute_rates(nf.counts_at_mix(counts, priors=mix))
    ...     print(rates.select(pl.col("tpr", "fpr", "observed_prevalence").round(3)).row(0))
    (0.8, 0.046, 0.2)
    (0.8, 0.264, 0.2)
    """
    frame = collect(by_class, COUNTS, strata=True)
    if TRUE_CLASS not in frame.columns:
        hint = "count a log with the true class as segment: scan_predictions(..., segments='true_class')"
        raise SchemaError("the counts are not by true class: column 'true_class' is missing", hint=hint)
    if WEIGHT in frame.columns or frame.schema["tp"].is_float():
        msg, hint = "rows that have weights cannot be weighted again", "count without weights"
        raise ParameterError(msg, found="weights", hint=hint)
    keys = ["model", *(key for key in COUNTS.keys(frame.columns) if key != TRUE_CLASS)]
    group = [*keys, TRUE_CLASS]
    rows, share, total = pl.col("__rows"), pl.col("__share"), pl.col("__rows").sum().over(keys)
    sizes = frame.group_by(group).agg(__rows=pl.sum_horizontal("tp", "fp", "fn", "tn").first())
    classes = frame[TRUE_CLASS].unique().sort()
    mix = one_mix("priors", read_priors(priors, classes, observed=np.full(len(classes), np.nan)))
    known = sizes.select(keys).unique().join(pl.DataFrame({TRUE_CLASS: classes, "__share": mix}), how="cross")
    known = known.join(sizes, on=group, how="left", nulls_equal=True).with_columns(rows.fill_null(0))
    known = known.with_columns(share.fill_nan(rows / total)).sort(group)
    for first in known.filter(share > 0, rows == 0).partition_by(keys, maintain_order=True)[:1]:
        where = ", ".join(f"{key} {first[key][0]!r}" for key in keys)
        found = repr(first[TRUE_CLASS].to_list())
        raise ParameterError("a class with a share has no rows", where=where, found=found)
    weight = pl.when(rows > 0).then(share * total / rows).otherwise(0.0).alias(WEIGHT)
    mixed = frame.join(known.select(*group, weight), on=group, how="left", nulls_equal=True)
    # Classes of the same weight are one stratum.
    return pool_counts(mixed, over=TRUE_CLASS)
