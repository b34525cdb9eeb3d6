"""Counts -> the lowest prevalence that a log supports."""

import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Floats, Frame
from nci_frames.counts.pooling import pooled_counts
from nci_frames.evaluation.areas.area import Area
from nci_frames.evaluation.arrays.histograms import whole_counts
from nci_frames.evaluation.arrays.roc_steps import Curves, of_all_parts
from nci_frames.evaluation.metrics import called_metric, curve_asked
from nci_frames.evaluation.projection.operating_points import select_operating_points
from nci_frames.evaluation.rates.clusters import class_worth
from nci_frames.evaluation.rates.quotients import rates_of
from nci_frames.evaluation.rates.rates import with_worth
from nci_frames.evaluation.rates.strata import collect_counts, summed_counts
from nci_frames.evaluation.support.reasons import reason_text
from nci_frames.evaluation.support.rule import PR_SUPPORT, curve_support, lowest_supported, with_support_of
from nci_frames.schemas import RATES, SUPPORT, checked, collect


@checked
def lowest_supported_prevalence(
    counts: Frame, /, *, metric: str | pl.Expr, threshold: float | None = None, units: str | None = None
) -> pl.DataFrame:
    """Return the lowest prevalence at which the log supports a metric.

    At a low prevalence, precision and metrics based on it depend on the few negatives with the highest
    scores. Below some prevalence a log has too few of them: values are then too high on average, with a
    standard error as large as the value. ``supported`` is true in every table at this prevalence and above.

    Parameters
    ----------
    counts
        A counts frame, or rates.
    metric
        Name or alias of a metric or an area, or a called metric.
    threshold
        Threshold of the metric; by default the best of all thresholds, wherever it is. Areas do not depend on
        it.
    units
        None takes rows as independent. A key with at least 20 values, such as the ``bucket`` of
        ``unit_buckets``, takes its values as independent instead, and is summed away: rows then count by
        their effective number, which is one half if each occurs twice.

    Returns
    -------
    A row per group, sorted by model and keys:

    %(columns of support)s

    Keys are those of *counts*, without *units*. The prevalence is 0 if the log supports the metric at every
    prevalence.

    Raises
    ------
    ParameterError
        If the threshold was not counted, or is given for an area, or *units* has too few values.
    UnknownMetricError
        If the metric is unknown.
    SchemaError
        If *counts* is not a counts frame, or lacks the key *units*.

    Notes
    -----
    At odds o, the N negatives of the log come with N·o positives. So M = N·o·TPR true positives are expected
    above the threshold, with FP false positives. The relative standard error of precision M/(M + FP) due to
    FP is at most 1/(2·√M) and at most 1/√FP.

    - At a threshold: M >= 25 or FP >= 100 keeps it at 10 % or less.
    - PR-AUC, and any metric at the best threshold: there must be a threshold with M >= 25, at least 10 true
      positives in the log, and a precision of at least one half. If the model is too weak for that, the
      thresholds with FP < 25 or fewer than 10 true positives must have so few positives that they cannot add
      a tenth to the area.
    - Metrics that do not depend on the prevalence, or not on a low FPR (accuracy, NPV), are supported
      everywhere.

    A lower prevalence needs about as many negatives as the log times the ratio of the odds.

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
    frame: pl.DataFrame, metric: str | pl.Expr, *, threshold: float | None = None, worth: pl.DataFrame | None
) -> pl.DataFrame:
    """Return the table of ``lowest_supported_prevalence`` from checked counts or rates.

    *worth*, a table of ``class_worth``, reduces rows to effective numbers.
    """
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

        def supported(curves: Curves) -> tuple[pl.DataFrame, Floats]:
            return curves.groups, curve_support(curves, rule, worth)

        groups, parts = zip(*of_all_parts(supported, [counted], keys, of_scores=False), strict=True)
        found = with_support_of(pl.concat(groups), rule, parts)
        found = found.select(*keys, prevalence="__lowest", reason=reason_text(pl.col("__why")))
    else:
        rates = with_worth(frame if "tpr" in frame.columns else rates_of(frame), worth)
        if threshold is None:
            points = rates.unique(keys).with_columns(reason=pl.lit(None, pl.String))
        else:
            points = select_operating_points(rates, threshold=threshold)
        lowest, told = lowest_supported(points.columns, needs_fpr=needs_fpr)
        why = pl.coalesce("reason", told)
        found = points.select(*keys, prevalence=pl.when(why.is_null()).then(lowest), reason=why)
    return SUPPORT.finish(found.with_columns(metric=pl.lit(label)).sort(keys))
