"""Logs as other programs write them, with columns that nobody needs: refused, or counted as they are."""

import datetime as dt
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import nci_frames as nf
from tests.fuzz.campaign import Campaign, Case, judged
from tests.logs import brute_force

_THRESHOLDS = [0.1, 0.5, 0.7]
#: Names that differ from those of the roles by their case alone, and others that are hard to write.
_NAMES = ["Model", "SCORE", "Label", "Country", "a b", 'qu"ote', "ключ", "🚀", "select", "__index_level_0__"]
#: Columns that nobody needs, in the words of DuckDB.
_ODD_SQL = (
    "INTERVAL 3 DAYS", "uuid()", "[1, 2]", "{'a': 1}", "MAP {'k': 2}", "TIME '12:00'", "1::HUGEINT", "NULL",
    "'a'::BLOB", "1.5::DECIMAL(38, 9)", "'x'::ENUM('x', 'y')", "TIMESTAMPTZ '2026-01-01'",
)  # fmt: skip
#: The same as Arrow types with a value.
_ODD_ARROW: tuple[tuple[Any, Any], ...] = (
    (pa.list_(pa.int32()), [1]), (pa.struct([("a", pa.int8())]), {"a": 1}), (pa.binary(16), bytes(16)),
    (pa.time64("ns"), dt.time(12)), (pa.decimal256(60, 2), Decimal("1.25")), (pa.null(), None),
    (pa.duration("s"), dt.timedelta(1)), (pa.large_string(), "x"), (pa.float16(), np.float16(1)),
    (pa.map_(pa.string(), pa.int8()), [("k", 1)]), (pa.timestamp("ns", "Europe/Berlin"), 0),
)  # fmt: skip


def _log(draw: random.Random) -> pl.DataFrame:
    rows = draw.randint(1, 60)
    values = {
        "model": [draw.choice(["forest", "linear"]) for _ in range(rows)],
        "country": [draw.choice(["at", "de", None]) for _ in range(rows)],
        "day": [draw.choice([1, 2, 3]) for _ in range(rows)],
        "label": [draw.choice([0, 1]) for _ in range(rows)],
        "score": [draw.choice([0.0, 0.1, 0.5, 0.7, 1.0]) for _ in range(rows)],
    }
    return pl.DataFrame(values).cast(
        {"label": draw.choice([pl.Int8, pl.Int64, pl.Boolean, pl.Float64, pl.UInt16])}
    )


def _by_duckdb(log: pl.DataFrame, path: Path, draw: random.Random) -> None:
    odd = "".join(
        f', {draw.choice(_ODD_SQL)} AS "{name.replace(chr(34), chr(34) * 2)}"'
        for name in draw.sample(_NAMES[4:], draw.randint(0, 2))
    )
    form = draw.choice(["", ", PARQUET_VERSION V2", ", COMPRESSION zstd", ", ROW_GROUP_SIZE 10"])
    with duckdb.connect() as connection:
        connection.register("log", log.to_arrow())
        query = f"COPY (SELECT *{odd} FROM log) TO '{path}' (FORMAT PARQUET{form})"  # noqa: S608
        connection.sql(query)


def _by_pyarrow(log: pl.DataFrame, path: Path, draw: random.Random) -> None:
    table = log.to_arrow()
    for name in draw.sample(_NAMES, draw.randint(0, 2)):
        dtype, value = draw.choice(_ODD_ARROW)
        table = table.append_column(name, pa.array([value] * len(log), dtype))
    for text in ("model", "country"):
        if draw.random() < 0.3:
            place = table.column_names.index(text)
            table = table.set_column(place, text, table[text].dictionary_encode())
    claim = draw.choice([None, *range(5)])
    pq.write_table(
        table,
        path,
        row_group_size=draw.choice([1, 7, 1000]),
        data_page_version=draw.choice(["1.0", "2.0"]),
        version=draw.choice(["1.0", "2.4", "2.6"]),
        use_dictionary=draw.choice([True, False]),
        compression=draw.choice(["snappy", "zstd", "none", "gzip"]),
        write_page_checksum=draw.choice([True, False]),
        write_page_index=draw.choice([True, False]),
        store_schema=draw.choice([True, False]),
        # As often as not, a false claim.
        sorting_columns=None if claim is None else [pq.SortingColumn(claim)],
    )


def _by_pandas(log: pl.DataFrame, path: Path, draw: random.Random) -> None:
    frame = log.to_pandas()
    frame.index = frame["day"] if draw.random() < 0.5 else frame.index
    frame.to_parquet(path, index=draw.choice([None, True, False]))


def _by_polars(log: pl.DataFrame, path: Path, draw: random.Random) -> None:
    claim = [draw.choice(log.columns)] if draw.random() < 0.5 else []
    odd = log.with_columns(pl.col(claim).set_sorted(), pl.lit([1]).alias(draw.choice(_NAMES)))
    odd.write_parquet(
        path, row_group_size=draw.choice([None, 5]), statistics=draw.choice([True, False, "full"])
    )


_WRITERS: tuple[Callable[[pl.DataFrame, Path, random.Random], None], ...] = (
    _by_duckdb,
    _by_pyarrow,
    _by_pandas,
    _by_polars,
)


def _case(seed: int, number: int) -> Case:
    draw = random.Random(f"{seed} writers {number}")
    writers = [draw.choice(_WRITERS) for _ in range(draw.choice([1, 1, 2]))]
    logs = [_log(draw) for _ in writers]
    keys = ["country", "day"]

    def count(folder: Path) -> str | None:
        for place, (writer, log) in enumerate(zip(writers, logs, strict=True)):
            try:
                writer(log, folder / f"{place}.parquet", draw)
            except pa.ArrowNotImplementedError:
                return None  # what pyarrow cannot write is no log
        counts = nf.count_confusion(nf.scan_predictions(folder, segments=keys), thresholds=_THRESHOLDS)
        whole = pl.concat((log.cast({"label": pl.Boolean}) for log in logs), how="vertical_relaxed")
        expected = brute_force(whole, keys, _THRESHOLDS)
        return None if counts.drop("resolution").rows() == expected else "other counts"

    names = " and ".join(writer.__name__.removeprefix("_by_") for writer in writers)
    return Case(names, lambda folder: judged(lambda: count(folder)))


CAMPAIGN = Campaign("other writers", 1_000, 40, _case, memory=None)
