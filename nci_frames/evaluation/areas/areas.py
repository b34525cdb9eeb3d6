"""Counts -> areas at any prevalence, with certified bounds."""

from collections.abc import Iterator, Sequence
from functools import partial
from math import sqrt
from typing import Literal

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Field, Floats, Frame, Names, Prevalences
from nci_frames.counts.pooling import pooled_counts
from nci_frames.evaluation.areas.area import Area, Etas, area_of
from nci_frames.evaluation.areas.pr import PR_AUC, Method, pr_area
from nci_frames.evaluation.areas.roc import ROC_AUC, partial_area
from nci_frames.evaluation.arrays.histograms import whole_counts
from nci_frames.evaluation.arrays.roc_steps import Curves, of_all_parts
from nci_frames.evaluation.field.prevalences import group_prevalences
from nci_frames.evaluation.metrics import by_label
from nci_frames.evaluation.rates.clusters import class_worth
from nci_frames.evaluation.rates.hull import between_others
from nci_frames.evaluation.rates.rates import compute_rates
from nci_frames.evaluation.rates.strata import summed_counts
from nci_frames.evaluation.support.rule import curve_support, with_curve_flags, with_support_of
from nci_frames.schemas import AREAS, COUNTS, RATES, checked, collect, has_strata, in_runs

#: The groups of some curves; prevalence, value, lower and upper bound of each group, for each prevalence; and
#: the ``curve_support`` of the groups.
_Part = tuple[pl.DataFrame, Floats, Floats]


@checked
def compute_areas(
    counts: Frame,
    /,
    *,
    prevalence: Prevalences | Field,
    metrics: Names = ("pr_auc", "roc_auc"),
    method: Method = "average_precision",
    fpr_range: tuple[float, float] | None = None,
    interval: Literal["simultaneous"] | None = None,
    level: float = 0.95,
    units: str | None = None,
) -> pl.DataFrame:
    """Return ROC-AUC, PR-AUC or other areas of every group of counts, at each prevalence.

    Parameters
    ----------
    counts
        A counts frame. Rows between two thresholds are treated as tied, which is exact if ``resolution`` is
        "exact".
    prevalence
        P(y=1), each in [0, 1]; or "observed": each group's own; or a prevalence per segment, as in
        ``project_rates``.
    metrics
        Names or aliases of areas: all metrics of the kind "curve", except those over a range.
    method
        Rule of PR-AUC. "average_precision": the step sum of precision over recall, as in scikit-learn,
        without interpolation and anchor point. "interpolated": the exact integral, with FPR linear in TPR
        between two points; up to the first point, precision is constant. "trapezoid": precision linear in
        recall, from the first attained point, without an anchor; for comparison with older work.
    fpr_range
        Range (low, high) of FPR within [0, 1]: adds the area under the ROC curve within it, not normalised.
    interval
        Meaning of ``lower`` and ``upper``. None: certified bounds of the log's own area, which is not known
        exactly if scores lie between two thresholds. "simultaneous": confidence bounds of the area of the
        population, from a band of the ROC curve. They hold at every prevalence at once, even where the log
        does not support it.
    level
        Confidence of the band, in (0, 1).
    units
        None takes rows as independent. A key with at least 20 values, such as the ``bucket`` of
        ``unit_buckets``, takes its values as independent instead, and is summed away. Affects the band and
        ``supported``, which then uses effective numbers of rows.

    Returns
    -------
    A row per group, metric and prevalence, sorted by all columns left of ``value``:

    %(columns of areas)s

    Keys are those of *counts*, without *units*. The area of the original rows lies between ``lower`` and
    ``upper`` in any case; these equal the value where it is exact. With *interval* they are the band instead,
    and also null where TPR or FPR has no bounds. PR-AUC at prevalence 0 is null (0/0) if a recall has FPR 0.

    Raises
    ------
    ParameterError
        If a prevalence or the level is out of range, a segment has no prevalence or several, a metric is not
        such an area, the method is unknown, the range of FPR is empty, or *units* has too few values; with
        *interval*, if counts are sums of weights, or no band bounds an area: the method is "trapezoid", or
        *metrics* has a proper score.
    UnknownMetricError
        If a metric is unknown.
    SchemaError
        If *counts* is not a counts frame, or lacks the key *units* or a key of the segments.

    Notes
    -----
    With k = (1-eta)/eta, precision is TPR/(TPR + k·FPR). ROC-AUC counts ties as half. scikit-learn's
    ``max_fpr`` is the partial area from 0, standardised.

    The band is ``compute_rates(interval="simultaneous")``, with level √level for each of TPR and FPR. If it
    holds at every threshold, the ROC curve and all its areas lie between those of (lowest TPR, highest FPR)
    and of (highest TPR, lowest FPR). The band is wide, since it holds for all areas at once: at a single
    supported prevalence, ``bootstrap`` and ``auc_interval`` are narrower.

    References
    ----------
    Brabec et al. (2020), section 4.2, doi:10.1007/978-3-030-50423-6_6; Davis and Goadrich (2006),
    doi:10.1145/1143844.1143874, for the interpolation.

    Examples
    --------
    Negatives have scores 0.1 and 0.4, positives 0.35 and 0.8 (scikit-learn's example).

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> counts = nf.count_confusion(nf.scan_predictions(log), thresholds="exact")
    >>> nf.compute_areas(counts, prevalence=0.5).select("metric", "value").rows()
    [('pr_auc', 0.8333333333333333), ('roc_auc', 0.75)]
    """
    if fpr_range is not None and not 0 <= fpr_range[0] < fpr_range[1] <= 1:
        raise ParameterError.out_of_range("fpr_range", fpr_range, "(low, high) with 0 <= low < high <= 1")
    areas = asked_areas(metrics, method)
    areas += [] if fpr_range is None else [partial_area(fpr_range)]
    if interval is not None:
        _check_bands(areas)
    frame = collect(counts, COUNTS, strata=True)
    whole = frame if units is None else whole_counts(frame)
    if interval is not None:
        if units is None and not has_strata(frame):
            # Bounds of FPR rise with FPR, so those of points between others lie between, too.
            frame, first = in_runs(frame, ["model", *COUNTS.keys(frame.columns)])
            inner = between_others(frame.select(tpr="tp", fpr="fp"), first)
            frame = frame.filter(pl.Series(~inner)) if inner.any() else frame
        rates = compute_rates(frame, interval=interval, level=sqrt(level), units=units)
        return areas_of(rates, prevalence, areas, banded=True)
    worth = None if units is None else class_worth(whole, units)
    frame = summed_counts(whole if units is None else pooled_counts(whole, over=units))
    return areas_of(frame, prevalence, areas, worth=worth)


def asked_areas(metrics: Names, method: Method = "average_precision") -> list[Area]:
    """Return the areas by name, with PR-AUC by *method*; raise as ``compute_areas`` does."""

    def found(name: str) -> Area:
        area = area_of(name, "computed")
        if area is None:
            msg = f"the metric {name!r} is not an area: it has a value at each point"
            raise ParameterError(msg, hint="project_rates(compute_rates(counts), ...) computes it")
        return pr_area(method) if area is PR_AUC else area

    return [*by_label(metrics, found, lambda area: area.name, "ask for it once").values()]


def _check_bands(areas: Sequence[Area]) -> None:
    for area in areas:
        if area.highest is None and area.name == PR_AUC.name:
            msg = f"the rule {area.method!r} has no band: between two points it may leave the band"
            raise ParameterError(msg, hint="use method='average_precision' or 'interpolated'")
        if area.highest is None:
            msg = f"the metric {area.name!r} has no band"
            raise ParameterError(msg, hint="bootstrap gives confidence bounds of it")


def areas_of(
    frame: pl.DataFrame,
    prevalence: Prevalences | Field,
    areas: Sequence[Area] = (PR_AUC, ROC_AUC),
    *,
    banded: bool = False,
    worth: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Return areas of checked counts; if *banded*, of rates with simultaneous bounds.

    *worth*, a table of ``class_worth``, reduces rows to effective numbers for ``supported``.
    """
    keys = ["model", *RATES.keys(frame.columns)]
    etas_of = group_prevalences(prevalence, frame, keys[1:])

    def of_curves(some: Sequence[Area], curves: Curves, *band: Curves) -> list[_Part]:
        etas = etas_of(curves.groups, curves.observed_prevalence)
        return [_found(area, etas, worth, curves, *band) for area in some]

    frames, tables = [frame, *(_enclosing(frame, keys) if banded else ())], []
    for of_scores in {area.of_scores for area in areas}:
        some = [area for area in areas if area.of_scores == of_scores]
        parts = of_all_parts(partial(of_curves, some), frames, keys, of_scores=of_scores)
        tables += [_table(area, found) for area, *found in zip(some, *parts, strict=True)]
    table = pl.concat(tables).sort(*keys, "metric", "method", "prevalence", maintain_order=True)
    ruled = [area.name for area in areas if area.support is not None]
    return AREAS.finish(with_curve_flags(table, pl.col("metric").is_in(ruled)))


def _enclosing(rates: pl.DataFrame, keys: list[str]) -> Iterator[pl.DataFrame]:
    """Yield counts of the lowest and the highest ROC curve within simultaneous bounds of rates.

    The lowest curve has the lowest TPR and the highest FPR at each threshold, the highest curve the reverse.
    Between two thresholds only the order is known, as for certified bounds; so the certified lower bound of
    the one and the upper bound of the other enclose every area.
    """
    for tpr, fpr in (("tpr_lower", "fpr_upper"), ("tpr_upper", "fpr_lower")):
        # Each class has a total of one row, so its counts are the rates.
        yield rates.select(*keys, "threshold", tp=tpr, fp=fpr, fn=1 - pl.col(tpr), tn=1 - pl.col(fpr))


def _found(area: Area, etas: Etas, worth: pl.DataFrame | None, curves: Curves, *band: Curves) -> _Part:
    """Compute an area of the groups of some curves."""
    found = area.certified(curves, etas)
    if band and area.highest is not None:
        lowest, highest = area.certified(band[0], etas), area.highest(band[1], etas)
        # Only rounding can put the value outside.
        found = [
            (value, np.minimum(low, value), np.maximum(high, value))
            for (value, _, _), (_, low, _), high in zip(found, lowest, highest, strict=True)
        ]
    at = etas if area.depends_on_prevalence else [np.nan]
    each = [np.broadcast_to(eta, len(curves.groups)) for eta in at]
    values = np.array([each, *zip(*found, strict=True)])
    return curves.groups, values, curve_support(curves, area.support, worth)


def _table(area: Area, parts: Sequence[_Part]) -> pl.DataFrame:
    """Return an area of all groups, with the columns for its flags."""
    heads, found, support = zip(*parts, strict=True)
    groups = with_support_of(pl.concat(heads), area.support, support)
    values = np.concatenate(found, axis=-1)
    columns = zip(("prevalence", "value", "lower", "upper"), values, strict=True)
    return groups[np.tile(np.arange(len(groups)), values.shape[1])].with_columns(
        pl.lit(area.name).alias("metric"),
        pl.lit(area.method, pl.String).alias("method"),
        *(pl.Series(name, of_each.ravel(), nan_to_null=True) for name, of_each in columns),
    )
