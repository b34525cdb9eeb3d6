"""Structs are read in C as in Python, and as pyarrow reads them; no bytes make it fail."""

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given

from nci_frames.counting.kernels import library
from nci_frames.counting.kernels.thrift import Fields, find_fields
from tests.parquet import TABLE

#: Of a footer: its rows, and of each row group its rows and of each column its type, path, values and size.
WANTED = [(3,), (4, 3), *((4, 1, 3, field) for field in (1, 3, 5, 7))]


@pytest.fixture(scope="module")
def footer() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(TABLE, sink, row_group_size=1000)
    data = sink.getvalue().to_pybytes()
    return data[-8 - int.from_bytes(data[-8:-4], "little") : -8]


def in_python(data: bytes, places: list[int], limits: list[int], room: int) -> Fields:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "LIBRARY", None)
        return find_fields(data, places, limits, WANTED, room=room)


def need_equal(data: bytes, places: list[int], limits: list[int], room: int = 10_000) -> None:
    both = find_fields(data, places, limits, WANTED, room=room), in_python(data, places, limits, room)
    for first, second in zip(*both, strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("language", [find_fields, None])
def test_fields_are_those_that_pyarrow_finds(footer: bytes, language: object) -> None:
    if language is None:
        fields = in_python(footer, [0], [len(footer)], 10_000)
    else:
        fields = find_fields(footer, [0], [len(footer)], WANTED, room=10_000)
    assert fields.ends.tolist() == [len(footer)]

    def found(which: int) -> list[int]:
        return fields.value[fields.which == which].tolist()  # type: ignore[no-any-return]

    assert found(0) == [TABLE.num_rows]
    assert found(1) == [1000, 1000, 1000]
    names = fields.which == 3
    ends, lengths = fields.end[names].tolist(), fields.value[names].tolist()
    told = [footer[end - length : end].decode() for end, length in zip(ends, lengths, strict=True)]
    file = pa.BufferOutputStream()
    pq.write_table(TABLE, file, row_group_size=1000)
    metadata = pq.read_metadata(pa.BufferReader(file.getvalue()))
    columns = [metadata.row_group(group).column(column) for group in range(3) for column in range(6)]
    assert told == [name for column in columns for name in column.path_in_schema.split(".")]
    assert found(4) == [column.num_values for column in columns]
    assert found(5) == [column.total_compressed_size for column in columns]


@example(data=b"\x19\xfc\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", cut=0)  # a list of 2**64 - 1 structs
@example(data=b"\x19\x19" * 9 + b"\x00", cut=0)  # lists of lists
@example(data=b"\x1c" * 20 + b"\x00" * 20, cut=0)  # more levels than there are
@example(data=b"\x09\x19\x91\x01\x02\x01\x02\x01\x02\x01\x02\x01\x00", cut=0)  # a list of booleans
@example(
    data=b"\x06\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02\x36\x02\x00", cut=0
)  # a field number below 0
@given(data=st.binary(max_size=60), cut=st.integers(0, 5))
def test_any_bytes_are_read_alike_in_both_languages(data: bytes, cut: int) -> None:
    places = [0, min(3, len(data))]
    need_equal(data, places, [len(data), max(len(data) - cut, 0)])
    need_equal(data, places, [len(data), len(data) + 9], room=1)


@given(place=st.integers(0, 10_000), value=st.integers(0, 255))
def test_a_changed_byte_is_read_alike_in_both_languages(footer: bytes, place: int, value: int) -> None:
    changed = bytearray(footer)
    changed[place % len(footer)] = value
    need_equal(bytes(changed), [0], [len(footer)])


def test_a_struct_with_more_fields_than_room_is_damaged(footer: bytes) -> None:
    for found in (
        find_fields(footer, [0], [len(footer)], WANTED, room=5),
        in_python(footer, [0], [len(footer)], 5),
    ):
        assert found.ends.tolist() == [-1]
        assert len(found.value) == 5
