"""The frames on scores as probabilities."""

from dataclasses import replace

from nci_frames.schemas.columns import *
from nci_frames.schemas.frame import FrameSchema

_LACKS = "the group lacks a class"
_WHATEVER = "at least this, whatever rows lie between thresholds"
_AT = replace(PREVALENCE, null="each group has its own, and this one has no rows")

_OF_LOSS = (MODEL, text("metric", '"brier" or "log_loss"'), _AT)
PROPER_SCORES = FrameSchema(
    "proper scores",
    "proper_scores(counts, prevalence=...)",
    *_OF_LOSS,
    number("value", "mean loss, >= 0; infinite where a row is certain and wrong", _LACKS, minimum=0),
    *bounds(number, f"the value is {_WHATEVER}", _LACKS, minimum=0),
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
    *_OF_LOSS,
    number("value", "miscalibration - discrimination + uncertainty", _LACKS, minimum=0),
    number("miscalibration", "what a calibration map would save, >= 0", _LACKS, minimum=0),
    number(
        "discrimination", "what calibrated scores save against the constant prevalence", _LACKS, minimum=0
    ),
    number("uncertainty", "the loss where every score is the prevalence", _LACKS, minimum=0),
    *bounds(number, f"the value is {_WHATEVER}", _LACKS, name="value_lower", minimum=0),
    *bounds(number, f"the miscalibration is {_WHATEVER}", _LACKS, name="miscalibration_lower", minimum=0),
    *bounds(number, f"the discrimination is {_WHATEVER}", _LACKS, name="discrimination_lower", minimum=0),
)
_WEIGHTED = "the counts are sums of weights"
CALIBRATION = FrameSchema(
    "calibration",
    "calibration_curve(counts, prevalence=...)",
    MODEL,
    share("prevalence", "P(y=1) of the rows, in [0, 1]"),
    share("score_lower", "lowest score of the bin, as logged; on a grid its lowest threshold"),
    share("score_upper", "highest score of the bin, as logged; on a grid the threshold above it"),
    share("predicted", "mean score of the rows of the bin at the prevalence"),
    share("observed", "share of positives among the rows of the bin at the prevalence"),
    share("share", "share of all rows that the bin has at the prevalence"),
    *bounds(share, "the share of positives is at least this, at the level", _WEIGHTED),
)
CALIBRATION_MEASURES = FrameSchema(
    "calibration measures",
    "calibration_measures(counts, prevalence=...)",
    MODEL,
    text("measure", '"slope", "intercept", "in_the_large", "ece" or "ece_corrected"'),
    _AT,
    number("value", "the measure", "undefined: the reason says why"),
    *bounds(number, "the measure of the population is at least this, at the level", "the reason says why"),
    text("reason", "why there is no value, or there are no bounds", "there are both"),
)
H_MEASURES = FrameSchema(
    "h measures",
    "h_measure(counts, prevalence=...)",
    MODEL,
    _AT,
    share(
        "value",
        "share of the least cost without scores that the best thresholds save",
        f"{_LACKS}, or none occurs at the prevalence",
    ),
    *bounds(share, f"the value is {_WHATEVER}", "the value is null"),
    *TOLD,
)
DECISIONS = FrameSchema(
    "decision curve",
    "decision_curve(counts, prevalence=..., threshold_probabilities=...)",
    MODEL,
    _AT,
    share("threshold_probability", "a row is treated if its score reaches it, in [0, 1)"),
    number("net_benefit", "eta·TPR - (1-eta)·FPR·t/(1-t), per row", _LACKS),
    number("treat_all", "the same where every row is treated; where none is, it is 0", _LACKS),
    number(
        "interventions_avoided",
        "(net benefit - treat_all)·(1-t)/t: treatments per row that are saved for the same benefit",
        f"t is 0, or {_LACKS}",
    ),
    *bounds(number, f"the net benefit is {_WHATEVER}", _LACKS),
)
COST_CURVE = FrameSchema(
    "cost curve",
    "cost_curve(counts, prevalence=...)",
    MODEL,
    _AT,
    share("probability_cost", "eta·c_fn/(eta·c_fn + (1-eta)·c_fp): the share of cost that positives hold"),
    share("threshold_probability", "c_fp/(c_fp + c_fn): where calibrated scores are to be cut"),
    share("actual", "normalised cost of cutting the scores there", _LACKS),
    share("achievable", "normalised cost at the best of all counted thresholds", _LACKS),
)
