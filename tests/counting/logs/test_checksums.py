"""Damage that can be known is never counted; checksums of pages are compared as a Parquet reader does it."""

from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.counting.kernels import library
from nci_frames.counting.logs.checksums import PageChecksums, damage
from tests.logs import random_log
from tests.parquet import TABLE

pytestmark = pytest.mark.skipif(library.LIBRARY is None, reason="the package was built without a C compiler")

COLUMNS = ["model", "label", "score"]


def flipped(data: bytes, place: int, bit: int) -> bytes:
    changed = bytearray(data)
    changed[place] ^= 1 << bit
    return bytes(changed)


@pytest.mark.parametrize("reader", ["the loops in C", "pyarrow"])
def test_a_damaged_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str) -> None:
    if reader == "pyarrow":
        monkeypatch.setattr(library, "LIBRARY", None)
    for name in ("a", "b"):
        table = random_log(500, seed=1).to_arrow()
        pq.write_table(table, tmp_path / f"{name}.parquet", write_page_checksum=True, compression="none")
    file = tmp_path / "b.parquet"
    column = pq.read_metadata(file).row_group(0).column(4)
    place = column.dictionary_page_offset + column.total_compressed_size - 3
    file.write_bytes(flipped(file.read_bytes(), place, 3))
    scan = nf.scan_predictions(tmp_path)
    for read in (scan.collect, scan.head(1).collect, lambda: nf.count_confusion(scan, thresholds=[0.5])):
        with pytest.raises(nf.SourceError, match="1 of the source's files are damaged") as error:
            read()
        assert "b.parquet'" in str(error.value)
        assert "a.parquet'" not in str(error.value)
    # Damage in a column that is not read does no harm.
    unread = pq.read_metadata(file).row_group(0).column(2)
    assert unread.path_in_schema not in COLUMNS
    damaged = unread.dictionary_page_offset + unread.total_compressed_size - 3
    file.write_bytes(flipped(flipped(file.read_bytes(), place, 3), damaged, 3))
    assert nf.scan_predictions(tmp_path).collect().height == 1000


def test_what_is_written_has_checksums_and_is_the_table(tmp_path: Path) -> None:
    table = pl.DataFrame(
        {
            "enum": pl.Series(["x", None], dtype=pl.Enum(["x", "y"])),
            "category": pl.Series(["x", None], dtype=pl.Categorical),
            "text": ["a", None],
            "float": pl.Series([0.1, None], dtype=pl.Float32),
            "whole": pl.Series([1, None], dtype=pl.UInt8),
            "day": [date(2026, 1, 1), None],
            "list": [[1.0], None],
            "null": pl.Series([None, None], dtype=pl.Null),
        }
    )
    nf.save_table(table, tmp_path / "table.parquet")
    assert_frame_equal(pl.read_parquet(tmp_path / "table.parquet"), table)
    nf.save_table(random_log(500), tmp_path / "log.parquet")
    data = (tmp_path / "log.parquet").read_bytes()
    column = pq.read_metadata(tmp_path / "log.parquet").row_group(0).column(4)
    end = column.dictionary_page_offset + column.total_compressed_size
    (tmp_path / "log.parquet").write_bytes(flipped(data, end - 3, 0))
    with pytest.raises(nf.SourceError, match="damaged"):
        PageChecksums([str(tmp_path / "log.parquet")], COLUMNS).compare()


@pytest.mark.parametrize(("name", "other"), [(b"numbes", None), (b"n\xf2mber", "the footer is damaged")])
def test_a_column_that_one_row_group_lacks_is_damage(tmp_path: Path, name: bytes, other: str | None) -> None:
    file = tmp_path / "log.parquet"
    pq.write_table(TABLE.select(["number", "whole"]), file, row_group_size=1000, store_schema=False)
    whole = file.read_bytes()
    place = whole.rindex(b"number")
    file.write_bytes(whole[:place] + name + whole[place + 6 :])
    assert found_in(file, ["number"]) == "the footer is damaged"
    assert found_in(file, ["whole"]) == other


#: Those that a log can need; of others no page is looked at.
FLAT = TABLE.column_names[:-1]


def chunks(file: Path | pa.BufferReader) -> list[tuple[str, int, int]]:
    """Return the name, the start and the end of every column in every row group."""
    footer = pq.read_metadata(file)
    found = []
    for group in map(footer.row_group, range(footer.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            start = column.dictionary_page_offset or column.data_page_offset
            found.append((column.path_in_schema, start, start + column.total_compressed_size))
    return found


def found_in(file: Path, columns: list[str] = FLAT) -> str | None:
    with ThreadPoolExecutor(1) as threads:
        return damage(str(file), columns, threads)


@pytest.mark.thorough
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "zstd", "snappy"])
@pytest.mark.parametrize("options", [{"use_dictionary": False}, {"write_statistics": False}, {}])
def test_every_page_of_a_writer_is_found(
    tmp_path: Path, version: str, compression: str, options: dict[str, bool]
) -> None:
    file = tmp_path / "log.parquet"
    for written in (True, False):
        pq.write_table(
            TABLE,
            file,
            write_page_checksum=written,
            data_page_version=version,
            compression=compression,
            data_page_size=2000,
            row_group_size=1000,
            **options,  # type: ignore[arg-type]
        )
        assert found_in(file, [*FLAT, "not there"]) is None
        whole = file.read_bytes()
        for name, start, end in chunks(file):
            # Every byte of the last page's data counts; without a checksum none does.
            file.write_bytes(whole[: end - 1] + bytes([whole[end - 1] ^ 1]) + whole[end:])
            told = found_in(file)
            assert (told is not None) == (written and start < end and name in FLAT), name
            assert told is None or f"the column {name!r}" in told
            assert found_in(file, [other for other in FLAT if other != name]) is None
        file.write_bytes(whole)


@pytest.mark.thorough
def test_damage_is_where_a_reader_finds_it(tmp_path: Path) -> None:
    file = tmp_path / "log.parquet"
    table = TABLE.select(FLAT)
    pq.write_table(table, file, write_page_checksum=True, data_page_size=500, row_group_size=3000)
    whole = file.read_bytes()
    rng = np.random.default_rng(1)
    noticed = 0
    for place in rng.integers(4, chunks(file)[-1][2], 300).tolist():
        changed = bytearray(whole)
        changed[place] ^= 1 << int(rng.integers(8))
        file.write_bytes(changed)
        try:
            pq.ParquetFile(file, page_checksum_verification=True).read()
        except (OSError, pa.ArrowException) as error:
            if "CRC checksum" in str(error):
                assert found_in(file) is not None, place
                noticed += 1
    assert noticed > 200


@pytest.fixture(scope="module")
def one_column(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    file = tmp_path_factory.mktemp("pages") / "log.parquet"
    pq.write_table(TABLE.select(["number"]), file, write_page_checksum=True, use_dictionary=False)
    return file, file.read_bytes()


@example(data=b"\x15")
@given(data=st.binary(min_size=1, max_size=200))
def test_what_is_no_page_is_damage(one_column: tuple[Path, bytes], data: bytes) -> None:
    file, whole = one_column
    ((_, start, _),) = chunks(pa.BufferReader(whole))
    # A type, two sizes, and the checksum of other bytes than none.
    for beginning, marked in ((b"\x15\x00\x15\x00\x15\x00\x15\x02", True), (b"\x15", False), (b"", False)):
        changed = beginning + data
        file.write_bytes(whole[:start] + changed + whole[start + len(changed) :])
        assert found_in(file) or not marked


def test_a_page_size_that_overflows_and_a_page_of_other_values_are_damage(
    one_column: tuple[Path, bytes],
) -> None:
    file, whole = one_column
    ((_, start, _),) = chunks(pa.BufferReader(whole))
    # A type, a size, and the largest size of 64 bits; its sum with the length of the header is negative.
    header = b"\x15\x00\x15\x00\x15\xfe" + b"\xff" * 8 + b"\x01\x00"
    # The header of the data within that of the page begins with their number; the lowest bit is the sign.
    values = flipped(whole, whole.index(b"\x1c\x15", start) + 2, 0)
    for changed in (whole[:start] + header + whole[start + len(header) :], values):
        file.write_bytes(changed)
        assert found_in(file) == "a page header is damaged"


def test_a_damaged_footer_is_damage_and_never_another_error(tmp_path: Path) -> None:
    file = tmp_path / "log.parquet"
    pq.write_table(TABLE.select(FLAT), file, write_page_checksum=True)
    whole = file.read_bytes()
    for content in (b"", b"PAR1", whole[:-9], b"\x80" * 64 + (64).to_bytes(4, "little") + b"PAR1"):
        file.write_bytes(content)
        assert found_in(file) == "the footer is damaged"
    # All pages are gone, so that the columns would begin and end behind the file.
    length = int.from_bytes(whole[-8:-4], "little")
    file.write_bytes(b"PAR1" + whole[-8 - length :])
    assert found_in(file) == "the footer is damaged"
    assert "No such file" in str(found_in(tmp_path / "none"))


def test_a_header_without_checksum_that_claims_other_values_is_damage(tmp_path: Path) -> None:
    # Polars takes memory for the values that a header claims: this bit ends the process.
    file = tmp_path / "log.parquet"
    log = random_log(1500, seed=3)
    pq.write_table(log.to_arrow(), file, compression="none", row_group_size=400, data_page_size=1000)
    whole = file.read_bytes()
    (start,) = (start for name, start, _ in chunks(file)[:5] if name == "label")
    file.write_bytes(flipped(whole, whole.index(b"\x2c\x15", start) + 2, 0))
    with pytest.raises(nf.SourceError, match="a page header is damaged"):
        nf.count_confusion(nf.scan_predictions(file), thresholds=[0.5])


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_a_long_header_without_checksum_is_no_damage(tmp_path: Path, version: str) -> None:
    file = tmp_path / "log.parquet"
    table = pa.table({"model": ["a" * 900, "b" * 900], "nothing": pa.nulls(2, pa.string())})
    pq.write_table(table, file, use_dictionary=False, data_page_version=version)
    assert found_in(file, table.column_names) is None
    pl.from_arrow(table).write_parquet(file)  # type: ignore[union-attr]
    assert found_in(file, table.column_names) is None


@pytest.mark.long
def test_no_bit_of_a_header_ends_the_process(tmp_path: Path) -> None:
    file = tmp_path / "log.parquet"
    log = random_log(300, seed=3)
    pq.write_table(log.to_arrow(), file, compression="none", data_page_size=1000)
    whole = file.read_bytes()
    refused = 0
    for _, start, _ in chunks(file):
        for bit in range(8 * start, 8 * (start + 24), 3):
            file.write_bytes(flipped(whole, bit // 8, bit % 8))
            try:
                nf.count_confusion(nf.scan_predictions(file), thresholds=[0.5])
            except nf.SourceError:
                refused += 1
    assert refused > 100


@pytest.mark.long
def test_no_bit_of_a_footer_ends_the_process(one_column: tuple[Path, bytes]) -> None:
    file, whole = one_column
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    told = set()
    for bit in range(8 * footer, 8 * len(whole), 3):
        file.write_bytes(flipped(whole, bit // 8, bit % 8))
        told.add(found_in(file, ["number"]))
    assert told == {None, "the footer is damaged", "a page header is damaged"}
