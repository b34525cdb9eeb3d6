"""Fields of structs in Thrift's compact protocol, in which Parquet writes footers and page headers."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nci_frames.counting.kernels import library

#: Types of values.
_BOOLEANS, _BYTE, _INTEGERS, _DOUBLE, _BYTES, _LISTS, _STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12
#: Levels of structs and lists: the metadata of Parquet has fewer.
_LEVELS = 16


class Fields(NamedTuple):
    """The wanted fields of some structs, in the order in which they are written."""

    struct: NDArray[np.int64]
    which: NDArray[np.int64]  # place among the wanted fields
    value: NDArray[np.int64]  # the integer, or the number of bytes
    end: NDArray[np.int64]  # the place after it
    ends: NDArray[np.int64]  # of each struct; -1 if it is damaged, or cut off


#: Places of structs.
Places = Sequence[int] | NDArray[np.int64]


def find_fields(
    data: bytes, places: Places, limits: Places, wanted: Sequence[Sequence[int]], *, room: int
) -> Fields:
    """Read structs, each between a place and a limit, and return some of their integers and bytes.

    Parameters
    ----------
    data
        The bytes that hold the structs.
    places, limits
        Where each struct begins, and where it must have ended.
    wanted
        The path of each field: field numbers from 1 to 62, from the outermost struct on. All elements of a
        list have the path of the list.
    room
        Maximum number of fields that can be found; a struct that exceeds it is damaged.
    """
    paths = [_path(fields) for fields in wanted]
    if library.LIBRARY is None:
        return _found_in_python(data, places, limits, paths, room)
    found, ends = np.empty((room, 4), np.int64), np.empty(len(places), np.int64)
    begin, until = np.asarray(places, np.int64), np.minimum(limits, len(data))
    of_paths = np.array(paths, np.uint64)
    view = np.frombuffer(data, np.uint8)
    number = library.call(
        "find_fields", len(ends), begin, until, view, len(paths), of_paths, room, found, ends
    )
    return _fields(found[:number], ends)


def _fields(found: NDArray[np.int64], ends: NDArray[np.int64]) -> Fields:
    struct, which, value, end = found.T
    return Fields(struct, which, value, end, ends)


def _path(fields: Sequence[int]) -> int:
    path = 0
    for field in fields:
        path = path << 6 | field
    return path


def _found_in_python(data: bytes, places: Places, limits: Places, paths: list[int], room: int) -> Fields:
    found: list[tuple[int, int, int, int]] = []
    ends = []
    for row, (place, limit) in enumerate(zip(places, limits, strict=True)):
        reader = _Reader(memoryview(data)[:limit], place)
        try:
            for path, value in reader.fields(0, _LEVELS):
                if path in paths:
                    if len(found) == room:
                        raise ValueError("more fields than there is room for")
                    found.append((row, paths.index(path), value, reader.place))
            ends.append(reader.place)
        except (IndexError, ValueError):
            ends.append(-1)
    return _fields(np.array(found, np.int64).reshape(-1, 4), np.array(ends, np.int64))


class _Reader:
    """Reads a struct; raises IndexError or ValueError if it is damaged."""

    def __init__(self, data: memoryview, place: int) -> None:
        self._data = data
        self.place = place

    def fields(self, path: int, levels: int) -> Iterator[tuple[int, int]]:
        """Yield the path and the value of each integer, and of all bytes their number."""
        if levels == 0:
            raise ValueError("more levels than metadata has")
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            yield from self._field(head & 15, path << 6 | (number if 0 < number < 63 else 63), levels - 1)

    def _field(self, kind: int, path: int, levels: int) -> Iterator[tuple[int, int]]:
        if kind in _INTEGERS:
            yield path, self._integer()
        elif kind == _BYTES:
            length = self._varint()
            self._skip(length)
            yield path, length
        elif kind == _STRUCT:
            yield from self.fields(path, levels)
        elif kind in _LISTS and levels > 0:
            head = self._byte()
            elements = self._varint() if head >> 4 == 15 else head >> 4
            if elements > len(self._data) - self.place:  # each takes a byte at least
                raise ValueError("a list has more elements than there are bytes")
            for _ in range(elements):
                if head & 15 in _BOOLEANS:
                    self._skip(1)
                else:
                    yield from self._field(head & 15, path, levels - 1)
        elif kind in (_BYTE, _DOUBLE):
            self._skip(1 if kind == _BYTE else 8)
        elif kind not in _BOOLEANS:  # these have no bytes of their own
            raise ValueError("no type of Thrift")

    def _byte(self) -> int:
        self._skip(1)
        return self._data[self.place - 1]

    def _skip(self, number: int) -> None:
        if number > len(self._data) - self.place:
            raise IndexError("the struct is cut off")
        self.place += number

    def _integer(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)  # the lowest bit is the sign

    def _varint(self) -> int:
        """Return a number of at most 64 bits, of which each byte has seven."""
        value = 0
        for shift in range(0, 64, 7):
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte <= 0x7F:
                return value & 0xFFFFFFFFFFFFFFFF
        raise ValueError("no number of 64 bits")
