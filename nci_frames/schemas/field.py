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
)
PREVALENCES = FrameSchema(
    "prevalences",
    "estimate_prevalence(reference, traffic)",
    MODEL,
    share("prevalence", "the share of positives in the traffic", _NONE),
    share("lower", "the prevalence is at least this, at the confidence asked for", _NONE),
    share("upper", "the prevalence is at most this, at the confidence asked for", _NONE),
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
_UNSUPPORTED = share("unsupported", "mass of the prevalences at which the log cannot tell the value")
_SUPPORTED = flag("supported", "whether that is 0.05 or less")
EXPECTATIONS = FrameSchema(
    "expectations",
    "expected_values(rates, metric=..., prevalence=...)",
    MODEL,
    POINT,
    METRIC,
    share("prevalence", "mean of the distribution"),
    BETA,
    number("value", "expected value of the metric", "undefined at some prevalence"),
    _UNSUPPORTED,
    _SUPPORTED,
    REASON,
)
CHOICES = FrameSchema(
    "choices",
    "choose_under_uncertainty(rates, metric=..., prevalence=...)",
    MODEL,
    number("threshold", "the threshold of the model that is best on average", "no value is defined"),
    METRIC,
    share("prevalence", "mean of the distribution"),
    BETA,
    number("value", "expected value of the metric there", "no value is defined"),
    whole("rank", "1 is the model with the best expected value", "no value is defined", minimum=1),
    share("probability_best", "mass of the prevalences at which the model is best, at any threshold"),
    number(
        "expected_regret",
        "how much better on average the best model and threshold at each prevalence are",
        "no value is defined",
        minimum=0,
    ),
    share("start", "where the range of the largest regret begins"),
    share("end", "where it ends"),
    number("max_regret", "the largest distance to the best within that range", "as for value", minimum=0),
    _UNSUPPORTED,
    _SUPPORTED,
    REASON,
)
REGRETS = FrameSchema(
    "regrets",
    "minimax_regret(rates, metric=..., start=..., end=...)",
    MODEL,
    number("threshold", "the threshold with the smallest of the largest regrets", "no value is defined"),
    METRIC,
    BETA,
    share("start", "where the range begins"),
    share("end", "where it ends"),
    number("max_regret", "the largest distance to the best within the range", "as above", minimum=0),
    share("prevalence", "where that distance is", "no value is defined"),
    whole("rank", "1 is the model with the smallest of them", "no value is defined", minimum=1),
    flag("supported", "whether the log can tell the values from start on"),
    REASON,
)
