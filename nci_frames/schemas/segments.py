"""The frame of segments in their order: where a model is worse than elsewhere, and why."""

from nci_frames.schemas.columns import *
from nci_frames.schemas.frame import FrameSchema

_NONE = "undefined, or too few positives"
_UNTESTED = "too few rows"

SEGMENT_RANKS = FrameSchema(
    "segment ranks",
    "rank_segments(counts, segments=..., threshold=...)",
    MODEL,
    THRESHOLD,
    METRIC,
    whole("positives", "positives of the segment"),
    whole("negatives", "negatives of the segment"),
    PREVALENCE,
    BETA,
    number("value", "the metric at the prevalence, which all segments share", _NONE),
    number("lower", "lower bound of the value", _NONE),
    number("upper", "upper bound of the value", _NONE),
    whole("rank", "of the model among all models of the segment, 1 is best", _NONE, minimum=1),
    number("gap", "distance of the value to the best of them, >= 0", _NONE, minimum=0),
    share("observed_prevalence", "positives / all rows of the segment", "it has no rows"),
    number("own_value", "the metric at the observed prevalence", _NONE),
    number("own_lower", "lower bound of own_value", _NONE),
    number("own_upper", "upper bound of own_value", _NONE),
    number("rest_value", "the metric in the rest, at the observed prevalence of the rest", _NONE),
    number("difference", "own_value - rest_value", _NONE),
    *(
        number(f"due_to_{cause}{side}", f"{of}part of the difference due to {told}", _NONE)
        for cause, told in (("prevalence", "the class balance"), ("rates", "TPR and FPR"))
        for side, of in (("", ""), ("_lower", "lower bound of the "), ("_upper", "upper bound of the "))
    ),
    share("p_value", "of due_to_rates being 0, this segment alone", _NONE),
    share("adjusted", "Benjamini and Hochberg's, over all segments", _NONE),
    flag("distinguishable", "whether due_to_rates differs from 0: adjusted is below 1 - level", _NONE),
    text("class", 'the class whose scores differ more from the rest: "positive" or "negative"', _UNTESTED),
    share("effect", "maximum distance of its TPR or FPR from that of the rest", _UNTESTED),
    share("shift_p_value", "of the scores of both classes being distributed as in the rest", _UNTESTED),
    share("shift_adjusted", "Benjamini and Hochberg's, over all segments", _UNTESTED),
    flag("shifted", "whether the scores differ from the rest: shift_adjusted is below 1 - level", _UNTESTED),
    *TOLD,
)
