"""Counts -> which models may be the best at a few prevalences, by each measure of a comparison."""

from collections.abc import Sequence
from typing import Literal

import polars as pl

from nci_frames.evaluation.areas.pr import PR_AUC
from nci_frames.evaluation.significance.best import best_among, compare_best
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

    def compared(frame: pl.DataFrame, own: Literal["own"] | None = None) -> pl.DataFrame:
        return compare_best(
            frame, metric="f_beta", prevalence=prevalence, beta=beta, threshold=own, units=logs.units,
            repeats=max(logs.repeats, LEAST_REPEATS),
        )  # fmt: skip

    tables = {
        "own": compared(logs.at(best_points), "own"),
        "f_beta": compared(logs.at(points)),
        "pr_auc": best_among(logs.areas(prevalence, least=LEAST_REPEATS), PR_AUC),
    }
    named = [table.select(pl.lit(name).alias("measure"), pl.all()) for name, table in tables.items()]
    return pl.concat(named)
