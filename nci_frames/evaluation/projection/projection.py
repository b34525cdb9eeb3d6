"""Rates -> metrics at any prevalence and beta, whole or part by part."""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
import polars as pl

from nci_frames.arguments import Prevalences, beta_values, check_whole, prevalence_values
from nci_frames.checked import checked
from nci_frames.errors import ParameterError, SchemaError, listed
from nci_frames.evaluation.field.prevalences import Field, with_prevalence
from nci_frames.evaluation.metrics import CalledMetric, value_expression
from nci_frames.evaluation.support.flags import defined_flags, flags, hidden_flags, log_cost, log_rarity
from nci_frames.evaluation.support.rule import independent_rows, point_reason, point_support
from nci_frames.memory import check_table
from nci_frames.schemas import PROJECTION, RATES, collect

__all__ = ["labelled_metrics", "project_checked", "project_in_parts", "project_rates", "require_bounds"]

Metrics = str | pl.Expr | Sequence[str | pl.Expr]

#: What tells which prevalences an operating point supports.
_SUPPORT = ("__lowest", "__why", "__cost")
#: Rows of the result that are computed at a time.
_ROWS_AT_A_TIME = 1 << 20
_BOUNDS = ("tpr_lower", "tpr_upper", "fpr_lower", "fpr_upper")


@checked
def project_rates(
    rates: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    metrics: Metrics,
    prevalence: Prevalences | Literal["selected"] | Field,
    beta: float | Sequence[float] = (1.0,),
    band: bool = False,
) -> pl.DataFrame:
    """Return the metrics of each operating point at other class balances.

    TPR and FPR do not depend on the class balance, and every metric is a function of them and of the
    prevalence; this is that function on a grid.

    Parameters
    ----------
    rates
        A rates frame.
    metrics
        Names or aliases of metrics (``nci_frames.metrics()`` lists them), or called metrics such as
        ``nci_frames.f_beta(beta=2)``, whose own prevalence and beta take precedence over the grid. The label
        of a called metric shows its settings: ``expected_cost(c_fn=20)``. Any other expression over the
        columns of the rates is evaluated under its own name (``alias``), which must not be a metric's; it has
        no direction, so it must be registered (``register_metric``) before ``rank_models`` accepts it.
    prevalence
        P(y=1), each in [0, 1]; or "observed": each row's own ``observed_prevalence``; or "selected": the one
        that ``select_operating_points`` selected the row for; or the prevalence of each segment: a dict such
        as ``{"country": {"at": 0.01, "de": 0.002}}``, or a field frame with the columns of the segments and
        ``prevalence``.
    beta
        Weights of recall, each in [0, inf], for the metrics that have one.
    band
        Add the smallest and the largest value over the box of the rates' bounds (``compute_rates`` makes them
        with ``interval=...``).

    Returns
    -------
    A row per operating point, metric, prevalence and beta, sorted by all columns left of ``value``:

    =============== ======= ======================================= =============================
    column          dtype   meaning                                 null where
    =============== ======= ======================================= =============================
    model, keys              as in *rates*
    threshold       Float64 as in *rates*                           as in *rates*
    metric          String  name of the metric, or label            never
    prevalence      Float64 P(y=1) the value belongs to             an aliased expression hides it
    beta            Float64 weight of recall                        it plays no part
    value           Float64 value of the metric                     undefined (see ``metrics()``)
    lower, upper    Float64 with *band*: the value lies between     the metric is not monotone in
                            them, wherever in the box the rates are each rate, or user-defined;
                                                                    or there are no bounds
    supported       Boolean whether the log can tell the value at   the expression hides the
                            this prevalence                         prevalence
    reason          String  why not                                 supported
    =============== ======= ======================================= =============================

    Raises
    ------
    ParameterError
        If a prevalence is outside [0, 1], a segment has no prevalence or several, a beta is negative or NaN,
        two metrics share a label, or an expression has the name of a metric that it is not.
    UnknownMetricError
        If a name is neither a metric nor an alias.
    SchemaError
        If *rates* is not a rates frame, an expression reads a column that it lacks, or a band is asked for
        and there are no bounds.

    Notes
    -----
    A metric that is monotone in each rate has its extremes over a box at the corners, so the band is exact.
    If both rates lie in the box, every metric lies in its band at every prevalence and beta at once: the band
    is simultaneous, with the confidence of the box (see ``band_coverage``).

    A value is supported from the prevalence 25/(25 + N·TPR) on, N the number of negatives, and everywhere if
    there are 100 false positives (see ``lowest_supported_prevalence``). It is always supported if it does
    not depend on the prevalence, or hardly on FPR: accuracy and NPV.

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
    prevalence: Prevalences | Literal["selected"] | Field,
    beta: float | Sequence[float] = (1.0,),
    band: bool = False,
    flagged: bool = True,
) -> pl.DataFrame:
    """Project rates that the library made, whose TPR and FPR need not be those of their counts.

    With *flagged* false, nothing is said of which values the log supports.

    Raises
    ------
    ParameterError
        As ``project_rates`` does.
    """
    rates, own = with_prevalence(rates, prevalence, RATES.keys(rates.columns))
    grids = _plan(rates, metrics, own, beta, band=band)
    each = sum(grid.size for grid in grids)
    # Texts take two numbers; bounds are the extremes of four corners.
    columns = 2 * len(_identity(rates)) + 5 + (6 if band else 0)
    check_table(
        len(rates) * each,
        columns,
        f"{len(rates):,} operating points x {each:,} combinations of metric, prevalence and beta",
        "take fewer prevalences, or project_in_parts, which returns the result in parts",
    )
    return _project(rates, grids, band=band, flagged=flagged)


@checked
def project_in_parts(
    rates: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    metrics: Metrics,
    prevalence: Prevalences | Literal["selected"] | Field,
    beta: float | Sequence[float] = (1.0,),
    band: bool = False,
    rows: int = 1_000_000,
) -> Iterator[pl.DataFrame]:
    """Project as ``project_rates`` does, but return the result in parts.

    Use it for projections that do not fit into memory: write, filter or aggregate each part, then discard it.

    Parameters
    ----------
    rates, metrics, prevalence, beta, band
        As in ``project_rates``.
    rows
        Largest number of rows of a part. An operating point is never split, so a part is larger if the grid
        of one point is.

    Returns
    -------
    An iterator over projection frames. Concatenated, they are the result of ``project_rates``.

    Raises
    ------
    ParameterError
        If *rows* is below 1, or as in ``project_rates``.
    SchemaError
        As in ``project_rates``.

    Examples
    --------
    The best F1 of each model at each prevalence, without ever holding the whole projection.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "a"], "threshold": [0.5, 0.9],
    ...     "tp": [60, 30], "fp": [10, 0], "fn": [40, 70], "tn": [990, 1000],
    ... })
    >>> parts = nf.project_in_parts(
    ...     nf.compute_rates(counts), metrics="f_beta", prevalence=[0.001, 0.5], rows=2
    ... )
    >>> best = [part.group_by("model", "prevalence").agg(pl.max("value")) for part in parts]
    >>> pl.concat(best).group_by("prevalence").agg(pl.max("value").round(4)).sort("prevalence").rows()
    [(0.001, 0.4615), (0.5, 0.7453)]
    """
    check_whole("rows", rows, 1)
    frame = collect(rates, RATES)
    frame, own = with_prevalence(frame, prevalence, RATES.keys(frame.columns))
    grids = _plan(frame, metrics, own, beta, band=band)
    frame = frame.sort(_identity(frame), maintain_order=True)
    points = min(max(1, rows // sum(grid.size for grid in grids)), max(1, len(frame)))
    return (_project(part, grids, band=band) for part in frame.iter_slices(points))


@dataclass(frozen=True, slots=True)
class _Grid:
    """A metric, and the prevalences and betas at which it is evaluated."""

    label: str
    expression: pl.Expr
    #: Several values, or one expression of the rates: a column or a constant.
    prevalence: list[float] | pl.Expr
    beta: list[float] | pl.Expr
    #: Whether the extremes over a box of rates are at its corners.
    monotone: bool
    #: Whether its values depend on the prevalence and on FPR; None if that is unknown.
    needs_fpr: bool | None

    @property
    def size(self) -> int:
        """The number of rows that an operating point has."""
        axes = (self.prevalence, self.beta)
        return math.prod(1 if isinstance(axis, pl.Expr) else len(axis) for axis in axes)

    def project(self, points: pl.DataFrame, *, band: bool, flagged: bool) -> pl.DataFrame:
        """Return what follows the identity of the points, each as often as the grid is large."""
        axes = {"prevalence": self.prevalence, "beta": self.beta}
        given = {name: axis for name, axis in axes.items() if isinstance(axis, pl.Expr)}
        if "prevalence" in given:
            given["__rarity"] = log_rarity(given["prevalence"])
        reads = {"threshold", *self.expression.meta.root_names(), *axes, *(_BOUNDS if band else ())}
        needed = [name for name in points.columns if name in reads or (flagged and name in _SUPPORT)]
        each = points.with_columns(**given).select(*dict.fromkeys([*needed, *given]))
        each = each[np.repeat(np.arange(len(points)), self.size)]
        inner = 1
        for name, axis in (("beta", self.beta), ("prevalence", self.prevalence)):
            if isinstance(axis, pl.Expr):
                continue
            values = pl.DataFrame({name: axis}, schema={name: pl.Float64})
            if name == "prevalence":
                values = values.with_columns(__rarity=log_rarity(pl.col(name)))
            places = np.arange(len(each)) // inner % len(axis)
            each = each.with_columns(values[places])
            inner *= len(axis)
        value = self.expression.cast(pl.Float64)
        table = each.with_columns(metric=pl.lit(self.label), value=value)
        columns: dict[str, pl.Expr] = {}
        if band:
            corners = []
            for tpr, fpr in product(("tpr_lower", "tpr_upper"), ("fpr_lower", "fpr_upper")):
                # Metrics read the columns tpr and fpr, so these columns must hold the corner.
                corners.append(each.with_columns(tpr=tpr, fpr=fpr).select(value.alias(f"__{tpr}_{fpr}")))
            table = pl.concat([table, *corners], how="horizontal")
            names = [corner.columns[0] for corner in corners]
            known = pl.all_horizontal(pl.col(_BOUNDS).is_not_null()) & self.monotone
            # min_horizontal ignores a corner at which the metric is 0/0.
            columns["lower"] = pl.when(known).then(pl.min_horizontal(names))
            columns["upper"] = pl.when(known).then(pl.max_horizontal(names))
        if flagged:
            columns |= self._flags()
        return table.select("metric", "prevalence", "beta", "value", **columns)

    def _flags(self) -> dict[str, pl.Expr]:
        if self.needs_fpr is None:
            return hidden_flags()
        if not self.needs_fpr:
            return defined_flags(pl.col("value"))
        lowest, why, cost = (pl.col(name) for name in _SUPPORT)
        return flags(lowest, cost, why, pl.col("prevalence"), pl.col("__rarity"))


def _identity(frame: pl.DataFrame) -> list[str]:
    return ["model", *RATES.keys(frame.columns), "threshold"]


def _project(frame: pl.DataFrame, grids: list[_Grid], *, band: bool, flagged: bool = True) -> pl.DataFrame:
    identity = _identity(frame)
    points = frame.sort(identity, maintain_order=True)
    if flagged:
        lowest = point_support(points.columns)
        negatives = independent_rows("negatives", points.columns)
        support = lowest, point_reason(), log_cost(lowest, negatives)
        points = points.with_columns(**dict(zip(_SUPPORT, support, strict=True)))
    grids = sorted(grids, key=lambda grid: grid.label)
    # Some points at a time: what is computed on the way takes more memory than the result.
    some = max(1, _ROWS_AT_A_TIME // sum(grid.size for grid in grids))
    parts = points.iter_slices(some) if len(points) else [points]
    table = pl.concat(_at_points(part, identity, grids, band=band, flagged=flagged) for part in parts)
    if points.select(identity).is_duplicated().any():
        table = table.sort(*identity, "metric", "prevalence", "beta", maintain_order=True)
    return PROJECTION.finish(table)


def _at_points(
    points: pl.DataFrame, identity: list[str], grids: list[_Grid], *, band: bool, flagged: bool
) -> pl.DataFrame:
    tables = [grid.project(points, band=band, flagged=flagged) for grid in grids]
    table = tables[0]
    if len(grids) > 1:
        # Point by point, the rows of every metric.
        ends = np.cumsum([len(part) for part in tables])
        rows = [np.arange(end - len(part), end) for part, end in zip(tables, ends, strict=True)]
        sizes = (grid.size for grid in grids)
        order = np.hstack([mine.reshape(len(points), size) for mine, size in zip(rows, sizes, strict=True)])
        table = pl.concat(tables)[order.ravel()]
    each = np.repeat(np.arange(len(points)), sum(grid.size for grid in grids))
    return points.select(identity)[each].hstack(table)


def _plan(
    frame: pl.DataFrame,
    metrics: Metrics,
    prevalence: Prevalences | Literal["selected"],
    beta: float | Sequence[float],
    *,
    band: bool,
) -> list[_Grid]:
    """Check the arguments, and return the grid of each metric."""
    if band:
        require_bounds(frame)
    selected = isinstance(prevalence, str) and prevalence == "selected"
    if selected:
        require_selected(frame)
    etas, betas = prevalence_values(prevalence), beta_values(beta)
    grids = []
    for label, expression in labelled_metrics(metrics).items():
        reads = set(expression.meta.root_names())
        require_columns(expression, {*frame.columns, "prevalence", "beta"}, "the rates")
        called = expression if isinstance(expression, CalledMetric) else None
        column = pl.col("prevalence" if selected else "observed_prevalence")
        own_eta: list[float] | pl.Expr = column if etas is None else etas
        if "prevalence" not in reads if called is None else not called.open:
            own_eta = pl.lit(None if called is None else called.prevalence, pl.Float64)
        fixed_beta = pl.lit(None if called is None else called.beta, pl.Float64)
        monotone = called is not None and called.metric.monotone
        own_beta = betas if "beta" in reads else fixed_beta
        needs_fpr = (True if "prevalence" in reads else None) if called is None else called.needs_fpr
        grids.append(_Grid(label, expression, own_eta, own_beta, monotone, needs_fpr))
    return grids


def require_bounds(frame: pl.DataFrame) -> None:
    """Raise SchemaError unless rates have the bounds that a band needs."""
    missing = [name for name in _BOUNDS if name not in frame.columns]
    if missing:
        maker = 'compute_rates(counts, interval="wilson")'
        raise SchemaError.not_a_frame("bounded rates", missing, frame.columns, maker)


def require_selected(frame: pl.DataFrame) -> None:
    """Raise SchemaError unless rates have the prevalence that each row was selected for."""
    if "prevalence" not in frame.columns:
        raise SchemaError(
            "the rates have no prevalence that their points were selected for",
            found=f"columns {listed(map(repr, frame.columns), 20)}",
            hint="select_operating_points(rates, metric=..., prevalence=...) adds the column 'prevalence'",
        )


def require_columns(expression: pl.Expr, columns: Collection[str], where: str) -> None:
    """Raise SchemaError unless a metric reads no other columns than those that there are."""
    strange = sorted(set(expression.meta.root_names()) - set(columns))
    if strange:
        raise SchemaError(
            f"the metric {expression.meta.output_name()!r} reads a column that {where} lack",
            found=f"{strange[0]!r}; columns {listed(map(repr, sorted(columns)), 20)}",
            hint="a prevalence or a beta can also be given as a number",
        )


def labelled_metrics(metrics: Metrics) -> dict[str, pl.Expr]:
    """Return the expression of each metric by its label.

    Raises
    ------
    ParameterError
        If there is no metric, two share a label, or an expression has the name of a metric that it is not.
    UnknownMetricError
        If a name is neither a metric nor an alias.
    """
    expressions: dict[str, pl.Expr] = {}
    for metric in [metrics] if isinstance(metrics, str | pl.Expr) else metrics:
        expression = value_expression(metric)
        label = expression.meta.output_name()
        if label in expressions:
            msg = f"two metrics have the label {label!r}"
            hint = f"project them separately, or register one of them as {label + '_2'!r}"
            raise ParameterError(msg, hint=hint)
        expressions[label] = expression
    if not expressions:
        raise ParameterError.out_of_range("metrics", metrics, "at least one metric")
    return expressions
