"""Columns that several frames share."""

import math

import polars as pl

from nci_frames.schemas.frame import FINITE, Column

__all__ = [
    "AVERAGED",
    "BETA",
    "BUCKET",
    "COUNT",
    "LOWER",
    "METHOD",
    "METRIC",
    "MODEL",
    "POINT",
    "PREVALENCE",
    "RATE",
    "REASON",
    "SUPPORTED",
    "THRESHOLD",
    "UPPER",
    "VALUE",
    "number",
    "share",
    "whole",
]

#: The key of buckets of units, which ``unit_buckets`` adds.
BUCKET = "bucket"

RATE = (pl.Float64,)
COUNT = (pl.Int64, pl.Float64)


def number(
    name: str,
    meaning: str,
    null: str = "never",
    *,
    minimum: float = -math.inf,
    maximum: float = math.inf,
    required: bool = True,
) -> Column:
    """Return a column of numbers in a range, ends included."""
    return Column(name, RATE, meaning, null, required, minimum, maximum)


def share(name: str, meaning: str, null: str = "never", *, required: bool = True) -> Column:
    """Return a column of numbers within [0, 1]: rates, probabilities, areas."""
    return Column(name, RATE, meaning, null, required, 0.0, 1.0)


def whole(name: str, meaning: str, null: str = "never", *, minimum: int = 0, required: bool = True) -> Column:
    """Return a column of whole numbers, such as how many folds there are."""
    return Column(name, (pl.Int64,), meaning, null, required, minimum, FINITE)


MODEL = Column("model", (pl.String,), "name of the model", "a model of its own")
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
METRIC = Column("metric", (pl.String,), "name of the metric, or label of the called metric")
VALUE = number("value", "value of the metric, in its range", "undefined: 0/0")
LOWER = number("lower", "lower bound of the value", "undefined", required=False)
UPPER = number("upper", "upper bound of the value", "undefined", required=False)
METHOD = Column("method", (pl.String,), "rule by which the PR curve is integrated", "not a PR area")
SUPPORTED = Column(
    "supported",
    (pl.Boolean,),
    "whether the log can tell the value at this prevalence",
    "the prevalence is unknown",
    required=False,
)
REASON = Column("reason", (pl.String,), "why it cannot", "supported", required=False)
#: What ``average_over`` says beside a mean.
AVERAGED = (
    number(
        "std",
        "standard deviation of the values that were averaged",
        "fewer than two are defined",
        minimum=0,
        required=False,
    ),
    whole("repeats", "how many values were averaged", required=False),
    whole("skipped", "values that are undefined, or absent", required=False),
)
