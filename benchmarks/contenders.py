"""Let one contender count one log; print the seconds, a checksum of the counts, and the peak memory.

``benchmarks/run.py`` runs it, each time in a new process.
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

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


def arbitrary_thresholds(n: int = 1024) -> list[float]:
    """Return sorted random thresholds."""
    return np.sort(np.random.default_rng(7).random(n)).tolist()


def uniform_thresholds(n: int = 1024) -> list[float]:
    """Return the thresholds j/n: floor(score * n) is the bin of a score."""
    return [place / n for place in range(n)]


def decode(files: list[str], _: list[float]) -> int:
    """Read the columns and touch every value: the lower limit of the time."""
    lf = pl.scan_parquet(files)
    nulls = [pl.col(key).null_count() for key in KEYS]
    lf.select(*nulls, pl.col("score").sum(), pl.col("label").sum()).collect()
    return 0


def nci_frames(files: list[str], thresholds: list[float]) -> int:
    """Count with this library."""
    import nci_frames as nf

    scan = nf.scan_predictions(files, fold="fold", segments="segment")
    return int(nf.count_confusion(scan, thresholds=thresholds)["tp"].sum())


def polars(files: list[str], thresholds: list[float]) -> int:
    """Count with hand-written Polars: bins by binary search, one group-by, cumulative sums from above."""
    edges = np.array(thresholds)

    def place(scores: pl.Series) -> pl.Series:
        return pl.Series(np.searchsorted(edges, scores.to_numpy(), side="right").astype(np.int32))

    binned = (
        pl.scan_parquet(files)
        .select(
            *KEYS,
            pl.col("label").cast(pl.Int64),
            pl.col("score").map_batches(place, is_elementwise=True, return_dtype=pl.Int32).alias("bin"),
        )
        .group_by(*KEYS, "bin", "label")
        .agg(pl.len().cast(pl.Int64).alias("rows"))
        .collect()
    )
    places = pl.DataFrame({"bin": np.arange(1, len(edges) + 1, dtype=np.int32)})
    full = binned.select(KEYS).unique().join(places, how="cross")
    positives = binned.filter(label=1).select(*KEYS, "bin", "rows")
    # Rows below the first threshold are not needed: they are negative at every threshold.
    counts = full.join(positives, on=[*KEYS, "bin"], how="left").with_columns(pl.col("rows").fill_null(0))
    tp = counts.sort("bin", descending=True).with_columns(pl.col("rows").cum_sum().over(KEYS))
    return int(tp["rows"].sum())


def duckdb_histogram(files: list[str], thresholds: list[float]) -> int:
    """Count with DuckDB at arbitrary thresholds: a histogram over bounds for each group and class."""
    import duckdb

    # Bins include their upper bound, so each bound is the largest float below its threshold.
    bounds = np.nextafter(np.array(thresholds), -np.inf).tolist()
    duckdb.sql("set threads = 2")
    groups = duckdb.execute(
        f"""select {", ".join(KEYS)}, label, histogram(score, $bounds) as h
            from read_parquet($files) group by all""",
        {"bounds": [*bounds, 2.0], "files": files},
    ).fetchall()
    total = 0
    for *_, label, histogram in groups:
        rows = np.array(list(histogram.values()), dtype=np.int64)
        reached = rows[::-1].cumsum()[::-1][1:]
        total += int(reached.sum()) if label else 0
    return total


def duckdb_group_by(files: list[str], thresholds: list[float]) -> int:
    """Count with DuckDB at uniform thresholds: the bin is floor(score * n)."""
    import duckdb

    n = len(thresholds)
    duckdb.sql("set threads = 2")
    rows = duckdb.execute(
        f"""select {", ".join(KEYS)}, cast(floor(score * {n}) as integer) as bin,
                   sum(label::bigint)::bigint as positives, count(*) as rows
            from read_parquet($files) group by all""",
        {"files": files},
    ).fetchnumpy()
    # A row in bin b is positive at the thresholds 0/n to b/n.
    return int(((np.minimum(rows["bin"], n - 1) + 1) * rows["positives"]).sum())


def nci_frames_exact(files: list[str], _: list[float]) -> float:
    """Count every distinct score with this library, then compute both areas of every model and fold."""
    import nci_frames as nf

    counts = nf.count_confusion(nf.scan_predictions(files, fold="fold"), thresholds="exact")
    areas = nf.compute_areas(counts, prevalence="observed")
    return round(float(areas["value"].sum()), 6)


def scikit_learn_exact(files: list[str], _: list[float]) -> float:
    """Compute both areas with scikit-learn, group by group."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    log = pl.read_parquet(files, columns=["model", "fold", "label", "score"])
    total = 0.0
    for group in log.partition_by("model", "fold"):
        label, score = group["label"].to_numpy(), group["score"].to_numpy()
        total += float(roc_auc_score(label, score)) + float(average_precision_score(label, score))
    return round(total, 6)


CONTENDERS: dict[str, Callable[[list[str], list[float]], float]] = {
    function.__name__: function
    for function in (
        decode, nci_frames, polars, duckdb_histogram, duckdb_group_by, nci_frames_exact, scikit_learn_exact,
    )
}  # fmt: skip


def main() -> None:
    """Time one contender: its name, the kind of thresholds, a folder, the names that each file has."""
    name, kind, folder, times = sys.argv[1:5]
    files = linked(Path(folder), int(times))
    thresholds = arbitrary_thresholds() if kind == "arbitrary" else uniform_thresholds()
    begin = time.perf_counter()
    checksum = CONTENDERS[name](files, thresholds)
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(json.dumps({"seconds": seconds, "checksum": checksum, "peak_gb": peak}))


if __name__ == "__main__":
    main()
