"""The frames of two models that scored the same units."""

import polars as pl

from nci_frames.schemas.columns import PREVALENCE
from nci_frames.schemas.frame import Column, FrameSchema

__all__ = ["PAIRS", "PAIR_COMPARISONS"]

_NUMBER = (pl.Float64,)
_MODELS = (
    Column("model_a", (pl.String,), "first model by name"),
    Column("model_b", (pl.String,), "second model by name"),
    Column("threshold_a", _NUMBER, "decision threshold of model_a, as given"),
    Column("threshold_b", _NUMBER, "decision threshold of model_b, as given"),
)
PAIRS = FrameSchema(
    "pairs",
    "count_pairs(predictions, thresholds=...)",
    (
        *_MODELS,
        *(
            Column(f"{kind}_{cell}", (pl.Int64,), f"{rows} that {who}")
            for kind, rows in (("tp", "positives"), ("fp", "negatives"))
            for cell, who in (
                ("both", "both models flag"),
                ("a", "only model_a flags"),
                ("b", "only model_b flags"),
                ("none", "neither model flags"),
            )
        ),
    ),
)
PAIR_COMPARISONS = FrameSchema(
    "pair comparisons",
    "compare_pairs(pairs, metric=...)",
    (
        *_MODELS,
        Column("metric", (pl.String,), "name of the metric, or label of the called metric"),
        PREVALENCE,
        Column("beta", _NUMBER, "weight of recall", "it plays no part in the value"),
        Column("value_a", _NUMBER, "metric of model_a", "undefined: 0/0"),
        Column("value_b", _NUMBER, "metric of model_b", "undefined: 0/0"),
        Column("difference", _NUMBER, "value_a - value_b", "either is undefined"),
        Column("lower", _NUMBER, "lower confidence limit of the difference", "see reason"),
        Column("upper", _NUMBER, "upper confidence limit of the difference", "see reason"),
        Column("p_value", _NUMBER, "two-sided, of no difference", "see reason"),
        Column("supported", (pl.Boolean,), "whether the log can support the comparison"),
        Column("reason", (pl.String,), "why it cannot", "it can"),
    ),
)
