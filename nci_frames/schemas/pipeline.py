"""The frames of the pipeline: from a log to ranked values."""

import polars as pl

from nci_frames.schemas.columns import (
    AVERAGED,
    BETA,
    COUNT,
    LOWER,
    METRIC,
    MODEL,
    POINT,
    PREVALENCE,
    REASON,
    SUPPORTED,
    UPPER,
    VALUE,
    number,
    share,
    whole,
)
from nci_frames.schemas.frame import FINITE, MOST_ROWS, Column, FrameSchema

__all__ = [
    "AREAS",
    "COUNTS",
    "INCREMENTS",
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
        number("weight", "weight of the row, finite and >= 0", minimum=0, maximum=FINITE, required=False),
        Column(
            "unit",
            (pl.String, pl.Int64, pl.UInt64, pl.Int32, pl.UInt32),
            "who the row belongs to: user, host, patient",
            "the owner is unknown",
            required=False,
        ),
    ),
)
_CHOSEN = "an operating point that is interpolated, or was not attained"


def _count(name: str, meaning: str, most: int = MOST_ROWS) -> Column:
    return Column(name, COUNT, meaning, _CHOSEN, minimum=0, maximum=FINITE, most=most)


_COUNT_COLUMNS = (
    MODEL,
    POINT,
    _count("tp", "true positives: rows, or sum of weights"),
    _count("fp", "false positives: rows, or sum of weights"),
    _count("fn", "false negatives: rows, or sum of weights"),
    _count("tn", "true negatives: rows, or sum of weights"),
    Column(
        "resolution",
        (pl.String,),
        '"exact": no other score lies from this threshold to before the next; "grid" (also where the column '
        "is absent): others may",
        "an operating point that was not attained",
        required=False,
    ),
)
RATES = FrameSchema(
    "rates",
    "compute_rates(counts)",
    (
        *_COUNT_COLUMNS,
        _count("positives", "tp + fn", 2 * MOST_ROWS),
        _count("negatives", "fp + tn", 2 * MOST_ROWS),
        share("observed_prevalence", "positives / all rows, in [0, 1]", "the group has no rows"),
        share("tpr", "true-positive rate tp / positives, in [0, 1]", "the group has no positives"),
        share("fpr", "false-positive rate fp / negatives, in [0, 1]", "the group has no negatives"),
        *(
            share(f"{rate}_{side}", f"{side} bound of {rate}, in [0, 1]", f"{rate} is null", required=False)
            for rate in ("tpr", "fpr")
            for side in ("lower", "upper")
        ),
        *(
            number(
                f"effective_{of_class}",
                f"independent rows that the {of_class} are worth, where rows belong to units",
                "an operating point was not attained",
                minimum=0,
                maximum=2 * MOST_ROWS,
                required=False,
            )
            for of_class in ("positives", "negatives")
        ),
        share("prevalence", "P(y=1) the point was selected for", "unknown", required=False),
        Column("reason", (pl.String,), "why an operating point was not attained", "attained", required=False),
    ),
    counted=True,
    brings_keys=True,
)
# A rates frame is a counts frame, too.
COUNTS = FrameSchema(
    "counts",
    "count_confusion(predictions)",
    _COUNT_COLUMNS,
    tuple(name for name in RATES.fixed if name not in {column.name for column in _COUNT_COLUMNS}),
    counted=True,
    brings_keys=True,
)
INCREMENTS = FrameSchema(
    "increments",
    "counting_sql(...)",
    (
        MODEL,
        number("threshold", "the highest threshold that the scores reach", "below every threshold"),
        Column("positives", COUNT, "positives: rows, or sum of weights", minimum=0, maximum=FINITE),
        Column("negatives", COUNT, "negatives: rows, or sum of weights", minimum=0, maximum=FINITE),
        Column(
            "invalid",
            (pl.Int64,),
            "rows without a valid label, score or weight",
            required=False,
            minimum=0,
            maximum=FINITE,
        ),
    ),
    brings_keys=True,
)
PROJECTION = FrameSchema(
    "projection",
    "project_rates(rates, metrics=..., prevalence=...)",
    (MODEL, POINT, METRIC, PREVALENCE, BETA, VALUE, LOWER, UPPER, *AVERAGED, SUPPORTED, REASON),
)
AREAS = FrameSchema(
    "areas",
    "compute_areas(counts, prevalence=...)",
    (
        MODEL,
        Column("metric", (pl.String,), 'name of the area: a metric of the kind "curve"'),
        Column("method", (pl.String,), "rule by which the PR curve is integrated", "the area has one rule"),
        PREVALENCE,
        number("value", "the area, at most 1", "the group lacks a class, or 0/0", maximum=1),
        number("lower", "the area is at least this", "as for value", required=False, maximum=1),
        number("upper", "the area is at most this", "as for value", required=False, maximum=1),
        *AVERAGED,
        SUPPORTED,
        REASON,
    ),
)
_RANKS = (
    whole("rank", "1 is best; ties share the smaller rank", "the value is null, or has no order", minimum=1),
    number("gap", "distance to the best value of the comparison, >= 0", "as for rank", minimum=0),
)
RANKING = FrameSchema(
    "ranking",
    "rank_models(projection, areas or roll-up)",
    (
        MODEL,
        number("threshold", "as in the projection", "as in the projection", required=False),
        METRIC,
        Column("method", (pl.String,), "as in the areas", "the area has one rule", required=False),
        Column("average", (pl.String,), "as in the roll-up", required=False),
        PREVALENCE,
        number("beta", "as in the projection", "it plays no part", minimum=0, required=False),
        VALUE,
        number(
            "optimistic",
            "the value on the rows that the threshold was chosen on",
            "undefined: 0/0",
            required=False,
        ),
        LOWER,
        UPPER,
        *AVERAGED,
        *_RANKS,
        SUPPORTED,
        REASON,
    ),
)
