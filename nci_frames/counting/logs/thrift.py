"""Values in Thrift's compact protocol, in which the headers of Parquet files are written."""

from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["Thrift", "encoded", "signed", "varint"]

_BOOLEANS = (1, 2)


def varint(data: bytes, place: int = 0) -> tuple[int, int]:
    """Return the number that begins at a place, seven bits in each byte, and the place after it.

    Raises
    ------
    IndexError
        If it has no end, or more bits than any number in a file.

    >>> varint(bytes([0xAC, 0x02]))
    (300, 2)
    """
    value = shift = 0
    while (byte := data[place]) > 0x7F:
        value |= (byte & 0x7F) << shift
        shift += 7
        place += 1
        if shift > 63:
            raise IndexError
    return value | byte << shift, place + 1


def signed(number: int) -> int:
    """Return the integer of which the lowest bit is the sign.

    >>> signed(3), signed(300)
    (-2, 150)
    """
    return (number >> 1) ^ -(number & 1)


def encoded(number: int) -> bytes:
    """Return a number as ``varint`` reads it.

    >>> varint(encoded(300))
    (300, 2)
    """
    most, least = divmod(number, 0x80)
    return bytes([least | 0x80]) + encoded(most) if most else bytes([least])


class Thrift:
    """Reads values one after another."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        #: Where the next value begins.
        self.place = 0
        #: What reads a value, by the number of its type.
        self._readers: dict[int, Callable[[], Any]] = {
            1: lambda: True,
            2: lambda: False,
            3: self._byte,
            4: self._integer,
            5: self._integer,
            6: self._integer,
            7: lambda: self._bytes(8),
            8: lambda: self._bytes(self._varint()),
            9: self._list,
            10: self._list,
            11: self._map,
            12: self.struct,
        }

    def fields(self, number: int = 0) -> Iterator[tuple[int, Callable[[], Any]]]:
        """Yield the number of each field after *number* up to the end of a struct, and what reads its value.

        Whoever asks for the next field has read the value of this one.
        """
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            yield number, self._readers[head & 0x0F]

    def struct(self) -> dict[int, Any]:
        """Return the values of a struct by the numbers of their fields."""
        return {number: read() for number, read in self.fields()}

    def size(self) -> tuple[int, int]:
        """Return the length of a list and the type of its elements, which come next."""
        head = self._byte()
        return (head >> 4 if head >> 4 < 15 else self._varint()), head & 0x0F

    def _list(self) -> list[Any]:
        size, kind = self.size()
        read = self._element(kind)
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
        return self._byte if kind in _BOOLEANS else self._readers[kind]

    def _byte(self) -> int:
        byte = self._data[self.place]
        self.place += 1
        return byte

    def _bytes(self, size: int) -> bytes:
        start, self.place = self.place, self.place + size
        if self.place > len(self._data):
            raise IndexError
        return self._data[start : self.place]

    def _varint(self) -> int:
        value, self.place = varint(self._data, self.place)
        return value

    def _integer(self) -> int:
        return signed(self._varint())
