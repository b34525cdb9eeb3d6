"""The frames of two models that scored the same units."""

from nci_frames.schemas.columns import *
from nci_frames.schemas.frame import FrameSchema

_MODELS = (
    text("model_a", "first model by name"),
    text("model_b", "second model by name"),
    number("threshold_a", "decision threshold of model_a, as given"),
    number("threshold_b", "decision threshold of model_b, as given"),
)
PAIRS = FrameSchema(
    "pairs",
    "count_pairs(predictions, thresholds=...)",
    *_MODELS,
    *(
        whole(f"{kind}_{cell}", f"{rows} that {who}")
        for kind, rows in (("tp", "positives"), ("fp", "negatives"))
        for cell, who in (
            ("both", "both models flag"),
            ("a", "only model_a flags"),
            ("b", "only model_b flags"),
            ("none", "neither model flags"),
        )
    ),
    brings_keys=True,
)
PAIR_COMPARISONS = FrameSchema(
    "pair comparisons",
    "compare_pairs(pairs, metric=...)",
    *_MODELS,
    METRIC,
    PREVALENCE,
    BETA,
    number("value_a", "metric of model_a", "undefined: 0/0"),
    number("value_b", "metric of model_b", "undefined: 0/0"),
    number("difference", "value_a - value_b", "either is undefined"),
    number("lower", "lower confidence limit of the difference", "see reason"),
    number("upper", "upper confidence limit of the difference", "see reason"),
    share("p_value", "two-sided, of no difference", "see reason"),
    flag("supported", "whether the log can support the comparison"),
    text("reason", "why it cannot", "it can"),
)
