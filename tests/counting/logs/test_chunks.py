"""Where the pages of columns are, as pyarrow finds them in an undamaged footer."""

from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nci_frames as nf
from nci_frames.counting.logs.chunks import MalformedFooterError, column_chunks
from tests.logs import random_log
from tests.parquet import TABLE


def found(file: Path, columns: list[str]) -> list[tuple[str, int, int]]:
    with file.open("rb") as opened:
        return [(".".join(c.path), c.start, c.size) for c in column_chunks(opened.fileno(), columns)]


def by_pyarrow(file: Path) -> list[tuple[str, int, int]]:
    footer = pq.read_metadata(file)
    columns = [
        column
        for group in map(footer.row_group, range(footer.num_row_groups))
        for column in map(group.column, range(group.num_columns))
    ]
    return [
        (c.path_in_schema, c.dictionary_page_offset or c.data_page_offset, c.total_compressed_size)
        for c in columns
    ]


def assert_all_found(file: Path) -> None:
    expected = by_pyarrow(file)
    columns = pq.read_schema(file).names
    assert sorted(found(file, columns)) == sorted(expected)
    # Columns that are not in the file are not an error: they may be in the names of folders.
    for column in columns:
        inside = [chunk for chunk in expected if f"{chunk[0]}.".startswith(f"{column}.")]
        assert found(file, [column, "day"]) == sorted(inside, key=lambda chunk: chunk[1])


def test_a_name_that_is_also_in_the_data_is_not_taken_for_a_column(tmp_path: Path) -> None:
    """The least and the largest text of a chunk are in the footer, and may look like the name of a column."""
    file = tmp_path / "log.parquet"
    text = b"\x19\x18\x05score".decode()
    table = pa.table({"score": [0.5, 0.25], "note": [text, text]})
    pq.write_table(table, file)
    assert file.read_bytes().count(text.encode()) > 2
    assert_all_found(file)


def test_chunks_are_where_pyarrow_finds_them(tmp_path: Path) -> None:
    file = tmp_path / "log.parquet"
    for options in ({}, {"use_dictionary": False}, {"write_statistics": False}, {"row_group_size": 100}):
        pq.write_table(TABLE, file, **options)  # type: ignore[arg-type]
        assert_all_found(file)
    # More columns than a short list has, and names of several bytes.
    wide = pl.DataFrame({f"größe {i}": [i, None] for i in range(40)})
    wide.write_parquet(file)
    assert_all_found(file)
    duckdb.sql("SELECT * FROM wide").write_parquet(str(file))
    assert_all_found(file)
    pq.write_table(TABLE.slice(0, 0), file)
    assert_all_found(file)


def test_a_damaged_footer_is_damage_and_never_another_error(tmp_path: Path) -> None:
    file = tmp_path / "log.parquet"
    nf.save_table(random_log(50), file)
    whole = file.read_bytes()
    columns = list(random_log(1).columns)
    expected = found(file, columns)
    start = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    rng = np.random.default_rng(0)
    outcomes = {"same": 0, "other": 0, "damage": 0}
    for place in range(start, len(whole) - 4):
        changed = bytearray(whole)
        changed[place] ^= 1 << int(rng.integers(8))
        file.write_bytes(changed)
        try:
            outcomes["same" if found(file, columns) == expected else "other"] += 1
        except MalformedFooterError:
            outcomes["damage"] += 1
    assert min(outcomes.values()) > 0
    for content in (b"", b"PAR1", whole[:-9], b"\x80" * 64 + (64).to_bytes(4, "little") + b"PAR1"):
        file.write_bytes(content)
        with pytest.raises(MalformedFooterError):
            found(file, columns)


def test_statistics_that_contradict_each_other_do_not_end_the_process(tmp_path: Path) -> None:
    """pyarrow ends it where a chunk's statistics have more or fewer levels than the column."""
    file = tmp_path / "log.parquet"
    log = random_log(200)
    pq.write_table(log.to_arrow(), file, write_page_checksum=True)
    expected = nf.count_confusion(nf.scan_predictions(file), thresholds=[0.5])
    whole = file.read_bytes()
    # Rows by level, as a list of two integers; in the damaged file as a list of one, in as many bytes.
    assert b"\x19\x26\x00\x90\x03" in whole
    file.write_bytes(whole.replace(b"\x19\x26\x00\x90\x03", b"\x19\x16\x90\x83\x00"))
    assert nf.count_confusion(nf.scan_predictions(file), thresholds=[0.5]).equals(expected)
