"""Rates -> the crossovers of all pairs of models, exact where a closed form exists."""

import itertools
from collections.abc import Iterable, Iterator

import numpy as np
import polars as pl

from nci_frames.base.typing import Betas, Frame, Over, Prevalences
from nci_frames.evaluation.crossovers.areas import check_curve, curves_of
from nci_frames.evaluation.crossovers.contest import Contest, Points, check_axis, check_pairs, repeated_keys
from nci_frames.evaluation.crossovers.meetings import Meetings, line_meetings, point_meetings
from nci_frames.evaluation.metrics import Metric, curve_asked
from nci_frames.evaluation.rates.strata import collect_counts
from nci_frames.schemas import COUNTS, CROSSOVERS, RATES, checked, collect


@checked
def find_crossovers(
    rates: Frame,
    /,
    *,
    metric: str | pl.Expr,
    over: Over,
    prevalence: Prevalences = "observed",
    beta: Betas = 1.0,
) -> pl.DataFrame:
    """Return where the order of two models changes, over prevalence or over beta.

    A model with several thresholds is represented by its best threshold at each prevalence or beta.

    Parameters
    ----------
    rates
        A rates frame with one or more operating points per model. For an area, a counts frame.
    metric
        Name or alias of a metric, a called metric such as ``nci_frames.expected_cost(c_fn=20)``, or an area,
        as in ``winner_ranges``. Areas that do not depend on the prevalence have no crossovers.
    over
        "prevalence", at each *beta*; or "beta", at each *prevalence*.
    prevalence
        P(y=1), each in [0, 1], if *over* is "beta"; or "observed", if it is the same for all models.
    beta
        Weights of recall, each in [0, inf], if *over* is "prevalence" and the metric has a beta.

    Returns
    -------
    A row per crossover, sorted by keys, metric, models, prevalence and beta:

    %(columns of crossovers)s

    Keys are those of *rates*; models are compared within each value of the keys.

    A single model, identical models, and models that touch without changing order have no crossover.

    Raises
    ------
    ParameterError
        If the metric cannot be ranked, has no beta and *over* is "beta", or is an area of another kind; an
        option is out of range; *prevalence* is "observed" and differs between models; or there are more than
        a million pairs of models.
    UnknownMetricError
        If the metric is unknown.
    SchemaError
        If *rates* is not a rates frame (for an area: a counts frame).

    Notes
    -----
    F-beta is ordered by lines in lambda = (1-eta)/(eta·beta²); metrics that are linear in eta, such as
    "brier" and "log_loss", by lines in eta. Their crossovers are exact. Precision never crosses. For other
    metrics and "pr_auc", changes of sign are found on a grid of 4,001 points, evenly spaced in logit eta or
    log beta, within 1e-12 <= eta <= 1 - 1e-12 or 1e-6 <= beta <= 1e6. Two changes between neighbouring
    points, 0.014 apart in the logit, are missed.

    All pairs are compared: 1,000 models, half a million pairs, take a minute or two. ``winner_ranges`` finds
    only the best model at each point and is much faster.

    References
    ----------
    Wojciechowski and Woźniak (2024), F-beta-plot, arXiv:2404.08709.

    Examples
    --------
    Model a has the lower TPR and FPR, so it is better if positives are rare.

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
    check_axis(over, prevalence)
    curve = curve_asked(metric)
    found: Iterable[pl.DataFrame]
    if curve is not None:
        check_curve(curve, over)
        frame = collect_counts(rates)
        found = _of_areas(frame, curve)
    else:
        frame = collect(rates, RATES)
        found = [
            _found(contest)
            for points in Points.of_each(frame)
            for contest in Contest.of_each(points, metric, over, prevalence, beta)
            if not contest.constant
        ]
    keys = RATES.keys(frame.columns)
    table = CROSSOVERS.joined(found, frame.select(keys))
    return table.sort(*keys, "metric", "model_a", "model_b", "prevalence", "beta")


def _found(contest: Contest) -> pl.DataFrame:
    """Return the crossovers of all pairs of models in one contest."""
    frame = contest.points.frame
    first = np.flatnonzero(np.append(True, np.diff(frame["model"].rle_id().to_numpy()) != 0))
    check_pairs(len(first))
    rows = [np.arange(begin, end) for begin, end in itertools.pairwise([*first, len(frame)])]
    between = line_meetings if contest.has_lines else point_meetings
    found = Meetings.together(between(contest, rows))
    names = frame[first]["model"]
    value = contest.values(frame.select("tpr", "fpr")[found.row], found.x)
    table = pl.DataFrame({"value": value}).with_columns(
        names[found.better_below].alias("model_a"),
        names[found.better_above].alias("model_b"),
        pl.lit(contest.metric.label).alias("metric"),
        pl.Series(contest.over, found.x),
        contest.fixed,
    )
    return repeated_keys(table, contest.points.keys)


def _of_areas(counts: pl.DataFrame, metric: Metric) -> Iterator[pl.DataFrame]:
    """Yield the columns of ``find_crossovers``, group by group."""
    if not metric.depends_on_prevalence:
        return
    models = counts.select("model", *COUNTS.keys(counts.columns)).unique()
    groups = models.group_by(pl.exclude("model")).len("__models") if models.width > 1 else None
    check_pairs(len(models) if groups is None else max(groups["__models"], default=0))
    for keys, areas in curves_of(counts, metric):
        found = areas.crossovers().with_columns(metric=pl.lit(metric.name), beta=pl.lit(None, pl.Float64))
        yield repeated_keys(found, keys)
