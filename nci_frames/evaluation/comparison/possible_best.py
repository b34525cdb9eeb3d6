"""Counts -> which models may be the best at a few prevalences, by each measure of a comparison."""

from collections.abc import Sequence
from typing import Literal

import polars as pl

from nci_frames.evaluation.comparison.certainty import Resampled
from nci_frames.evaluation.rates.operating_points import select_operating_points
from nci_frames.evaluation.rates.rates import compute_rates
from nci_frames.evaluation.significance.best import compare_best
from nci_frames.schemas import COUNTS

__all__ = ["LEAST_REPEATS", "possible_best"]

#: With fewer resampled logs than this a p-value near 0.05 is too uncertain.
LEAST_REPEATS = 200


def possible_best(
    logs: Resampled, best_points: pl.DataFrame, *, threshold: float, prevalence: Sequence[float], beta: float
) -> pl.DataFrame:
    """Compare all models with the best: at own best thresholds, at one threshold, and by PR-AUC.

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

    points = select_operating_points(compute_rates(logs.by_unit), threshold=threshold).drop_nulls("tp")
    cells = ["model", *COUNTS.keys(logs.by_unit.columns), "threshold", "tp", "fp", "fn", "tn"]
    tables = {
        "own": compared(logs.at(best_points), "f_beta", own="own"),
        "f_beta": compared(points.select(cells), "f_beta"),
        "pr_auc": compared(logs.steps, "pr_auc", over=logs.over),
    }
    named = [table.select(pl.lit(name).alias("measure"), pl.all()) for name, table in tables.items()]
    return pl.concat(named)
