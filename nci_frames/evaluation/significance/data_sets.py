"""Ranks on several data sets -> whether models differ: Friedman's test and Nemenyi's critical difference."""

import math

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Frame
from nci_frames.schemas import MEAN_RANKS, RANKING, checked, collect


@checked
def compare_data_sets(ranking: Frame, /, *, over: str, level: float = 0.95) -> pl.DataFrame:
    """Test on several data sets whether models differ, by their ranks on each.

    Data sets are not pooled: each counts the same, whatever its size or its level of values.

    Parameters
    ----------
    ranking
        The result of ``rank_models``, with one value per model and data set: filter it to one metric,
        prevalence and beta.
    over
        Key of the data sets, with at least two values.
    level
        Confidence, in (0, 1). Two models differ if their mean ranks differ by at least the critical
        difference.

    Returns
    -------
    A row per model, the best mean rank first:

    %(columns of mean ranks)s

    ``statistic``, ``p_value``, ``critical_difference`` and ``data_sets`` are the same in all rows.

    Raises
    ------
    ParameterError
        If the level is outside (0, 1), there are fewer than two data sets or models, or a model has no rank
        or several ranks on a data set.
    SchemaError
        If *ranking* is not a ranking frame, or lacks the key *over*.

    Notes
    -----
    Equal values share the mean of their ranks. With mean ranks R of k models on N data sets, the statistic is
    Friedman's chi-squared, 12N/(k(k+1))·sum(R - (k+1)/2)², divided by 1 - sum(t³ - t)/(N·k(k²-1)) for ties of
    t values, with k - 1 degrees of freedom. Nemenyi's critical difference is q·sqrt(k(k+1)/(6N)), where q is
    the quantile of the studentized range of k normal values over sqrt(2).

    References
    ----------
    Friedman (1937), doi:10.1080/01621459.1937.10503522; Demsar (2006), Statistical comparisons of classifiers
    over multiple data sets, https://www.jmlr.org/papers/v7/demsar06a.html.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"] * 3, "data": ["x", "x", "y", "y", "z", "z"], "threshold": 0.5,
    ...     "tp": [8, 7, 5, 4, 9, 3], "fp": [10] * 6, "fn": [2, 3, 5, 6, 1, 7], "tn": [90] * 6,
    ... })
    >>> recall = nf.project_rates(nf.compute_rates(counts), metrics="recall", prevalence=0.1)
    >>> found = nf.compare_data_sets(nf.rank_models(recall), over="data")
    >>> found.select("model", "mean_rank", pl.col("p_value", "critical_difference").round(4)).rows()
    [('a', 1.0, 0.0833, 1.1316), ('b', 2.0, 0.0833, 1.1316)]
    """
    from scipy.stats import studentized_range  # noqa: PLC0415  (SciPy is slow to import)

    frame = collect(ranking, RANKING)
    RANKING.need_keys(frame, [over], "over")
    ranks = _mean_of_ties(frame, over)
    sets, models = ranks[over].n_unique(), ranks["model"].n_unique()
    if sets < 2 or models < 2:
        msg = "models are compared on at least two data sets, and they are at least two"
        raise ParameterError(msg, found=f"{models} of models, {sets} of {over!r}")
    means = ranks.group_by("model").agg(mean_rank=pl.col("__rank").mean()).sort("mean_rank", "model")
    statistic, p_value = _friedman(ranks, means["mean_rank"].to_numpy(), sets)
    # Nemenyi's q is this quantile over sqrt(2).
    distance = studentized_range.ppf(level, models, np.inf) * math.sqrt(models * (models + 1) / (12 * sets))
    away = pl.col("mean_rank") - pl.col("mean_rank").min()
    table = means.with_columns(
        data_sets=pl.lit(sets, pl.Int64),
        statistic=pl.lit(statistic, pl.Float64),
        p_value=pl.lit(p_value, pl.Float64),
        critical_difference=pl.lit(distance, pl.Float64),
        distinguishable=away >= distance,
    )
    return MEAN_RANKS.finish(table)


def _mean_of_ties(frame: pl.DataFrame, over: str) -> pl.DataFrame:
    """Return the rank of each model on each data set; tied models share the mean of their ranks."""
    hint = "filter the ranking to one metric, prevalence and beta, and to models that all data sets have"
    places = frame.select(over, "model")
    grid = places[over].n_unique() * places["model"].n_unique()
    if len(frame) != grid or places.is_duplicated().any():
        msg = "each model needs one value on each data set"
        raise ParameterError(msg, found=f"{len(frame):,} values for {grid:,} places", hint=hint)
    if frame["rank"].null_count():
        unknown = frame.filter(pl.col("rank").is_null())
        where = f"model {unknown['model'][0]!r}, {over} {unknown[over][0]!r}"
        raise ParameterError("a model has no rank on a data set", where=where, hint=hint)
    # Ranked again, since the ranking may have had more models.
    rank = pl.col("rank").rank("average").over(over)
    return frame.select(over, "model", __rank=rank, __tied=pl.len().over(over, "rank"))


def _friedman(ranks: pl.DataFrame, means: np.ndarray, sets: int) -> tuple[float | None, float | None]:
    """Return the statistic and its p-value; None if all values of each data set are equal."""
    from scipy.special import chdtrc  # noqa: PLC0415  (as above)

    models = len(means)
    # Each of t equal values adds t² - 1; together they add t³ - t.
    ties = int((ranks["__tied"].cast(pl.Int64).pow(2) - 1).sum())
    left = 1 - ties / (sets * models * (models**2 - 1))
    if left <= 0:
        return None, None
    spread = float(((means - (models + 1) / 2) ** 2).sum())
    statistic = 12 * sets / (models * (models + 1)) * spread / left
    return statistic, float(chdtrc(models - 1, statistic))
