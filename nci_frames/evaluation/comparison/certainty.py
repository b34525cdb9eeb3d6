"""Counts -> how certain a ranking is, for the models that could be first."""

from collections.abc import Sequence

import polars as pl

from nci_frames.evaluation.resampling.probability_best import probability_best

__all__ = ["MOST_RESAMPLED", "contenders", "own_threshold_certainty", "ranking_certainty"]

#: Only this many models, the nearest to the top, are resampled; others count as the best in no log.
MOST_RESAMPLED = 20

#: Maximum number of steps of recall for the areas of resampled logs.
_STEPS = 512

_CELLS = ("model", "threshold", "tp", "fp", "fn", "tn")


def contenders(*rankings: pl.DataFrame) -> list[str]:
    """Return the models that have a rank, by their best one anywhere, then by their mean; all if none has."""
    table = pl.concat(ranking.select("model", "rank") for ranking in rankings)
    nearest = table.group_by("model").agg(pl.col("rank").min(), mean=pl.col("rank").mean())
    ranked = nearest.drop_nulls()
    return (ranked if ranked.height else nearest).sort("rank", "mean", "model")["model"].to_list()


def ranking_certainty(
    counts: pl.DataFrame,
    points: pl.DataFrame,
    *,
    prevalence: Sequence[float],
    beta: float,
    repeats: int,
) -> pl.DataFrame:
    """Return the probability of being best by PR-AUC, and by F-beta at given operating points.

    The columns are those of ``probability_best``; the area is that of at most 512 steps of recall, so that
    a log counted at each of its scores takes no longer than one counted at a thousand.
    """
    steps = _fewer_steps(counts)
    by_area = probability_best(steps, metric="pr_auc", prevalence=prevalence, repeats=repeats)
    return pl.concat([by_area, _of_points(points, prevalence, beta, repeats)])


def own_threshold_certainty(best: pl.DataFrame, points: pl.DataFrame, *, repeats: int) -> pl.DataFrame:
    """Return the probability of being best by F-beta, each model at the threshold that *best* has for it.

    The thresholds are those of the log itself; they are not optimised again in each resampled log.
    """
    tables = []
    for (eta, beta), chosen in best.group_by("prevalence", "beta", maintain_order=True):
        at = points.join(chosen.select("model", "threshold"), on=["model", "threshold"], how="semi")
        tables.append(_of_points(at, [eta], beta, repeats))
    return pl.concat(tables)


def _of_points(points: pl.DataFrame, prevalence: Sequence[float], beta: float, repeats: int) -> pl.DataFrame:
    # A threshold that was not counted has no rows to resample.
    cells = points.select(_CELLS).drop_nulls("tp")
    return probability_best(cells, metric="f_beta", prevalence=prevalence, beta=beta, repeats=repeats)


def _fewer_steps(counts: pl.DataFrame) -> pl.DataFrame:
    """Remove thresholds between which recall rises by less than a step."""
    if counts.height <= 2 * _STEPS * counts["model"].n_unique():
        return counts
    step = pl.col("tp") * _STEPS // (pl.col("tp") + pl.col("fn")).clip(1)
    last = step.ne(step.shift(-1)).fill_null(value=True).over("model")
    falling = counts.select(_CELLS).sort("model", "threshold", descending=[False, True])
    return falling.filter(last)
