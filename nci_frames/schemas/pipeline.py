"""Frames of the pipeline, from a log to ranked values."""

import polars as pl

from nci_frames.schemas.columns import *
from nci_frames.schemas.frame import MOST_ROWS, Column, FrameSchema

PREDICTIONS = FrameSchema(
    "predictions",
    "scan_predictions(...)",
    MODEL,
    flag("label", "true class: whether the row is a positive"),
    Column("score", "higher is more positive; may be infinite, never NaN", dtypes=(pl.Float32, pl.Float64)),
    ROW_WEIGHT,
    UNIT,
)
_CHOSEN = "interpolated or unattained point"
_COUNT_COLUMNS = (
    MODEL,
    POINT,
    count("tp", "true positives: rows, or sum of weights", _CHOSEN, most=MOST_ROWS),
    count("fp", "false positives: rows, or sum of weights", _CHOSEN, most=MOST_ROWS),
    count("fn", "false negatives: rows, or sum of weights", _CHOSEN, most=MOST_ROWS),
    count("tn", "true negatives: rows, or sum of weights", _CHOSEN, most=MOST_ROWS),
    text(
        "resolution",
        '"exact": no other score lies between this threshold and the next; "grid" (also if the column is '
        "absent): others may",
        "unattained point",
        required=False,
    ),
)
#: Column of summed strata with the least weight of a positive of the group. No result has it.
LIGHTEST = "__lightest"
_RATE_COLUMNS = (
    count("positives", "tp + fn", _CHOSEN, most=2 * MOST_ROWS),
    count("negatives", "fp + tn", _CHOSEN, most=2 * MOST_ROWS),
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
            f"effective sample size of the {of_class}, if rows belong to units or have weights",
            "unattained point",
            minimum=0,
            maximum=2 * MOST_ROWS,
            required=False,
        )
        for of_class in ("positives", "negatives")
    ),
    share("prevalence", "P(y=1) for which the point was selected", "unknown", required=False),
    flag(
        "supported",
        "whether the log has enough data for the selected criterion at that prevalence",
        "unattained point",
        required=False,
    ),
    text("reason", "why the operating point was not attained", "attained", required=False),
)
COUNTS = FrameSchema(
    "counts",
    "count_confusion(predictions)",
    *_COUNT_COLUMNS,
    # A rates frame is a counts frame, too.
    derived=(*(column.name for column in _RATE_COLUMNS), LIGHTEST),
    counted=True,
    brings_keys=True,
    strata=STRATUM,
)
INCREMENTS = FrameSchema(
    "increments",
    "counting_sql(...)",
    MODEL,
    number("threshold", "highest threshold that the scores reach", "below every threshold"),
    count("positives", "positives: rows, or sum of weights"),
    count("negatives", "negatives: rows, or sum of weights"),
    whole("invalid", "rows without a valid label, score or weight", required=False),
    brings_keys=True,
    strata=STRATUM,
)
RATES = FrameSchema(
    "rates",
    "compute_rates(counts)",
    *_COUNT_COLUMNS,
    *_RATE_COLUMNS,
    derived=[LIGHTEST],
    counted=True,
    brings_keys=True,
)
PROJECTION = FrameSchema(
    "projection",
    "project_rates(rates, metrics=..., prevalence=...)",
    MODEL,
    POINT,
    *CASE,
    VALUE,
    *BOUNDS,
    *AVERAGED,
    *SAID,
    share("supported_from", "lowest prevalence at which the log supports the point", "none", required=False),
)
AREAS = FrameSchema(
    "areas",
    "compute_areas(counts, prevalence=...)",
    MODEL,
    text("metric", 'name of the area, a metric of kind "curve"'),
    text("method", "rule that integrates the PR curve", "the area has only one rule"),
    PREVALENCE,
    number("value", "the area", "the group lacks a class, or 0/0"),
    *bounds(number, "certified lower bound of the area", "as for value", required=False),
    *AVERAGED,
    *SAID,
)
RANKS = (
    whole("rank", "1 is best; ties share the smaller rank", "the value is null, or has no order", minimum=1),
    number("gap", "distance to the best value of the comparison, >= 0", "as for rank", minimum=0),
)
RANKING = FrameSchema(
    "ranking",
    "rank_models(projection, areas or roll-up)",
    MODEL,
    number("threshold", "as in the projection", "as in the projection", required=False),
    METRIC,
    text("method", "as in the areas", "the area has only one rule", required=False),
    text("average", "as in the roll-up", required=False),
    PREVALENCE,
    number("beta", "as in the projection", "as in the projection", minimum=0, required=False),
    VALUE,
    number("optimistic", "value on the rows that selected the threshold", "undefined: 0/0", required=False),
    *BOUNDS,
    number("skill", "as in the proper scores", "as in the proper scores", required=False),
    *AVERAGED,
    *RANKS,
    *SAID,
)
