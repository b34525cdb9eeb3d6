"""Counts -> the lowest prevalence that a log supports."""

from functools import partial

import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.counts.pooling import pooled_counts
from nci_frames.evaluation.areas.area import Area
from nci_frames.evaluation.arrays.histograms import whole_counts
from nci_frames.evaluation.arrays.roc_steps import of_all_parts
from nci_frames.evaluation.metrics import called_metric, curve_asked
from nci_frames.evaluation.projection.operating_points import select_operating_points
from nci_frames.evaluation.rates.clusters import class_worth
from nci_frames.evaluation.rates.quotients import rates_of
from nci_frames.evaluation.rates.rates import with_worth
from nci_frames.evaluation.rates.strata import WORTH, collect_counts, summed_counts
from nci_frames.evaluation.support.reasons import reason_text
from nci_frames.evaluation.support.rule import PR_SUPPORT, lowest_supported, with_curve_support
from nci_frames.schemas import RATES, SUPPORT, checked, collect


@checked
def lowest_supported_prevalence(
    counts: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    metric: str | pl.Expr,
    threshold: float | None = None,
    units: str | None = None,
) -> pl.DataFrame:
    """Return the lowest prevalence at which the log can tell a metric.

    At a low prevalence, precision and what follows from it depend on the few negatives with the highest
    scores. Below some prevalence a log has too few of them: its values are then too high on average, and
    vary by their own size. ``supported`` is true in every table at this prevalence and above.

    Parameters
    ----------
    counts
        A counts frame, or rates.
    metric
        A name or alias of a metric, a called metric, or an area.
    threshold
        The threshold of the metric; by default the best of all thresholds, wherever it is. Areas do not
        depend on it.
    units
        None takes the rows as independent. A key, such as the ``bucket`` of ``unit_buckets``, is summed away,
        and the rows of each class count as so many independent ones as they are worth: as half of them, if
        each occurs twice. It needs at least 20 values.

    Returns
    -------
    A row per group, sorted by model and keys:

    %(columns of support)s

    Keys are those of *counts*, without *units*. The prevalence is 0 where the log supports the metric at
    every one.

    Raises
    ------
    ParameterError
        If the threshold was not counted, or is given for an area, or if there are too few values of *units*.
    UnknownMetricError
        If there is no such metric.
    SchemaError
        If *counts* is not a counts frame, or lacks the key *units*.

    Notes
    -----
    With N negatives, at odds o: the negatives come with N·o positives, so M = N·o·TPR true positives are
    expected above the threshold beside FP false positives. The standard error of precision M/(M + FP) that
    comes from FP, relative to precision, is at most 1/(2·√M) and at most 1/√FP.

    - At a threshold: M >= 25 or FP >= 100 keeps it at 10 % or less.
    - PR-AUC, and any metric at the best threshold: there must be a threshold with M >= 25, at least 10 true
      positives in the log, and a precision of at least one half. In a model too weak for that, the thresholds
      with FP < 25 or less than 10 true positives must hold so few positives that they cannot add a tenth to
      the area.
    - What does not depend on the prevalence, or not on a low FPR (accuracy, NPV), is supported everywhere.

    The number of negatives that a prevalence needs is about that of the log times the ratio of the odds.

    Examples
    --------
    60 of 100 positives and 10 of 10,000 negatives say little about precision below 4 in a thousand.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a"], "threshold": [0.5], "tp": [60], "fp": [10], "fn": [40], "tn": [9990]
    ... })
    >>> found = nf.lowest_supported_prevalence(counts, metric="precision", threshold=0.5)
    >>> found["prevalence"].round(4).item()
    0.0041
    """
    given = counts.collect() if isinstance(counts, pl.LazyFrame) else counts
    rates, worth = "tpr" in given.columns, None
    if units is not None:
        frame = whole_counts(collect(given, RATES) if rates else given)
        worth = class_worth(frame, units)
        frame = summed_counts(pooled_counts(frame, over=units))
    else:
        frame = collect(given, RATES) if rates else collect_counts(given)
    return supported_from(frame, metric, threshold=threshold, worth=worth)


def supported_from(
    frame: pl.DataFrame,
    metric: str | pl.Expr,
    *,
    threshold: float | None = None,
    worth: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Return what ``lowest_supported_prevalence`` does, of checked counts or rates.

    With *worth*, a table of ``class_worth``, rows count as so many independent ones.
    """
    if worth is not None and WORTH[0] in frame.columns:
        frame, worth = with_worth(frame, worth), None
    keys = ["model", *RATES.keys(frame.columns)]
    curve = curve_asked(metric)
    if curve is not None:
        label, needs_fpr = curve.name, isinstance(curve, Area) and curve.support is not None
        if threshold is not None:
            msg = f"the metric {curve.name!r} has no threshold: it is an area over all of them"
            raise ParameterError(msg, found=f"threshold={threshold!r}", hint="do not pass threshold")
    else:
        called = called_metric(metric)
        label, needs_fpr = called.label, called.needs_fpr is not False
    if needs_fpr and threshold is None:
        counted = frame.drop_nulls(["tp", "fp", "fn", "tn"])
        rule = curve.support if isinstance(curve, Area) else PR_SUPPORT
        supported = partial(with_curve_support, rule=rule, worth=worth)
        found = pl.concat(of_all_parts(supported, [counted], keys, of_scores=False))
        found = found.select(*keys, prevalence="__lowest", reason=reason_text(pl.col("__why")))
    else:
        rates = frame if "tpr" in frame.columns else rates_of(frame)
        if worth is not None:
            rates = with_worth(rates, worth)
        if threshold is None:
            points = rates.unique(keys).with_columns(reason=pl.lit(None, pl.String))
        else:
            points = select_operating_points(rates, threshold=threshold)
        lowest, told = lowest_supported(points.columns, needs_fpr=needs_fpr)
        why = pl.coalesce("reason", told)
        found = points.select(*keys, prevalence=pl.when(why.is_null()).then(lowest), reason=why)
    return SUPPORT.finish(found.with_columns(metric=pl.lit(label)).sort(keys))
