"""Values that no argument takes, or few do: every function must take them or say what is wrong."""

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

ODD_VALUES: dict[str, Any] = {
    "None": None,
    "True": True,
    "-1": -1,
    "0": 0,
    "2**63": 2**63,
    "1e308": 1e308,
    "-1.5": -1.5,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "empty text": "",
    "number as text": "0.05",
    "misspelt metric": "f1",
    "an area": "roc_auc",
    "selected": "selected",
    "emoji": "💥\x1b[31m",
    "bytes": b"0.5",
    "complex": 1 + 2j,
    "empty list": [],
    "list with None": [None],
    "list of texts": ["a", "b"],
    "nested list": [[0.1, 0.2], [0.3]],
    "pair": (0.5, 0.1),
    "dict": {"a": 1},
    "set": {0.5},
    "array": np.array([0.1, np.nan]),
    "matrix": np.ones((2, 2)),
    "expression": pl.col("nothing"),
    "series": pl.Series("s", [0.1, None]),
    "frame": pl.DataFrame({"x": [1]}),
    "empty frame": pl.DataFrame(),
    "date": date(2026, 1, 1),
    "path": Path("nowhere.parquet"),
    "type": int,
    "function": len,
    "object": object(),
    "frames": [pl.DataFrame({"x": [1]})] * 2,
    "pandas": pl.DataFrame({"x": [1]}).to_pandas(),
    "lazy frame": pl.LazyFrame({"a": [1]}),
    "generator": iter([0.5]),
    "numpy number": np.float64(0.5),
    "numpy whole number": np.int64(3),
    "numpy texts": np.array(["a"]),
    "series of texts": pl.Series(["a"]),
    "series of whole numbers": pl.Series([1, 2]),
    "list with a negative": [-1.0, 2.0],
    "tiny": 1e-300,
    "thousands of digits": 10**5000,
    "a key": "fold",
}
