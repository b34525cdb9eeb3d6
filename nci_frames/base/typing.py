"""Types that modules of every layer share."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

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
