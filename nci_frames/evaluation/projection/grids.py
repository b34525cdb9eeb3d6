"""The grid of each metric: the prevalences and betas at which it is evaluated, and its columns."""

import math
from collections.abc import Collection
from itertools import product
from typing import NamedTuple

import numpy as np
import polars as pl

from nci_frames.base.arguments import beta_values, prevalence_values
from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.base.messages import first_line, listed
from nci_frames.base.typing import Betas, Metrics, PointPrevalences
from nci_frames.evaluation.metrics import CalledMetric, by_label, value_expression
from nci_frames.evaluation.rates.rates import BOUNDS
from nci_frames.evaluation.support.rule import defined_flags, flags, hidden_flags, log_rarity, where_defined
from nci_frames.schemas import lacking

#: Columns from which ``supported`` and ``reason`` of an operating point are derived.
SUPPORT = ("__lowest", "__why", "__cost")


class MetricGrid(NamedTuple):
    """A metric, and the prevalences and betas at which it is evaluated."""

    label: str
    expression: pl.Expr
    #: Several values, or an expression over the rates: a column or a constant.
    prevalence: list[float] | pl.Expr
    beta: list[float] | pl.Expr
    #: Whether the extremes over a box of rates are at its corners.
    monotone: bool
    #: Whether the values depend on the prevalence and on FPR; None if unknown.
    needs_fpr: bool | None

    @property
    def size(self) -> int:
        """Number of rows per operating point."""
        axes = (self.prevalence, self.beta)
        return math.prod(1 if isinstance(axis, pl.Expr) else len(axis) for axis in axes)

    def project(self, points: pl.DataFrame, *, band: bool, flagged: bool) -> pl.DataFrame:
        """Return the columns from ``metric`` on, with a row for each point and each cell of the grid."""
        axes = {"prevalence": self.prevalence, "beta": self.beta}
        given = {name: axis for name, axis in axes.items() if isinstance(axis, pl.Expr)}
        if flagged and "prevalence" in given:
            given["__rarity"] = log_rarity(given["prevalence"])
        reads = {"threshold", *self.expression.meta.root_names(), *(BOUNDS if band else ())}
        reads |= set(SUPPORT) if flagged else set()
        each = points.select(*(name for name in points.columns if name in reads - set(axes)), **given)
        each = each[np.repeat(np.arange(len(points)), self.size)]
        inner = 1
        for name, axis in (("beta", self.beta), ("prevalence", self.prevalence)):
            if isinstance(axis, pl.Expr):
                continue
            values = pl.DataFrame({name: axis}, schema={name: pl.Float64})
            if flagged and name == "prevalence":
                values = values.with_columns(__rarity=log_rarity(pl.col(name)))
            each = each.hstack(values[np.arange(len(each)) // inner % len(axis)])
            inner *= len(axis)
        value, metric = self.expression.cast(pl.Float64), pl.lit(self.label).alias("metric")
        table = with_values(each, value=value)
        columns: dict[str, pl.Expr] = {}
        if band:
            # Metrics read the columns tpr and fpr, so these must hold the rates of the corner.
            corners = {
                f"__{tpr}_{fpr}": with_values(each.with_columns(tpr=tpr, fpr=fpr), value=value)["value"]
                for tpr, fpr in product(BOUNDS[:2], BOUNDS[2:])
            }
            table = table.with_columns(**corners)
            known = pl.all_horizontal(pl.col("value", *BOUNDS).is_not_null()) & self.monotone
            # min_horizontal ignores corners where the metric is 0/0.
            columns["lower"] = pl.when(known).then(pl.min_horizontal(*corners))
            columns["upper"] = pl.when(known).then(pl.max_horizontal(*corners))
        if flagged and self.needs_fpr:
            lowest, why, cost = (pl.col(name) for name in SUPPORT)
            told = flags(lowest, cost, why, pl.col("prevalence"), pl.col("__rarity"))
            columns |= where_defined(told, pl.col("value"))
        elif flagged:
            hidden = self.needs_fpr is None
            columns |= hidden_flags() if hidden else defined_flags(pl.col("value"), finite=True)
        return table.select(metric, "prevalence", "beta", "value", **columns)


def metric_grids(
    frame: pl.DataFrame, metrics: Metrics, prevalence: PointPrevalences, beta: Betas, *, band: bool
) -> list[MetricGrid]:
    """Check the arguments, and return the grid of each metric, sorted by label."""
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
        grids.append(MetricGrid(label, expression, own_eta, own_beta, monotone, needs_fpr))
    return sorted(grids, key=lambda grid: grid.label)


def require_bounds(frame: pl.DataFrame) -> None:
    """Raise SchemaError if rates lack the bounds that a band needs."""
    missing = [name for name in BOUNDS if name not in frame.columns]
    if missing:
        raise lacking("bounded rates", missing, frame.columns, 'compute_rates(counts, interval="wilson")')


def require_selected(frame: pl.DataFrame) -> None:
    """Raise SchemaError if rates lack the prevalence for which each row was selected."""
    if "prevalence" not in frame.columns:
        msg = "the rates have no prevalence that their points were selected for"
        hint = "select_operating_points(rates, metric=..., prevalence=...) adds the column 'prevalence'"
        raise SchemaError(msg, found=f"columns {listed(map(repr, frame.columns), 20)}", hint=hint)


def with_values(frame: pl.DataFrame, **expressions: pl.Expr) -> pl.DataFrame:
    """Return a frame with the values of metrics, which may be expressions of the user.

    Raises
    ------
    ParameterError
        If an expression does not give a number for each row.
    """
    try:
        return frame.with_columns(**expressions)
    except pl.exceptions.PolarsError as error:
        hint = "a metric is an expression over tpr, fpr, prevalence and beta"
        msg = "the expression of a metric does not give a number for each row"
        raise ParameterError(msg, found=first_line(error), hint=hint) from error


def require_columns(expression: pl.Expr, columns: Collection[str], where: str) -> None:
    """Raise SchemaError if a metric reads a column that is not in *columns*."""
    strange = sorted(set(expression.meta.root_names()) - set(columns))
    if strange:
        msg = f"the metric {expression.meta.output_name()!r} reads a column that {where} lack"
        found = f"{strange[0]!r}; columns {listed(map(repr, sorted(columns)), 20)}"
        raise SchemaError(msg, found=found, hint="a prevalence or a beta can also be given as a number")


def labelled_metrics(metrics: Metrics) -> dict[str, pl.Expr]:
    """Return the expression of each metric by its label.

    Raises
    ------
    ParameterError
        If there is no metric, two share a label, or an expression has the name of another metric.
    UnknownMetricError
        If a name is neither a metric nor an alias.
    """
    hint = "project them separately, or register one of them as '{}_2'"
    return by_label(metrics, value_expression, lambda metric: metric.meta.output_name(), hint)
