"""Check the pages of Parquet files by their headers and checksums.

pyarrow would decode every page to compare its checksum, which takes as long as counting the rows, and some
damaged footers crash it. So this file parses the page locations and headers, which are structs in Thrift's
compact protocol.
"""

import math
import os
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from zlib_ng import zlib_ng

from nci_frames.base.errors import SourceError
from nci_frames.base.messages import first_line

#: Types of values in Thrift's compact protocol.
_BOOLEANS, _BYTE, _INTEGERS, _DOUBLE, _BINARY, _LISTS, _STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12
#: Field numbers in Parquet's definition: of the footer, a row group, its columns, the metadata of a column,
#: and the header of a page.
_ROW_GROUPS, _COLUMNS, _META_DATA = 4, 1, 3
_PATH, _VALUES, _SIZE, _DATA_PLACE, _DICTIONARY_PLACE = 3, 5, 7, 9, 11
_PAGE_SIZE, _CHECKSUM, _DATA_PAGE, _DATA_PAGE_2 = 3, 4, 5, 8
#: Bytes that nearly every header fits into; headers with long statistics need more.
_HEADER = 256
#: Exceptions that a damaged struct causes.
_DAMAGE = (LookupError, TypeError, AttributeError, ValueError, RecursionError)


class _Chunk(NamedTuple):
    """A column of a row group: the location of its pages, and their number of values."""

    start: int
    size: int
    values: int
    name: str


def damage(file: str, columns: Collection[str], threads: ThreadPoolExecutor) -> str | None:
    """Return the damage of the pages of some columns; None if there is none, or none can be detected."""
    try:
        with Path(file).open("rb", buffering=0) as opened:
            chunks = sorted(_chunks(opened.fileno(), columns))
            checksums = bool(chunks) and _has_checksum(opened.fileno(), chunks[0].start)
            damaged = partial(_damaged, opened.fileno(), checksums=checksums)
            return next(filter(None, (threads.map if checksums else map)(damaged, chunks)), None)
    except _DAMAGE:
        return "the footer is damaged"
    except OSError as error:
        return first_line(error)


def _chunks(file: int, columns: Collection[str]) -> Iterator[_Chunk]:
    """Yield the pages of some columns of every row group."""
    size = os.fstat(file).st_size
    end = os.pread(file, 8, max(size - 8, 0))
    length = int.from_bytes(end[:4], "little")
    if end[4:] != b"PAR1" or length > size - 8:
        raise ValueError("no footer")
    footer = os.pread(file, length, size - 8 - length)
    _, place = _struct(footer, 0, until=_ROW_GROUPS)
    groups, _, place = _head_of_list(footer, place)
    for _ in range(groups):
        group, place = _struct(footer, place)
        for chunk in (column[_META_DATA] for column in group[_COLUMNS]):
            # A dictionary precedes the data. The place of a missing page is absent or 0.
            places = (chunk.get(_DATA_PLACE), chunk.get(_DICTIONARY_PLACE))
            start = min((place for place in places if place), default=0)
            if not 0 <= start <= start + chunk[_SIZE] <= size:
                raise ValueError("a column has bytes that the file has not")
            name = b".".join(chunk[_PATH]).decode()
            if name in columns and chunk[_SIZE]:
                yield _Chunk(start, chunk[_SIZE], chunk[_VALUES], name)


def _has_checksum(file: int, place: int) -> bool:
    # Parsing four fields is faster; damage in the rest shows when the page is compared.
    try:
        return _CHECKSUM in _struct(os.pread(file, 64, place), 0, until=_CHECKSUM + 1)[0]
    except _DAMAGE:
        return True


def _damaged(file: int, chunk: _Chunk, *, checksums: bool) -> str | None:
    """Return the damage of the pages of a column in a row group.

    Without checksums the headers are checked: a reader allocates memory for the number of values in a header,
    and a damaged number would crash the process.
    """
    data = os.pread(file, chunk.size, chunk.start) if checksums else b""
    view = memoryview(data)  # slices without a copy
    place = values = 0
    try:
        while place < chunk.size if checksums else values < chunk.values:
            header, start = _struct(data, place) if checksums else _header(file, chunk, place)
            place = start + header[_PAGE_SIZE]
            added = header.get(_DATA_PAGE, header.get(_DATA_PAGE_2, {1: 0}))[1]
            if not start <= place <= chunk.size or added < 0:
                return "a page header is damaged"
            told = header.get(_CHECKSUM) if checksums else None
            if told is not None and zlib_ng.crc32(view[start:place]) != told & 0xFFFFFFFF:
                return f"a page of the column {chunk.name!r} has another checksum than was written"
            # No checksum covers the header.
            values += added
        return None if values == chunk.values else "a page header is damaged"
    except _DAMAGE:
        return "a page header is damaged"


def _header(file: int, chunk: _Chunk, place: int) -> tuple[dict[int, Any], int]:
    """Return the header of the page at *place*, and the place after it."""
    left = chunk.size - place
    try:
        header, length = _struct(os.pread(file, min(_HEADER, left), chunk.start + place), 0)
    except LookupError:
        header, length = _struct(os.pread(file, left, chunk.start + place), 0)
    return header, place + length


def _struct(data: bytes, place: int, until: float = math.inf) -> tuple[dict[int, Any], int]:
    """Return the values of a struct by field number, and the place after it.

    Parsing stops before a field with the number *until* or above; the place is then that of its value.
    """
    fields: dict[int, Any] = {}
    number = 0
    while head := data[place]:
        place += 1
        if step := head >> 4:
            number += step
        else:
            number, place = _integer(data, place)
        if number >= until:
            return fields, place
        fields[number], place = _value(data, place, head & 0x0F)
    return fields, place + 1


def _value(data: bytes, place: int, kind: int) -> tuple[Any, int]:
    """Return a value of type *kind*, and the place after it. Footers and headers have no maps."""
    if kind in _INTEGERS:
        return _integer(data, place)
    if kind == _BINARY:
        length, place = _varint(data, place)
        return bytes(data[place : place + length]), place + length
    if kind == _STRUCT:
        return _struct(data, place)
    if kind in _LISTS:
        size, kind, place = _head_of_list(data, place)
        values = []
        for _ in range(size):
            value, place = _value(data, place, kind)
            values.append(value)
        return values, place
    if kind in _BOOLEANS:
        return kind, place
    if kind in (_BYTE, _DOUBLE):
        return None, place + (1 if kind == _BYTE else 8)
    raise ValueError("no type of Thrift")


def _head_of_list(data: bytes, place: int) -> tuple[int, int, int]:
    """Return the number of elements of a list, their type, and the place of the first one."""
    size, kind = data[place] >> 4, data[place] & 0x0F
    size, place = (size, place + 1) if size < 15 else _varint(data, place + 1)
    if size > len(data):  # each takes a byte at least
        raise ValueError("a list has more elements than there are bytes")
    return size, kind, place


def _integer(data: bytes, place: int) -> tuple[int, int]:
    if (number := data[place]) > 0x7F:
        number, place = _varint(data, place)
    else:  # most are small
        place += 1
    # The lowest bit is the sign.
    return (number >> 1) ^ -(number & 1), place


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """Return the number that begins at *place*, seven bits per byte, and the place after it."""
    value = shift = 0
    while (byte := data[place]) > 0x7F:
        value |= (byte & 0x7F) << shift
        shift += 7
        place += 1
        if shift > 63:
            raise ValueError("no number of 64 bits")
    return value | byte << shift, place + 1


class PageChecksums:
    """Compare the page checksums of Parquet files once; without checksums, check the headers."""

    def __init__(self, files: Sequence[str] = (), columns: Sequence[str] = ()) -> None:
        self._files = files
        self._columns = columns
        self._compared = not files

    def compare(self) -> None:
        """Raise SourceError if the checksum of a page is wrong.

        Call it before the files are read: a damaged page may crash a reader.
        """
        if self._compared:
            return
        with ThreadPoolExecutor(thread_name_prefix="checksums") as threads:
            found = {file: damage(file, self._columns, threads) for file in self._files}
        damaged = {file: told for file, told in found.items() if told}
        if damaged:
            raise SourceError.of_files("are damaged", damaged, "copy or write the files again")
        self._compared = True
