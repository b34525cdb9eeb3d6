"""Frames on winners, ranked segments, and the behaviour of metrics."""

from nci_frames.schemas.columns import *
from nci_frames.schemas.frame import FINITE, FrameSchema

#: The two models of a crossover.
CROSSING = (
    text("model_a", "model that is better below the crossover", "unnamed model"),
    text("model_b", "model that is better above the crossover", "unnamed model"),
)

CROSSOVERS = FrameSchema(
    "crossovers", "find_crossovers(rates, metric=..., over=...)", METRIC, *CROSSING, PREVALENCE, BETA, VALUE
)
_BEST_POINT = (MODEL, TIED, POINT, *SAID)
_LAMBDAS = (
    number("lambda_start", "start of the range of lambda = (1-eta)/(eta·beta²)", minimum=0),
    number("lambda_end", "end of the range; infinity in the last range", minimum=0),
)
WINNERS = FrameSchema(
    "winners",
    "winner_ranges(rates, metric=..., over=...)",
    METRIC,
    text("over", '"prevalence" or "beta": the quantity of start and end'),
    number("start", "start of the range", minimum=0),
    number("end", "end of the range", minimum=0),
    *_BEST_POINT,
    derived=("lower", "upper"),
)
DECISION_MAP = FrameSchema("decision map", "decision_map(rates)", *_LAMBDAS, *_BEST_POINT)
CERTIFIED_MAP = FrameSchema(
    "certified map",
    "certify_decision_map(counts)",
    *_LAMBDAS,
    text("verdict", '"certified": one model is best; "several": each of several may be best; "unknown"'),
    text("model", "model that may be the best", "unknown, or unnamed model"),
    text("reason", "why the best model is unknown", "the verdict is not unknown"),
)
MEAN_RANKS = FrameSchema(
    "mean ranks",
    "compare_data_sets(ranking, over=...)",
    MODEL,
    number("mean_rank", "mean of the ranks over the data sets; 1 is best", minimum=1),
    whole("data_sets", "number of data sets"),
    number("statistic", "Friedman's chi-squared, corrected for ties", "all values are equal", minimum=0),
    share("p_value", "p-value of the hypothesis that all models are equal", "all values are equal"),
    number("critical_difference", "least significant difference of two mean ranks, at the level", minimum=0),
    flag("distinguishable", "whether mean_rank exceeds the best one by critical_difference or more"),
)
SURFACE = FrameSchema(
    "metric surface",
    "metric_surface(metric)",
    share("tpr", "true-positive rate"),
    share("tnr", "true-negative rate"),
    VALUE,
    text("metric", "name of the metric, if several are concatenated", required=False),
    number("ratio", "negatives per positive, if several are concatenated", minimum=0, required=False),
)
SENSITIVITY = FrameSchema(
    "sensitivity",
    "imbalance_sensitivity(metrics, ratios=...)",
    METRIC,
    number("ratio", "negatives per positive, > 0", minimum=0, maximum=FINITE),
    number("sensitivity", "volume between the surfaces at 1:1 and at this ratio", "infinite", minimum=0),
)
DECOMPOSITION = FrameSchema(
    "decomposition",
    "decompose_difference(rates, metric=..., over=...)",
    MODEL,
    POINT,
    METRIC,
    BETA,
    text("reference", "key value of the reference segment", "that value is null"),
    share("prevalence", "prevalence of the segment, as the argument says", "the group has no rows"),
    share("reference_prevalence", "prevalence of the reference", "the reference lacks the point"),
    number("value", "metric in the segment, at its prevalence", "undefined: 0/0"),
    number("reference_value", "metric in the reference, at its prevalence", "undefined: 0/0"),
    number("difference", "value - reference_value", "either is undefined"),
    number("due_to_prevalence", "part of the difference due to the prevalence", "see reason"),
    number("due_to_rates", "part of the difference due to TPR and FPR", "see reason"),
    text("reason", "why there is no decomposition", "a decomposition exists"),
)
ROLL_UP = FrameSchema(
    "roll-up",
    "roll_up(rates, over=..., metrics=...)",
    MODEL,
    number("threshold", "as in the rates", "it differs between the segments"),
    METRIC,
    text("average", '"macro", "micro" or "weighted" (by positives)'),
    share("prevalence", "P(y=1) of the value", "each segment has its own"),
    BETA,
    VALUE,
    whole("segments", "number of segments in the average"),
    whole("skipped", "number of segments where the metric is undefined"),
    *SAID,
)
#: When a number of a segment is unknown.
TOO_FEW = "undefined, or too few positives"
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
    number("value", "metric at *prevalence*, the same for all segments", TOO_FEW),
    *bounds(number, "lower bound of the value", TOO_FEW),
    whole("rank", "rank among all models in the segment; 1 is best", TOO_FEW, minimum=1),
    number("gap", "distance to the best value in the segment, >= 0", TOO_FEW, minimum=0),
    share("observed_prevalence", "positives / all rows of the segment", "the segment has no rows"),
    number("own_value", "metric at the observed prevalence", TOO_FEW),
    *bounds(number, "lower bound of own_value", TOO_FEW, name="own_lower"),
    number("rest_value", "metric in the rest, at the observed prevalence of the rest", TOO_FEW),
    number("difference", "own_value - rest_value", TOO_FEW),
    *(
        number(f"due_to_{cause}{side}", f"{of}part of the difference due to {told}", TOO_FEW)
        for cause, told in (("prevalence", "the prevalence"), ("rates", "TPR and FPR"))
        for side, of in (("", ""), ("_lower", "lower bound of the "), ("_upper", "upper bound of the "))
    ),
    share("p_value", "p-value of the hypothesis due_to_rates = 0, for this segment alone", TOO_FEW),
    share("adjusted", "p_value adjusted by Benjamini and Hochberg's method over all segments", TOO_FEW),
    flag("distinguishable", "whether due_to_rates differs from 0: adjusted is below 1 - level", TOO_FEW),
    text("class", 'class whose scores differ more from the rest: "positive" or "negative"', _UNTESTED),
    share("effect", "largest distance of the TPR or FPR of that class from the rest", _UNTESTED),
    share("shift_p_value", "p-value: scores of both classes are distributed as in the rest", _UNTESTED),
    share("shift_adjusted", "shift_p_value adjusted by Benjamini and Hochberg's method", _UNTESTED),
    flag("shifted", "whether the scores differ from the rest: shift_adjusted is below 1 - level", _UNTESTED),
    *TOLD,
)
