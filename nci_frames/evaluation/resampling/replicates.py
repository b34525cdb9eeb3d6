"""Counts -> the metrics of many resampled logs, without the log.

A resampled log is determined by its number of rows in each bin, so a replicate costs the same for a thousand
rows and for a billion. Either rows are resampled within each class, or whole buckets of units.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.arguments import Prevalences, beta_values
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Floats
from nci_frames.evaluation.areas.area import Area, Logs, area_of
from nci_frames.evaluation.arrays.histograms import Histogram
from nci_frames.evaluation.field.prevalences import Field, field_of, is_field, numbers_of, own_prevalence
from nci_frames.evaluation.metrics import asked_metric, curve_asked
from nci_frames.evaluation.metrics.directions import better_sign
from nci_frames.evaluation.projection.grids import MetricGrid, metric_grids
from nci_frames.evaluation.projection.projection import points_on_grids
from nci_frames.evaluation.rates.rates import rates_of
from nci_frames.evaluation.resampling.best_f_beta import best_f_beta, has_no_limits
from nci_frames.evaluation.resampling.draws import stream
from nci_frames.evaluation.resampling.few_rows import one_row_apart, steps_of_recall, with_prior
from nci_frames.evaluation.resampling.resampling import Resampling
from nci_frames.evaluation.resampling.samplers import Sampler, samplers_of

Rows = NDArray[np.int64]
Metrics = str | pl.Expr | Sequence[str | pl.Expr]

_CASES = ["threshold", "metric", "method", "prevalence", "beta"]
_CELLS_AT_A_TIME = 1 << 21


@dataclass(frozen=True, slots=True)
class Replicates:
    """The metrics of one group: of the log itself, and of each resampled log."""

    histogram: Histogram
    #: threshold, metric, method, prevalence and beta of each value.
    cases: pl.DataFrame
    #: One per case; NaN where undefined.
    value: Floats
    #: Of shape (repeats, cases); NaN where undefined.
    values: Floats
    #: By how much a positive (first row) or a negative (second row) more or less moves each value at most;
    #: NaN if that makes it undefined.
    moved: Floats
    #: How many positives and negatives are drawn from, or buckets of equal size that have them.
    sizes: tuple[float, float]

    @property
    def freedom(self) -> Floats:
        """Degrees of freedom of each value: the rows, or equal buckets, of the rarer class, less one.

        A class that has no effect on the metric does not count.
        """
        sizes = np.array(self.sizes, np.float64)[:, None]
        return np.asarray(np.where(self.moved != 0, sizes - 1, np.inf).min(axis=0))

    def at(self, prevalence: Sequence[float]) -> "Replicates":
        """Return the values of an area at some of its prevalences."""
        known = {eta: place for place, eta in enumerate(self.cases["prevalence"])}
        places = [known[eta] for eta in prevalence]
        each = (self.cases[places], self.value[places], self.values[:, places], self.moved[:, places])
        return Replicates(self.histogram, *each, self.sizes)

    def check_one_point(self) -> None:
        """Raise ParameterError if the metric was taken at several thresholds."""
        thresholds = self.cases["threshold"].n_unique()
        if thresholds > 1:
            raise ParameterError(
                "each model needs one operating point",
                where=self.histogram.where,
                found=f"{thresholds} thresholds",
                hint="select one with threshold=, or keep one row of each model",
            )


def resample(
    frame: pl.DataFrame,
    metric: Metrics,
    logs: Resampling,
    *,
    prevalence: Prevalences | Field = "observed",
    beta: float | Sequence[float] = 1.0,
    threshold: float | Sequence[float] | None = None,
    own: int = 0,
    prior: bool = False,
) -> Iterator[Replicates]:
    """Yield the replicates of each group of whole counts, in the order of the keys; options as in bootstrap.

    With ``logs.over``, metrics are taken within each value of that key, such as the repeats of a
    cross-validation, and averaged; the draws of ``logs.units`` are the same for all of them.

    Two further options are those of comparisons. With *own*, 1 if higher values are better and -1 if lower
    ones are, metrics are taken at the best threshold of each log, chosen anew in every resampled one. With
    *prior*, resampled logs have about half a row more on either side of every threshold (Jeffreys), so that a
    rate that is 0 in the log may be above 0 in them.

    Raises
    ------
    ParameterError
        If an option is out of range, a threshold was not counted, an area cannot be resampled, or there are
        too few buckets; if there is ``over`` without ``units``, or metrics were taken at different thresholds
        within its values.
    SchemaError
        If the counts lack the key ``units``, or ``over``.
    """
    thresholds = None if threshold is None else np.unique(np.asarray(threshold, np.float64))
    if thresholds is not None and (not len(thresholds) or np.isnan(thresholds).any()):
        raise ParameterError.out_of_range("threshold", threshold, "at least one number")
    asked = [metric] if isinstance(metric, str | pl.Expr) else list(metric)
    if not asked:
        raise ParameterError.out_of_range("metric", metric, "at least one metric")
    grid, betas = numbers_of(prevalence), beta_values(beta)
    areas, metrics = _areas(asked, grid), [one for one in asked if curve_asked(one) is None]
    keys = logs.keys(frame)
    if is_field(prevalence):
        prevalence = field_of(cast("Field", prevalence), frame, keys)

    def replicated(given: Sampler) -> Replicates:
        whole = given.coarser(steps_of_recall(given.histogram)) if own else given
        points = whole.histogram.thresholds[::-1] if thresholds is None else thresholds
        observed = np.array([whole.histogram.observed_prevalence])
        (eta,) = own_prevalence(whole.histogram.group, prevalence, observed, keys)
        wanted = _Wanted(areas, metrics, grid, betas, points.tolist(), float(eta), own)
        # Bins that no result distinguishes are merged before drawing: between thresholds, or between
        # positives.
        sampler = whole
        if not areas:
            sampler = whole if own else whole.coarser(points.tolist())
        elif not metrics:
            merged = not any(area.of_scores for area in areas)
            sampler, points = whole.condensed() if merged else whole, np.empty(0)
        drawn = sampler.draws(logs)
        if prior and not areas:
            group = sampler.histogram.group.row(0, named=True)
            drawn = with_prior(drawn, stream(logs.seed, {"prior": True, **group}))
        return _evaluated(wanted, sampler, points, drawn, unseen=not areas)

    for _, same in itertools.groupby(
        samplers_of(frame, logs), key=lambda given: given.histogram.group.row(0)
    ):
        each = [replicated(given) for given in same]
        yield each[0] if logs.over is None else _mean(each, logs.over)


def by_keys(found: Iterable[Replicates]) -> dict[tuple[object, ...], list[Replicates]]:
    """Return the replicates of models by the values of the keys, each at one operating point.

    Raises
    ------
    ParameterError
        If a metric was taken at several thresholds of a model.
    """
    groups: dict[tuple[object, ...], list[Replicates]] = {}
    for replicates in found:
        replicates.check_one_point()
        groups.setdefault(replicates.histogram.group.row(0)[1:], []).append(replicates)
    return groups


def resample_models(
    frame: pl.DataFrame,
    metric: str | pl.Expr,
    logs: Resampling,
    *,
    prevalence: Prevalences,
    beta: float | Sequence[float],
    threshold: float | Literal["own"] | None,
    prior: bool = False,
) -> list[list[Replicates]]:
    """Return the replicates of the models that are compared, for each value of the keys; see ``resample``.

    Raises
    ------
    UnknownMetricError
        If the direction of the metric is unknown.
    """
    sign = better_sign(asked_metric(metric))
    own = sign if takes_own_thresholds(metric, threshold) else 0
    at = None if isinstance(threshold, str) else threshold
    found = resample(
        frame, metric, logs, prevalence=prevalence, beta=beta, threshold=at, own=own, prior=prior
    )
    return list(by_keys(found).values())


def _evaluated(
    wanted: "_Wanted",
    sampler: Sampler,
    points: Floats,
    drawn: Iterator[tuple[Rows, Rows]],
    *,
    unseen: bool,
) -> Replicates:
    """Return the values of a log, of those that are a row apart, and of resampled ones."""
    histogram = sampler.histogram
    reached = histogram.reached(points.tolist())
    near = one_row_apart(histogram, unseen=unseen)
    # The log itself and those that are a row apart are evaluated with the first resampled ones.
    known = [np.concatenate([rows[None], apart]) for rows, apart in zip(histogram.classes, near, strict=True)]
    first = next(drawn)
    positives, negatives = (np.concatenate(rows) for rows in zip(known, first, strict=True))
    blocks = [wanted.of(Logs(positives, negatives, histogram), reached)]
    blocks += [wanted.of(Logs(*rows, histogram), reached) for rows in drawn]
    values, ends = np.concatenate(blocks), 1 + len(near[0])
    with np.errstate(invalid="ignore"):
        moved = np.stack([np.abs(part - values[0]).max(axis=0) for part in np.split(values[1:ends], 2)])
    return Replicates(histogram, wanted.cases, values[0], values[ends:], moved, sampler.sizes)


def _mean(each: list[Replicates], over: str) -> Replicates:
    """Return the means of the metrics of some groups, where they are defined; draw by draw.

    Raises
    ------
    ParameterError
        If they belong to different thresholds or prevalences.
    """
    first = each[0]
    if any(not one.cases.equals(first.cases) for one in each):
        raise ParameterError(
            f"values of different thresholds or prevalences cannot be averaged over {over!r}",
            where=first.histogram.where,
            hint="select one operating point of each model, and name the prevalence",
        )
    return Replicates(
        first.histogram,
        first.cases,
        _nanmean([one.value for one in each]),
        _nanmean([one.values for one in each]),
        # A unit more or less has a row more or less in each of them.
        np.mean([one.moved for one in each], axis=0),
        (min(one.sizes[0] for one in each), min(one.sizes[1] for one in each)),
    )


def _nanmean(each: Sequence[Floats]) -> Floats:
    total, defined = np.zeros_like(each[0]), np.zeros(each[0].shape, np.int64)
    for values in each:
        known = ~np.isnan(values)
        total += np.where(known, values, 0.0)
        defined += known
    with np.errstate(invalid="ignore"):
        return np.asarray(total / defined)


def labelled_cases(
    groups: Sequence[Replicates], *columns: pl.Expr | pl.Series, **named: pl.Expr | pl.Series | str
) -> pl.DataFrame:
    """Return the cases of groups, one group after the other, with their model and keys, and more columns."""
    cases = pl.concat(replicates.cases for replicates in groups).with_columns(*columns, **named)
    of_case = np.repeat(np.arange(len(groups)), [len(replicates.cases) for replicates in groups])
    return pl.concat(replicates.histogram.group for replicates in groups)[of_case].hstack(cases)


def takes_own_thresholds(metric: str | pl.Expr, threshold: float | str | None) -> bool:
    """Return whether a metric is taken at each model's own best threshold; an area has none."""
    return threshold == "own" and not (isinstance(metric, str) and curve_asked(metric) is not None)


def _areas(asked: Sequence[str | pl.Expr], grid: list[float] | None) -> list[Area]:
    """Return the areas among what is asked for.

    Raises
    ------
    ParameterError
        If one cannot be resampled, or is undefined at a prevalence.
    """
    found = [area for area in (area_of(one, "resampled") for one in asked) if area is not None]
    for area in found:
        area.check(grid)
    return list(dict.fromkeys(found))


@dataclass(slots=True)
class _Wanted:
    """The metrics to compute for each log of a group: areas, and metrics at points."""

    areas: Sequence[Area]
    metrics: Sequence[str | pl.Expr]
    #: None: the prevalence of the group.
    grid: list[float] | None
    betas: list[float]
    points: list[float]
    prevalence: float
    own: int
    _points_cases: pl.DataFrame | None = None
    _grids: Sequence[MetricGrid] = ()

    @property
    def etas(self) -> list[float]:
        return [self.prevalence] if self.grid is None else self.grid

    def of(self, logs: Logs, reached: Rows) -> Floats:
        """Return the values of the cases in each log, of shape (logs, cases); the first log comes first."""
        values = [area.replicated(logs, self.etas) for area in self.areas]
        if self.metrics:
            values.append(self._of_points(logs.positives, logs.negatives, reached))
        return np.hstack(values)

    @property
    def cases(self) -> pl.DataFrame:
        """What the values belong to, once they are known."""
        schema = dict(zip(_CASES, [pl.Float64, pl.String, pl.String, pl.Float64, pl.Float64], strict=True))
        rows = [
            (None, area.name, area.method, None if math.isnan(eta) else eta, None)
            for area in self.areas
            for eta in (self.etas if area.depends_on_prevalence else [math.nan])
        ]
        of_curves = pl.DataFrame(rows, schema=schema, orient="row")
        if self._points_cases is None:
            return of_curves
        return pl.concat([of_curves, self._points_cases]) if rows else self._points_cases

    def _of_points(self, positives: Rows, negatives: Rows, reached: Rows) -> Floats:
        logs, size = len(positives), len(self.points)
        true, false = (np.insert(rows.cumsum(axis=1), 0, 0, axis=1) for rows in (positives, negatives))
        tp, fp = (rows[:, reached] for rows in (true, false))
        fn, tn = true[:, -1:] - tp, false[:, -1:] - fp
        if self.own and _is_f_beta(self.metrics) and logs > 1 and has_no_limits(self.etas, self.betas):
            itself = []
            if self._points_cases is None:
                itself.append(self._of_points(positives[:1], negatives[:1], reached))
            rest = slice(len(itself), None)
            totals = true[rest, -1], false[rest, -1]
            return np.concatenate([*itself, best_f_beta(tp[rest], fp[rest], totals, self.etas, self.betas)])
        grids = size * len(self.metrics) * len(self.etas) * len(self.betas)
        values = []
        for part in np.array_split(np.arange(logs), -(-logs * grids // _CELLS_AT_A_TIME)):
            frame = pl.DataFrame(
                {
                    "threshold": np.tile(self.points, len(part)),
                    **{
                        name: rows[part].ravel()
                        for name, rows in (("tp", tp), ("fp", fp), ("fn", fn), ("tn", tn))
                    },
                }
            )
            rates = rates_of(frame).with_columns(observed_prevalence=pl.lit(self.prevalence).fill_nan(None))
            if not self._grids:
                etas: Prevalences = "observed" if self.grid is None else self.grid
                each = metric_grids(rates, self.metrics, etas, self.betas, band=False)
                self._grids = sorted(each, key=lambda grid: grid.label)
            table = points_on_grids(rates, ["threshold"], list(self._grids), band=False, flagged=False)
            # The values are those of one log after another, so they are already in matrix order.
            found = table["value"].to_numpy().reshape(len(part), -1)
            values.append(self._best_of(found, size) if self.own else found)
            if self._points_cases is None:
                cases = table.head(values[0].shape[1]).with_columns(method=pl.lit(None, pl.String))
                if self.own:
                    cases = cases.with_columns(threshold=pl.lit(None, pl.Float64))
                self._points_cases = cases.select(_CASES)
        return np.concatenate(values)

    def _best_of(self, values: Floats, thresholds: int) -> Floats:
        """Return the best value of each case among all thresholds of a log; NaN where all are undefined."""
        signed = self.own * values.reshape(len(values), thresholds, -1)
        best = np.where(np.isnan(signed), -np.inf, signed).max(axis=1)
        return np.where(np.isneginf(best), np.nan, self.own * best)


def _is_f_beta(metrics: Sequence[str | pl.Expr]) -> bool:
    """Return whether F-beta is asked for by its name, and nothing else."""
    # An expression cannot be compared with a text.
    return len(metrics) == 1 and isinstance(metrics[0], str) and metrics[0] == "f_beta"
