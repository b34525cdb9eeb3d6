"""Columns shared by several frames."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from nci_frames.schemas.frame import FINITE, MOST_WEIGHT, Column

#: Key that ``unit_buckets`` adds.
BUCKET = "bucket"

#: Key of the repeats of a cross-validation. Each repeat contains all rows.
REPEAT = "repeat"
#: Key of strata: the weight of each row of a group.
WEIGHT = "weight"

#: Key of the true class, in counts of the scores of one class.
TRUE_CLASS = "true_class"


#: Numbers.
number = partial(Column, dtypes=(pl.Float64,))
#: Rates, probabilities, areas.
share = partial(number, minimum=0.0, maximum=1.0)
#: Whole numbers, such as a number of folds.
whole = partial(Column, dtypes=(pl.Int64,), minimum=0, maximum=FINITE)
#: Numbers of rows, or sums of weights.
count = partial(Column, dtypes=(pl.Int64, pl.Float64), minimum=0, maximum=MOST_WEIGHT)
text = partial(Column, dtypes=(pl.String,))
#: Lists of names.
texts = partial(Column, dtypes=(pl.List(pl.String),))
flag = partial(Column, dtypes=(pl.Boolean,))


def has_strata(counts: pl.DataFrame) -> bool:
    """Return whether the groups of counts are strata, that is, their rows have weights."""
    return WEIGHT in counts.columns


def bounds(
    kind: Callable[..., Column], said: str, *null: str, name: str = "lower", **limits: Any
) -> list[Column]:
    """Return columns for a lower and an upper bound; *said* describes the lower one."""
    upper = said.replace("lower", "upper").replace("at least", "at most")
    sides = ((name, said), (name.replace("lower", "upper"), upper))
    return [kind(column, told, *null, **limits) for column, told in sides]


ROW_WEIGHT = number(WEIGHT, "weight of the row, finite and >= 0", minimum=0, maximum=FINITE, required=False)
#: Weight of each row of a group of counts. Groups with this key are strata.
STRATUM = number(WEIGHT, "weight of each row of the group", minimum=0, maximum=FINITE)
UNIT = Column(
    "unit",
    "unit that the row belongs to: user, host, patient",
    "unknown",
    dtypes=(pl.String, pl.Int64, pl.UInt64, pl.Int32, pl.UInt32),
    required=False,
)

MODEL = text("model", "name of the model", "unnamed model")
THRESHOLD = number("threshold", "a row is a positive decision if score >= threshold, as given")
POINT = replace(THRESHOLD, null="interpolated or unattained point")
PREVALENCE = share("prevalence", "P(y=1) of the value, in [0, 1]", "the value does not depend on it")
BETA = number(
    "beta", "weight of recall against precision, in [0, inf]", "the value does not depend on it", minimum=0
)
METRIC = text("metric", "name of the metric, or label of the called metric")
VALUE = number("value", "value of the metric, in its range", "undefined: 0/0")
LOWER = number("lower", "lower bound of the value", "undefined", required=False)
UPPER = number("upper", "upper bound of the value", "undefined", required=False)
METHOD = text("method", "rule that integrates the PR curve", "not a PR area")
SUPPORTED = flag(
    "supported",
    "whether the log has enough data for the value at this prevalence",
    "the prevalence is unknown",
    required=False,
)
REASON = text("reason", "why not", "supported", required=False)
#: Metric, prevalence and beta of a value; its bounds; whether the log supports it.
CASE, BOUNDS, SAID = (METRIC, PREVALENCE, BETA), (LOWER, UPPER), (SUPPORTED, REASON)
#: Winners with equal values.
TIED = texts("tied", "all models with the same value in the whole range, including model", required=False)
#: Support of the value, in tables that always state it.
TOLD = tuple(replace(column, required=True) for column in SAID)
#: Columns that ``average_over`` adds to a mean.
AVERAGED = (
    number("std", "standard deviation of the averaged values", "fewer than two", minimum=0, required=False),
    whole("repeats", "number of values averaged by average_over", required=False),
    whole("skipped", "number of values that were undefined or absent", required=False),
)
