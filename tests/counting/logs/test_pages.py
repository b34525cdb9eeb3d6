"""Pages are found, and their checksums compared, as a Parquet reader does it."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nci_frames.counting.logs.pages import MalformedPageError, has_checksum, is_intact
from tests.parquet import TABLE


def chunks(file: Path) -> list[tuple[str, bytes]]:
    footer = pq.read_metadata(file)
    data = file.read_bytes()
    found = []
    for group in map(footer.row_group, range(footer.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            start = column.dictionary_page_offset or column.data_page_offset
            found.append((column.path_in_schema, data[start : start + column.total_compressed_size]))
    return found


def intact(chunk: bytes) -> bool:
    try:
        return is_intact(chunk)
    except MalformedPageError:
        return False


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "zstd", "snappy"])
@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize("statistics", [True, False])
def test_every_page_of_a_writer_is_found(
    tmp_path: Path, version: str, compression: str, dictionary: bool, statistics: bool
) -> None:
    options = {
        "data_page_version": version,
        "compression": compression,
        "use_dictionary": dictionary,
        "write_statistics": statistics,
        "data_page_size": 2000,
        "row_group_size": 1000,
    }
    for written in (True, False):
        file = tmp_path / f"{written}.parquet"
        pq.write_table(TABLE, file, write_page_checksum=written, **options)
        for name, chunk in chunks(file):
            assert has_checksum(chunk[:64]) == written, name
            assert is_intact(chunk), name
            # Every byte of the last page's data counts; without a checksum none does.
            changed = chunk[:-1] + bytes([chunk[-1] ^ 1])
            assert intact(changed) != written, name


def test_damage_is_where_a_reader_finds_it(tmp_path: Path) -> None:
    file = tmp_path / "log.parquet"
    pq.write_table(TABLE, file, write_page_checksum=True, data_page_size=500, row_group_size=3000)
    whole = file.read_bytes()
    last = pq.read_metadata(file).row_group(0).column(5)
    end = (last.dictionary_page_offset or last.data_page_offset) + last.total_compressed_size
    rng = np.random.default_rng(1)
    noticed = 0
    for place in rng.integers(4, end, 300).tolist():
        changed = bytearray(whole)
        changed[place] ^= 1 << int(rng.integers(8))
        file.write_bytes(changed)
        try:
            pq.ParquetFile(file, page_checksum_verification=True).read()
        except (OSError, pa.ArrowException) as error:
            if "CRC checksum" in str(error):
                assert not all(intact(chunk) for _, chunk in chunks(file)), place
                noticed += 1
    assert noticed > 200


#: Bytes, of which some begin as a header does, or as one whose type and sizes are given.
BYTES = st.tuples(st.sampled_from([b"", b"\x15", b"\x15\x00\x15\x00\x15\x00"]), st.binary(max_size=200)).map(
    b"".join
)


@given(BYTES)
def test_what_is_no_page_is_refused(data: bytes) -> None:
    has_checksum(data)
    if data:
        assert not intact(data) or data.startswith(b"\x15")


def test_a_chunk_cut_short_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "log.parquet"
    pq.write_table(TABLE, file, write_page_checksum=True)
    for _, chunk in chunks(file):
        for end in (*range(1, 13), len(chunk) - 1):  # no header is shorter
            with pytest.raises(MalformedPageError):
                is_intact(chunk[:end])
