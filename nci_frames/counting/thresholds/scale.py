"""Whether thresholds lie where the scores are: a grid of probabilities tells no logits apart, and vice versa.

Counts at the thresholds alone cannot say so: a score below all of them may be a small probability. So the
rows are counted at both ends of [0, 1], too, which costs no further pass.
"""

import numpy as np
import polars as pl

from nci_frames.base.errors import OutsideGridWarning
from nci_frames.base.typing import Floats
from nci_frames.counts.score_scale import (
    HIGHEST,
    LOWEST,
    named_models,
    no_probabilities,
    share_off_scale,
)
from nci_frames.schemas import COUNTS

#: At least this many thresholds are taken for a grid that is meant to span the scores: of probabilities, and
#: of scores of any other scale, where a few thresholds may be meant for a few places.
_MANY_THRESHOLDS, _MANY_ELSEWHERE = 5, 15

_ADVICE = "thresholds='auto' (on the command line, in a ledger or a job: 'exact') fits any scores"


def marks(grid: Floats) -> Floats | None:
    """Return more thresholds to count at, so that ``off_scale`` can judge those of *grid*."""
    return np.array([LOWEST, HIGHEST]) if len(grid) >= _MANY_THRESHOLDS else None


def off_scale(counts: pl.DataFrame | None, grid: Floats | None, where: str) -> OutsideGridWarning | None:
    """Return a warning if the scores have another scale than the thresholds.

    Parameters
    ----------
    counts
        Counts at the thresholds of ``marks(grid)``; None where there are none.
    grid
        The thresholds that were asked for.
    where
        For the message: what the user called the log.
    """
    if counts is None or grid is None:
        return None
    shares = share_off_scale(counts, COUNTS.keys(counts.columns))
    finite = grid[np.isfinite(grid)]
    inside = int(((finite > LOWEST) & (finite < HIGHEST)).sum())
    if inside == len(finite):
        told = no_probabilities(shares, f" in {where}")
        told = told and f"{told}: thresholds from 0 to 1 cannot distinguish them; {_ADVICE}"
        return OutsideGridWarning(told) if told else None
    within = shares.filter(rows=0.0)
    if within.is_empty() or 2 * inside > len(finite) or len(finite) < _MANY_ELSEWHERE:
        return None
    return OutsideGridWarning(
        f"all scores of {named_models(within)} in {where} lie from 0 to 1, but only {inside:,} of "
        f"{len(finite):,} thresholds do; {_ADVICE}"
    )
