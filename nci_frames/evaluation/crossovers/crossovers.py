"""Rates -> where two models change places, exactly where a closed form exists."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from nci_frames.arguments import Prevalences
from nci_frames.evaluation.crossovers.contest import Contest, Over, Points, contests, points_of
from nci_frames.evaluation.crossovers.envelope import Places, crossings
from nci_frames.evaluation.crossovers.lines import LineContest, has_lines
from nci_frames.evaluation.crossovers.pr_auc_crossovers import auc_crossovers
from nci_frames.evaluation.crossovers.search import axis_value, places_along, sign_changes
from nci_frames.schemas import CROSSOVERS, RATES, collect

__all__ = ["find_crossovers"]


def find_crossovers(
    rates: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    metric: str | pl.Expr,
    over: Over,
    prevalence: Prevalences = "observed",
    beta: float | Sequence[float] = 1.0,
) -> pl.DataFrame:
    """Return where the order of two models changes, over prevalence or over beta.

    A model with several thresholds counts with its best one at each place.

    Parameters
    ----------
    rates
        A rates frame: operating points, one or more of each model. For "pr_auc", a counts frame.
    metric
        Name or alias of a metric, a called metric such as ``nci_frames.expected_cost(c_fn=20)``, or "pr_auc"
        (average precision).
    over
        "prevalence", at each *beta*; or "beta", at each *prevalence*.
    prevalence
        P(y=1), each in [0, 1], where *over* is "beta"; or "observed", if that is the same for all models.
    beta
        Weights of recall, each in [0, inf], where *over* is "prevalence" and the metric has a beta.

    Returns
    -------
    A row per crossover, sorted by keys, metric, models, prevalence and beta:

    ========== ======= ========================================== ==============================
    column     dtype   meaning                                    null where
    ========== ======= ========================================== ==============================
    keys                as in *rates*; each value is a comparison as in *rates*
    metric     String  its label                                  never
    model_a    String  the model that is better below             as in *rates*
    model_b    String  the model that is better above             as in *rates*
    prevalence Float64 where they cross, or the fixed one         never
    beta       Float64 where they cross, or the fixed one         it plays no part
    value      Float64 the metric of both at the crossing         never
    ========== ======= ========================================== ==============================

    A single model, models that are alike, and models that touch without changing places have no crossover.

    Raises
    ------
    ParameterError
        If the metric has no better and worse, does not depend on what it is asked over, or an option is out
        of range; or if *prevalence* is "observed" and models differ in it.
    UnknownMetricError
        If there is no such metric.
    SchemaError
        If *rates* is not a rates frame (for "pr_auc": a counts frame).

    Notes
    -----
    F-beta is ordered by lines in lambda = (1-eta)/(eta·beta²), and a metric that is linear in eta by lines in
    eta: their crossovers are exact. Precision never crosses. For "pr_auc" the search is complete: average
    precision changes by at most min(1/4, AP, 1-AP) per unit of logit eta, so a stretch is left alone only
    where the difference is too large to reach zero, down to stretches of 1e-5; within 1e-12 <= eta <= 1 -
    1e-12. For the other metrics every change of sign between 4,001 places over that range (beta: 1e-6 to 1e6)
    is found, two between the same places are not.

    References
    ----------
    Wojciechowski and Woźniak (2024), F-beta-plot, arXiv:2404.08709.

    Examples
    --------
    Model a finds less and errs less, so it is better where positives are rare.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"], "threshold": [0.5, 0.5],
    ...     "tp": [60, 80], "fp": [1, 20], "fn": [40, 20], "tn": [999, 980],
    ... })
    >>> found = nf.find_crossovers(nf.compute_rates(counts), metric="f_beta", over="prevalence")
    >>> found.select("model_a", "model_b", pl.col("prevalence", "value").round(4)).row(0)
    ('a', 'b', 0.053, 0.7417)
    """
    if isinstance(metric, str) and metric == "pr_auc":
        return _table(rates, auc_crossovers(rates, over))
    frame = collect(rates, RATES)
    found = [
        _found(points, contest)
        for points in points_of(frame)
        for contest in contests(points, metric, over, prevalence, beta)
        if not contest.constant
    ]
    return _table(frame, found)


@dataclass(frozen=True, slots=True)
class _Crossing:
    """Where two models change places, and a row of the points that is at its model's best there."""

    x: float
    better_below: int
    better_above: int
    row: int


def _found(points: Points, contest: Contest) -> pl.DataFrame:
    """Return the crossovers of every two models in one contest."""
    first = np.flatnonzero(np.append(True, np.diff(points.frame["model"].rle_id().to_numpy()) != 0))
    rows = [np.arange(begin, end) for begin, end in itertools.pairwise([*first, len(points.frame)])]
    between = _between_lines if has_lines(contest) else _between_curves
    found = list(between(points, contest, rows))
    at = points.frame[[crossing.row for crossing in found]]
    x = np.array([crossing.x for crossing in found])
    names = points.frame[first]["model"]
    axes = {"prevalence": contest.prevalence, "beta": contest.beta} | {contest.over: x}
    table = pl.DataFrame({"value": contest.values(at, x)}).with_columns(
        names[[crossing.better_below for crossing in found]].alias("model_a"),
        names[[crossing.better_above for crossing in found]].alias("model_b"),
        pl.lit(contest.metric.label).alias("metric"),
        *(
            pl.Series(axis, value) if isinstance(value, np.ndarray) else pl.lit(value, pl.Float64).alias(axis)
            for axis, value in axes.items()
        ),
    )
    return table.hstack(at.select(points.keys.columns)) if points.keys.width else table


def _between_lines(points: Points, contest: Contest, rows: list[Places]) -> Iterator[_Crossing]:
    """Yield the exact crossovers of a metric that is ordered by lines."""
    lines = LineContest.of(points, contest)
    envelopes = [lines.envelope(mine) for mine in rows]
    for a, b in itertools.combinations(range(len(rows)), 2):
        found = crossings(envelopes[a], envelopes[b], lines.end)
        x = lines.axis(lines.meet(found))
        for place in range(len(x)):
            a_is_below = bool(found.first_was_lower[place]) == lines.ascending
            below, above = (a, b) if a_is_below else (b, a)
            yield _Crossing(float(x[place]), below, above, int(found.first[place]))


def _between_curves(points: Points, contest: Contest, rows: list[Places]) -> Iterator[_Crossing]:
    """Yield the crossovers that are seen as changes of sign between the places of a fine grid."""
    places = places_along(contest.over)
    best = [contest.best(points, mine, axis_value(contest.over, places))[0] for mine in rows]
    for a, b in itertools.combinations(range(len(rows)), 2):

        def difference(place: float, pair: tuple[int, int] = (a, b)) -> float:
            x = axis_value(contest.over, np.array([place]))
            one, other = (contest.best(points, rows[model], x)[0][0] for model in pair)
            return float(one - other)

        of_places = best[a] - best[b]
        rounding = 1e-14 * (np.abs(best[a]) + np.abs(best[b]))
        for place in sign_changes(difference, places, np.where(np.abs(of_places) > rounding, of_places, 0)):
            x = axis_value(contest.over, np.array([place]))
            before = of_places[np.flatnonzero((places < place) & (np.abs(of_places) > rounding))[-1]]
            below, above = (a, b) if before > 0 else (b, a)
            yield _Crossing(float(x[0]), below, above, int(contest.best(points, rows[a], x)[1][0]))


def _table(frame: pl.DataFrame | pl.LazyFrame, found: list[pl.DataFrame]) -> pl.DataFrame:
    """Put the crossovers of all comparisons together."""
    columns = frame.collect_schema()
    keys = RATES.keys(columns)
    schema = {key: columns[key] for key in keys} | CROSSOVERS.dtypes()
    table = pl.concat([pl.DataFrame(schema=schema), *(part.select(list(schema)) for part in found)])
    return CROSSOVERS.finish(table.sort(*keys, "metric", "model_a", "model_b", "prevalence", "beta"))
