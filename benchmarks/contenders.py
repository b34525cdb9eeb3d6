"""Let one contender count one log; print its seconds, a digest of the counts, and the peak memory.

``benchmarks/run.py`` runs it, each time in a new process. Where there are several ways to write a contender,
each is here: ``benchmarks/run.py --forms`` compares them, and the benchmark takes the best.

A contender returns increments (how many positives and negatives have a score from this threshold to before
the next) as its engine gives them, in arrays. It need not add them up to counts; this library does.
"""

import hashlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from exact_contenders import nci_frames_exact, numpy_exact, scikit_learn_areas, scikit_learn_one_sort
from frame_contenders import numpy_lookup, numpy_search, polars_bins, polars_packed, polars_search
from logs import (
    KEYS,
    arbitrary_thresholds,
    copied,
    few_rows,
    uniform_thresholds,
    without_checksums,
)
from numpy.typing import NDArray
from own_memory import peak_bytes
from sql_contenders import (
    duckdb_asof,
    duckdb_case,
    duckdb_group_by,
    duckdb_group_by_class,
    duckdb_histogram,
    duckdb_lookup,
)

__all__ = ["CONTENDERS", "digest"]


def decode(files: list[str], _: NDArray[np.float64]) -> None:
    """Read the columns and touch every value: the lower limit of the time."""
    lf = pl.scan_parquet(files)
    nulls = [pl.col(key).null_count() for key in KEYS]
    lf.select(*nulls, pl.col("score").sum(), pl.col("label").sum()).collect()


def nci_frames(files: list[str], thresholds: NDArray[np.float64]) -> pl.DataFrame:
    """Count with this library."""
    import nci_frames as nf

    scan = nf.scan_predictions(files, segments=KEYS[1:])
    return nf.count_confusion(scan, thresholds=thresholds.tolist())


def nci_frames_unverified(files: list[str], thresholds: NDArray[np.float64]) -> pl.DataFrame:
    """Count files that have no checksums of pages: what verifying them takes is the difference."""
    return nci_frames(files, thresholds)


#: At thresholds they return counts or increments, at every distinct score a sum of areas.
CONTENDERS: dict[str, Callable[[list[str], NDArray[np.float64]], Any]] = {
    function.__name__: function
    for function in (
        decode,
        nci_frames,
        nci_frames_unverified,
        duckdb_histogram,
        duckdb_lookup,
        duckdb_case,
        duckdb_asof,
        duckdb_group_by,
        duckdb_group_by_class,
        polars_search,
        polars_bins,
        polars_packed,
        numpy_search,
        numpy_lookup,
        nci_frames_exact,
        numpy_exact,
        scikit_learn_one_sort,
        scikit_learn_areas,
    )
}


def digest(result: pl.DataFrame | float | None, thresholds: NDArray[np.float64]) -> str:
    """Return what two results share if they have the same counts."""
    if result is None or isinstance(result, float):
        return str(result)
    counts = (
        result.select(*KEYS, "threshold", "tp", "fp")
        if "tp" in result.columns
        else summed(result, thresholds)
    )
    counts = counts.sort(*KEYS, "threshold").with_columns(pl.col("tp", "fp").cast(pl.Int64))
    return hashlib.blake2b(counts.write_csv().encode(), digest_size=16).hexdigest()


def summed(increments: pl.DataFrame, thresholds: NDArray[np.float64]) -> pl.DataFrame:
    """Add increments up from the highest threshold; a bin is how many thresholds its scores reach."""
    places = pl.DataFrame({"bin": np.arange(1, len(thresholds) + 1), "threshold": thresholds})
    increments = increments.with_columns(pl.col("bin").cast(pl.Int64))
    cells = increments.select(KEYS).unique().join(places, how="cross")
    above = pl.col("positives", "negatives").fill_null(0).cum_sum(reverse=True)
    return (
        cells.join(increments, on=[*KEYS, "bin"], how="left")
        .sort(*KEYS, "bin")
        .with_columns(above.over(KEYS))
        .rename({"positives": "tp", "negatives": "fp"})
        .select(*KEYS, "threshold", "tp", "fp")
    )


def main() -> None:
    """Time one contender: its name, the kind of thresholds, a folder, the copies of each file."""
    name, kind, folder, times = sys.argv[1:5]
    files = copied(Path(folder), int(times))
    if name == nci_frames_unverified.__name__:
        files = without_checksums(files)
    thresholds = arbitrary_thresholds() if kind == "arbitrary" else uniform_thresholds()
    # Imports are not measured.
    CONTENDERS[name](few_rows(files[0]), thresholds)
    begin, used = time.perf_counter(), time.process_time()
    result = CONTENDERS[name](files, thresholds)
    seconds, cpu = time.perf_counter() - begin, time.process_time() - used
    found = {
        "seconds": seconds,
        "cpu": cpu,
        "digest": digest(result, thresholds),
        "peak_gb": peak_bytes() / 1e9,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
