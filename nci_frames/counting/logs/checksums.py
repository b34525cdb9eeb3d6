"""Is a file what its writer wrote? By the checksums of its pages, and by hashes given for whole files."""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from nci_frames.base.errors import ParameterError, SourceError
from nci_frames.counting.logs.pages import damage

#: What sha256sum writes after a backslash in names.
_ESCAPES = {"\\": "\\", "n": "\n", "r": "\r"}

#: SHA-256 by file, or the path of a list of them as ``sha256sum`` writes it.
Hashes = Mapping[str, str] | str | os.PathLike[str]


class PageChecksums:
    """The checksums of the pages of Parquet files, compared once. A file without any is taken as it is."""

    def __init__(self, files: Sequence[str] = (), columns: Sequence[str] = ()) -> None:
        self._files = files
        self._columns = columns
        self._compared = not files

    def compare(self) -> None:
        """Raise SourceError if a page has another checksum than was written with it."""
        self._compare(Event())

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
            comparison = thread.submit(self._compare, stop)
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

    def _compare(self, stop: Event) -> None:
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
        raise SourceError.of_files("are damaged", bad, "copy or write the files again")


def _hashes(verify: Hashes) -> dict[str, str]:
    if isinstance(verify, Mapping):
        return {os.path.realpath(path): expected for path, expected in verify.items()}
    place = Path(verify)
    hashes = {}
    try:
        lines = place.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeError) as error:
        raise ParameterError(
            "the list of hashes cannot be read", where=repr(str(place)), found=str(error)
        ) from error
    for line in filter(None, (line.removesuffix("\r") for line in lines)):
        # A mark before the hash says that the name has escapes.
        expected, separator, name = line.removeprefix("\\").partition(" ")
        if not separator or len(expected) != 64:
            msg = "verify must be a list of SHA-256 hashes as sha256sum writes it"
            raise ParameterError(msg, where=repr(str(place)), found=repr(line[:80]))
        if line.startswith("\\"):
            name = re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[0]), name)
        # The second mark says in which mode the file was read.
        hashes[os.path.realpath(place.parent / name[1:])] = expected
    return hashes
