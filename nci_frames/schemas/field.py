"""Frames of unlabelled traffic: score counts and prevalences."""

from nci_frames.schemas.columns import *
from nci_frames.schemas.frame import FINITE, FrameSchema

_NONE = "there is no estimate: see reason"

SCORE_COUNTS = FrameSchema(
    "score counts",
    "count_scores(predictions)",
    MODEL,
    number("threshold", "threshold as given, or a score of the log"),
    count("above", "rows with score >= threshold, or sum of their weights"),
    count("below", "rows with score < threshold, or sum of their weights"),
    brings_keys=True,
    strata=STRATUM,
)
PREVALENCES = FrameSchema(
    "prevalences",
    "estimate_prevalence(reference, traffic)",
    MODEL,
    share("prevalence", "share of positives in the traffic", _NONE),
    *bounds(share, "lower confidence limit of the prevalence", _NONE),
    number(
        "fit_statistic",
        "-2 log likelihood ratio of the best-fitting mixture to the observed scores",
        "fewer than 3 bins, or no estimate",
        minimum=0,
    ),
    share("fit_p_value", "p-value of the hypothesis that the scores are a mixture", "too few rows"),
    flag("supported", "whether an estimate exists"),
    text("reason", "why there is no estimate", "an estimate exists"),
)
FIELD = FrameSchema(
    "field",
    'polars.DataFrame({"country": [...], "prevalence": [...]})',
    share("prevalence", "P(y=1) of the segment"),
    number(
        "share", "amount of traffic in the segment, in any unit", minimum=0, maximum=FINITE, required=False
    ),
    derived=tuple(name for name in PREVALENCES.fixed if name not in ("model", "prevalence")),
)
