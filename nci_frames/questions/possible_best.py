"""Counts -> which models may be the best at a few prevalences, by each measure of a comparison."""

from collections.abc import Sequence
from typing import Literal

import polars as pl

from nci_frames.evaluation.significance.best import compare_best
from nci_frames.questions.certainty import Resampled

#: With fewer resampled logs than this a p-value near 0.05 is too uncertain.
LEAST_REPEATS = 200


def possible_best(
    logs: Resampled,
    points: pl.DataFrame,
    best_points: pl.DataFrame,
    *,
    prevalence: Sequence[float],
    beta: float,
) -> pl.DataFrame:
    """Compare all models with the best: at own best thresholds, at one of *points*, and by PR-AUC.

    The columns are those of ``compare_best`` after ``measure``: "own", "f_beta" or "pr_auc". Own thresholds
    are the best of those of *best_points*, in each resampled log anew.
    """

    def compared(
        frame: pl.DataFrame, metric: str, *, own: Literal["own"] | None = None, over: str | None = None
    ) -> pl.DataFrame:
        return compare_best(
            frame, metric=metric, prevalence=prevalence, beta=beta, threshold=own, units=logs.units,
            over=over, repeats=max(logs.repeats, LEAST_REPEATS),
        )  # fmt: skip

    tables = {
        "own": compared(logs.at(best_points), "f_beta", own="own"),
        "f_beta": compared(logs.at(points), "f_beta"),
        "pr_auc": compared(logs.steps, "pr_auc", over=logs.over),
    }
    named = [table.select(pl.lit(name).alias("measure"), pl.all()) for name, table in tables.items()]
    return pl.concat(named)
