"""The log that contenders count, and what is asked of it."""

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.files import ROWS_OF_A_GROUP, row_groups

__all__ = [
    "KEYS",
    "arbitrary_thresholds",
    "copied",
    "few_rows",
    "score_type",
    "uniform_thresholds",
    "without_checksums",
]

#: What rows are grouped by: one of these or several.
KEYS = tuple(os.environ.get("BENCHMARK_KEYS", "model,fold,segment").split(","))


def copied(folder: Path, times: int) -> list[str]:
    """Copy every file of a folder so many times, once.

    Copies and not links: two links to one file that are read at once take longer than two files of a log do.
    """
    copies = folder / "copies"
    copies.mkdir(exist_ok=True)
    names = []
    for file in sorted(folder.glob("*.parquet")):
        for place in range(times):
            name = copies / f"{file.stem}-{place}.parquet"
            if not name.exists():
                shutil.copyfile(file, name)
                # What is not yet on the disk would be written while the next is measured.
                os.sync()
            names.append(str(name))
    return names


def without_checksums(files: list[str]) -> list[str]:
    """Write files again without the checksums of their pages, beside them; nothing else is different."""
    names = []
    for file in map(Path, files):
        name = file.parents[1] / "without-checksums" / file.name
        name.parent.mkdir(exist_ok=True)
        if not name.exists():
            log = pl.read_parquet(file)
            with name.open("wb") as written, row_groups(written, log, write_page_checksum=False) as append:
                for group in log.iter_slices(ROWS_OF_A_GROUP):
                    append(group)
            os.sync()
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
