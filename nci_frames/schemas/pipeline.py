"""The frames of the pipeline: from a log to ranked values."""

import polars as pl

from nci_frames.schemas.columns import (
    BETA,
    COUNT,
    LOWER,
    METRIC,
    MODEL,
    PREVALENCE,
    RATE,
    THRESHOLD,
    UPPER,
    VALUE,
)
from nci_frames.schemas.frame import Column, FrameSchema

__all__ = [
    "AREAS",
    "COUNTS",
    "PREDICTIONS",
    "PROJECTION",
    "RANKING",
    "RATES",
]

PREDICTIONS = FrameSchema(
    "predictions",
    "scan_predictions(...)",
    (
        MODEL,
        Column("label", (pl.Boolean,), "true class: is the row a positive?"),
        Column("score", (pl.Float32, pl.Float64), "higher is more positive; may be infinite, never NaN"),
        Column("weight", (pl.Float64,), "weight of the row, finite and >= 0", required=False),
        Column(
            "unit",
            (pl.String, pl.Int64, pl.UInt64, pl.Int32, pl.UInt32),
            "who the row belongs to: user, host, patient",
            "belongs to nobody known",
            required=False,
        ),
    ),
)
_COUNT_COLUMNS = (
    MODEL,
    THRESHOLD,
    Column("tp", COUNT, "true positives: rows, or sum of weights"),
    Column("fp", COUNT, "false positives: rows, or sum of weights"),
    Column("fn", COUNT, "false negatives: rows, or sum of weights"),
    Column("tn", COUNT, "true negatives: rows, or sum of weights"),
    Column(
        "resolution",
        (pl.String,),
        '"exact": no other score lies from this threshold to before the next; "grid" (also where the column '
        "is absent): others may",
        required=False,
    ),
)
RATES = FrameSchema(
    "rates",
    "compute_rates(counts)",
    (
        *_COUNT_COLUMNS,
        Column("positives", COUNT, "tp + fn"),
        Column("negatives", COUNT, "fp + tn"),
        Column("observed_prevalence", RATE, "positives / all rows, in [0, 1]", "the group has no rows"),
        Column("tpr", RATE, "true-positive rate tp / positives, in [0, 1]", "the group has no positives"),
        Column("fpr", RATE, "false-positive rate fp / negatives, in [0, 1]", "the group has no negatives"),
        *(
            Column(f"{rate}_{side}", RATE, f"{side} bound of {rate}", f"{rate} is null", required=False)
            for rate in ("tpr", "fpr")
            for side in ("lower", "upper")
        ),
        Column("prevalence", RATE, "P(y=1) the point was selected for", "unknown", required=False),
        Column("reason", (pl.String,), "why an operating point was not attained", "attained", required=False),
    ),
)
# A rates frame is a counts frame, too.
COUNTS = FrameSchema(
    "counts",
    "count_confusion(predictions)",
    _COUNT_COLUMNS,
    tuple(name for name in RATES.fixed if name not in {column.name for column in _COUNT_COLUMNS}),
)
PROJECTION = FrameSchema(
    "projection",
    "project_rates(rates, metrics=..., prevalence=...)",
    (MODEL, THRESHOLD, METRIC, PREVALENCE, BETA, VALUE, LOWER, UPPER),
)
AREAS = FrameSchema(
    "areas",
    "compute_areas(counts, prevalence=...)",
    (
        MODEL,
        Column("metric", (pl.String,), '"roc_auc" or "pr_auc"'),
        Column("method", (pl.String,), "rule by which the PR curve is integrated", "roc_auc has one rule"),
        PREVALENCE,
        VALUE,
        LOWER,
        UPPER,
    ),
)
_RANKS = (
    Column(
        "rank", (pl.Int64,), "1 is best; ties share the smaller rank", "the value is null, or has no order"
    ),
    Column("gap", (pl.Float64,), "distance to the best value of the comparison, >= 0", "as for rank"),
)
RANKING = FrameSchema(
    "ranking",
    "rank_models(projection or areas)",
    (
        MODEL,
        Column("threshold", (pl.Float64,), "as in the projection", required=False),
        METRIC,
        Column("method", (pl.String,), "as in the areas", "roc_auc has one rule", required=False),
        PREVALENCE,
        Column("beta", (pl.Float64,), "as in the projection", "it plays no part", required=False),
        VALUE,
        LOWER,
        UPPER,
        *_RANKS,
    ),
)
