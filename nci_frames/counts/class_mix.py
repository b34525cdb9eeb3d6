"""Counts by true class -> counts of one class against the rest, at a mix of all."""

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.counts.class_counts import Priors, one_mix, read_priors
from nci_frames.counts.pooling import pool_counts
from nci_frames.schemas import COUNTS, collect
from nci_frames.schemas.checked import checked
from nci_frames.schemas.columns import TRUE_CLASS, WEIGHT


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
    size = pl.sum_horizontal("tp", "fp", "fn", "tn").first().alias("__rows")
    sizes = frame.group_by(*keys, TRUE_CLASS, maintain_order=True).agg(size)
    classes = frame[TRUE_CLASS].unique().sort()
    parts: list[pl.DataFrame] = []
    for _, group in sizes.group_by(keys, maintain_order=True):
        rows = dict(group.select(TRUE_CLASS, "__rows").rows())
        of_class = np.array([rows.get(name, 0) for name in classes], np.float64)
        shares = one_mix("priors", read_priors(priors, classes, observed=of_class / of_class.sum()))
        lacking = classes.filter((shares > 0) & (of_class == 0)).to_list()
        if lacking:
            where = ", ".join(f"{key} {group[key][0]!r}" for key in keys)
            raise ParameterError("a class with a share has no rows", where=where, found=repr(lacking))
        weight = np.divide(shares * of_class.sum(), of_class, out=np.zeros(len(shares)), where=of_class > 0)
        known = pl.DataFrame({TRUE_CLASS: classes, WEIGHT: weight})
        parts.append(group.select(*keys, TRUE_CLASS).join(known, on=TRUE_CLASS, how="left"))
    weights = pl.concat([sizes.drop("__rows").clear().with_columns(pl.lit(0.0).alias(WEIGHT)), *parts])
    mixed = frame.join(weights, on=[*keys, TRUE_CLASS], how="left", nulls_equal=True)
    # Classes of the same weight are one stratum.
    return pool_counts(mixed, over=TRUE_CLASS)
