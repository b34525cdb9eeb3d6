"""Counts -> areas under the ROC and PR curves, at any prevalence, with certified bounds."""

from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from math import sqrt
from typing import Literal, cast

import numpy as np
import polars as pl

from nci_frames.base.arguments import Prevalences, check_level
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Floats
from nci_frames.counts.pooling import pooled_counts
from nci_frames.evaluation.areas.banded import Band, band_parts, highest_average_precision
from nci_frames.evaluation.areas.pr_rules import PR_RULES, Method, Steps
from nci_frames.evaluation.arrays.histograms import whole_counts
from nci_frames.evaluation.arrays.roc_steps import Curves, curve_parts, no_curves
from nci_frames.evaluation.field.prevalences import Field, field_of, is_field, numbers_of, own_prevalence
from nci_frames.evaluation.metrics import MEAN_PR_AUC, PARTIAL_ROC_AUC, PR_AUC, ROC_AUC
from nci_frames.evaluation.rates.clusters import class_worth
from nci_frames.evaluation.rates.rates import compute_rates
from nci_frames.evaluation.support.area_flags import with_curve_flags, with_curve_support
from nci_frames.schemas import AREAS, COUNTS, RATES, collect
from nci_frames.schemas.checked import checked

Areas = tuple[Floats, Floats, Floats]

#: Steps of curves that are computed together; with more, the arrays leave the cache of the processor.
_STEPS_AT_ONCE = 1 << 13


@checked
def compute_areas(
    counts: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    prevalence: Prevalences | Field,
    method: Method = "average_precision",
    fpr_range: tuple[float, float] | None = None,
    interval: Literal["simultaneous"] | None = None,
    level: float = 0.95,
    units: str | None = None,
) -> pl.DataFrame:
    """Return ROC-AUC, and PR-AUC at each prevalence, of every group of counts.

    Parameters
    ----------
    counts
        A counts frame. The rows between two thresholds are treated as tied, which is true if ``resolution``
        is "exact".
    prevalence
        P(y=1), each in [0, 1]; or "observed": each group's own; or the prevalence of each segment, as in
        ``project_rates``.
    method
        The rule of the PR area. "average_precision": the step sum of precision over recall, as in
        scikit-learn, without interpolation and without an anchor point. "interpolated": the exact integral,
        FPR linear in TPR between two points; up to the first point precision is that of the point.
        "trapezoid": precision linear in recall, starting at the first attained point, without an anchor; for
        comparison with older work.
    fpr_range
        A range of FPR within [0, 1]: adds the area under the ROC curve within it, not normalised.
    interval
        What ``lower`` and ``upper`` are. None: certified bounds of the log's own area, which may be unknown
        between two thresholds. "simultaneous": confidence bounds of the area of the population, from a band
        of the ROC curve. They hold at every prevalence at once, also where the log does not support it.
    level
        Confidence of the band, in (0, 1).
    units
        None takes the rows as independent; a key, such as the ``bucket`` of ``unit_buckets``, takes its
        values as independent instead, at least 20 of them, and is summed away: for the band, and for
        ``supported``, which counts as many independent rows as the rows of the units are worth.

    Returns
    -------
    A row per group, metric and prevalence, sorted by all columns left of ``value``:

    =========== ======= ====================================== ==========================================
    column      dtype   meaning                                null where
    =========== ======= ====================================== ==========================================
    model, keys          as in *counts*, without *units*       as in *counts*
    metric      String  "roc_auc", "pr_auc" or                 never
                        "partial_roc_auc"
    method      String  rule of the PR area                    not pr_auc
    prevalence  Float64 P(y=1) the area belongs to             it does not depend on it
    value       Float64 area, in [0, 1]                        the group lacks a class; or 0/0, where
                                                               prevalence is 0 and a recall has FPR 0
    lower,      Float64 the area of the rows behind the counts as for value; with *interval* also where
    upper               lies between them, whatever they were; TPR or FPR has no bounds
                        equal to value where exact; or the
                        band, with *interval*
    supported   Boolean whether the log can tell the area at   never
                        this prevalence
    reason      String  why not                                supported
    =========== ======= ====================================== ==========================================

    Raises
    ------
    ParameterError
        If a prevalence or the level is out of range, a segment has no prevalence or several, the method is
        unknown, or the range of FPR empty; if there are too few values of *units*; with *interval*, if counts
        are sums of weights, or the method is "trapezoid", which no band encloses.
    SchemaError
        If *counts* is not a counts frame, or lacks the key *units* or a key of the segments.

    Notes
    -----
    With k = (1-eta)/eta, precision is TPR/(TPR + k·FPR). ROC-AUC counts ties as half. scikit-learn's
    ``max_fpr`` is the partial area from 0, standardised.

    The band is ``compute_rates(interval="simultaneous")``, with level √level for each of TPR and FPR. If it
    holds at every threshold, the curve lies between that of (lowest TPR, highest FPR) and that of (highest
    TPR, lowest FPR), and so do all its areas. It is wide, since it holds for all of them: at one prevalence
    that the log supports, ``bootstrap`` and ``auc_interval`` are narrower.

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
    check_level(level)
    if interval is not None and method == "trapezoid":
        msg = "the rule 'trapezoid' has no band: between two points it may leave the curves of the band"
        raise ParameterError(msg, hint="use method='average_precision' or 'interpolated'")
    frame = collect(counts, COUNTS)
    whole = frame if units is None else whole_counts(frame)
    worth = None if units is None else class_worth(whole, units)
    if interval is not None:
        keys = ["model", *(key for key in COUNTS.keys(frame.columns) if key != units)]
        rates = compute_rates(frame, interval=interval, level=sqrt(level), units=units)
        frame = rates.sort(*keys, "threshold", maintain_order=True)
    elif units is not None:
        frame = pooled_counts(whole, over=units)
    return areas_of(
        frame, prevalence, method=method, fpr_range=fpr_range, banded=interval is not None, worth=worth
    )


def areas_of(
    frame: pl.DataFrame,
    prevalence: Prevalences | Field,
    *,
    method: Method = "average_precision",
    fpr_range: tuple[float, float] | None = None,
    banded: bool = False,
    worth: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Return what ``compute_areas`` does, of checked counts; if *banded*, of rates with simultaneous bounds.

    With *worth*, a table of ``class_worth``, rows count as so many independent ones for ``supported``.
    """
    keys = ["model", *RATES.keys(frame.columns)]
    ranges = [(0.0, 1.0)] if fpr_range is None else [(0.0, 1.0), fpr_range]
    grid = numbers_of(prevalence)
    if is_field(prevalence):
        prevalence = field_of(cast("Field", prevalence), frame, keys[1:])

    def of_curves(curves: Curves, band: Band | None) -> tuple[pl.DataFrame, list[Areas]]:
        own = own_prevalence(curves.groups, prevalence, curves.observed_prevalence, keys[1:])
        etas: list[float | Floats] = [own] if grid is None else list(grid)
        found = _areas(curves, ranges, etas, method)
        if band is not None:
            found = _within(found, band, ranges, etas, method)
        beside = pl.Series("__own", own, nan_to_null=True)
        return with_curve_support(curves, "pr", worth).with_columns(beside), found

    # NumPy releases the GIL while it computes, and the parts are independent.
    with ThreadPoolExecutor(pl.thread_pool_size()) as threads:
        bands = band_parts(frame, keys) if banded else repeat(None)
        pairs = zip(curve_parts(frame, keys), bands, strict=False)
        parts = list(threads.map(lambda part: of_curves(part[0](), part[1] and part[1]()), pairs))
    nothing, _ = of_curves(no_curves(frame, keys), None)
    groups = pl.concat([nothing, *(part for part, _ in parts)])
    labels: list[tuple[str, str | None, float | None]] = [(ROC_AUC.name, None, None)]
    labels += [(PARTIAL_ROC_AUC.name, None, None)] if fpr_range else []
    labels += [(PR_AUC.name, method, eta) for eta in ([np.nan] if grid is None else grid)]
    asked = pl.DataFrame(
        labels, schema={column: AREAS.dtypes()[column] for column in AREAS.fixed[1:4]}, orient="row"
    )
    areas = asked.join(groups, how="cross", maintain_order="left_right").with_columns(
        pl.col("prevalence").fill_nan(pl.col("__own"))
    )
    for side, column in enumerate(("value", "lower", "upper")):
        # A row per label and a column per group, as the labels and groups were crossed.
        found = [np.stack([area[side] for area in of_part]) for _, of_part in parts]
        values = np.concatenate([np.empty((len(labels), 0)), *found], axis=1).ravel()
        areas = areas.with_columns(pl.Series(column, values, nan_to_null=True))
    order = [*keys, "metric", "method", "prevalence"]
    is_pr = pl.col("metric") == PR_AUC.name
    return AREAS.finish(with_curve_flags(areas.sort(order, maintain_order=True), is_pr).drop("__own"))


@checked
def mean_pr_auc(
    counts: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    prevalence_range: tuple[float, float],
    method: Method = "average_precision",
) -> pl.DataFrame:
    """Return the mean PR-AUC over a range of prevalences: the volume under the P-ROC surface, per unit.

    Use it if the prevalence in the field is known only as a range, with every prevalence in it equally
    likely.

    Parameters
    ----------
    counts
        A counts frame.
    prevalence_range
        The range of P(y=1), within (0, 1].
    method
        The rule of the PR area, as in ``compute_areas``.

    Returns
    -------
    A row per group, sorted by model and keys: the columns of an areas frame, with the metric "mean_pr_auc"
    and null for prevalence, since it belongs to a range.

    Raises
    ------
    ParameterError
        If the range is empty or outside (0, 1], or the method unknown.
    SchemaError
        If *counts* is not a counts frame.

    Notes
    -----
    ∫ PR-AUC(eta) deta / (high - low) by Gauss-Legendre quadrature with 64 nodes in ln eta.

    References
    ----------
    Landgrebe et al. (2004), Cost-based classifier evaluation for imbalanced problems, for the P-ROC surface,
    doi:10.1007/978-3-540-27868-9_83.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> mean = nf.mean_pr_auc(nf.count_confusion(log), prevalence_range=(0.001, 0.1))
    >>> mean.select("metric", pl.col("value").round(4)).row(0)
    ('mean_pr_auc', 0.5474)
    """
    low, high = prevalence_range
    if not 0 < low < high <= 1:
        raise ParameterError.out_of_range(
            "prevalence_range", prevalence_range, "(low, high) with 0 < low < high <= 1"
        )
    nodes, weights = np.polynomial.legendre.leggauss(64)
    half = np.log(high / low) / 2
    eta = np.exp(np.log(low) + half * (nodes + 1))
    weight = pl.DataFrame({"prevalence": eta, "__weight": weights * half * eta / (high - low)})
    areas = compute_areas(counts, prevalence=[low, *eta.tolist()], method=method).filter(metric=PR_AUC.name)
    keys = ["model", *AREAS.keys(areas.columns)]
    numbers = ("value", "lower", "upper")
    means = (
        areas.join(weight, on="prevalence", how="left", maintain_order="left")
        .group_by(keys, maintain_order=True)
        .agg(
            pl.lit(MEAN_PR_AUC.name).first().alias("metric"),
            pl.col("method").first(),
            pl.lit(None, pl.Float64).first().alias("prevalence"),
            *(
                pl.when(pl.col(name).null_count() == 0).then((pl.col(name) * pl.col("__weight")).sum())
                for name in numbers
            ),
            # The whole range is supported if its lowest prevalence is.
            *(pl.col(name).first() for name in ("supported", "reason")),
        )
    )
    return AREAS.finish(means)


def _areas(
    curves: Curves, ranges: list[tuple[float, float]], etas: list[float | Floats], method: Method
) -> list[Areas]:
    """Return ROC-AUC within each range of FPR, then PR-AUC at each prevalence, with certified bounds."""
    rising = curves.rising()
    found = [_roc_auc(curves, inside) for inside in ranges]
    return found + _pr_aucs(rising, etas, method)


def _within(
    areas: list[Areas],
    band: Band,
    ranges: list[tuple[float, float]],
    etas: list[float | Floats],
    method: Method,
) -> list[Areas]:
    """Put the bounds of a band in place of certified ones."""
    lower = [low for _, low, _ in _areas(band.lowest, ranges, etas, method)]
    upper = [high for _, _, high in _areas(band.highest, ranges, etas, method)]
    if method == "average_precision":
        rising = band.highest.rising()
        upper[len(ranges) :] = [highest_average_precision(rising, eta) for eta in etas]
    # Only rounding can put the value outside.
    return [
        (value, np.minimum(low, value), np.maximum(high, value))
        for (value, _, _), low, high in zip(areas, lower, upper, strict=True)
    ]


def _roc_auc(curves: Curves, fpr_range: tuple[float, float]) -> Areas:
    """Return the area within a range of FPR, with TPR linear in FPR along each step."""
    low, high = fpr_range
    width = curves.fpr1 - curves.fpr0
    begin, end = np.clip(curves.fpr0, low, high), np.clip(curves.fpr1, low, high)
    inside = end - begin
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.where(width > 0, (curves.tpr1 - curves.tpr0) / width, 0.0)
    middle = curves.tpr0 + slope * ((begin + end) / 2 - curves.fpr0)
    return enclosed(curves, inside * middle, inside * curves.tpr0, inside * curves.tpr1)


def _pr_aucs(rising: Curves, etas: list[float | Floats], method: Method) -> list[Areas]:
    """Return the area at each prevalence: of short curves at many in one go, which takes NumPy no longer."""
    groups = len(rising.start)
    at_once = max(_STEPS_AT_ONCE // max(len(rising.tpr0), 1), 1)
    found: list[Areas] = []
    for first in range(0, len(etas), at_once):
        some = etas[first : first + at_once]
        if len(some) == 1:
            found.append(_pr_auc(rising, some[0], method))
            continue
        each = np.concatenate([np.broadcast_to(eta, groups) for eta in some])
        areas = _pr_auc(rising.repeated(len(some)), each, method)
        value, lower, upper = (side.reshape(len(some), groups) for side in areas)
        found += zip(value, lower, upper, strict=True)
    return found


def _pr_auc(rising: Curves, eta: float | Floats, method: Method) -> Areas:
    of_step = np.repeat(eta, rising.size) if isinstance(eta, np.ndarray) else eta
    with np.errstate(invalid="ignore", divide="ignore"):
        steps = Steps(
            rising.tpr1 - rising.tpr0,
            of_step * rising.tpr0,
            of_step * rising.tpr1,
            (1 - of_step) * rising.fpr0,
            (1 - of_step) * rising.fpr1,
            rising.start[(rising.tpr0[rising.start] == 0) & (rising.fpr0[rising.start] == 0)],
        )
        return enclosed(rising, *PR_RULES[method](steps))


def enclosed(curves: Curves, value: Floats, lower: Floats, upper: Floats) -> Areas:
    """Sum the steps; if rows are tied, the bounds equal the value, and rounding never reverses them."""
    total = curves.sum(value)
    if curves.tied.all():
        return total, total, total
    if curves.tied.any():
        lower, upper = np.where(curves.tied, value, lower), np.where(curves.tied, value, upper)
    return total, np.minimum(curves.sum(lower), total), np.maximum(curves.sum(upper), total)
