"""The frames of traffic in the field: its scores without labels, and its prevalence."""

import polars as pl

from nci_frames.schemas.columns import COUNT, MODEL, number, share
from nci_frames.schemas.frame import FINITE, Column, FrameSchema

__all__ = ["FIELD", "PREVALENCES", "SCORE_COUNTS"]

_NONE = "there is no estimate: reason says why"

SCORE_COUNTS = FrameSchema(
    "score counts",
    "count_scores(predictions)",
    (
        MODEL,
        number("threshold", "as given, or the score"),
        Column(
            "above",
            COUNT,
            "rows with a score >= threshold, or the sum of their weights",
            minimum=0,
            maximum=FINITE,
        ),
        Column("below", COUNT, "the other rows, or the sum of their weights", minimum=0, maximum=FINITE),
    ),
)
PREVALENCES = FrameSchema(
    "prevalences",
    "estimate_prevalence(reference, traffic)",
    (
        MODEL,
        share("prevalence", "the share of positives in the traffic", _NONE),
        share("lower", "the prevalence is at least this, at the confidence asked for", _NONE),
        share("upper", "the prevalence is at most this, at the confidence asked for", _NONE),
        number(
            "fit_statistic",
            "squared distance of the scores from the nearest mixture",
            "too few rows",
            minimum=0,
        ),
        share("fit_p_value", "probability of such a distance if the scores are a mixture", "too few rows"),
        Column("supported", (pl.Boolean,), "whether there is an estimate"),
        Column("reason", (pl.String,), "why there is no estimate", "there is one"),
    ),
)
FIELD = FrameSchema(
    "field",
    'polars.DataFrame({"country": [...], "prevalence": [...]})',
    (
        share("prevalence", "P(y=1) of the segment"),
        number(
            "share",
            "rows of the segment among all traffic, in any unit",
            minimum=0,
            maximum=FINITE,
            required=False,
        ),
    ),
    tuple(name for name in PREVALENCES.fixed if name not in ("model", "prevalence")),
)
