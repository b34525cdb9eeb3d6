"""Files that are whole or as they were before, never half-written; Parquet files have checksums."""

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from nci_frames.errors import OutputError, ParameterError

__all__ = ["file_kind", "nearest_folder", "replacing", "write_parquet"]

#: As Polars writes them: enough groups for all cores to read at once.
_ROWS_OF_A_GROUP = 1 << 18
#: Bytes of the different values of a column in a row group. With more of them a dictionary takes more room
#: than the values do, several times their memory, and longer to write.
_MOST_OF_A_DICTIONARY = 1 << 16


def file_kind(path: str | Path, kinds: Sequence[str], *, what: str = "file") -> str:
    """Return which of *kinds*, such as ``"svg"``, the name of a file ends in, in small or capital letters.

    >>> file_kind("charts/p3.SVG", ["svg", "png"])
    'svg'
    """
    kind = Path(path).suffix.removeprefix(".").lower()
    if kind not in kinds:
        _refuse_folder(Path(path), what, f"{what}.{kinds[0]}")
        suffixes = ", ".join(f".{kind}" for kind in kinds)
        named = str(Path(path).with_suffix(f".{kinds[0]}"))
        raise ParameterError(
            f"the name of the file must end in one of {suffixes}",
            found=repr(str(path)),
            hint=f"the ending says in which format the file is written, e.g. {named!r}",
        )
    return kind


def nearest_folder(path: str | Path) -> str:
    """Return the nearest folder above a path that exists; of a name that is too long, too."""
    there = (folder for folder in Path(path).parents if os.path.isdir(folder))  # noqa: PTH112 - Path raises
    return str(next(there, Path()))


def _refuse_folder(path: Path, what: str, name: str) -> None:
    if "\0" in str(path):
        raise ParameterError(f"the path of a {what} must have no NUL", found=repr(str(path)))
    # Of a name that is too long pathlib makes an error, and writing one of ours.
    if os.path.isdir(path):  # noqa: PTH112
        raise ParameterError(
            f"the path of a {what} must be a file",
            found=f"the folder {str(path)!r}",
            hint=f"add a file name, e.g. {str(path / name)!r}",
        )


@contextmanager
def replacing(path: str | Path, *, what: str = "file") -> Iterator[Path]:
    """Yield the path of a file to write beside *path*; it takes the place of *path* in one step.

    If the body raises, *path* is as it was before. Folders above it are created if missing.

    Raises
    ------
    OutputError
        If the system does not let the file be written: no permission, no space, a read-only disk.
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


def write_parquet(table: pl.DataFrame, file: str | Path) -> None:
    """Write a table as Parquet whose pages have checksums, which Polars does not write.

    ``scan_predictions`` verifies them, as do other readers that are asked to.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415  (what does not write does not wait for it)

    options = {
        "write_page_checksum": True,
        "compression": "zstd",
        "dictionary_pagesize_limit": _MOST_OF_A_DICTIONARY,
    }
    # Polars gives Arrow no name with a NUL; Arrow itself takes it.
    plain = table.select(pl.col(name).alias(str(place)) for place, name in enumerate(table.columns))
    schema = plain.clear().to_arrow().rename_columns(table.columns).schema
    # Arrow writes each page and header by itself; gathered, a table of a few columns is one write.
    with (
        Path(file).open("wb", buffering=1 << 20) as written,
        pq.ParquetWriter(written, schema, **options) as writer,
    ):
        # The texts of all rows would be copied for Arrow at once.
        for group in plain.iter_slices(_ROWS_OF_A_GROUP):
            writer.write_table(group.to_arrow().rename_columns(table.columns))
