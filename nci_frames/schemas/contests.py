"""The frames that say who is best where, and how metrics behave."""

import polars as pl

from nci_frames.schemas.columns import BETA, METRIC, MODEL, PREVALENCE, RATE, THRESHOLD, VALUE
from nci_frames.schemas.frame import Column, FrameSchema

__all__ = [
    "AGNOSTIC",
    "CROSSOVERS",
    "DECISION_MAP",
    "DECOMPOSITION",
    "NEVER_BEST",
    "PATHS",
    "ROLL_UP",
    "SENSITIVITY",
    "SURFACE",
    "WINNERS",
]

CROSSOVERS = FrameSchema(
    "crossovers",
    "find_crossovers(rates, metric=..., over=...)",
    (
        METRIC,
        Column("model_a", (pl.String,), "the one that is better below the crossover"),
        Column("model_b", (pl.String,), "the one that is better above it"),
        PREVALENCE,
        BETA,
        VALUE,
    ),
)
WINNERS = FrameSchema(
    "winners",
    "winner_ranges(rates, metric=..., over=...)",
    (
        METRIC,
        Column("over", (pl.String,), '"prevalence" or "beta": what start and end measure'),
        Column("start", (pl.Float64,), "where the range begins"),
        Column("end", (pl.Float64,), "where the range ends"),
        MODEL,
        THRESHOLD,
    ),
)
DECISION_MAP = FrameSchema(
    "decision map",
    "decision_map(rates)",
    (
        Column("lambda_start", (pl.Float64,), "where the range of lambda = (1-eta)/(eta·beta²) begins"),
        Column("lambda_end", (pl.Float64,), "where it ends; infinity in the last"),
        MODEL,
        THRESHOLD,
    ),
)
NEVER_BEST = FrameSchema(
    "never best",
    "find_never_best(rates)",
    (
        MODEL,
        THRESHOLD,
        Column("tpr", RATE, "true-positive rate"),
        Column("fpr", RATE, "false-positive rate"),
        Column("dominating_model", (pl.String,), "model of a point at least as good in both rates", "none"),
        Column("dominating_threshold", (pl.Float64,), "threshold of that point", "none"),
    ),
)
SURFACE = FrameSchema(
    "metric surface",
    "metric_surface(metric)",
    (
        Column("tpr", RATE, "true-positive rate"),
        Column("tnr", RATE, "true-negative rate"),
        VALUE,
        Column("metric", (pl.String,), "name of the metric, where several are put together", required=False),
        Column("ratio", RATE, "negatives per positive, where several are put together", required=False),
    ),
)
SENSITIVITY = FrameSchema(
    "sensitivity",
    "imbalance_sensitivity(metrics, ratios=...)",
    (
        METRIC,
        Column("ratio", RATE, "negatives per positive, > 0"),
        Column("sensitivity", RATE, "volume between the surfaces at 1:1 and at this ratio", "infinite"),
    ),
)
AGNOSTIC = FrameSchema(
    "agnostic metrics",
    "agnostic_metrics(metrics)",
    (METRIC, Column("agnostic", (pl.Boolean,), "whether the class balance plays no part")),
)
PATHS = FrameSchema(
    "paths",
    "surface_path_length(rates, metric=..., over=...)",
    (
        MODEL,
        METRIC,
        Column("ratio", RATE, "negatives per positive, > 0"),
        Column("steps", (pl.Int64,), "number of steps"),
        Column("length", RATE, "length of the path in contingency space", "a value is undefined"),
    ),
)
DECOMPOSITION = FrameSchema(
    "decomposition",
    "decompose_difference(rates, metric=..., over=...)",
    (
        MODEL,
        THRESHOLD,
        METRIC,
        BETA,
        Column("reference", (pl.String,), "value of the key that is compared with", "that value is null"),
        Column("prevalence", RATE, "observed prevalence here", "the group has no rows"),
        Column("reference_prevalence", RATE, "observed prevalence of the reference", "no such point"),
        VALUE,
        Column("reference_value", RATE, "value of the metric in the reference", "undefined: 0/0"),
        Column("difference", RATE, "value - reference_value", "either is undefined"),
        Column("due_to_prevalence", RATE, "part of the difference", "see reason"),
        Column("due_to_rates", RATE, "the other part: TPR and FPR", "see reason"),
        Column("reason", (pl.String,), "why there is no decomposition", "there is one"),
    ),
)
ROLL_UP = FrameSchema(
    "roll-up",
    "roll_up(rates, over=..., metrics=...)",
    (
        MODEL,
        Column("threshold", (pl.Float64,), "as in the rates", "it differs between the segments"),
        METRIC,
        Column("average", (pl.String,), '"macro", "micro" or "weighted" (by positives)'),
        Column("prevalence", RATE, "P(y=1) the value belongs to", "each segment has its own"),
        BETA,
        VALUE,
        Column("segments", (pl.Int64,), "number of segments that the value is made of"),
        Column("skipped", (pl.Int64,), "number of segments in which the metric is undefined"),
    ),
)
