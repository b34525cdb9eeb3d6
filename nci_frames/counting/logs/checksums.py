"""Check the pages of Parquet files by their headers and checksums.

pyarrow would decode every page to compare its checksum, which takes as long as counting the rows, and some
damaged footers crash it. So this file looks for the pages itself, with the compiled loops; without them,
pyarrow does it.
"""

import os
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from zlib_ng import zlib_ng

from nci_frames.base.errors import SourceError
from nci_frames.base.messages import first_line
from nci_frames.counting.kernels import library
from nci_frames.counting.kernels.thrift import Places, find_fields

#: Field numbers in Parquet's definition: of a footer, its row groups, their columns, and a column's metadata.
_METADATA = (4, 1, 3)
_TYPE, _PATH, _VALUES, _SIZE, _DATA_PLACE, _DICTIONARY_PLACE = ((*_METADATA, n) for n in (1, 3, 5, 7, 9, 11))
_ROW_GROUP = (4, 3)
_OF_FOOTER = [_TYPE, _PATH, _VALUES, _SIZE, _DATA_PLACE, _DICTIONARY_PLACE, _ROW_GROUP]
#: Of a page header: its size, checksum, and number of values in either version.
_OF_PAGES = [(3,), (4,), (5, 1), (8, 1)]
#: Bytes that nearly every header fits into; headers with long statistics need more.
_HEADER = 256
#: Stands for a missing checksum, which would be of 32 bits.
_NO_CHECKSUM = 1 << 40
#: Parts of the pages of a file, whose checksums are compared at a time.
_PARTS = 8


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
            if library.LIBRARY is None:
                parquet = pq.ParquetFile(opened, page_checksum_verification=True)
                for _ in parquet.iter_batches(columns=[*columns]):
                    pass
                return None
            number = opened.fileno()
            chunks = sorted(_chunks(number, columns))
            pages = _pages(number, chunks)
            if pages is None:
                return "a page header is damaged"
            summed = np.array_split(pages[pages[:, -1] != _NO_CHECKSUM], _PARTS)
            for wrong in threads.map(partial(_wrong, number), filter(len, summed)):
                if wrong is not None:
                    name = chunks[wrong].name
                    return f"a page of the column {name!r} has another checksum than was written"
            return None
    except ValueError:
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
    fields = find_fields(footer, [0], [length], _OF_FOOTER, room=length // 2)
    groups = np.count_nonzero(fields.which == len(_OF_FOOTER) - 1)
    column = (fields.which == 0).cumsum() - 1  # the first field of each is its type
    if fields.ends[0] < 0 or column.min(initial=0) < 0:
        raise ValueError("no struct")
    table = np.tile([0, 0, -1, -1, 0, 0, 0], (column.max(initial=-1) + 1, 1))
    table[column, fields.which] = fields.value
    # A dictionary precedes the data. The place of a missing page is absent or 0.
    starts = np.where(table[:, 4:6] == 0, size, table[:, 4:6]).min(axis=1, initial=size)
    values, sizes = table[:, 2], table[:, 3]
    if (starts < 0).any() or (table[:, 2:4] < 0).any() or (sizes > size - starts).any():
        raise ValueError("a column has bytes that the file has not")
    paths: list[list[bytes]] = [[] for _ in table]
    names = fields.which == 1
    for place, last, long in zip(column[names], fields.end[names], fields.value[names], strict=True):
        paths[place].append(footer[last - long : last])
    named = [b".".join(path).decode() for path in paths]
    if any(number != groups for name, number in Counter(named).items() if name in columns):
        raise ValueError("a row group lacks a column")
    for name, start, long, number in zip(
        named, starts.tolist(), sizes.tolist(), values.tolist(), strict=True
    ):
        if name in columns and long:
            yield _Chunk(start, long, number, name)


def _wrong(file: int, pages: NDArray[np.int64]) -> int | None:
    """Return the number of the column that has a page with a wrong checksum; None if all are right."""
    for chunk, start, size, checksum in pages.tolist():
        if zlib_ng.crc32(os.pread(file, size, start)) != checksum & 0xFFFFFFFF:
            return int(chunk)
    return None


def _pages(file: int, chunks: Sequence[_Chunk]) -> NDArray[np.int64] | None:
    """Return column (by number), start, size and checksum of each page; None if a header is damaged.

    A reader allocates memory for the number of values in a header, and a damaged number would crash the
    process. No checksum covers the header.
    """
    places, sizes, values = np.array([chunk[:3] for chunk in chunks], np.int64).reshape(-1, 3).T
    number, found = np.arange(len(places)), [np.empty((0, 4), np.int64)]
    while len(places):
        # The next page of each chunk that has one, all at once.
        lengths, pages = _headers_in(file, places, sizes)
        size, checksum, added = pages[:, 0], pages[:, 1], pages[:, 2:]
        read = lengths + size
        # A damaged size may overflow the sum.
        if (lengths < 0).any() or (read < lengths).any() or (read > sizes).any() or (added < 0).any():
            return None
        found.append(np.stack([number, places + lengths, size, checksum], axis=1))
        places, sizes, values = places + read, sizes - read, values - added.sum(axis=1)
        more = values > 0
        if ((values < 0) | (~more & (sizes > 0) & (checksum != _NO_CHECKSUM))).any():
            return None
        number, places, sizes, values = (of_chunks[more] for of_chunks in (number, places, sizes, values))
    return np.concatenate(found)


def _headers_in(
    file: int, places: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the lengths of the page headers at some places of a file, and what ``_headers`` finds."""
    read = np.minimum(sizes, _HEADER)
    ends = read.cumsum()
    data = b"".join(map(partial(os.pread, file), read.tolist(), places.tolist()))
    found, pages = _headers(data, ends - read, ends)
    lengths = np.where(found < 0, -1, found - (ends - read))
    for row in np.flatnonzero((found < 0) & (read < sizes)):
        longer = os.pread(file, int(sizes[row]), int(places[row]))
        lengths[row : row + 1], pages[row : row + 1] = _headers(longer, [0], [len(longer)])
    return lengths, pages


def _headers(data: bytes, places: Places, limits: Places) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ends of page headers, -1 if damaged, and the size, the checksum and two numbers of values.

    A page has one number of values or the other; the other is 0.
    """
    fields = find_fields(data, places, limits, _OF_PAGES, room=len(_OF_PAGES) * len(places))
    pages = np.tile([-1, _NO_CHECKSUM, 0, 0], (len(places), 1))
    pages[fields.struct, fields.which] = fields.value
    return fields.ends, pages


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
