"""Types that modules of every layer share."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

#: What public functions take: a table, or one that is computed when it is needed.
Frame = pl.DataFrame | pl.LazyFrame

#: P(y=1), one or several, or that of the log itself; and weights of recall against precision.
Prevalences = float | Sequence[float] | Literal["observed"]
Betas = float | Sequence[float]

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
