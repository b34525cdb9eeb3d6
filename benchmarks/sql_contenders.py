"""DuckDB counts: the forms that its users would write.

Constants have the type of the scores, and results come as Arrow tables.
"""

from typing import Any

import numpy as np
import polars as pl
from logs import KEYS, score_type
from numpy.typing import NDArray

__all__ = [
    "duckdb_asof",
    "duckdb_case",
    "duckdb_group_by",
    "duckdb_group_by_class",
    "duckdb_histogram",
    "duckdb_lookup",
]

_KEYS = ", ".join(KEYS)
_CLASSES = "count_if(label) as positives, count_if(not label) as negatives"
#: Even cells of [0, 1] in the form with a lookup table.
_CELLS = 1 << 16


def _query(sql: str, **tables: Any) -> pl.DataFrame:
    import duckdb

    with duckdb.connect(config={"threads": 2, "preserve_insertion_order": False}) as database:
        for name, table in tables.items():
            database.register(name, table)
        return pl.DataFrame(database.sql(sql).to_arrow_table())


def _read(files: list[str]) -> str:
    return f"read_parquet([{', '.join(map(repr, files))}])"


def _literal(value: float, dtype: type[np.floating[Any]]) -> str:
    return f"'{value!r}'::{'FLOAT' if dtype is np.float32 else 'DOUBLE'}"


def _edges(files: list[str], thresholds: NDArray[np.float64]) -> tuple[NDArray[np.floating[Any]], list[str]]:
    """Return the thresholds in the type of the scores, as numbers and as constants."""
    dtype = score_type(files)
    edges = thresholds.astype(dtype)
    return edges, [_literal(float(edge), dtype) for edge in edges]


def _by_class(found: pl.DataFrame) -> pl.DataFrame:
    """Put the classes, which are rows, side by side."""
    rows = pl.col("n").cast(pl.Int64)
    return found.group_by(*KEYS, "bin").agg(
        positives=rows.filter(pl.col("label")).sum(), negatives=rows.filter(~pl.col("label")).sum()
    )


def duckdb_histogram(files: list[str], thresholds: NDArray[np.float64]) -> pl.DataFrame:
    """Arbitrary thresholds: a histogram over bounds for each group and class."""
    edges, _ = _edges(files, thresholds)
    # Bins include their upper bound, so each bound is the largest number below its threshold.
    below = [
        _literal(float(bound), edges.dtype.type) for bound in np.nextafter(edges, edges.dtype.type(-np.inf))
    ]
    bounds = f"[{', '.join([*below, _literal(2.0, edges.dtype.type)])}]"
    found = _query(
        f"""select {_KEYS}, label, map_values(histogram(score, {bounds})) as n
            from {_read(files)} group by all"""
    )
    bins = pl.Series(np.tile(np.arange(len(edges) + 1), len(found)))
    return _by_class(found.explode("n").with_columns(bins.alias("bin")))


def duckdb_lookup(files: list[str], thresholds: NDArray[np.float64]) -> pl.DataFrame:
    """Arbitrary thresholds: join with a table of even cells, then compare with the thresholds of the cell."""
    edges, _ = _edges(files, thresholds)
    cell = np.minimum((edges * edges.dtype.type(_CELLS)).astype(np.int64), _CELLS)
    held = np.bincount(cell, minlength=_CELLS + 1)
    first = np.concatenate([[0], np.cumsum(held)[:-1]])
    # A threshold that is not there is never reached.
    padded = np.append(edges, np.full(held.max(), np.inf, edges.dtype))
    places = range(int(held.max()))
    columns = {
        f"t{place}": np.where(held > place, padded[first + place], np.inf).astype(edges.dtype)
        for place in places
    }
    table = pl.DataFrame(
        {"cell": np.arange(_CELLS + 1, dtype=np.int32), "first": first.astype(np.int16), **columns}
    )
    reached = " + ".join(f"(score >= t{place})::smallint" for place in places)
    return _query(
        f"""select {_KEYS}, (first + {reached})::smallint as bin, {_CLASSES}
            from {_read(files)} join cells on floor(score * {_CELLS})::integer = cell group by all""",
        cells=table.to_arrow(),
    )


def duckdb_asof(files: list[str], thresholds: NDArray[np.float64]) -> pl.DataFrame:
    """Arbitrary thresholds: join each row with the highest threshold that it reaches."""
    edges, _ = _edges(files, thresholds)
    edges = np.append(edges.dtype.type(-np.inf), edges)
    table = pl.DataFrame({"threshold": edges, "bin": np.arange(len(edges), dtype=np.int16)})
    return _query(
        f"""select {_KEYS}, bin, {_CLASSES}
            from {_read(files)} asof join thresholds on score >= threshold group by all""",
        thresholds=table.to_arrow(),
    )


def duckdb_case(files: list[str], thresholds: NDArray[np.float64]) -> pl.DataFrame:
    """Arbitrary thresholds: a binary search of nested CASE expressions."""
    _, constants = _edges(files, thresholds)

    def search(low: int, high: int) -> str:
        if low == high:
            return f"{low}::smallint"
        middle = (low + high) // 2
        higher, lower = search(middle + 1, high), search(low, middle)
        return f"case when score >= {constants[middle]} then {higher} else {lower} end"

    return _query(
        f"""select {_KEYS}, {search(0, len(constants))} as bin, {_CLASSES}
                from {_read(files)} group by all"""
    )


def duckdb_group_by(files: list[str], thresholds: NDArray[np.float64]) -> pl.DataFrame:
    """Uniform thresholds: the bin is floor(score * n); both classes in a row."""
    n = len(thresholds)
    return _query(
        f"""select {_KEYS}, least(floor(score * {n})::smallint, {n - 1}) + 1 as bin,
                   {_CLASSES}
            from {_read(files)} group by all"""
    )


def duckdb_group_by_class(files: list[str], thresholds: NDArray[np.float64]) -> pl.DataFrame:
    """Uniform thresholds: the bin is floor(score * n); the class is a key."""
    n = len(thresholds)
    return _by_class(
        _query(
            f"""select {_KEYS}, label, least(floor(score * {n})::smallint, {n - 1}) + 1 as bin, count(*) as n
                from {_read(files)} group by all"""
        )
    )
