"""The frames on scores as probabilities."""

from dataclasses import replace

from nci_frames.schemas.columns import *
from nci_frames.schemas.frame import FrameSchema

_LACKS = "the group lacks a class"
_AT = replace(PREVALENCE, null="each group has its own, and this one has no rows")

PROPER_SCORES = FrameSchema(
    "proper scores",
    "proper_scores(counts, prevalence=...)",
    MODEL,
    text("metric", '"brier" or "log_loss"'),
    _AT,
    number("value", "mean loss, >= 0; infinite where a row is certain and wrong", _LACKS, minimum=0),
    number("lower", "the value is at least this, whatever rows lie between thresholds", _LACKS, minimum=0),
    number("upper", "the value is at most this, whatever rows lie between thresholds", _LACKS, minimum=0),
    number(
        "skill",
        "1 - value / the loss where every score is the prevalence, <= 1",
        f"that is 0, or {_LACKS}",
        maximum=1,
    ),
    *TOLD,
)
SCORE_PARTS = FrameSchema(
    "score parts",
    "decompose_scores(counts, prevalence=...)",
    MODEL,
    text("metric", '"brier" or "log_loss"'),
    _AT,
    number("value", "miscalibration - discrimination + uncertainty", _LACKS, minimum=0),
    number("miscalibration", "what a calibration map would save, >= 0", _LACKS, minimum=0),
    number(
        "discrimination", "what calibrated scores save against the constant prevalence", _LACKS, minimum=0
    ),
    number("uncertainty", "the loss where every score is the prevalence", _LACKS, minimum=0),
)
