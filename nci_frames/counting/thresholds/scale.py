"""Whether thresholds lie where the scores are: a grid of probabilities tells no logits apart, and vice versa.

Counts at the thresholds alone cannot say so: a score below all of them may be a small probability. So the
rows are counted at both ends of [0, 1], too, which costs no further pass.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.counts.score_scale import (
    HIGHEST,
    LOWEST,
    named_models,
    no_probabilities,
    share_off_scale,
)
from nci_frames.errors import OutsideGridWarning
from nci_frames.schemas import COUNTS

__all__ = ["off_scale", "with_marks"]

#: At least this many thresholds are taken for a grid that is meant to span the scores: of probabilities, and
#: of scores of any other scale, where a few thresholds may be meant for a few places.
_MANY_THRESHOLDS, _MANY_ELSEWHERE = 5, 15

_ADVICE = "thresholds='auto' (in a ledger or a job: 'exact') fits any scores"


def with_marks(grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the thresholds to count at, so that ``off_scale`` can judge the thresholds of *grid*."""
    return np.union1d(grid, [LOWEST, HIGHEST]) if len(grid) >= _MANY_THRESHOLDS else grid


def off_scale(
    counts: pl.DataFrame, grid: NDArray[np.float64], where: str
) -> tuple[pl.DataFrame, OutsideGridWarning | None]:
    """Return the counts at the thresholds of *grid*, and a warning if the scores have another scale.

    Parameters
    ----------
    counts
        Counts at the thresholds of ``with_marks(grid)``; they are used up.
    grid
        The thresholds that were asked for.
    where
        For the message: what the user called the log.
    """
    marked = with_marks(grid)
    if len(grid) < _MANY_THRESHOLDS:
        return counts, None
    # The marks say it of every group; to group all rows would take as long as to lay out the table.
    marks = counts.filter(pl.col("threshold").is_in([LOWEST, HIGHEST]))
    shares = share_off_scale(marks, COUNTS.keys(counts.columns))
    if len(marked) > len(grid):
        kept = pl.Series(np.tile(np.isin(marked, grid), len(counts) // len(marked)))
        # A column at a time, since the table may be most of the memory.
        counts = pl.DataFrame([counts.drop_in_place(column).filter(kept) for column in counts.columns])
    return counts, _warning(shares, grid[np.isfinite(grid)], where)


def _warning(shares: pl.DataFrame, grid: NDArray[np.float64], where: str) -> OutsideGridWarning | None:
    inside = int(((grid > LOWEST) & (grid < HIGHEST)).sum())
    if inside == len(grid):
        return _no_probabilities(shares, where)
    within = shares.filter(rows=0.0)
    if within.is_empty() or 2 * inside > len(grid) or len(grid) < _MANY_ELSEWHERE:
        return None
    return OutsideGridWarning(
        f"all scores of {named_models(within)} in {where} lie from 0 to 1, but only {inside:,} of "
        f"{len(grid):,} thresholds do; {_ADVICE}"
    )


def _no_probabilities(shares: pl.DataFrame, where: str) -> OutsideGridWarning | None:
    told = no_probabilities(shares, f" in {where}")
    if told is None:
        return None
    return OutsideGridWarning(f"{told}: thresholds from 0 to 1 cannot distinguish them; {_ADVICE}")
