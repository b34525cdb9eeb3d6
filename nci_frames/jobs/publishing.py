"""Write, audit, publish: a run is built in a folder of its own, checked, and shown by one rename."""

import contextlib
import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from nci_frames.base.errors import ConflictError, OutputError, ParameterError, SourceError
from nci_frames.base.files import replacing
from nci_frames.base.messages import first_line
from nci_frames.counts.ledger.storage import fsync_folder

__all__ = ["MANIFEST", "POINTER", "Shelf", "check_run", "pointer_text", "published_before"]

MANIFEST = "manifest.json"
POINTER = "latest.json"
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


class Shelf:
    """The folder in which the runs of a job are published."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Let no other process publish meanwhile; the lock goes with the process, however it ends.

        Raises
        ------
        ConflictError
            If another run of the job has not ended.
        OutputError
            If the folder cannot be made, or locked.
        """
        lock = self.folder / ".lock"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise OutputError.unwritable(str(lock), error) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            msg = "another run of this job has not ended"
            raise ConflictError(msg, where=repr(str(self.folder)), hint="wait for it") from None
        except OSError as error:
            # A file system without locks.
            raise OutputError.unwritable(str(lock), error) from error
        else:
            yield
        finally:
            os.close(handle)

    def pointer(self) -> dict[str, Any] | None:
        """Return what ``latest.json`` says; None before the first run.

        Raises
        ------
        SourceError
            If it cannot be read.
        """
        path = self.folder / POINTER
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            msg = "the pointer to the latest run cannot be read"
            raise SourceError(msg, where=repr(str(path)), found=str(error)) from error
        if not isinstance(found, dict) or not isinstance(found.get("path"), str):
            raise SourceError("the pointer to the latest run is damaged", where=repr(str(path)))
        return found

    def check_new(self, run: str) -> None:
        """Raise ConflictError if a run has been published under that name.

        Only under the lock.

        Raises
        ------
        ParameterError
            If it cannot be the name of a folder.
        """
        if not _RUN.fullmatch(run):
            allowed = "1 to 100 letters, digits and . _ -, the first a letter or digit"
            raise ParameterError.out_of_range("the run id", run, allowed)
        there = self.folder / "runs" / run
        if not there.exists():
            return
        if _sequence(there) > int((self.pointer() or {}).get("sequence", 0)):
            # A kill came between its name and the pointer: it was never shown.
            shutil.rmtree(there)
            return
        raise published_before(run, str(self.folder))

    def path_of(self, run: str) -> str:
        """Return where a run is, from the folder."""
        return f"runs/{run}"

    def link(self, run: str, name: str) -> str:
        """Return where a reader finds a file of a run."""
        return str(self.folder / self.path_of(run) / name)

    @contextlib.contextmanager
    def building(self, run: str) -> Iterator[Path]:
        """Yield the folder in which a run is built; it is gone if it is not published."""
        runs = self.folder / "runs"
        try:
            runs.mkdir(parents=True, exist_ok=True)
            # What a killed run left: nobody else builds here, by the lock.
            for left in runs.glob(".building-*"):
                shutil.rmtree(left)
            folder = runs / f".building-{run}"
            folder.mkdir()
        except OSError as error:
            raise OutputError.unwritable(str(runs), error) from error
        try:
            yield folder
        except OSError as error:
            raise OutputError.unwritable(str(error.filename or folder), error) from error
        except pl.exceptions.ComputeError as error:
            # So Polars tells that it could not write.
            if "IO error" not in str(error):
                raise
            msg = "the output cannot be written"
            raise OutputError(msg, where=repr(str(folder)), found=first_line(error)) from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def audit(self, folder: Path, facts: Mapping[str, Any]) -> None:
        """Force all files to the disk, read them again, and write the manifest that names them.

        Raises
        ------
        OutputError
            If a file cannot be written.
        """
        hashes = {}
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            with file.open("rb") as opened:
                os.fsync(opened.fileno())
                hashes[file.relative_to(folder).as_posix()] = {
                    "bytes": os.fstat(opened.fileno()).st_size,
                    "sha256": sha256(opened.read()).hexdigest(),
                }
        text = json.dumps({**facts, "files": hashes}, indent=2, ensure_ascii=True) + "\n"
        with (folder / MANIFEST).open("x", encoding="utf-8") as written:
            written.write(text)
            written.flush()
            os.fsync(written.fileno())
        for inside in {folder, *(path for path in folder.rglob("*") if path.is_dir())}:
            fsync_folder(inside)
        if problems := check_run(folder):
            msg = "what was written is not what is read again"
            raise OutputError(msg, where=repr(str(folder)), found=", ".join(problems))

    def publish(self, folder: Path, run: str, pointer: Mapping[str, Any]) -> None:
        """Give a run its name, and only then let the pointer show it.

        Raises
        ------
        OutputError
            If that cannot be written.
        """
        path = self.path_of(run)
        try:
            folder.rename(self.folder / path)
            fsync_folder(folder.parent)
            with replacing(self.folder / POINTER, what="pointer") as beside, beside.open("x") as written:
                written.write(pointer_text(run, path, pointer))
                written.flush()
                os.fsync(written.fileno())
            fsync_folder(self.folder)
        except OSError as error:
            raise OutputError.unwritable(str(self.folder / path), error) from error

    def retire(self, keep: int, spare: set[str]) -> list[str]:
        """Delete all but the newest runs, and those to spare; return which.

        A run without a place in the order, which a kill left between its name and the pointer, goes first.
        """
        runs = [path for path in (self.folder / "runs").iterdir() if path.is_dir()]
        ordered = sorted(runs, key=lambda path: (_sequence(path), path.name))
        gone = [path for path in ordered[:-keep] if path.name not in spare]
        for path in gone:
            # Under a name that no reader looks for, so that none sees half a run.
            doomed = path.with_name(f".building-{path.name}")
            with contextlib.suppress(OSError):
                path.rename(doomed)
                shutil.rmtree(doomed)
        return [path.name for path in gone]


def published_before(run: str, where: str) -> ConflictError:
    """Return the error for a run id that was published before."""
    msg = "a run of that name has been published, and a run is published once"
    return ConflictError(msg, where=repr(where), found=repr(run), hint="name another run")


def pointer_text(run: str, path: str, facts: Mapping[str, Any]) -> str:
    """Write the pointer to a run."""
    return json.dumps({"run": run, "path": path, **facts}, indent=2) + "\n"


def check_run(folder: Path) -> list[str]:
    """Return the files of a published run that are not what its manifest says."""
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    wrong = sorted(found ^ {*manifest["files"], MANIFEST})
    for name, facts in manifest["files"].items():
        if name in found and sha256((folder / name).read_bytes()).hexdigest() != facts["sha256"]:
            wrong.append(name)
    return wrong


def _sequence(folder: Path) -> int:
    try:
        return int(json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["sequence"])
    except (OSError, ValueError, KeyError, TypeError):
        return -1
