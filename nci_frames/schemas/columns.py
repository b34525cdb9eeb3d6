"""Columns that several frames share."""

import polars as pl

from nci_frames.schemas.frame import Column

__all__ = [
    "BETA",
    "COUNT",
    "LOWER",
    "METHOD",
    "METRIC",
    "MODEL",
    "PREVALENCE",
    "RATE",
    "THRESHOLD",
    "UPPER",
    "VALUE",
]

MODEL = Column("model", (pl.String,), "name of the model")
THRESHOLD = Column("threshold", (pl.Float64,), "a row is a positive decision if score >= threshold, as given")
PREVALENCE = Column(
    "prevalence", (pl.Float64,), "P(y=1) the value belongs to, in [0, 1]", "the value does not depend on it"
)
BETA = Column(
    "beta", (pl.Float64,), "weight of recall against precision, in [0, inf]", "it plays no part in the value"
)
METRIC = Column("metric", (pl.String,), "name of the metric, or label of the called metric")
VALUE = Column("value", (pl.Float64,), "value of the metric, in its range", "undefined: 0/0")
LOWER = Column("lower", (pl.Float64,), "lower bound of the value", "undefined", required=False)
UPPER = Column("upper", (pl.Float64,), "upper bound of the value", "undefined", required=False)
METHOD = Column("method", (pl.String,), "rule by which the PR curve is integrated", "not a PR area")
RATE = (pl.Float64,)
COUNT = (pl.Int64, pl.Float64)
