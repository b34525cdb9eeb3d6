"""The log that contenders count, and what is asked of it."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["KEYS", "arbitrary_thresholds", "few_rows", "linked", "score_type", "uniform_thresholds"]

KEYS = ("model", "fold", "segment")


def linked(folder: Path, times: int) -> list[str]:
    """Give every file of a folder so many names: a file that is listed twice is one file."""
    names = []
    for file in sorted(folder.glob("*.parquet")):
        for place in range(times):
            name = folder / "links" / f"{file.stem}-{place}.parquet"
            name.parent.mkdir(exist_ok=True)
            if not name.exists():
                name.hardlink_to(file)
            names.append(str(name))
    return names


def arbitrary_thresholds(n: int = 1024) -> NDArray[np.float64]:
    """Return sorted random thresholds."""
    return np.sort(np.random.default_rng(7).random(n))


def uniform_thresholds(n: int = 1024) -> NDArray[np.float64]:
    """Return the thresholds j/n: floor(score * n) is the bin of a score."""
    return np.arange(n) / n


def score_type(files: list[str]) -> type[np.floating[Any]]:
    """Return the type of the scores: thresholds are compared in it."""
    return np.float32 if pl.read_parquet_schema(files[0])["score"] == pl.Float32 else np.float64


def few_rows(file: str) -> list[str]:
    """Write the first rows of a file as a log of its own, beside it."""
    few = Path(file).parents[1] / "few" / "few.parquet"
    if not few.exists():
        few.parent.mkdir(exist_ok=True)
        pl.read_parquet(file, n_rows=10_000).write_parquet(few)
    return [str(few)]
