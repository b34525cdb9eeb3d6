"""The footer of a Parquet file -> where the pages of its columns are.

It is read here because pyarrow ends the process where the statistics of a damaged footer contradict each
other.
"""

import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from nci_frames.counting.logs.thrift import Thrift, encoded

__all__ = ["ColumnChunk", "MalformedFooterError", "column_chunks"]

#: Fields of FileMetaData, RowGroup, ColumnChunk, ColumnMetaData and SchemaElement, by their numbers in the
#: format.
_SCHEMA, _ROW_GROUPS, _COLUMNS, _META_DATA = 2, 4, 1, 3
_PATH, _COMPRESSED_SIZE, _DATA_PAGE, _DICTIONARY_PAGE = 3, 7, 9, 11
_NAME = 4

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


def column_chunks(file: int, columns: Collection[str]) -> list[ColumnChunk]:
    """Return the column chunks of some columns of an open Parquet file, and of the fields inside of them.

    Raises
    ------
    MalformedFooterError
        If the footer is none, or says what the file cannot have.
    """
    end = os.fstat(file).st_size - _TAIL
    length = int.from_bytes(os.pread(file, 4, max(end, 0)), "little")
    if length > end:
        raise MalformedFooterError
    footer = os.pread(file, length, end - length)
    try:
        chunks = _searched(footer, columns)
        if chunks is None:
            chunks = [chunk for chunk in _all(footer) if chunk.path[0] in columns]
        if any(not 0 <= chunk.start <= chunk.start + chunk.size <= end - length for chunk in chunks):
            raise MalformedFooterError
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
        # A field is missing, of another type, or without an end.
        raise MalformedFooterError from error
    return sorted(chunks, key=lambda chunk: chunk.start)


def _searched(footer: bytes, columns: Collection[str]) -> list[ColumnChunk] | None:
    """Return the chunks of columns found by their names, without reading those of all other columns.

    None if a name is not in the footer just as often as there are row groups: then it is also elsewhere, such
    as in the statistics of a column of texts, or the column is not flat, or the writer writes in another way.
    """
    reader = Thrift(footer)
    groups, names = 0, set()
    for number, read in reader.fields():
        if number == _ROW_GROUPS:
            groups, _ = reader.size()
            break
        value = read()
        if number == _SCHEMA:
            names = {element[_NAME] for element in value}
    start = reader.place
    chunks = []
    for name in names.intersection(map(str.encode, columns)):
        # The field after the one before, a list; in it one text.
        path = b"\x19\x18" + encoded(len(name)) + name
        places = [found.end() for found in re.compile(re.escape(path)).finditer(footer, start)]
        if len(places) != groups:
            return None
        for reader.place in places:
            meta: dict[int, Any] = {_PATH: [name]}
            for number, read in reader.fields(_PATH):
                if number > _DICTIONARY_PAGE:
                    break
                meta[number] = read()
            chunks.append(_chunk(meta))
    return chunks


def _all(footer: bytes) -> list[ColumnChunk]:
    groups = Thrift(footer).struct()[_ROW_GROUPS]
    return [_chunk(column[_META_DATA]) for group in groups for column in group[_COLUMNS]]


def _chunk(meta: dict[int, Any]) -> ColumnChunk:
    # A dictionary comes before the data. Where there is no page, its place is missing or 0.
    places = (meta[_DATA_PAGE], meta.get(_DICTIONARY_PAGE))
    start = min((place for place in places if place), default=0)
    return ColumnChunk(tuple(name.decode() for name in meta[_PATH]), start, meta[_COMPRESSED_SIZE])
