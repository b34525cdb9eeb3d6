"""Is a file what its writer wrote? By the checksums of its pages, and by hashes given for whole files."""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from nci_frames.errors import ParameterError, SourceError

__all__ = ["Hashes", "damaged_files", "need_hashes"]

#: SHA-256 by file, or the path of a list of them as ``sha256sum`` writes it.
Hashes = Mapping[str, str] | str | os.PathLike[str]

#: In Thrift's compact protocol: the next field is a 32-bit integer.
_NEXT_IS_I32 = 0x15


def damaged_files(paths: Iterable[str], columns: Sequence[str]) -> dict[str, str]:
    """Return the Parquet files of which a page does not have its checksum, and why.

    A file without checksums is not read: nothing can be said of it.
    """
    bad: dict[str, str] = {}
    for path in paths:
        try:
            with pq.ParquetFile(path, page_checksum_verification=True) as file:
                if _has_checksums(path, file.metadata):
                    mine = [column for column in columns if column in file.schema_arrow.names]
                    for _ in file.iter_batches(columns=mine):
                        pass
        except (OSError, pa.ArrowException) as error:
            bad[path] = str(error).splitlines()[0]
    return bad


def _has_checksums(path: str, footer: pq.FileMetaData) -> bool:
    """Return whether the first page has one: its header is three integers, then perhaps the checksum."""
    if not (footer.num_row_groups and footer.num_columns):
        return False
    column = footer.row_group(0).column(0)
    start = column.data_page_offset
    if column.has_dictionary_page and column.dictionary_page_offset:
        start = min(start, column.dictionary_page_offset)
    with Path(path).open("rb") as file:
        file.seek(start)
        header = file.read(32)
    place = 0
    for _ in range(3):
        if header[place : place + 1] != bytes([_NEXT_IS_I32]):
            return False
        place += 1
        while place < len(header) and header[place] & 0x80:
            place += 1
        place += 1
    return header[place : place + 1] == bytes([_NEXT_IS_I32])


def need_hashes(files: Sequence[str], verify: Hashes) -> None:
    """Raise SourceError unless every file has the SHA-256 that is given for it.

    Raises
    ------
    ParameterError
        If the source is no local files, or the list of hashes cannot be read.
    SourceError
        If a file has another hash, or none is given for it.
    """
    if not files:
        raise ParameterError("verify needs a source of local files", hint="leave verify out")
    hashes = _hashes(verify)
    bad: dict[str, str] = {}
    for path in files:
        expected = hashes.get(os.path.realpath(path))
        if expected is None:
            bad[path] = "no hash is given for it"
            continue
        with Path(path).open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != expected.lower():
                bad[path] = "its SHA-256 is another"
    if bad:
        raise SourceError.damaged(bad)


def _hashes(verify: Hashes) -> dict[str, str]:
    if isinstance(verify, Mapping):
        return {os.path.realpath(path): expected for path, expected in verify.items()}
    place = Path(verify)
    hashes = {}
    try:
        for line in place.read_text(encoding="utf-8").splitlines():
            expected, separator, name = line.partition(" ")
            if not separator or len(expected) != 64:
                msg = "verify must be a list of SHA-256 hashes as sha256sum writes it"
                raise ParameterError(msg, where=repr(str(place)), found=repr(line[:80]))
            # The second mark says in which mode the file was read.
            hashes[os.path.realpath(place.parent / name[1:])] = expected
    except (OSError, UnicodeError) as error:
        raise ParameterError(
            "the list of hashes cannot be read", where=repr(str(place)), found=str(error)
        ) from error
    return hashes
