"""Structs are read as pyarrow reads them; no bytes make it fail."""

import hypothesis.strategies as st
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given

from nci_frames.counting.kernels import library
from nci_frames.counting.kernels.thrift import find_fields
from tests.parquet import TABLE

pytestmark = pytest.mark.skipif(library.LIBRARY is None, reason="the package was built without a C compiler")

#: Of a footer: its rows, and of each row group its rows and of each column its type, path, values and size.
WANTED = [(3,), (4, 3), *((4, 1, 3, field) for field in (1, 3, 5, 7))]


@pytest.fixture(scope="module")
def whole() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(TABLE, sink, row_group_size=1000)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def footer(whole: bytes) -> bytes:
    return whole[-8 - int.from_bytes(whole[-8:-4], "little") : -8]


def test_fields_are_those_that_pyarrow_finds(whole: bytes, footer: bytes) -> None:
    fields = find_fields(footer, [0], [len(footer)], WANTED, room=10_000)
    assert fields.ends.tolist() == [len(footer)]

    def found(which: int) -> list[int]:
        return fields.value[fields.which == which].tolist()  # type: ignore[no-any-return]

    assert found(0) == [TABLE.num_rows]
    assert found(1) == [1000, 1000, 1000]
    names = fields.which == 3
    ends, lengths = fields.end[names].tolist(), fields.value[names].tolist()
    told = [footer[end - length : end].decode() for end, length in zip(ends, lengths, strict=True)]
    metadata = pq.read_metadata(pa.BufferReader(whole))
    columns = [metadata.row_group(group).column(column) for group in range(3) for column in range(6)]
    assert told == [name for column in columns for name in column.path_in_schema.split(".")]
    assert found(4) == [column.num_values for column in columns]
    assert found(5) == [column.total_compressed_size for column in columns]


@pytest.mark.parametrize(
    ("data", "end"),
    [
        (b"\x19\xfc\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", -1),  # a list of 2**64 - 1 structs
        (b"\x19\x19" * 9 + b"\x00", -1),  # lists of lists
        (b"\x1c" * 20 + b"\x00" * 20, -1),  # more levels than there are
        (b"\x1c" * 15 + b"\x00" * 16, 31),  # as many levels as there are
        (b"\x09\x19\x91\x01\x02\x01\x02\x01\x02\x01\x02\x01\x00", 13),  # a list of booleans
        (b"\x11\x13\x05\x17" + b"\x00" * 8 + b"\x00", 13),  # a Boolean, a byte and a double
        (b"\x06\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02\x36\x02\x00", 15),  # a field number below 0
        (b"\x36\x02", -1),  # cut off
        (b"\x1d\x00", -1),  # a type that there is not
    ],
)
def test_a_struct_ends_at_its_zero_or_is_damaged(data: bytes, end: int) -> None:
    assert find_fields(data, [0], [len(data)], WANTED, room=9).ends.tolist() == [end]


@example(data=b"\x36\x02\x00", cut=0)
@given(data=st.binary(max_size=60), cut=st.integers(0, 5))
def test_any_bytes_are_fields_within_their_limits_or_damage(data: bytes, cut: int) -> None:
    places, limits = [0, min(3, len(data))], [len(data), max(len(data) - cut, 0)]
    fields = find_fields(data, places, limits, WANTED, room=20)
    for place, limit, end in zip(places, limits, fields.ends.tolist(), strict=True):
        assert end == -1 or place < end <= limit
    assert len(fields.value) <= 20
    assert (fields.end <= len(data)).all()


def test_a_struct_with_more_fields_than_room_is_damaged(footer: bytes) -> None:
    found = find_fields(footer, [0], [len(footer)], WANTED, room=5)
    assert found.ends.tolist() == [-1]
    assert len(found.value) == 5
