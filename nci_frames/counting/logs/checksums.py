"""Is each page of a Parquet file what its writer wrote, by the checksum in its header.

pyarrow would decode every page to compare its checksum, which takes as long as to count the rows. So the
headers are read here, and only they: a header is a struct in Thrift's compact protocol, which begins with
the type of the page, its size before and after compression, and the checksum if there is one.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pyarrow as pa
import pyarrow.parquet as pq
from zlib_ng import zlib_ng

from nci_frames.base.errors import SourceError
from nci_frames.base.messages import first_line

#: The first byte of a field: an integer of 32 bits, whose number is the next.
_NEXT_INTEGER = 0x15
_BOOLEANS, _INTEGERS, _BINARY, _STRUCT = (1, 2), (4, 5, 6), 8, 12


class _PageError(Exception):
    """What should be a page is none."""


def damage(file: str, columns: Collection[str], stop: Event) -> str | None:
    """Return what is wrong with the pages of some columns of a file; None if nothing is, or it tells nothing.

    The comparison ends early where *stop* is set.
    """
    try:
        with Path(file).open("rb", buffering=0) as opened:
            for column, start, size in _chunks(file, columns):
                if size and len(_beginning(os.pread(opened.fileno(), 64, start), 0)[0]) < 4:
                    return None
                chunk = b"" if stop.is_set() else os.pread(opened.fileno(), size, start)
                place = 0
                while place < len(chunk):
                    checksum, first, place = _page(chunk, place)
                    if checksum not in (None, zlib_ng.crc32(memoryview(chunk)[first:place])):
                        return f"a page of the column {column!r} has another checksum than was written"
    except (pa.ArrowException, UnicodeError):  # before ValueError, of which both are
        return "the footer is damaged"
    except (_PageError, IndexError, ValueError):
        return "a page header is damaged"
    except OSError as error:
        return first_line(error) if error.errno else "the footer is damaged"
    return None


def _chunks(file: str, columns: Collection[str]) -> list[tuple[str, int, int]]:
    """Return the places and sizes of some columns in every row group, in their order."""
    footer = pq.read_metadata(file)
    wanted = [i for i in range(footer.num_columns) if footer.schema.column(i).path in columns]
    found = [footer.row_group(group).column(i) for group in range(footer.num_row_groups) for i in wanted]
    chunks = []
    for chunk in found:
        # A dictionary comes before the data. Where there is no page, its place is missing or 0.
        places = (chunk.data_page_offset, chunk.dictionary_page_offset)
        start = min((place for place in places if place), default=0)
        if not 0 <= start <= start + chunk.total_compressed_size <= Path(file).stat().st_size:
            raise pa.ArrowInvalid("a column has bytes that the file has not")
        chunks.append((chunk.path_in_schema, start, chunk.total_compressed_size))
    return sorted(chunks, key=lambda chunk: chunk[1])


def _page(chunk: bytes, place: int) -> tuple[int | None, int, int]:
    """Return the checksum of the page that begins at a place, and where its data start and end."""
    (_, _, size, *checksum), place = _beginning(chunk, place)
    start = _after(chunk, place, _STRUCT)
    if not start <= start + size <= len(chunk):
        raise _PageError
    return checksum[0] & 0xFFFFFFFF if checksum else None, start, start + size


def _beginning(chunk: bytes, place: int) -> tuple[list[int], int]:
    """Return the integers that a header begins with, four with a checksum, and the place after them."""
    found = []
    while chunk[place] == _NEXT_INTEGER:
        number, place = _varint(chunk, place + 1)
        # The lowest bit is the sign.
        found.append((number >> 1) ^ -(number & 1))
    return found, place


def _after(data: bytes, place: int, kind: int) -> int:
    """Return the place after a value of some type; in the header of a page are no other types."""
    if kind in _INTEGERS:
        return _varint(data, place)[1]
    if kind == _BINARY:
        length, place = _varint(data, place)
        return place + length
    if kind == _STRUCT:
        while head := data[place]:
            place = _after(data, place + 1, head & 0x0F)
        return place + 1
    if kind not in _BOOLEANS:
        raise _PageError
    return place


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """Return the number that begins at a place, seven bits in each byte, and the place after it."""
    value = shift = 0
    while (byte := data[place]) > 0x7F:
        value |= (byte & 0x7F) << shift
        shift += 7
        place += 1
        if shift > 63:
            raise _PageError
    return value | byte << shift, place + 1


class PageChecksums:
    """The checksums of the pages of Parquet files, compared once. A file without any is taken as it is."""

    def __init__(self, files: Sequence[str] = (), columns: Sequence[str] = ()) -> None:
        self._files = files
        self._columns = columns
        self._compared = not files

    @contextmanager
    def compared_meanwhile(self) -> Iterator[None]:
        """Compare in a thread beside the reading of the files: a pass over them has time to spare.

        Raises
        ------
        SourceError
            At the end, or instead of an error of the reading, if a page has another checksum.
        """
        if self._compared:
            yield
            return
        stop = Event()
        with ThreadPoolExecutor(1, "checksums") as thread:
            comparison = thread.submit(self.compare, stop)
            try:
                yield
            except Exception:
                # Damage is why; what it led to would only puzzle.
                comparison.result()
                raise
            except BaseException:
                stop.set()
                raise
            comparison.result()

    def compare(self, stop: Event | None = None) -> None:
        """Raise SourceError if a page has another checksum than was written with it; end early at *stop*."""
        stop = stop or Event()
        if self._compared:
            return
        damaged: dict[str, str] = {}
        for file in self._files:
            found = damage(file, self._columns, stop)
            if stop.is_set():
                return
            if found:
                damaged[file] = found
        if damaged:
            raise SourceError.of_files("are damaged", damaged, "copy or write the files again")
        self._compared = True
