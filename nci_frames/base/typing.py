"""Types used in all layers."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

#: A table, eager or lazy.
Frame = pl.DataFrame | pl.LazyFrame

#: P(y=1), one or several, or that of the log; and weights of recall against precision.
Prevalences = float | Sequence[float] | Literal["observed"]
Betas = float | Sequence[float]
#: Also that for which each operating point was selected.
PointPrevalences = Prevalences | Literal["selected"]
#: One or several names, such as those of keys.
Names = str | Sequence[str]
#: Prevalence of each segment: ``{"country": {"at": 0.01, "de": 0.002}}``, or a frame.
Field = Mapping[str, Mapping[Any, float]] | Frame
#: Names or expressions of metrics.
Metrics = str | pl.Expr | Sequence[str | pl.Expr]
#: Axis along which models are compared, while the other one is fixed.
Over = Literal["prevalence", "beta"]

PathLike = str | os.PathLike[str]

Floats = NDArray[np.float64]
#: Such as lower and upper bounds.
FloatPair = tuple[Floats, Floats]
#: Truth values, one per element.
Flags = NDArray[np.bool_]
#: Numbers of rows, or row numbers.
Rows = NDArray[np.int64]
#: Indices into an array, as NumPy returns them.
Places = NDArray[np.intp]

#: Engines that compare doubles by IEEE 754, except that NaN equals NaN in some.
Dialect = Literal[
    "bigquery", "clickhouse", "databricks", "duckdb", "postgres", "redshift", "snowflake", "spark", "trino"
]
