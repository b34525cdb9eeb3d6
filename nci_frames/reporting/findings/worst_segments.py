"""Segments in their order -> those that a page shows, and a sentence on all of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from nci_frames.evaluation.comparison.tables import Comparison

__all__ = ["WorstSegments", "worst_segments"]

#: More segments are not read; the table of the comparison has all.
_SHOWN = 12


@dataclass(frozen=True, slots=True)
class WorstSegments:
    """What a page says of the segments in which the best model is worse than in the rest."""

    model: str | None
    #: The first rows of ``rank_segments``, those with numbers.
    rows: tuple[Mapping[str, Any], ...]
    #: How many segments there are.
    total: int
    sentence: str


def worst_segments(comparison: Comparison, /) -> WorstSegments | None:
    """Return what a page shows; None where segments were not ranked."""
    ranks = comparison.segment_ranks
    if ranks is None or ranks.is_empty():
        return None
    judged = ranks.filter(pl.col("value").is_not_null())
    worse = judged.filter("distinguishable", pl.col("due_to_rates") < 0)
    shifted = ranks.filter("shifted")
    unjudged = len(ranks) - len(judged)
    parts = [
        f"In {len(worse):,} of {len(judged):,} segments it is significantly worse than in the rest",
        f"in {len(shifted):,} the scores differ from the rest",
    ]
    if unjudged:
        parts.append(f"{unjudged:,} more have too few rows to be judged")
    sentence = "; ".join(parts) + "."
    return WorstSegments(ranks["model"][0], tuple(judged.head(_SHOWN).to_dicts()), len(ranks), sentence)
