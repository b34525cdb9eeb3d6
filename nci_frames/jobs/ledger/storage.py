"""Files of a ledger, in a local folder or in an object store, with hashes that detect damage.

A data file is named by the BLAKE3 hash of its content, so that each read detects a changed bit. The files of
the Delta log have fixed names; their hashes are stored beside them.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from blake3 import blake3
from deltalake._internal import DeltaFileSystemHandler

from nci_frames.base.arguments import check_utf8
from nci_frames.base.errors import LedgerError, OutputError
from nci_frames.base.files import exists, fsync_folder, is_folder, nearest_folder, write_durably
from nci_frames.base.messages import SHOWN_FILES, listed
from nci_frames.base.urls import is_url

#: Colour codes in the error messages of the store.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_LOG = "_delta_log"
_HASHES = "_hashes"
#: Beginning of the name of a file of the log: its version.
_VERSION = 20 * "[0-9]"


def content_hash(content: bytes) -> str:
    """Return the BLAKE3 hash of bytes, as 64 hexadecimal digits.

    >>> content_hash(b"")[:16]
    'af1349b9f5f9a1a6'
    """
    return blake3(content).hexdigest()


def file_hash(path: str | os.PathLike[str]) -> str:
    """Return the BLAKE3 hash of a file without holding it in memory."""
    return blake3().update_mmap(os.fspath(path)).hexdigest()


def store_problem(error: Exception) -> str:
    r"""Format the chain of causes of a store's error as one line; the last cause is the problem.

    >>> store_problem(OSError("Generic error\n \x1b[31m↳\x1b[0m Unable to copy\n  ↳ No space left\n"))
    'Generic error: Unable to copy: No space left'
    """
    causes = _COLOUR.sub("", str(error)).partition("Debug source")[0].splitlines()
    return ": ".join(filter(None, (cause.strip(" \t↳") for cause in causes)))[:500]


class Storage:
    """The folder of a ledger: local, or in an object store, given by a URL."""

    def __init__(
        self, path: str | os.PathLike[str], storage_options: Mapping[str, str] | None = None
    ) -> None:
        text = os.fspath(path)
        # Otherwise its log would appear damaged.
        check_utf8("path", text)
        self.local = None if is_url(text) else Path(text)
        self.uri = text if self.local is None else str(self.local.absolute())
        self.options = dict(storage_options) if storage_options else None

    def _store(self) -> Any:
        # deltalake.fs.DeltaStorageHandler wraps this, but the pyarrow streams made of it cannot write.
        return DeltaFileSystemHandler(self.uri, self.options)

    @property
    def is_file(self) -> bool:
        """Whether a file or a device is in the place of the folder."""
        return self.local is not None and exists(self.local) and not is_folder(self.local)

    def need_empty(self) -> None:
        """Raise OutputError if the folder has files that are not of a ledger; hidden files are ignored."""
        if self.local is None:
            return
        try:
            names = sorted(path.name for path in self.local.iterdir()) if is_folder(self.local) else []
        except OSError as error:
            raise OutputError.unwritable(self.uri, error) from error
        foreign = [name for name in names if not name.startswith((_LOG, _HASHES, "ledger_part=", "."))]
        if self.is_file or foreign:
            found = "a file" if self.is_file else listed(map(repr, foreign))
            places = "name a folder that is empty or not there yet"
            hint = f"{places}; the ledger comes before the files to count"
            msg = "a new ledger needs a folder of its own"
            raise OutputError(msg, where=repr(self.uri), found=found, hint=hint)

    def found_instead(self) -> str | None:
        """Describe what is in the place of a missing ledger; None for an object store."""
        if self.local is None:
            return None
        if self.is_file:
            return "a file"
        if is_folder(self.local):
            return "a folder without a ledger"
        return f"no such folder; the nearest folder that exists is {nearest_folder(self.uri)!r}"

    def write(self, name: str, content: bytes) -> None:
        """Write a file atomically: it is complete or absent.

        Raises
        ------
        OutputError, OSError
            If it cannot be written.
        """
        if self.local is not None:
            write_durably(self.local / name, content)
            return
        stream = self._store().open_output_stream(name)
        stream.write(content)
        stream.close()

    def read(self, name: str) -> bytes:
        """Return the content of a file whose name contains its hash.

        Raises
        ------
        LedgerError
            If the file is missing or damaged.
        """
        try:
            if self.local is not None:
                content = (self.local / name).read_bytes()
            else:
                opened = self._store().open_input_file(name)
                content = bytes(opened.read(opened.size()))
        except OSError as error:
            raise self.damaged({name: error.strerror or str(error)}) from error
        if content_hash(content) != Path(name).stem:
            raise self.damaged({name: "its content is not what was written"})
        return content

    def damaged(self, files: Mapping[str, str]) -> LedgerError:
        """Return the error for damaged files of the ledger; *files* maps path to reason."""
        return LedgerError(
            "the ledger is damaged",
            where=repr(self.uri),
            found=listed((f"{file!r}: {reason}" for file, reason in files.items()), SHOWN_FILES),
            hint="restore these files from a backup, or count the sources again into another ledger",
        )

    def record_log_hashes(self) -> None:
        """Store the hashes of new files of the log, and make its last commit durable."""
        if self.local is None:
            return
        for name, (file, recorded) in self._log().items():
            if file is not None and recorded is None:
                self.write(f"{_HASHES}/{name}.blake3", content_hash(file.read_bytes()).encode())
        # Local commits are renamed without fsync; object stores are durable.
        newest = max(self._found(_LOG, "*.json"), default=None)
        if newest is not None:
            with newest.open("rb") as opened:
                os.fsync(opened.fileno())
            fsync_folder(newest.parent)

    def forget_last_checkpoint(self) -> None:
        """Delete the file that names the last checkpoint, which the names of the log do, too, with hashes."""
        if self.local is not None:
            (self.local / _LOG / "_last_checkpoint").unlink(missing_ok=True)

    def unrecorded(self) -> list[str]:
        """Return the files of the log without hashes, whose integrity cannot be checked.

        A killed writer may have left its last commit without a hash.
        """
        log = self._log()
        newest = max(map(_version, log), default=0)
        since = newest if any(recorded for _, recorded in log.values()) else newest + 1
        return [
            f"{_LOG}/{name}"
            for name, (_, recorded) in log.items()
            if recorded is None and _version(name) < since
        ]

    def check_log(self, *, since: int = 0) -> dict[str, str]:
        """Return the damaged files of the log from a version on, with reasons."""
        wrong = {}
        for name, (file, recorded) in self._log().items():
            if recorded is None or _version(name) < since:
                continue
            if file is None:
                wrong[f"{_LOG}/{name}"] = "it is missing"
                continue
            if content_hash(file.read_bytes()).encode() != recorded.read_bytes():
                wrong[f"{_LOG}/{name}"] = "its content is not what was written"
        return wrong

    def newest_checkpoint(self) -> int:
        """Return the version from which the log is read; 0 without a checkpoint."""
        found = self._found(_LOG, f"{_VERSION}.checkpoint*.parquet")
        return max((_version(file.name) for file in found), default=0)

    def _log(self) -> dict[str, tuple[Path | None, Path | None]]:
        """Return the files of the log and their hash files, by name of the former."""
        # A name with "#" is a temporary file of another writer.
        files = {f.name: f for f in self._found(_LOG, f"{_VERSION}.*") if "#" not in f.name and f.is_file()}
        recorded = {file.stem: file for file in self._found(_HASHES, f"{_VERSION}.*.blake3")}
        return {name: (files.get(name), recorded.get(name)) for name in sorted({*files, *recorded})}

    def _found(self, folder: str, names: str) -> list[Path]:
        """Return the files of a folder that match *names*; unlike ``glob``, raise if it is unreadable."""
        if self.local is None:
            return []
        try:
            return [file for file in (self.local / folder).iterdir() if file.match(names)]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            found = error.strerror or str(error)
            raise LedgerError("the ledger cannot be read", where=repr(self.uri), found=found) from error


def _version(name: str) -> int:
    """Return the version of a file of the log."""
    return int(name.split(".", maxsplit=1)[0])
