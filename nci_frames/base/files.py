"""Atomic writing: a file is complete or unchanged, never half-written. Parquet files have checksums."""

import os
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from nci_frames.base.errors import OutputError, ParameterError

#: Rows per row group, as in Polars: small enough for all cores to read groups in parallel.
ROWS_OF_A_GROUP = 1 << 18

#: Maximum bytes of the distinct values of a column in a row group for a dictionary. A larger dictionary takes
#: more space than the values, several times their memory, and more time.
_MOST_OF_A_DICTIONARY = 1 << 16

#: Arrow writes each page and header separately; this buffer makes one write of a small table.
BUFFER = 1 << 20


def file_kind(path: str | Path, kinds: Sequence[str], *, what: str = "file") -> str:
    """Return the ending of a file name, one of *kinds* (such as ``"svg"``), ignoring case.

    >>> file_kind("charts/p3.SVG", ["svg", "png"])
    'svg'
    """
    kind = Path(path).suffix.removeprefix(".").lower()
    if kind not in kinds:
        _refuse_folder(Path(path), what, f"{what}.{kinds[0]}")
        suffixes = ", ".join(f".{kind}" for kind in kinds)
        named = str(Path(path).with_suffix(f".{kinds[0]}"))
        msg = f"the name of the file must end in one of {suffixes}"
        hint = f"the ending says in which format the file is written, e.g. {named!r}"
        raise ParameterError(msg, found=repr(str(path)), hint=hint)
    return kind


def exists(path: str | Path) -> bool:
    """Return whether a path exists; unlike pathlib, also for names that are too long."""
    return os.path.exists(path)  # noqa: PTH110


def is_folder(path: str | Path) -> bool:
    """Return whether a path is a folder; also for names that are too long."""
    return os.path.isdir(path)  # noqa: PTH112


def nearest_folder(path: str | Path) -> str:
    """Return the nearest existing folder above a path."""
    return str(next(filter(is_folder, Path(path).parents), Path()))


def _refuse_folder(path: Path, what: str, name: str) -> None:
    if "\0" in str(path):
        raise ParameterError(f"the path of a {what} must have no NUL", found=repr(str(path)))
    if is_folder(path):
        msg = f"the path of a {what} must be a file"
        hint = f"add a file name, e.g. {str(path / name)!r}"
        raise ParameterError(msg, found=f"the folder {str(path)!r}", hint=hint)


@contextmanager
def replacing(path: str | Path, *, what: str = "file") -> Iterator[Path]:
    """Yield the path of a temporary file beside *path*, which replaces *path* atomically at the end.

    If the body raises, *path* is unchanged. Missing folders are created.

    Raises
    ------
    OutputError
        If the file cannot be written: no permission, no space, a read-only disk.
    ParameterError
        If *path* is a folder.
    """
    target = Path(path)
    _refuse_folder(target, what, what + target.suffix)
    beside = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield beside
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError.unwritable(str(target), error) from error


def write_durably(path: Path, content: bytes) -> None:
    """Write a file atomically; it is complete or unchanged even after a power cut.

    Raises
    ------
    OutputError, ParameterError
        As ``replacing`` does.
    """
    try:
        with replacing(path) as beside, beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        fsync_folder(path.parent)
    except OSError as error:
        raise OutputError.unwritable(str(path), error) from error


def fsync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut, if the system supports it."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def row_groups(
    file: BinaryIO, like: pl.DataFrame, **options: Any
) -> Iterator[Callable[[pl.DataFrame], None]]:
    """Yield a function that appends a table to a Parquet file as one row group with page checksums.

    Parameters
    ----------
    file
        Where to write.
    like
        A table with the columns of all that will be written.
    options
        Of the writer of Arrow: encodings.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415  (slow to import, and only needed to write)

    names = like.columns

    # Polars cannot pass a name with a NUL to Arrow, but Arrow itself accepts it.
    def plain(table: pl.DataFrame) -> Any:
        numbered = table.select(pl.col(name).alias(str(place)) for place, name in enumerate(names))
        return numbered.to_arrow().rename_columns(names)

    usual = {"write_page_checksum": True, "dictionary_pagesize_limit": _MOST_OF_A_DICTIONARY}
    options = {**usual, "compression": "zstd", **options}
    with pq.ParquetWriter(file, plain(like.clear()).schema, **options) as writer:
        yield lambda table: writer.write_table(plain(table))


def write_parquet(table: pl.DataFrame, file: str | Path) -> None:
    """Write a table as Parquet with page checksums, which Polars does not write.

    ``scan_predictions`` verifies them; other readers can do so on request.
    """
    with Path(file).open("wb", buffering=BUFFER) as written, row_groups(written, table) as append:
        # Group by group, since the strings of all rows would be copied for Arrow at once.
        for group in table.iter_slices(ROWS_OF_A_GROUP):
            append(group)
