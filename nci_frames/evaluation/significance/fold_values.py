"""Rates of folds -> the values of metrics as an array (cases, models, folds), and tests of them."""

from typing import NamedTuple

import numpy as np
import polars as pl

from nci_frames.base.arguments import check_allowed, name_list, prevalence_values
from nci_frames.base.typing import Betas, Flags, Floats, Frame, Names, Prevalences, Rows
from nci_frames.evaluation.metrics import CalledMetric
from nci_frames.evaluation.projection.projection import project_rates
from nci_frames.evaluation.resampling.draws import times_drawn
from nci_frames.evaluation.resampling.resampling import Resampling
from nci_frames.schemas import RATES, beside, collect, need_each_once

#: Rounding error of differences, relative to the values.
_ROUNDING = 1e-12


class FoldValues(NamedTuple):
    """A metric's values in every case (keys, metric, prevalence, beta), model and fold."""

    cases: pl.DataFrame
    models: pl.Series
    #: The keys that identify the folds, one row per fold.
    folds: pl.DataFrame
    #: Values of shape (cases, models, folds); NaN where undefined or missing.
    values: Floats
    #: Whether the model has a point in the fold; of the same shape.
    exists: Flags

    @classmethod
    def of(
        cls, rates: Frame, metric: CalledMetric, prevalence: Prevalences, beta: Betas, over: Names
    ) -> "FoldValues":
        """Project the rates, and arrange the values in an array.

        Raises
        ------
        ParameterError
            If a fold has two operating points of one model, or an option is out of range.
        SchemaError
            If *rates* is not a rates frame, or lacks a key of *over*.
        """
        prevalence_values(prevalence)
        frame = collect(rates, RATES)
        members = name_list(over)
        check_allowed(members, "over", members, "at least one key")
        all_keys = RATES.need_keys(frame, members, "over")
        keys = [key for key in all_keys if key not in members]
        twice = "a fold has two operating points of one model"
        hint = "choose one with select_operating_points, or by a filter on the threshold"
        need_each_once(frame, ["model", *all_keys], twice, hint)
        projected = project_rates(frame, metrics=metric, prevalence=prevalence, beta=beta).drop("threshold")
        if isinstance(prevalence, str) and metric.open:
            # Each fold has its own prevalence.
            projected = projected.with_columns(prevalence=pl.lit(None, pl.Float64))
        case = [*keys, "metric", "prevalence", "beta"]
        cases, models, folds = (
            projected.select(columns).unique().sort(columns) for columns in (case, ["model"], members)
        )
        shape = (len(cases), len(models), len(folds))
        place = tuple(
            beside(projected, axis.with_row_index("__place"), axis.columns)["__place"].to_numpy()
            for axis in (cases, models, folds)
        )
        values, exists = np.full(shape, np.nan), np.zeros(shape, np.bool_)
        values[place], exists[place] = projected["value"].fill_null(np.nan).to_numpy(), True
        return cls(cases, models["model"], folds, values, exists)

    def table(self, ddof: int) -> pl.DataFrame:
        """Return mean, std, folds and skipped for each case and model, in the order of the array."""
        cases, models, _ = self.values.shape
        folds, mean, squares = moments(self.values)
        std = np.sqrt(squares / np.where(folds > ddof, folds - ddof, np.nan))
        skipped = self.exists.any(axis=1).sum(axis=1)[:, None] - folds
        numbers = {"mean": mean, "std": std, "folds": folds, "skipped": skipped}
        columns = pl.DataFrame({name: each.ravel() for name, each in numbers.items()}, nan_to_null=True)
        named = self.cases[np.repeat(np.arange(cases), models)]
        return named.hstack(columns).with_columns(model=self.models[np.tile(np.arange(models), cases)])


def moments(values: Floats) -> tuple[Rows, Floats, Floats]:
    """Return the number of defined values along the last axis, their mean and sum of squared deviations."""
    n = (~np.isnan(values)).sum(axis=2)
    mean = np.nansum(values, axis=2) / n
    return n, mean, np.nansum((values - mean[:, :, None]) ** 2, axis=2)


def t_test(differences: Floats, ratio: float) -> Floats:
    """Return two-sided p-values of the means along the last axis; NaN marks a missing fold.

    With *ratio* test rows per training row, 1 + 1/ratio folds contain all rows of a log; more folds do not
    add degrees of freedom.
    """
    from scipy.special import stdtr  # noqa: PLC0415  (SciPy is slow to import)

    n, mean, squares = moments(differences)
    independent = np.minimum(n, 1 + 1 / ratio) if ratio else n
    statistic = mean / np.sqrt(squares / (n - 1) * (1 / independent + ratio))
    return np.asarray(2 * stdtr(np.maximum(independent - 1, 1), -np.abs(statistic)))


def bootstrap_test(differences: Floats, logs: Resampling) -> Floats:
    """Return two-sided bootstrap p-values of mean differences; all models get the same resampled folds.

    They compare the mean in its standard errors (bootstrap-t): the share of resampled means beyond 0 is below
    0.05 for two equal models in 9 % of logs with ten folds.
    """
    cases, models, folds = differences.shape
    times = np.vstack([np.ones((1, folds)), times_drawn(logs.seed, {}, folds, logs.repeats)])
    p_value = np.ones((cases, models))
    for model in range(models):
        defined, difference = ~np.isnan(differences[:, model].T), np.nan_to_num(differences[:, model].T)
        n, sums, squares = times @ defined, times @ difference, times @ difference**2
        mean = sums / n
        error = np.sqrt(np.maximum(squares / n - mean**2, 0) / (n - 1))
        # Folds drawn once and again, without spread, say nothing against equality.
        far = ~(np.abs(mean[1:] - mean[0]) / error[1:] < np.abs(mean[0]) / error[0]) & (n[1:] > 0)
        p_value[:, model] = (1 + far.sum(axis=0)) / (1 + (n[1:] > 0).sum(axis=0))
    return p_value


def without_spread(differences: Floats, values: Floats) -> tuple[Flags, Flags]:
    """Return masks of differences that are all 0, and that are all equal but not 0, up to rounding."""
    finite = np.isfinite(differences)
    scale = np.where(np.isfinite(values), np.abs(values), 0).max(axis=2, initial=0)
    # The largest value of any model bounds the size of both models of a difference.
    rounding = _ROUNDING * scale.max(axis=1, initial=0)[:, None]
    highest = np.where(finite, differences, -np.inf).max(axis=2, initial=-np.inf)
    lowest = np.where(finite, differences, np.inf).min(axis=2, initial=np.inf)
    equal = finite.any(axis=2) & (np.maximum(np.abs(highest), np.abs(lowest)) <= rounding)
    return equal, finite.any(axis=2) & (highest - lowest <= rounding) & ~equal
