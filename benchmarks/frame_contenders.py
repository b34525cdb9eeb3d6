"""Polars and NumPy count: the forms that their users would write by hand."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
from logs import KEYS, score_type
from numpy.typing import NDArray

__all__ = ["numpy_lookup", "numpy_search", "polars_bins", "polars_packed", "polars_search"]

_CELLS = 1 << 16


def _edges(files: list[str], thresholds: NDArray[np.float64]) -> NDArray[np.floating]:
    return thresholds.astype(score_type(files))


def _by_class(lf: pl.LazyFrame) -> pl.DataFrame:
    return (
        lf.group_by(*KEYS, "bin")
        .agg(positives=pl.col("label").sum().cast(pl.Int64), rows=pl.len().cast(pl.Int64))
        .select(*KEYS, "bin", "positives", negatives=pl.col("rows") - pl.col("positives"))
        .collect()
    )


def _searched(edges: NDArray[np.floating]) -> pl.Expr:
    def place(scores: pl.Series) -> pl.Series:
        return pl.Series(np.searchsorted(edges, scores.to_numpy(), side="right").astype(np.int16))

    return pl.col("score").map_batches(place, is_elementwise=True, return_dtype=pl.Int16)


def polars_search(files: list[str], thresholds: NDArray[np.float64]) -> pl.DataFrame:
    """Bins by NumPy's binary search, one group-by."""
    found = _searched(_edges(files, thresholds))
    return _by_class(pl.scan_parquet(files).select(*KEYS, "label", found.alias("bin")))


def polars_bins(files: list[str], thresholds: NDArray[np.float64]) -> pl.DataFrame:
    """Bins by the expression of Polars, one group-by."""
    edges = pl.Series(_edges(files, thresholds))
    found = pl.col("score").bin_intervals(edges, labels=False)
    return _by_class(pl.scan_parquet(files).select(*KEYS, "label", found.alias("bin")))


def polars_packed(files: list[str], thresholds: NDArray[np.float64]) -> pl.DataFrame:
    """Bins by binary search; keys, bin and class in one integer, which is quicker to group by."""
    edges = _edges(files, thresholds)
    lf = pl.scan_parquet(files)
    values = lf.select(pl.col(KEYS).unique().sort().implode()).collect()
    code = pl.lit(0, pl.UInt32)
    for key in KEYS:
        names = pl.Enum(values[key][0])
        code = code * len(values[key][0]) + pl.col(key).cast(names).to_physical().cast(pl.UInt32)
    bins = len(edges) + 1
    code = (code * bins + _searched(edges).cast(pl.UInt32)) * 2 + pl.col("label").cast(pl.UInt32)
    cells = (
        lf.select(code.alias("cell")).group_by("cell").agg(pl.len().cast(pl.Int64).alias("rows")).collect()
    )
    counts = np.zeros(np.prod([len(values[key][0]) for key in KEYS]) * bins * 2, np.int64)
    counts[cells["cell"].to_numpy()] = cells["rows"].to_numpy()
    return _named({key: values[key][0] for key in KEYS}, counts.reshape(-1, bins, 2))


def _named(values: dict[str, pl.Series], cells: NDArray[np.int64]) -> pl.DataFrame:
    """Return the cells that have rows, with their keys."""
    groups = pl.DataFrame([values[KEYS[0]]])
    groups.columns = [KEYS[0]]
    for key in KEYS[1:]:
        groups = groups.join(pl.DataFrame({key: values[key]}), how="cross", maintain_order="left_right")
    of, place = np.nonzero(cells.any(axis=2))
    found = cells[of, place]
    return groups[of.astype(np.uint32)].with_columns(
        pl.Series("bin", place), pl.Series("positives", found[:, 1]), pl.Series("negatives", found[:, 0])
    )


def _batches(file: str) -> Iterator[tuple[list[NDArray[np.int32]], list[list[str]], NDArray, NDArray]]:
    """Read a file in pieces that a cache holds, keys as they are encoded."""
    import pyarrow.parquet as pq

    reader = pq.ParquetFile(file, read_dictionary=list(KEYS))
    for batch in reader.iter_batches(1 << 17, columns=[*KEYS, "label", "score"], use_threads=False):
        codes = [batch[key].indices.to_numpy(zero_copy_only=False) for key in KEYS]
        names = [batch[key].dictionary.to_pylist() for key in KEYS]
        yield codes, names, batch["label"].to_numpy(zero_copy_only=False), batch["score"].to_numpy()


def _numpy(files: list[str], bins: int, place: Callable[[NDArray], NDArray]) -> pl.DataFrame:
    """Count each file in one of two threads; add the cells."""
    values = pl.scan_parquet(files).select(pl.col(KEYS).unique().sort().implode()).collect()
    names = {key: values[key][0] for key in KEYS}
    numbers = [{name: number for number, name in enumerate(names[key])} for key in KEYS]
    sizes = [len(each) for each in numbers]
    cells = int(np.prod(sizes)) * bins * 2

    def count(share: list[str]) -> NDArray[np.int64]:
        total = np.zeros(cells, np.int64)
        for file in share:
            for codes, encoded, label, score in _batches(file):
                code = np.zeros(len(score), np.intp)
                for key, size in enumerate(sizes):
                    number = np.array([numbers[key][name] for name in encoded[key]], np.intp)
                    code *= size
                    code += number.take(codes[key])
                code *= bins
                code += place(score)
                code *= 2
                code += label
                total += np.bincount(code, minlength=cells)
        return total

    threads = min(2, os.cpu_count() or 1)
    with ThreadPoolExecutor(threads) as pool:
        total = sum(pool.map(count, [files[start::threads] for start in range(threads)]))
    return _named(names, np.asarray(total).reshape(-1, bins, 2))


def numpy_search(files: list[str], thresholds: NDArray[np.float64]) -> pl.DataFrame:
    """Codes of keys as Parquet has them, bins by binary search, counts by ``bincount``."""
    edges = _edges(files, thresholds)
    return _numpy(files, len(edges) + 1, lambda score: np.searchsorted(edges, score, side="right"))


def numpy_lookup(files: list[str], thresholds: NDArray[np.float64]) -> pl.DataFrame:
    """The same; bins by a table of even cells, then comparison with the thresholds of the cell."""
    edges = _edges(files, thresholds)
    cell = np.minimum((edges * edges.dtype.type(_CELLS)).astype(np.intp), _CELLS)
    held = np.bincount(cell, minlength=_CELLS + 1)
    first = np.concatenate([[0], np.cumsum(held)[:-1]])
    padded = np.append(edges, np.full(held.max() + 1, np.inf, edges.dtype))

    def place(score: NDArray[np.floating]) -> NDArray[np.intp]:
        found = first.take((score * edges.dtype.type(_CELLS)).astype(np.intp))
        # Thresholds are sorted: a score that does not reach the next one reaches none after it.
        for _ in range(held.max()):
            found += score >= padded.take(found)
        return found

    return _numpy(files, len(edges) + 1, place)
