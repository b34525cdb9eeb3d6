"""Counts -> how certain a ranking is, for the models that could be first."""

from collections.abc import Sequence

import polars as pl

from nci_frames.evaluation.resampling.probability_best import probability_best

__all__ = ["MOST_RESAMPLED", "contenders", "fewer_steps", "own_threshold_certainty", "ranking_certainty"]

#: Only this many models, the nearest to the top, are resampled; others count as the best in no log.
MOST_RESAMPLED = 20

#: So many positives of the highest scores have a step of recall each in the areas of resampled logs; later
#: steps grow by one part in so many.
_SINGLE = 192

#: So many thresholds of a model are all kept.
_FEW = 1024

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

    The columns are those of ``probability_best``; the area is that of fewer steps of recall, so that a log
    counted at each of its scores takes little longer than one counted at a thousand.
    """
    steps = fewer_steps(counts)
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


def fewer_steps(counts: pl.DataFrame) -> pl.DataFrame:
    """Leave out thresholds that change the area least.

    Of the first positives each has a step of its own, since at a low prevalence they have most of the area;
    after them a step is a fixed share of the positives before it. The first threshold of a step is kept: the
    negatives after it come after its positives too. The last one of the model is kept for its recall.
    """
    if counts.height <= _FEW * counts["model"].n_unique():
        return counts
    beyond = (pl.col("tp").clip(_SINGLE) / _SINGLE).log()
    step = pl.min_horizontal("tp", _SINGLE) + (_SINGLE * beyond).floor()
    first = step.ne(step.shift()).fill_null(value=True).over("model")
    last = (pl.col("threshold") == pl.col("threshold").min()).over("model")
    falling = counts.select(_CELLS).sort("model", "threshold", descending=[False, True])
    return falling.filter(first | last)
