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
}
