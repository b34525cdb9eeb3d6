"""Atomic publishing of folders: a reader finds the old files or the new ones, never a mix."""

import ctypes
import glob
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from fnmatch import fnmatchcase
from itertools import takewhile
from pathlib import Path
from typing import Any

import polars as pl

from nci_frames.base.errors import ConflictError, OutputError, ParameterError
from nci_frames.base.files import exists, fsync_folder, write_durably
from nci_frames.base.messages import first_line, listed
from nci_frames.base.urls import is_url, local_path

if sys.platform != "win32":
    import fcntl

#: File that lists the files of a published folder with their SHA-256, and marks the folder as replaceable.
MANIFEST = "manifest.json"
_MADE_BY = "nci_frames"

#: Free space on the disk that is required before counting starts.
_LEAST_BYTES = 8 << 20

#: Arguments of renameat2 (Linux 3.15): paths from the working directory; exchange both names atomically.
_FROM_HERE, _EXCHANGE = -100, 2


@contextmanager
def publishing(out: Path, facts: Mapping[str, Any] | None = None) -> Iterator[Path]:
    """Yield a temporary folder to write into, which replaces *out* if the body does not raise.

    It is created beside *out* first, so that an unwritable target is detected at once. At the end it is
    forced to the disk and read again. If the system can exchange two folders atomically, there is always one
    of them in place. *out* may only contain files of its manifest: others are never deleted.

    Parameters
    ----------
    out
        The folder.
    facts
        Further contents of the manifest, evaluated after the body.

    Raises
    ------
    ConflictError
        If another process is replacing the folder.
    OutputError
        If the folder cannot be written, or contains files that are not in its manifest.
    ParameterError
        If *out* is a file, or contains the working directory.
    """
    target = _real(out)
    _check_place(out, target)
    made = [folder for folder in target.parents if not os.path.lexists(folder)]
    staged, old = (target.with_name(f".{target.name}.{kind}") for kind in ("new", "old"))
    with ExitStack() as held:
        held.callback(_remove_empty, made)
        with told(out):
            target.parent.mkdir(parents=True, exist_ok=True)
            held.enter_context(locked(target.with_name(f".{target.name}.lock"), out))
            _clean_up(staged, old, target)
            staged.mkdir()
            held.callback(shutil.rmtree, staged, ignore_errors=True)
            _check_space(staged)
        with told(out):
            yield staged
            _seal(staged, facts or {})
            _check_place(out, target)
            _swap(staged, old, target)
            fsync_folder(target.parent)
            _keep_foreign(staged, target)


@contextmanager
def told(out: Path) -> Iterator[None]:
    """Convert exceptions while writing to a folder into OutputError."""
    try:
        yield
    except OSError as error:
        raise OutputError.unwritable(str(error.filename or out), error) from error
    except pl.exceptions.ComputeError as error:
        # Polars reports write errors with these words.
        if "IO error" not in str(error):
            raise
        msg = "the output cannot be written"
        raise OutputError(msg, where=repr(str(out)), found=first_line(error)) from error


@contextmanager
def locked(lock: Path, where: Path) -> Iterator[None]:
    """Hold a lock on a file, which is removed afterwards; the lock ends with this process in any case.

    Raises
    ------
    ConflictError
        If another process holds it; *where* is for the message.
    OSError
        If the file cannot be created, or the file system has no locks.
    """
    handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
    with ExitStack() as held:
        held.callback(os.close, handle)
        try:
            if sys.platform != "win32":
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The previous holder may have removed the file meanwhile.
            free = os.path.samestat(os.fstat(handle), lock.stat())
        except (BlockingIOError, FileNotFoundError):
            free = False
        if not free:
            msg = "another run that writes here has not ended"
            raise ConflictError(msg, where=repr(str(where)), hint="wait for it")
        held.callback(lock.unlink, missing_ok=True)
        yield


def check_apart(sources: Iterable[str], out: Path) -> None:
    """Refuse a folder or file that would replace a source, or would be read as part of a source.

    Raises
    ------
    ParameterError
        If *out* and a source overlap, or a source contains an earlier output.
    """
    target = _real(out)
    for source in map(local_path, sources):
        if not source or is_url(source):
            continue
        path = Path(source)
        there = [path] if exists(path) else [Path(found) for found in glob.iglob(source, recursive=True)]
        again = found_again(source, target, (MANIFEST, "tables", "tables/counts.parquet"))
        if again or any(_real(file).is_relative_to(target) for file in there):
            msg = "the output lies among the sources, or holds one of them"
            hint = "name another place for the output"
            raise ParameterError(msg, found=f"source {source!r}, output {str(out)!r}", hint=hint)
        manifests = (file for found in there if found.is_dir() for file in found.rglob(MANIFEST))
        for folder in (file.parent for file in manifests):
            if _listed(folder) is not None:
                msg = "the source holds an earlier output, which is no log"
                hint = "move it out of the source, or name the logs one by one"
                raise ParameterError(msg, found=repr(str(folder)), hint=hint)


def found_again(source: str, folder: str | Path, below: Iterable[str]) -> bool:
    """Return whether reading a source again would find a folder, or the files written into it.

    Parameters
    ----------
    source
        A file, folder, glob or URL.
    folder
        The folder, or its URL; an object store has no folders of this machine.
    below
        Folders and files in it that a glob could match; matching folders are read completely.
    """
    source = local_path(source)
    if is_url(source) or is_url(str(folder)):
        return False
    path, target = Path(source), _real(Path(folder))
    if exists(path):
        return target.is_relative_to(_real(path))
    pattern = Path(os.path.abspath(source)).parts  # noqa: PTH100 - resolving needs a path that exists
    fixed = list(takewhile(lambda part: not glob.has_magic(part), pattern))
    pattern = (*_real(Path(*fixed)).parts, *pattern[len(fixed) :])
    could_match = (*target.parents, target, *(target / name for name in below))
    return any(_matches(place.parts, pattern) for place in could_match)


def _matches(path: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether a glob matches a path; both are given in parts, and ``**`` matches any number."""
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(_matches(path[skipped:], pattern[1:]) for skipped in range(len(path) + 1))
    return bool(path) and fnmatchcase(path[0], pattern[0]) and _matches(path[1:], pattern[1:])


def _real(path: Path) -> Path:
    """Return a path without symbolic links; for a link to itself, pathlib would raise no OSError."""
    return Path(os.path.realpath(path))


def _check_place(out: Path, target: Path) -> None:
    """Refuse a target that must not be replaced."""
    there = next(path for path in (out, *out.parents) if exists(path))
    if not there.is_dir():
        msg = "the output must be a folder"
        raise ParameterError(msg, found=f"the file {str(there)!r}", hint="name another folder")
    if Path.cwd().is_relative_to(target):
        msg = "the output must be a folder of its own, which is replaced as a whole"
        raise ParameterError(msg, found=f"{str(out)!r}, which holds the working directory")
    if not exists(target) and os.path.islink(target):  # noqa: PTH114 - pathlib raises for a name that is too long
        msg = "the output must be a folder"
        raise ParameterError(msg, found=f"the link {str(out)!r} to itself", hint="name another folder")
    if exists(target):
        ours = _listed(target) or frozenset()
        foreign = sorted(name for name in _files(target) if name not in ours and name != MANIFEST)
        if foreign or (MANIFEST in _files(target) and not ours):
            msg = "the output folder holds files that no earlier run wrote, and is replaced as a whole"
            found, hint = listed(map(repr, foreign or [MANIFEST])), "name another folder, or move these files"
            raise OutputError(msg, where=repr(str(out)), found=found, hint=hint)


def _files(folder: Path) -> list[str]:
    """Return everything below a folder that is not a folder."""
    found = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return [path.relative_to(folder).as_posix() for path in found]


def _listed(folder: Path) -> frozenset[str] | None:
    """Return the files in the manifest of a folder; None if it has no manifest of this package."""
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        return frozenset(manifest["files"]) if manifest["made_by"] == _MADE_BY else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _seal(folder: Path, facts: Mapping[str, Any]) -> None:
    """Force all files to the disk, write their manifest, and read them again."""
    files: dict[str, dict[str, int | str]] = {}
    for name in sorted(_files(folder)):
        with (folder / name).open("rb") as file:
            os.fsync(file.fileno())
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            files[name] = {"bytes": file.tell(), "sha256": digest}
    content = {"made_by": _MADE_BY, "schema": 1, **facts, "files": files}
    write_durably(folder / MANIFEST, (json.dumps(content, indent=1, sort_keys=True) + "\n").encode())
    for inside in (path for path in folder.rglob("*") if path.is_dir()):
        fsync_folder(inside)
    if wrong := changed_files(folder):
        msg = "what was written is not what is read again"
        raise OutputError(msg, where=repr(str(folder)), found=listed(map(repr, wrong)))


def changed_files(folder: Path) -> list[str]:
    """Return the files of a published folder that differ from its manifest."""
    expected = json.loads((folder / MANIFEST).read_bytes())["files"]
    found = set(_files(folder))
    wrong = sorted(found ^ {*expected, MANIFEST})
    for name in sorted(found & {*expected}):
        with (folder / name).open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != expected[name]["sha256"]:
                wrong.append(name)
    return wrong


def _check_space(folder: Path) -> None:
    probe = folder / "probe"
    with probe.open("wb") as file:
        file.write(bytes(_LEAST_BYTES))
        file.flush()
        os.fsync(file.fileno())
    probe.unlink()


def _clean_up(staged: Path, old: Path, target: Path) -> None:
    """Remove leftovers of a killed run; restore a folder that it had moved away."""
    if old.is_dir() and not target.exists():
        old.replace(target)
    for left in (staged, old):
        if left.is_dir():
            shutil.rmtree(left)


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def _swap(staged: Path, old: Path, target: Path) -> None:
    """Exchange the new folder and the old one."""
    if not target.exists():
        staged.rename(target)
    elif not _exchange(staged, target):
        target.rename(old)
        staged.rename(target)
        old.rename(staged)


def _keep_foreign(old: Path, target: Path) -> None:
    """Move files that somebody has just added to the old folder into the new one."""
    ours = _listed(old)
    if ours is None:
        return
    for name in _files(old):
        if name not in ours and name != MANIFEST and not (target / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (old / name).rename(target / name)


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two folders atomically; return False if the system cannot."""
    with suppress(OSError, AttributeError):
        rename = ctypes.CDLL(None, use_errno=True).renameat2
        return bool(rename(_FROM_HERE, os.fsencode(first), _FROM_HERE, os.fsencode(second), _EXCHANGE) == 0)
    return False
