"""Rates -> metrics at any prevalence and beta."""

import numpy as np
import polars as pl

from nci_frames.base.memory import check_table
from nci_frames.base.messages import quantity
from nci_frames.base.typing import Betas, Field, Frame, Metrics, PointPrevalences
from nci_frames.evaluation.field.prevalences import with_prevalence
from nci_frames.evaluation.projection.grids import SUPPORT, MetricGrid, metric_grids
from nci_frames.evaluation.support.rule import independent_negatives, log_cost, point_reason, point_support
from nci_frames.schemas import PROJECTION, RATES, checked, collect

#: Rows of the result to compute at a time.
_ROWS_AT_A_TIME = 1 << 20


@checked
def project_rates(
    rates: Frame,
    /,
    *,
    metrics: Metrics,
    prevalence: PointPrevalences | Field,
    beta: Betas = (1.0,),
    band: bool = False,
) -> pl.DataFrame:
    """Return the metrics of each operating point at other class balances.

    TPR and FPR do not depend on the class balance. Every metric is a function of TPR, FPR and prevalence, and
    is evaluated on a grid.

    Parameters
    ----------
    rates
        A rates frame.
    metrics
        Names or aliases of metrics (``nci_frames.metrics()`` lists them), or called metrics such as
        ``nci_frames.f_beta(beta=2)``, whose own prevalence and beta take precedence over the grid. The label
        of a called metric shows its settings: ``expected_cost(c_fn=20)``. Any other expression over columns
        of the rates is evaluated under its own name (``alias``), which must not be that of a metric. It has
        no direction: register it (``register_metric``) to rank models by it.
    prevalence
        P(y=1), each in [0, 1]; or "observed": each row's ``observed_prevalence``; or "selected": the column
        ``prevalence`` of ``select_operating_points``; or a prevalence per segment: a dict such as
        ``{"country": {"at": 0.01, "de": 0.002}}``, or a field frame with the columns of the segments and
        ``prevalence``.
    beta
        Weights of recall, each in [0, inf], for the metrics that have one.
    band
        Whether to add the smallest and the largest value over the box of the rates' bounds, which
        ``compute_rates(counts, interval=...)`` adds.

    Returns
    -------
    A row per operating point, metric, prevalence and beta, sorted by all columns left of ``value``:

    %(columns of projection)s

    Keys are those of *rates*. With *band*, the value lies between ``lower`` and ``upper`` if the rates lie
    within their bounds. They are null where the value is, the rates have no bounds, or the metric is
    user-defined or not monotone in each rate. The prevalence is also null where an aliased expression hides
    it. ``metrics()`` tells when a value is undefined.

    Raises
    ------
    ParameterError
        If a prevalence is outside [0, 1], a segment has no prevalence or several, a beta is negative or NaN,
        two metrics share a label, or an expression has the name of another metric.
    UnknownMetricError
        If a name is neither a metric nor an alias.
    SchemaError
        If *rates* is not a rates frame, an expression reads a column that it lacks, or *band* is true and
        there are no bounds.

    Notes
    -----
    A metric that is monotone in each rate has its extremes over a box at the corners, so the band is exact.
    If both rates lie in the box, every metric lies in its band at every prevalence and beta at once: the band
    is simultaneous, with the confidence of the box.

    A value is supported at prevalences of at least 25/(25 + N·TPR), with N negatives, and everywhere with 100
    or more false positives (see ``lowest_supported_prevalence``). Metrics that do not depend on the
    prevalence, or hardly on FPR (accuracy and NPV), are always supported. Undefined values never are.

    References
    ----------
    Brabec et al. (2020), eqs. 8, 12, 13, doi:10.1007/978-3-030-50423-6_6.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a"], "threshold": [0.5], "tp": [60], "fp": [1], "fn": [40], "tn": [999]
    ... })
    >>> nf.project_rates(
    ...     nf.compute_rates(counts), metrics="precision", prevalence=[0.001, 0.1]
    ... )["value"].round(4).to_list()
    [0.3752, 0.9852]
    """
    frame = collect(rates, RATES)
    return project_checked(frame, metrics=metrics, prevalence=prevalence, beta=beta, band=band)


def project_checked(
    rates: pl.DataFrame,
    *,
    metrics: Metrics,
    prevalence: PointPrevalences | Field,
    beta: Betas = (1.0,),
    band: bool = False,
    flagged: bool = True,
) -> pl.DataFrame:
    """Project rates without checking that TPR and FPR fit their counts.

    Without *flagged*, the columns ``supported`` and ``reason`` are omitted.

    Raises
    ------
    ParameterError
        As ``project_rates`` does.
    """
    rates, own = with_prevalence(rates, prevalence, RATES.keys(rates.columns))
    grids = metric_grids(rates, metrics, own, beta, band=band)
    each = sum(grid.size for grid in grids)
    identity = ["model", *RATES.keys(rates.columns), "threshold"]
    # Estimate of the memory: a string takes two numbers; bounds need four corners.
    columns = 2 * len(identity) + 5 + (6 if band else 0)
    check_table(
        len(rates) * each,
        columns,
        f"{quantity(len(rates), 'operating point')} x "
        f"{quantity(each, 'combination')} of metric, prevalence and beta",
        "take fewer prevalences, or project the parts of rates.iter_slices(...) one after the other",
    )
    points = rates.sort(identity, maintain_order=True)
    if flagged:
        lowest = point_support(points.columns)
        support = lowest, point_reason(), log_cost(lowest, independent_negatives(points.columns))
        points = points.with_columns(**dict(zip(SUPPORT, support, strict=True)))
    # Some points at a time, since intermediate results take more memory than the result.
    parts = points.iter_slices(max(1, _ROWS_AT_A_TIME // each)) if len(points) else [points]
    table = pl.concat(points_on_grids(part, identity, grids, band=band, flagged=flagged) for part in parts)
    if points.select(identity).is_duplicated().any():
        table = table.sort(*identity, "metric", "prevalence", "beta", maintain_order=True)
    return PROJECTION.finish(table)


def points_on_grids(
    points: pl.DataFrame, identity: list[str], grids: list[MetricGrid], *, band: bool, flagged: bool
) -> pl.DataFrame:
    """Return the values of each point on all grids, in the order of the points."""
    tables = [grid.project(points, band=band, flagged=flagged) for grid in grids]
    table = tables[0]
    if len(grids) > 1:
        # Reorder the rows: for each point, all metrics.
        ends = np.cumsum([len(part) for part in tables])
        rows = zip(np.split(np.arange(ends[-1]), ends[:-1]), grids, strict=True)
        order = np.hstack([mine.reshape(len(points), grid.size) for mine, grid in rows])
        table = pl.concat(tables)[order.ravel()]
    each = np.repeat(np.arange(len(points)), sum(grid.size for grid in grids))
    return points.select(identity)[each].hstack(table)
