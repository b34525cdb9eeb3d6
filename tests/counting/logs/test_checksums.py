"""Damage that can be known is never counted."""

from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.base.files import write_parquet
from nci_frames.counting.logs.checksums import PageChecksums
from tests.logs import random_log

COLUMNS = ["model", "label", "score"]


def flipped(data: bytes, place: int, bit: int) -> bytes:
    changed = bytearray(data)
    changed[place] ^= 1 << bit
    return bytes(changed)


@pytest.mark.thorough
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_any_flipped_bit_in_a_page_is_noticed(tmp_path: Path, version: str) -> None:
    file = tmp_path / "log.parquet"
    options = {"data_page_version": version, "use_dictionary": False, "compression": "none"}
    pq.write_table(random_log(200).to_arrow(), file, write_page_checksum=True, **options)
    PageChecksums([str(file)], COLUMNS).compare()
    nf.count_confusion(nf.scan_predictions(file), thresholds=[0.0])
    whole = file.read_bytes()
    footer = pq.read_metadata(file).row_group(0)
    spans = []
    for place in range(footer.num_columns):
        column = footer.column(place)
        if column.path_in_schema in COLUMNS:
            # The first bytes are the header of the page, which no checksum covers.
            start, end = column.data_page_offset, column.data_page_offset + column.total_compressed_size
            spans.append((max(start, end - (22 if column.path_in_schema == "label" else 1500)), end))
    rng = np.random.default_rng(0)
    for _ in range(100):
        start, end = spans[rng.integers(len(spans))]
        file.write_bytes(flipped(whole, int(rng.integers(start, end)), int(rng.integers(8))))
        with pytest.raises(nf.SourceError, match="damaged"):
            nf.count_confusion(nf.scan_predictions(file), thresholds=[0.0])


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
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
    write_parquet(table, tmp_path / "table.parquet")
    assert_frame_equal(pl.read_parquet(tmp_path / "table.parquet"), table)
    write_parquet(random_log(500), tmp_path / "log.parquet")
    data = (tmp_path / "log.parquet").read_bytes()
    column = pq.read_metadata(tmp_path / "log.parquet").row_group(0).column(4)
    end = column.dictionary_page_offset + column.total_compressed_size
    (tmp_path / "log.parquet").write_bytes(flipped(data, end - 3, 0))
    with pytest.raises(nf.SourceError, match="damaged"):
        PageChecksums([str(tmp_path / "log.parquet")], COLUMNS).compare()


def test_a_footer_with_a_column_name_that_is_no_text_is_damage(tmp_path: Path) -> None:
    file = tmp_path / "log.parquet"
    nf.save_table(random_log(50), file)
    content = file.read_bytes()
    # The last place is that of a column chunk, which Polars does not read.
    place = content.rindex(b"label")
    file.write_bytes(content[:place] + b"l\xf2bel" + content[place + 5 :])
    with pytest.raises(nf.SourceError, match="the footer is damaged"):
        nf.count_confusion(nf.scan_predictions(file), thresholds=[0.5])
