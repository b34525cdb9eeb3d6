"""Frames on scores as probabilities."""

from dataclasses import replace

from nci_frames.schemas.columns import *
from nci_frames.schemas.frame import FrameSchema

_LACKS = "the group lacks a class"
_AT = replace(PREVALENCE, null="observed prevalence of a group without rows")

_OF_LOSS = (MODEL, text("metric", '"brier" or "log_loss"'), _AT)
PROPER_SCORES = FrameSchema(
    "proper scores",
    "proper_scores(counts, prevalence=...)",
    *_OF_LOSS,
    number("value", "mean loss, >= 0; infinite if a row is certain and wrong", _LACKS, minimum=0),
    *bounds(number, "certified lower bound of the value", _LACKS, minimum=0),
    number(
        "skill",
        "1 - value / loss of the constant score prevalence",
        f"that loss is 0, or {_LACKS}",
        maximum=1,
    ),
    *TOLD,
)
SCORE_PARTS = FrameSchema(
    "score parts",
    "decompose_scores(counts, prevalence=...)",
    *_OF_LOSS,
    number("value", "miscalibration - discrimination + uncertainty", _LACKS, minimum=0),
    number("miscalibration", "loss that a calibration map would save, >= 0", _LACKS, minimum=0),
    number("discrimination", "loss that calibrated scores save over the score prevalence", _LACKS, minimum=0),
    number("uncertainty", "loss of the constant score prevalence", _LACKS, minimum=0),
    *(
        column
        for part in ("value", "miscalibration", "discrimination")
        for column in bounds(
            number, f"certified lower bound of the {part}", _LACKS, name=f"{part}_lower", minimum=0
        )
    ),
)
_WEIGHTED = "the counts are sums of weights"
CALIBRATION = FrameSchema(
    "calibration",
    "calibration_curve(counts, prevalence=...)",
    MODEL,
    share("prevalence", "P(y=1) of the rows, in [0, 1]"),
    share("score_lower", "lowest score of the bin, as logged; on a grid its lowest threshold"),
    share("score_upper", "highest score of the bin, as logged; on a grid the threshold above it"),
    share("predicted", "mean score in the bin, at the prevalence"),
    share("observed", "share of positives in the bin, at the prevalence"),
    share("share", "share of all rows in the bin, at the prevalence"),
    *bounds(share, "lower confidence limit of observed", _WEIGHTED),
)
CALIBRATION_MEASURES = FrameSchema(
    "calibration measures",
    "calibration_measures(counts, prevalence=...)",
    MODEL,
    text("measure", '"slope", "intercept", "in_the_large", "ece" or "ece_corrected"'),
    _AT,
    number("value", "the measure", "undefined: see reason"),
    *bounds(number, "lower confidence limit of the measure", "see reason"),
    text("reason", "why the value or its bounds are null", "neither is null"),
)
H_MEASURES = FrameSchema(
    "h measures",
    "h_measure(counts, prevalence=...)",
    MODEL,
    _AT,
    share(
        "value",
        "share of the cost of the best constant decision that the best thresholds save",
        f"{_LACKS}, or a class has no share at the prevalence",
    ),
    *bounds(share, "certified lower bound of the value", "the value is null"),
    *TOLD,
)
DECISIONS = FrameSchema(
    "decision curve",
    "decision_curve(counts, prevalence=..., threshold_probabilities=...)",
    MODEL,
    _AT,
    share("threshold_probability", "rows with a score >= this are treated, in [0, 1)"),
    number("net_benefit", "eta·TPR - (1-eta)·FPR·t/(1-t), per row", _LACKS),
    number("treat_all", "net benefit of treating every row; that of treating none is 0", _LACKS),
    number(
        "interventions_avoided",
        "(net benefit - treat_all)·(1-t)/t: treatments per row saved at the same benefit",
        f"t is 0, or {_LACKS}",
    ),
    *bounds(number, "certified lower bound of the net benefit", _LACKS),
)
COST_CURVE = FrameSchema(
    "cost curve",
    "cost_curve(counts, prevalence=...)",
    MODEL,
    _AT,
    share("probability_cost", "eta·c_fn/(eta·c_fn + (1-eta)·c_fp): share of positives in the highest cost"),
    share("threshold_probability", "c_fp/(c_fp + c_fn): best threshold for calibrated scores"),
    share("actual", "normalised cost at that threshold", _LACKS),
    share("achievable", "normalised cost at the best counted threshold", _LACKS),
)
