"""Counts -> which models may be the best at a few prevalences, by each measure of a comparison."""

from collections.abc import Sequence
from typing import Literal

import polars as pl

from nci_frames.counts.pooling import pool_counts
from nci_frames.evaluation.comparison.certainty import fewer_steps
from nci_frames.evaluation.comparison.units import at_thresholds
from nci_frames.evaluation.rates.operating_points import select_operating_points
from nci_frames.evaluation.rates.rates import compute_rates
from nci_frames.evaluation.significance.best import compare_best
from nci_frames.schemas import COUNTS

__all__ = ["possible_best"]

#: With fewer resampled logs than this a p-value near 0.05 is too uncertain.
_LEAST_REPEATS = 200


def possible_best(
    counts: pl.DataFrame,
    best_points: pl.DataFrame,
    *,
    threshold: float,
    prevalence: Sequence[float],
    beta: float,
    repeats: int,
    units: str | None,
) -> pl.DataFrame:
    """Compare all models with the best: at own best thresholds, at one threshold, and by PR-AUC.

    The columns are those of ``compare_best`` after ``measure``: "own", "f_beta" or "pr_auc". Own thresholds
    are the best of those of *best_points*, in each resampled log anew.
    """

    def compared(frame: pl.DataFrame, metric: str, own: Literal["own"] | None = None) -> pl.DataFrame:
        return compare_best(
            frame, metric=metric, prevalence=prevalence, beta=beta, threshold=own, units=units,
            repeats=max(repeats, _LEAST_REPEATS),
        )  # fmt: skip

    keys = COUNTS.keys(counts.columns)
    counts = pool_counts(counts, over=[key for key in keys if key != units])
    at_best = best_points.select("model", "threshold")
    own = (
        counts.join(at_best, on=["model", "threshold"], how="semi", nulls_equal=True)
        if units is None
        else at_thresholds(counts, at_best.filter(pl.col("model").is_in(counts["model"].unique())), units)
    )
    points = select_operating_points(compute_rates(counts), threshold=threshold).drop_nulls("tp")
    cells = ["model", *COUNTS.keys(counts.columns), "threshold", "tp", "fp", "fn", "tn"]
    tables = {
        "own": compared(own, "f_beta", "own"),
        "f_beta": compared(points.select(cells), "f_beta"),
        "pr_auc": compared(counts if units else fewer_steps(counts), "pr_auc"),
    }
    named = [table.select(pl.lit(name).alias("measure"), pl.all()) for name, table in tables.items()]
    return pl.concat(named)
