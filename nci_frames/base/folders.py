"""Folders that are published as a whole: a reader finds the old files or the new ones, never a mix."""

import ctypes
import glob
import hashlib
import json
import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from fnmatch import fnmatchcase
from itertools import takewhile
from pathlib import Path

from nci_frames.base.errors import OutputError, ParameterError
from nci_frames.base.messages import listed
from nci_frames.base.urls import local_path

# Without locks on folders, what a crash left behind is not cleaned up.
if sys.platform != "win32":
    import fcntl

__all__ = ["MANIFEST", "check_apart", "found_again", "publishing"]

#: Names every file of a published folder with its SHA-256, and tells that the folder is ours to replace.
MANIFEST = "manifest.json"
_MADE_BY = "nci_frames"

#: So much must fit on the disk before anything is counted.
_LEAST_BYTES = 8 << 20

#: renameat2: paths from the working directory, and both names exchanged at once (Linux, since 3.15).
_FROM_HERE, _EXCHANGE = -100, 2


@contextmanager
def publishing(out: Path) -> Iterator[Path]:
    """Yield a folder to write into, which takes the place of *out*, if the body does not raise.

    It is made beside *out* before anything is written, so that a target that cannot be written is known at
    once. Where the system can exchange two folders in one step, there is no moment without the one or the
    other. Files that are in *out* already must be those of its manifest: others are never deleted.

    Raises
    ------
    OutputError
        The folder cannot be written, or holds files that are not ours.
    ParameterError
        *out* is a file, or holds the working directory.
    """
    target = _real(out)
    _check_place(out, target)
    made = [folder for folder in target.parents if not os.path.lexists(folder)]
    staged = target.with_name(f".{target.name}.{secrets.token_hex(8)}.new")
    try:
        with ExitStack() as held:
            with _told(out):
                target.parent.mkdir(parents=True, exist_ok=True)
                _clean_up(target)
                staged.mkdir()
                held.enter_context(_locked(staged))
                _check_space(staged)
            yield staged
            with _told(out):
                _write_manifest(staged)
                _check_place(out, target)
                _swap(staged, target)
        with _told(out):
            _keep_foreign(staged, target)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
        _remove_empty(made)


@contextmanager
def _told(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError.unwritable(str(out), error) from error


def check_apart(sources: Iterable[str], out: Path) -> None:
    """Refuse a folder that would replace a source, or whose files would be read as a part of it.

    Raises
    ------
    ParameterError
        *out* and a source overlap, or a source holds an earlier output.
    """
    target = _real(out)
    for source in map(local_path, sources):
        if not source or "://" in source:
            continue
        path = Path(source)
        there = [path] if _exists(path) else [Path(found) for found in glob.iglob(source, recursive=True)]
        again = found_again(source, target, (MANIFEST, "tables", "tables/counts.parquet"))
        if again or any(_real(file).is_relative_to(target) for file in there):
            raise ParameterError(
                "the output lies among the sources, or holds one of them",
                found=f"source {source!r}, output {str(out)!r}",
                hint="name another folder for the output",
            )
        manifests = (file for found in there if found.is_dir() for file in found.rglob(MANIFEST))
        for folder in (file.parent for file in manifests):
            if _listed(folder) is not None:
                raise ParameterError(
                    "the source holds an earlier output, which is no log",
                    found=repr(str(folder)),
                    hint="move it out of the source, or name the logs one by one",
                )


def found_again(source: str, target: Path, below: Iterable[str]) -> bool:
    """Say whether a source would find a folder, or what is written into it, when it is read again.

    Parameters
    ----------
    source
        A file, folder or glob on this machine.
    target
        The folder, without symbolic links.
    below
        Folders and files in it that a glob could match; what matches is read with all that it holds.
    """
    path = Path(source)
    if _exists(path):
        return target.is_relative_to(_real(path))
    pattern = Path(os.path.abspath(source)).parts  # noqa: PTH100 - resolving needs a path that exists
    fixed = list(takewhile(lambda part: not glob.has_magic(part), pattern))
    pattern = (*_real(Path(*fixed)).parts, *pattern[len(fixed) :])
    could_match = (*target.parents, target, *(target / name for name in below))
    return any(_matches(place.parts, pattern) for place in could_match)


def _matches(path: Sequence[str], pattern: Sequence[str]) -> bool:
    """Say whether a glob finds a path; both are given in parts, and ``**`` stands for any number of them."""
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(_matches(path[skipped:], pattern[1:]) for skipped in range(len(path) + 1))
    return bool(path) and fnmatchcase(path[0], pattern[0]) and _matches(path[1:], pattern[1:])


def _real(path: Path) -> Path:
    """Return a path without symbolic links; of a link to itself pathlib makes an error that is no OSError."""
    return Path(os.path.realpath(path))


def _exists(path: Path) -> bool:
    """Say whether something is there; of a name that is too long to be looked up pathlib makes an error."""
    return os.path.exists(path)  # noqa: PTH110


def _check_place(out: Path, target: Path) -> None:
    """Refuse what must not be replaced."""
    there = next(path for path in (out, *out.parents) if _exists(path))
    if not there.is_dir():
        msg = "the output must be a folder"
        raise ParameterError(msg, found=f"the file {str(there)!r}", hint="name another folder")
    if Path.cwd().is_relative_to(target):
        msg = "the output must be a folder of its own, which is replaced as a whole"
        raise ParameterError(msg, found=f"{str(out)!r}, which holds the working directory")
    if not _exists(target) and os.path.islink(target):  # noqa: PTH114 - as above
        msg = "the output must be a folder"
        raise ParameterError(msg, found=f"the link {str(out)!r} to itself", hint="name another folder")
    if _exists(target):
        ours = _listed(target) or frozenset()
        foreign = sorted(name for name in _files(target) if name not in ours and name != MANIFEST)
        if foreign or (MANIFEST in _files(target) and not ours):
            raise OutputError(
                "the output folder holds files that no earlier run wrote, and is replaced as a whole",
                where=repr(str(out)),
                found=listed(map(repr, foreign or [MANIFEST])),
                hint="name another folder, or move these files",
            )


def _files(folder: Path) -> list[str]:
    """Return the files below a folder, and whatever else is no folder."""
    found = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return [path.relative_to(folder).as_posix() for path in found]


def _listed(folder: Path) -> frozenset[str] | None:
    """Return the files that a folder's manifest names; None where it has none of ours."""
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        return frozenset(manifest["files"]) if manifest["made_by"] == _MADE_BY else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _write_manifest(folder: Path) -> None:
    files = {name: _facts(folder / name) for name in sorted(_files(folder))}
    text = json.dumps({"made_by": _MADE_BY, "schema": 1, "files": files}, indent=1, sort_keys=True)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8", newline="")


def _facts(path: Path) -> dict[str, int | str]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"bytes": file.tell(), "sha256": digest}


def _check_space(folder: Path) -> None:
    probe = folder / "probe"
    with probe.open("wb") as file:
        file.write(bytes(_LEAST_BYTES))
        file.flush()
        os.fsync(file.fileno())
    probe.unlink()


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Hold a folder's lock, which ends with this process however it ends; yield whether it was free."""
    if sys.platform == "win32":
        yield False
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)


def _clean_up(target: Path) -> None:
    """Remove what earlier runs left that ended before they could; others may still be writing theirs."""
    ours = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{16}}\.(new|old)")
    for folder in sorted(target.parent.iterdir()):
        kind = ours.fullmatch(folder.name)
        if kind is None or folder.is_symlink() or not folder.is_dir():
            continue
        with suppress(OSError), _locked(folder) as free:
            if not free:
                continue
            if kind[1] == "old" and not target.exists():
                folder.replace(target)
            else:
                shutil.rmtree(folder, ignore_errors=True)


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def _swap(staged: Path, target: Path) -> None:
    """Put the new folder in the place of the old one, which then is where the new one was."""
    if not target.exists():
        staged.rename(target)
    elif not _exchange(staged, target):
        old = staged.with_suffix(".old")
        target.rename(old)
        staged.rename(target)
        old.rename(staged)


def _keep_foreign(old: Path, target: Path) -> None:
    """Move what somebody put into the old folder a moment ago into the new one."""
    ours = _listed(old)
    if ours is None:
        return
    for name in _files(old):
        if name not in ours and name != MANIFEST and not (target / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (old / name).rename(target / name)


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two folders in one step; False where the system cannot."""
    with suppress(OSError, AttributeError):
        rename = ctypes.CDLL(None, use_errno=True).renameat2
        return bool(rename(_FROM_HERE, os.fsencode(first), _FROM_HERE, os.fsencode(second), _EXCHANGE) == 0)
    return False
