"""The frames of traffic in the field: its scores without labels, and its prevalence."""

from nci_frames.schemas.columns import *
from nci_frames.schemas.frame import FINITE, FrameSchema

_NONE = "there is no estimate: reason says why"

SCORE_COUNTS = FrameSchema(
    "score counts",
    "count_scores(predictions)",
    MODEL,
    number("threshold", "as given, or the score"),
    count("above", "rows with a score >= threshold, or the sum of their weights"),
    count("below", "the other rows, or the sum of their weights"),
    brings_keys=True,
    strata=STRATUM,
)
PREVALENCES = FrameSchema(
    "prevalences",
    "estimate_prevalence(reference, traffic)",
    MODEL,
    share("prevalence", "the share of positives in the traffic", _NONE),
    *bounds(share, "the prevalence is at least this, at the confidence asked for", _NONE),
    number(
        "fit_statistic",
        "likelihood ratio of the scores against the mixture that explains them best, -2 log",
        "fewer than 3 bins, or no estimate",
        minimum=0,
    ),
    share("fit_p_value", "probability of such a distance if the scores are a mixture", "too few rows"),
    flag("supported", "whether there is an estimate"),
    text("reason", "why there is no estimate", "there is one"),
)
FIELD = FrameSchema(
    "field",
    'polars.DataFrame({"country": [...], "prevalence": [...]})',
    share("prevalence", "P(y=1) of the segment"),
    number(
        "share",
        "rows of the segment among all traffic, in any unit",
        minimum=0,
        maximum=FINITE,
        required=False,
    ),
    derived=tuple(name for name in PREVALENCES.fixed if name not in ("model", "prevalence")),
)
