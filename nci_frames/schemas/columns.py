"""Columns that several frames share."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from nci_frames.schemas.frame import FINITE, MOST_WEIGHT, Column

#: The key of buckets of units, which ``unit_buckets`` adds.
BUCKET = "bucket"

#: The key of the repeats of a cross-validation, each of which has all rows again.
REPEAT = "repeat"
#: The key of strata: the weight of each row of a group of counts.
WEIGHT = "weight"

#: The key of the true class, in counts of the scores of one class.
TRUE_CLASS = "true_class"


#: Numbers.
number = partial(Column, dtypes=(pl.Float64,))
#: Rates, probabilities, areas.
share = partial(number, minimum=0.0, maximum=1.0)
#: Whole numbers, such as how many folds there are.
whole = partial(Column, dtypes=(pl.Int64,), minimum=0, maximum=FINITE)
#: Rows, or sums of their weights.
count = partial(Column, dtypes=(pl.Int64, pl.Float64), minimum=0, maximum=MOST_WEIGHT)
#: Words.
text = partial(Column, dtypes=(pl.String,))
#: Several names.
texts = partial(Column, dtypes=(pl.List(pl.String),))
#: What is true or false.
flag = partial(Column, dtypes=(pl.Boolean,))


def has_strata(counts: pl.DataFrame) -> bool:
    """Return whether the groups of counts are strata, whose rows have a weight."""
    return WEIGHT in counts.columns


def bounds(
    kind: Callable[..., Column], said: str, *null: str, name: str = "lower", **limits: Any
) -> list[Column]:
    """Return the columns of a lower and an upper bound; what is *said* of the lower one is said of either."""
    upper = said.replace("lower", "upper").replace("at least", "at most")
    sides = ((name, said), (name.replace("lower", "upper"), upper))
    return [kind(column, told, *null, **limits) for column, told in sides]


ROW_WEIGHT = number(WEIGHT, "weight of the row, finite and >= 0", minimum=0, maximum=FINITE, required=False)
#: What each row of a group of counts stands for: the groups of a log are strata then.
STRATUM = number(WEIGHT, "what each row of the group weighs", minimum=0, maximum=FINITE)
UNIT = Column(
    "unit",
    "who the row belongs to: user, host, patient",
    "the owner is unknown",
    dtypes=(pl.String, pl.Int64, pl.UInt64, pl.Int32, pl.UInt32),
    required=False,
)

MODEL = text("model", "name of the model", "a model of its own")
THRESHOLD = number("threshold", "a row is a positive decision if score >= threshold, as given")
POINT = number(
    "threshold",
    "a row is a positive decision if score >= threshold, as given",
    "the operating point is interpolated, or was not attained",
)
PREVALENCE = share("prevalence", "P(y=1) the value belongs to, in [0, 1]", "the value does not depend on it")
BETA = number(
    "beta", "weight of recall against precision, in [0, inf]", "it plays no part in the value", minimum=0
)
METRIC = text("metric", "name of the metric, or label of the called metric")
VALUE = number("value", "value of the metric, in its range", "undefined: 0/0")
LOWER = number("lower", "lower bound of the value", "undefined", required=False)
UPPER = number("upper", "upper bound of the value", "undefined", required=False)
METHOD = text("method", "rule by which the PR curve is integrated", "not a PR area")
SUPPORTED = flag(
    "supported",
    "whether the log can tell the value at this prevalence",
    "the prevalence is unknown",
    required=False,
)
REASON = text("reason", "why it cannot", "supported", required=False)
#: Of which metric a value is, and at which prevalence and beta; its bounds; whether the log can tell it.
CASE, BOUNDS, SAID = (METRIC, PREVALENCE, BETA), (LOWER, UPPER), (SUPPORTED, REASON)
#: Winners that no row tells apart.
TIED = texts("tied", "all models that are equal in the whole range, this one too", required=False)
#: Whether the log can tell the value, in tables that always say it.
TOLD = tuple(replace(column, required=True) for column in SAID)
#: What ``average_over`` says beside a mean.
AVERAGED = (
    number(
        "std",
        "standard deviation of the values that average_over averaged",
        "fewer than two are defined",
        minimum=0,
        required=False,
    ),
    whole("repeats", "how many values average_over averaged", required=False),
    whole("skipped", "values that it found undefined, or absent", required=False),
)
