"""Types that modules of every layer share."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

#: What public functions take: a table, or one that is computed when it is needed.
Frame = pl.DataFrame | pl.LazyFrame

#: P(y=1), one or several, or that of the log itself; and weights of recall against precision.
Prevalences = float | Sequence[float] | Literal["observed"]
Betas = float | Sequence[float]
#: The prevalence of each segment: ``{"country": {"at": 0.01, "de": 0.002}}``, or a frame.
Field = Mapping[str, Mapping[Any, float]] | Frame
#: Names or expressions of metrics.
Metrics = str | pl.Expr | Sequence[str | pl.Expr]
#: Along which of them models are compared, while the other is fixed.
Over = Literal["prevalence", "beta"]

PathLike = str | os.PathLike[str]

Floats = NDArray[np.float64]
#: Whether something holds of each.
Flags = NDArray[np.bool_]
#: Numbers of rows, or of places among them.
Rows = NDArray[np.int64]
#: Places in an array, as NumPy returns them.
Places = NDArray[np.intp]

#: Engines that compare doubles as IEEE 754 does, except that for some NaN equals NaN.
Dialect = Literal[
    "bigquery", "clickhouse", "databricks", "duckdb", "postgres", "redshift", "snowflake", "spark", "trino"
]
