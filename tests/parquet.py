"""A table with columns of every kind, for Parquet files."""

import numpy as np
import pyarrow as pa

TABLE = pa.table(
    {
        "text": [None if i % 7 == 0 else "x" * (i % 150) for i in range(3000)],
        "number": np.random.default_rng(0).random(3000),
        "whole": pa.array([None if i % 3 else i for i in range(3000)], pa.int16()),
        "class": [i % 5 == 0 for i in range(3000)],
        "null": pa.nulls(3000),
        "list": [[i] * (i % 4) for i in range(3000)],
    }
)
