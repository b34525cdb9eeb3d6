"""Rates and what is known of the prevalence -> what to choose, and what a wrong choice costs."""

import itertools
from collections.abc import Iterator

import numpy as np
import polars as pl

from nci_frames.base.arguments import check_level
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Floats, Frame, Places
from nci_frames.evaluation.crossovers.contest import Contest, Points
from nci_frames.evaluation.crossovers.winners import best_rows
from nci_frames.evaluation.metrics.rounding import tie_leaders
from nci_frames.evaluation.prevalence.distributions import PrevalenceDistribution
from nci_frames.evaluation.prevalence.expected_values import by_group, mean_values, with_support
from nci_frames.evaluation.support.flags import point_flags
from nci_frames.schemas import CHOICES, REGRETS, checked

#: Means and largest regrets are computed to this relative error; what differs by less is a tie.
_ROUNDING = 1e-12
_RATES = ("positives", "negatives", "tpr", "fpr")
#: Places of a piece of the range, and the most that a piece spans of the log odds.
_PLACES, _SPAN = 9, 0.7
#: How often the place of the worst prevalence is looked at more closely, and at how many places.
_ZOOMS, _CLOSER = 7, 17
_AT_A_TIME = 8
_SMALLEST = 1e-15
_VALUES_AT_A_TIME = 1 << 22


@checked
def choose_under_uncertainty(
    rates: Frame,
    /,
    *,
    metric: str | pl.Expr,
    prevalence: PrevalenceDistribution,
    beta: float = 1.0,
    level: float = 0.95,
) -> pl.DataFrame:
    """Return each model's threshold that is best on average, and the price of not knowing the prevalence.

    Parameters
    ----------
    rates
        A rates frame with the thresholds to choose from, any number for each model.
    metric
        Name or alias of a metric, or a called metric without a prevalence.
    prevalence
        What is known of the prevalence: ``beta_prevalence``, ``prevalence_between`` or ``prevalence_draws``.
    beta
        Weight of recall in [0, inf], for a metric that has one.
    level
        The largest regret is that within the central range of this mass, in (0, 1).

    Returns
    -------
    A row per model, sorted by keys, rank and model:

    %(columns of choices)s

    Keys are those of *rates*. ``start`` and ``end`` are the central range of *level*.

    Raises
    ------
    ParameterError
        If the metric cannot be ranked, an option is out of range, or the metric was called with a prevalence.
    UnknownMetricError
        If there is no such metric.
    SchemaError
        If *rates* is not a rates frame.

    Notes
    -----
    The probability of being best is the mass of the ranges of ``winner_ranges``: differences of the
    distribution function, without draws. The log is taken as it is; ``probability_best`` resamples it. The
    expected regret is the mean of the best value over the distribution minus that of the choice, so it is the
    expected value of knowing the prevalence exactly.

    References
    ----------
    Howard (1966), Information value theory, doi:10.1109/TSSC.1966.300074; Adams and Hand (1999), Comparing
    classifiers when the misallocation costs are uncertain, doi:10.1016/S0031-3203(98)00154-X.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"], "threshold": [0.5, 0.5],
    ...     "tp": [60, 80], "fp": [1, 20], "fn": [40, 20], "tn": [999, 980],
    ... })
    >>> field = nf.prevalence_between(0.01, 0.2, level=0.9)
    >>> chosen = nf.choose_under_uncertainty(nf.compute_rates(counts), metric="f_beta", prevalence=field)
    >>> chosen.select("model", pl.col("value", "probability_best", "expected_regret").round(3)).rows()
    [('a', 0.736, 0.544, 0.027), ('b', 0.695, 0.456, 0.068)]
    """
    check_level(level)
    found = by_group(
        rates, metric, beta, CHOICES, lambda points, contest: _chosen(points, contest, prevalence, level)
    )
    return _in_order(found, CHOICES.keys(found.columns))


def _chosen(points: Points, contest: Contest, law: PrevalenceDistribution, level: float) -> pl.DataFrame:
    ends, rows = best_rows(points, contest, 0.0, 1.0)
    nodes, weights = law.nodes(ends[1:-1])
    piece = np.clip(np.searchsorted(ends, nodes, side="right") - 1, 0, len(rows) - 1)
    best = contest.values(points.frame.select("tpr", "fpr")[rows[piece]], nodes) @ weights
    means = mean_values(points, contest, nodes, weights)
    start, end = (law.quantile(share) for share in ((1 - level) / 2, (1 + level) / 2))
    regrets = Regrets(points, contest, start, end)
    winners = points.frame["model"].gather(rows)
    masses = law.masses(ends)
    parts = []
    for model, mine in _models(points):
        signed = np.where(np.isnan(means[mine]), -np.inf, contest.sign * means[mine])
        # Of points that are equally good, the one with the highest threshold, as in operating points.
        row = int(mine[len(mine) - 1 - np.argmax(signed[::-1])])
        value = means[row]
        worst, _ = regrets.largest(np.array([row]))
        parts.append(
            points.frame[[row]].select(
                "model",
                pl.lit(None, pl.Float64).alias("threshold") if np.isnan(value) else pl.col("threshold"),
                *_RATES,
                value=pl.lit(value),
                probability_best=pl.lit(min(1.0, float(masses[winners.eq_missing(model).to_numpy()].sum()))),
                # Rounding aside, never negative.
                expected_regret=pl.lit(float(np.maximum(contest.sign * (best - value), 0.0))),
                max_regret=pl.lit(float(worst[0])),
            )
        )
    table = _table(parts, contest, prevalence=law.mean, start=start, end=end)
    ranked = _ranked(table, contest.sign * table["value"].fill_null(np.nan).to_numpy())
    return with_support(ranked, contest, law).select(CHOICES.fixed)


@checked
def minimax_regret(
    rates: Frame, /, *, metric: str | pl.Expr, start: float, end: float, beta: float = 1.0
) -> pl.DataFrame:
    """Return each model's threshold that is never far behind the best in a range of prevalence.

    Use it if no prevalence of the range is more likely than another: "at most 0.02 F1 below the best anywhere
    in 0.0001 to 0.01".

    Parameters
    ----------
    rates
        A rates frame with the thresholds to choose from, any number for each model.
    metric
        Name or alias of a metric, or a called metric without a prevalence.
    start, end
        The range of the prevalence, 0 <= start < end <= 1.
    beta
        Weight of recall in [0, inf], for a metric that has one.

    Returns
    -------
    A row per model, sorted by keys, rank and model:

    %(columns of regrets)s

    Keys are those of *rates*. The best point is that of any model.

    Raises
    ------
    ParameterError
        If the range is empty or outside [0, 1], the metric cannot be ranked, or an option is out of range.
    UnknownMetricError
        If there is no such metric.
    SchemaError
        If *rates* is not a rates frame.

    Notes
    -----
    The best point is that of ``winner_ranges``. The regret is looked at from border to border, at nine places
    or more, and where it is largest ever more closely.

    References
    ----------
    Savage (1951), The theory of statistical decision, doi:10.1080/01621459.1951.10500768.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"], "threshold": [0.5, 0.5],
    ...     "tp": [60, 80], "fp": [1, 20], "fn": [40, 20], "tn": [999, 980],
    ... })
    >>> found = nf.minimax_regret(nf.compute_rates(counts), metric="f_beta", start=0.05, end=0.5)
    >>> found.select("model", pl.col("max_regret", "prevalence").round(3)).rows()
    [('b', 0.007, 0.05), ('a', 0.13, 0.5)]
    """
    if not 0 <= start < end <= 1:
        raise ParameterError("start and end must be a range of prevalence", found=f"{start:g} to {end:g}",
                             hint="0 <= start < end <= 1")  # fmt: skip
    start, end = float(start), float(end)
    found = by_group(
        rates, metric, beta, REGRETS, lambda points, contest: _safest(points, contest, start, end)
    )
    return _in_order(found, REGRETS.keys(found.columns))


def _safest(points: Points, contest: Contest, start: float, end: float) -> pl.DataFrame:
    regrets = Regrets(points, contest, start, end)
    parts = []
    for _, mine in _models(points):
        # Of points that are equally good, the one with the highest threshold.
        row, worst, where = regrets.smallest(mine[::-1])
        point = points.frame[[row if row >= 0 else int(mine[0])]].select("model", "threshold", *_RATES)
        if row < 0:
            point = point.with_columns(threshold=pl.lit(None, pl.Float64))
        parts.append(point.with_columns(max_regret=pl.lit(worst), __where=pl.lit(where)))
    table = _table(parts, contest, prevalence=start, start=start, end=end)
    ranked = _ranked(table, -table["max_regret"].fill_null(np.nan).to_numpy())
    told = ranked.with_columns(**point_flags(ranked.columns, needs_fpr=contest.metric.needs_fpr is not False))
    return told.with_columns(prevalence="__where").select(REGRETS.fixed)


def _table(parts: list[pl.DataFrame], contest: Contest, **numbers: float) -> pl.DataFrame:
    """Return the choices of all models with what they have in common."""
    common = {name: pl.lit(value) for name, value in numbers.items()}
    results = pl.col("^(value|.*_regret|__where)$").fill_nan(None)
    beta = pl.lit(contest.beta, pl.Float64)
    return pl.concat(parts).with_columns(results, metric=pl.lit(contest.metric.label), beta=beta, **common)


def _models(points: Points) -> Iterator[tuple[str | None, Places]]:
    """Yield each model, in the order of the points, and the rows of its points."""
    names = points.frame["model"]
    for model in names.unique(maintain_order=True):
        yield model, np.flatnonzero(names.eq_missing(model).to_numpy())


def _in_order(found: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    order = [*keys, "rank", "model"]
    return found.sort(order, nulls_last=[name == "rank" for name in order], maintain_order=True)


def _ranked(table: pl.DataFrame, values: Floats) -> pl.DataFrame:
    """Add the rank of values of which the highest is best; ties share the smaller rank, NaN has none."""
    order = np.argsort(-values, kind="stable")
    order = order[~np.isnan(values[order])]
    sorted_values = values[order]
    moved = _ROUNDING * np.abs(sorted_values)
    ranks = np.full(len(values), -1)
    if len(order):
        ranks[order] = tie_leaders(sorted_values, moved, np.zeros(1, np.intp)) + 1
    rank = pl.Series("rank", ranks, pl.Int64)
    return table.with_columns(rank.set(rank < 0, None))


class Regrets:
    """The distance to the best point, at any threshold of any model, over a range of prevalence."""

    def __init__(self, points: Points, contest: Contest, start: float, end: float) -> None:
        self._points, self._contest = points, contest
        self._ends, self._best = best_rows(points, contest, start, end)
        # At prevalence 0 and 1 the regret is its limit.
        borders = np.unique(np.clip([start, end, *self._ends[1:-1]], _SMALLEST, 1 - _SMALLEST))
        borders = np.log(borders) - np.log1p(-borders)
        pieces = [
            np.linspace(low, high, max(1, int(np.ceil((high - low) / _SPAN))) * (_PLACES - 1) + 1)
            for low, high in itertools.pairwise(borders)
        ]
        #: Log odds at which every point is looked at; neighbours have no border between them.
        self._places = np.unique(np.concatenate(pieces)) if pieces else borders

    def at(self, rows: Places, eta: Floats) -> Floats:
        """Return how far points are behind the best, each at the prevalence beside it; NaN if undefined."""
        piece = np.clip(np.searchsorted(self._ends, eta, side="right") - 1, 0, len(self._best) - 1)
        rates = self._points.frame.select("tpr", "fpr")
        best = self._contest.values(rates[self._best[piece]], eta)
        own = self._contest.values(rates[rows], eta)
        return np.maximum(self._contest.sign * (best - own), 0.0)

    def smallest(self, rows: Places) -> tuple[int, float, float]:
        """Return which of some points has the smallest largest regret, that regret, and where it is.

        -1 and NaN if all are undefined somewhere in the range.
        """
        seen = self._largest_seen(rows)
        order = np.argsort(seen, kind="stable")
        order = order[~np.isnan(seen[order])]
        found = -1, np.nan, np.nan
        # What was seen is no more than the largest, so no later point can be better once this holds.
        for some in np.split(order, range(_AT_A_TIME, len(order), _AT_A_TIME)):
            if not len(some) or (found[0] >= 0 and seen[some[0]] >= found[1]):
                break
            largest, where = self.largest(rows[some])
            place = int(np.argmin(largest))
            if found[0] < 0 or largest[place] < found[1]:
                found = int(rows[some[place]]), float(largest[place]), float(where[place])
        return found

    def largest(self, rows: Places) -> tuple[Floats, Floats]:
        """Return the largest regret of each point, and the prevalence where it is."""
        table = self._table(rows)
        each = np.arange(len(rows))
        top = np.argmax(np.where(np.isnan(table), -np.inf, table), axis=1)
        value, place = table[each, top], self._places[top]
        low = self._places[np.maximum(top - 1, 0)]
        high = self._places[np.minimum(top + 1, len(self._places) - 1)]
        for _ in range(_ZOOMS):
            closer = np.linspace(low, high, _CLOSER, axis=1)
            near = self.at(np.repeat(rows, _CLOSER), _eta(closer.ravel())).reshape(len(rows), -1)
            near = np.where(np.isnan(near), -np.inf, near)
            top = np.argmax(near, axis=1)
            better = near[each, top] > value
            value, place = (
                np.where(better, near[each, top], value),
                np.where(better, closer[each, top], place),
            )
            low = closer[each, np.maximum(top - 1, 0)]
            high = closer[each, np.minimum(top + 1, _CLOSER - 1)]
        undefined = np.isnan(table).any(axis=1)
        return np.where(undefined, np.nan, value), np.where(undefined, np.nan, _eta(place))

    def _largest_seen(self, rows: Places) -> Floats:
        size = max(1, _VALUES_AT_A_TIME // len(self._places))
        parts = np.split(rows, range(size, len(rows), size))
        return np.concatenate([self._table(part).max(axis=1) for part in parts])

    def _table(self, rows: Places) -> Floats:
        each = np.repeat(rows, len(self._places))
        return self.at(each, np.tile(_eta(self._places), len(rows))).reshape(len(rows), -1)


def _eta(log_odds: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-log_odds)))
