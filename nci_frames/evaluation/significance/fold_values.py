"""Rates of folds -> the values of metrics as one array over cases, models and folds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.arguments import Prevalences, prevalence_values
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Floats
from nci_frames.counts.pooling import add_cells
from nci_frames.evaluation.metrics import CalledMetric
from nci_frames.evaluation.projection.projection import project_rates
from nci_frames.evaluation.rates.rates import compute_rates
from nci_frames.evaluation.significance.paired_tests import moments
from nci_frames.schemas import RATES, collect

Metrics = str | pl.Expr | Sequence[str | pl.Expr]

#: The columns that, with the keys, identify one comparison.
CASE = ("metric", "prevalence", "beta")
#: Statistics over the folds of one case and model.
SUMMARY = ("mean", "std", "folds", "skipped")


@dataclass(frozen=True, slots=True)
class FoldValues:
    """A metric's values in every case (keys, metric, prevalence, beta), model and fold."""

    keys: list[str]
    cases: pl.DataFrame
    models: pl.Series
    #: The values of the keys that identify the folds, one fold a row.
    folds: pl.DataFrame
    #: Of shape (cases, models, folds); NaN where undefined or missing.
    values: Floats
    #: Of the same shape: whether the model has a point there.
    exists: NDArray[np.bool_]
    #: The same metrics of the pooled counts of all folds.
    pooled: pl.DataFrame

    @classmethod
    def of(
        cls,
        rates: pl.DataFrame | pl.LazyFrame,
        metrics: Metrics,
        prevalence: Prevalences,
        beta: float | Sequence[float],
        over: str | Sequence[str],
    ) -> "FoldValues":
        """Project the rates and arrange the values in the array.

        Raises
        ------
        ParameterError
            If a fold has two operating points of one model, or an option is out of range.
        SchemaError
            If *rates* is not a rates frame, or lacks a key of *over*.
        """
        prevalence_values(prevalence)
        frame = collect(rates, RATES)
        members = [over] if isinstance(over, str) else list(over)
        if not members:
            raise ParameterError.out_of_range("over", members, "at least one key")
        all_keys = RATES.need_keys(frame, members, "over")
        keys = [key for key in all_keys if key not in members]
        twice = frame.filter(pl.struct("model", *all_keys).is_duplicated())
        if len(twice):
            raise ParameterError(
                "a fold has two operating points of one model",
                where=f"model {twice['model'][0]!r}, {members[0]} {twice[members[0]][0]!r}",
                hint="choose one with select_operating_points, or by a filter on the threshold",
            )
        projected = _project(frame, metrics, prevalence, beta)
        pooled = compute_rates(add_cells(frame, ["model", *keys]).with_columns(threshold=pl.lit(0.0)))
        case = [*keys, *CASE]
        cases, models, folds = (
            projected.select(columns).unique().sort(columns) for columns in (case, ["model"], members)
        )
        shape = (len(cases), len(models), len(folds))
        place = tuple(
            projected.join(
                axis.with_row_index("__place"),
                on=axis.columns,
                how="left",
                nulls_equal=True,
                maintain_order="left",
            )["__place"].to_numpy()
            for axis in (cases, models, folds)
        )
        values, exists = np.full(shape, np.nan), np.zeros(shape, np.bool_)
        values[place], exists[place] = projected["value"].fill_null(np.nan).to_numpy(), True
        return cls(
            keys, cases, models["model"], folds, values, exists, _project(pooled, metrics, prevalence, beta)
        )

    def table(self, ddof: int) -> pl.DataFrame:
        """Return mean, std, folds and skipped of each case and model, in the order of the array."""
        cases, models, _ = self.values.shape
        folds, mean, squares = moments(self.values)
        std = np.sqrt(squares / np.where(folds > ddof, folds - ddof, np.nan))
        skipped = self.exists.any(axis=1).sum(axis=1)[:, None] - folds
        return self.cases[np.repeat(np.arange(cases), models)].with_columns(
            model=self.models[np.tile(np.arange(models), cases)],
            mean=pl.Series(mean.ravel(), nan_to_null=True),
            std=pl.Series(std.ravel(), nan_to_null=True),
            folds=pl.Series(folds.ravel().astype(np.int64)),
            skipped=pl.Series(skipped.ravel().astype(np.int64)),
        )


def _project(
    frame: pl.DataFrame, metrics: Metrics, prevalence: Prevalences, beta: float | Sequence[float]
) -> pl.DataFrame:
    """Project, with null for a prevalence that is each fold's own."""
    projected = project_rates(frame, metrics=metrics, prevalence=prevalence, beta=beta).drop("threshold")
    if not isinstance(prevalence, str):
        return projected
    asked = [metrics] if isinstance(metrics, str | pl.Expr) else metrics
    fixed = [m.label for m in asked if isinstance(m, CalledMetric) and not m.open]
    return projected.with_columns(prevalence=pl.when(pl.col("metric").is_in(fixed)).then("prevalence"))
