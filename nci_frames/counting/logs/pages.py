"""A column chunk of a Parquet file -> its pages and their checksums. Nothing is decoded but the headers.

A header is a struct in Thrift's compact protocol: three integers (the type, the size before and after
compression), the checksum if there is one, and a struct that says more.
"""

import re
from collections.abc import Iterator

from zlib_ng import zlib_ng

from nci_frames.counting.logs.thrift import signed, varint

__all__ = ["MalformedPageError", "has_checksum", "is_intact"]

_VARINT = rb"[\x80-\xff]{0,9}+[\x00-\x7f]"
#: The type, the two sizes, of which the second is kept, and the checksum if there is one.
_BEGINNING = rb"\x15%b\x15%b\x15(%b)(?:\x15(%b))?+" % ((_VARINT,) * 4)


def _fields(*types: int) -> bytes:
    """Return what matches the first byte of a field: the step from the field before, and the type."""
    return b"[" + re.escape(bytes(step << 4 | number for step in range(1, 16) for number in types)) + b"]"


_BOOLEANS, _INTEGERS, _BINARY, _STRUCT = (1, 2), (4, 5, 6), 8, 12
_STOP = 0
_SHORT = b"|".join(re.escape(bytes([length])) + b".{%d}" % length for length in range(64))
#: All fields up to the next that is a struct, ends one, or is long.
_PLAIN = re.compile(
    b"(?:%b%b|%b|%b(?:%b))*+" % (_fields(*_INTEGERS), _VARINT, _fields(*_BOOLEANS), _fields(_BINARY), _SHORT),
    re.DOTALL,
)
_LENGTH = re.compile(_VARINT)
#: A header as nearly all are: after the beginning a struct that holds one struct, of statistics, or none.
_HEADER = re.compile(
    b"%b(%b%b(?:%b%b\x00%b)?+\x00%b\x00)?+"
    % (_BEGINNING, _fields(_STRUCT), _PLAIN.pattern, _fields(_STRUCT), *(_PLAIN.pattern,) * 3),
    re.DOTALL,
)


class MalformedPageError(Exception):
    """What should be a page is none."""


def has_checksum(header: bytes) -> bool:
    """Return whether a page that begins so has a checksum."""
    beginning = re.match(_BEGINNING, header)
    return beginning is not None and beginning[2] is not None


def is_intact(chunk: bytes | memoryview) -> bool:
    """Return whether every page of a column chunk has the checksum that its header says.

    Raises
    ------
    MalformedPageError
        If the chunk is not a row of pages.
    """
    view = memoryview(chunk)
    return all(
        checksum is None or zlib_ng.crc32(view[start:end]) == checksum
        for checksum, start, end in _pages(view)
    )


def _pages(chunk: memoryview) -> Iterator[tuple[int | None, int, int]]:
    """Yield the checksum of each page, and where its data start and end."""
    place = 0
    while place < len(chunk):
        header = _HEADER.match(chunk, place)
        if header is None:
            raise MalformedPageError
        size, checksum, rest = header.groups()
        start = header.end() if rest else _after_struct(chunk, header.end())
        place = start + _integer(size)
        if not start <= place <= len(chunk):
            raise MalformedPageError
        yield None if checksum is None else _integer(checksum) & 0xFFFFFFFF, start, place


def _after_struct(chunk: memoryview, place: int) -> int:
    """Return the end of the struct that *place* is inside of."""
    depth = 1
    while depth:
        place = _PLAIN.match(chunk, place).end()  # type: ignore[union-attr]
        # Past the end of the chunk there is what no field begins with.
        field = chunk[place] if place < len(chunk) else 0x0F
        place += 1
        if field == _STOP:
            depth -= 1
        elif field > 0x0F and field & 0x0F == _STRUCT:
            depth += 1
        elif field > 0x0F and field & 0x0F == _BINARY:
            length = _LENGTH.match(chunk, place)
            if length is None:
                raise MalformedPageError
            place = length.end() + varint(length[0])[0]
        else:
            # No header of a page has a field of another type, or one so far from the field before.
            raise MalformedPageError
    return place


def _integer(encoded: bytes) -> int:
    return signed(varint(encoded)[0])
