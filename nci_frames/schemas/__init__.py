"""Every frame that crosses a border: its columns, their types, units, ranges, and what null means.

A *key* is any column of a frame that its schema does not name: the fold, the country, the day. Keys keep
their values (a folder ``seg=01`` is the String ``"01"``) and null is a key value of its own.
"""

from nci_frames.schemas.contests import (
    AGNOSTIC,
    CROSSOVERS,
    DECISION_MAP,
    DECOMPOSITION,
    NEVER_BEST,
    PATHS,
    ROLL_UP,
    SENSITIVITY,
    SURFACE,
    WINNERS,
)
from nci_frames.schemas.frame import Column, FrameSchema, collect
from nci_frames.schemas.pipeline import AREAS, COUNTS, PREDICTIONS, PROJECTION, RANKING, RATES
from nci_frames.schemas.uncertainty import (
    AUC_COMPARISONS,
    AUC_INTERVALS,
    BAND,
    BEST_MODELS,
    BOOTSTRAP,
    CROSSOVER_INTERVALS,
    FOLD_COMPARISONS,
    FOLD_SUMMARIES,
    SAMPLES,
    SHIFTS,
    SUBSAMPLES,
    SUPPORT,
    UNCERTAINTY,
)

__all__ = [
    "AGNOSTIC",
    "AREAS",
    "AUC_COMPARISONS",
    "AUC_INTERVALS",
    "BAND",
    "BEST_MODELS",
    "BOOTSTRAP",
    "COUNTS",
    "CROSSOVERS",
    "CROSSOVER_INTERVALS",
    "DECISION_MAP",
    "DECOMPOSITION",
    "FOLD_COMPARISONS",
    "FOLD_SUMMARIES",
    "FRAMES",
    "NEVER_BEST",
    "PATHS",
    "PREDICTIONS",
    "PROJECTION",
    "RANKING",
    "RATES",
    "RESERVED",
    "ROLL_UP",
    "SAMPLES",
    "SENSITIVITY",
    "SHIFTS",
    "SUBSAMPLES",
    "SUPPORT",
    "SURFACE",
    "UNCERTAINTY",
    "WINNERS",
    "Column",
    "FrameSchema",
    "collect",
]

FRAMES = (
    PREDICTIONS,
    COUNTS,
    RATES,
    PROJECTION,
    AREAS,
    RANKING,
    CROSSOVERS,
    WINNERS,
    DECISION_MAP,
    NEVER_BEST,
    SURFACE,
    SENSITIVITY,
    AGNOSTIC,
    PATHS,
    DECOMPOSITION,
    ROLL_UP,
    BAND,
    UNCERTAINTY,
    SUPPORT,
    SAMPLES,
    BOOTSTRAP,
    AUC_INTERVALS,
    AUC_COMPARISONS,
    FOLD_SUMMARIES,
    FOLD_COMPARISONS,
    BEST_MODELS,
    CROSSOVER_INTERVALS,
    SUBSAMPLES,
    SHIFTS,
)

RESERVED = frozenset(name for frame in FRAMES for name in frame.fixed)
"""Names that a key cannot have, because some frame uses them."""
