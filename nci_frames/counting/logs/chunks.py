"""The footer of a Parquet file -> where the pages of its columns are.

The footer is a struct in Thrift's compact protocol. It is read here because pyarrow ends the process where
the statistics of a damaged footer contradict each other.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["ColumnChunk", "MalformedFooterError", "column_chunks"]

#: Fields of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData, by their numbers in the format.
_ROW_GROUPS, _COLUMNS, _META_DATA = 4, 1, 3
_PATH, _COMPRESSED_SIZE, _DATA_PAGE, _DICTIONARY_PAGE = 3, 7, 9, 11

_TAIL = 8


class MalformedFooterError(Exception):
    """What should be a footer is none."""


@dataclass(frozen=True, slots=True)
class ColumnChunk:
    """The pages of one column in one row group."""

    #: The name of the column, and those of the fields inside of it.
    path: tuple[str, ...]
    start: int
    size: int


def column_chunks(file: int) -> Iterator[ColumnChunk]:
    """Yield the column chunks of an open Parquet file.

    Raises
    ------
    MalformedFooterError
        If the footer is none, or says what the file cannot have.
    """
    end = os.fstat(file).st_size - _TAIL
    length = int.from_bytes(os.pread(file, 4, max(end, 0)), "little")
    if length > end:
        raise MalformedFooterError
    try:
        footer = _Thrift(os.pread(file, length, end - length)).struct()
        for group in footer[_ROW_GROUPS]:
            for column in group[_COLUMNS]:
                chunk = _chunk(column[_META_DATA])
                if not 0 <= chunk.start <= chunk.start + chunk.size <= end - length:
                    raise MalformedFooterError
                yield chunk
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
        # A field is missing, of another type, or without an end.
        raise MalformedFooterError from error


def _chunk(meta: dict[int, Any]) -> ColumnChunk:
    # A dictionary comes before the data. Where there is no page, its place is missing or 0.
    places = (meta[_DATA_PAGE], meta.get(_DICTIONARY_PAGE))
    start = min((place for place in places if place), default=0)
    return ColumnChunk(tuple(name.decode() for name in meta[_PATH]), start, meta[_COMPRESSED_SIZE])


class _Thrift:
    """Values in Thrift's compact protocol, read from the first on."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0
        integer = self._integer
        #: What reads a value, by the number of its type.
        self._readers: dict[int, Callable[[], Any]] = {
            1: lambda: True,
            2: lambda: False,
            3: self._byte,
            4: integer,
            5: integer,
            6: integer,
            7: lambda: self._bytes(8),
            8: lambda: self._bytes(self._varint()),
            9: self._list,
            10: self._list,
            11: self._map,
            12: self.struct,
        }

    def struct(self) -> dict[int, Any]:
        """Return the values of the next struct by the numbers of their fields."""
        values: dict[int, Any] = {}
        data, readers, number = self._data, self._readers, 0
        while head := data[self._place]:
            self._place += 1
            number = number + (head >> 4) if head >> 4 else self._integer()
            values[number] = readers[head & 0x0F]()
        self._place += 1
        return values

    def _list(self) -> list[Any]:
        head = self._byte()
        size = head >> 4 if head >> 4 < 15 else self._varint()
        read = self._element(head & 0x0F)
        return [read() for _ in range(size)]

    def _map(self) -> list[tuple[Any, Any]]:
        size = self._varint()
        if not size:
            return []
        types = self._byte()
        key, value = self._element(types >> 4), self._element(types & 0x0F)
        return [(key(), value()) for _ in range(size)]

    def _element(self, kind: int) -> Callable[[], Any]:
        """Return what reads an element of a list: there, a boolean takes a byte."""
        return self._byte if kind in (1, 2) else self._readers[kind]

    def _byte(self) -> int:
        byte = self._data[self._place]
        self._place += 1
        return byte

    def _bytes(self, size: int) -> bytes:
        start, self._place = self._place, self._place + size
        if self._place > len(self._data):
            raise IndexError
        return self._data[start : self._place]

    def _varint(self) -> int:
        data, place = self._data, self._place
        value = shift = 0
        while (byte := data[place]) > 0x7F:
            value |= (byte & 0x7F) << shift
            shift += 7
            place += 1
            if shift > 63:
                raise IndexError
        self._place = place + 1
        return value | byte << shift

    def _integer(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
