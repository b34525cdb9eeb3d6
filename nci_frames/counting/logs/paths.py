"""Paths, folders, globs and lists -> files, by the same rules.

Links are followed, each real file counts once, and an unreadable folder is an error. Below the named paths,
names that begin with a dot or an underscore (``_SUCCESS``, ``.tmp.parquet``) and other formats are skipped.
The keys of a file are the ``key=value`` folders below the named path, not those above it.
"""

import errno
import fnmatch
import glob
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from nci_frames.base.errors import SchemaError, SkippedFilesWarning, SourceError
from nci_frames.base.files import is_folder, nearest_folder
from nci_frames.base.messages import listed, quantity

_PARQUET = (".parquet", ".pq", ".parq")
_CSV = (".csv",)
SUFFIXES = (*_PARQUET, *_CSV)

#: Folder with the transaction log of a Delta table, which lists its files.
DELTA_LOG = "_delta_log"

#: Key value that means null.
NULL_KEY = "__HIVE_DEFAULT_PARTITION__"

_HIVE = re.compile(r"([^=]+)=(.*)", re.DOTALL)
#: Folders whose keys Polars reads as this file does. It treats a second equals sign, characters of globs, and
#: escapes in the name of a key differently.
_PLAIN_HIVE = re.compile(r"[^=%*?\[\]{}]+=[^=*?\[\]{}]*", re.DOTALL)


class LogFile(NamedTuple):
    """A file as it was named, and the keys that its folders spell."""

    path: str
    keys: dict[str, str]

    @property
    def values(self) -> dict[str, str | None]:
        """The values of the keys; None for null."""
        return {key: None if value == NULL_KEY else value for key, value in self.keys.items()}

    @property
    def is_plain(self) -> bool:
        """Whether Polars reads the same keys from the folders of the path."""
        parts = [part for part in Path(self.path).parent.parts if "=" in part]
        try:
            plain = all(_PLAIN_HIVE.fullmatch(part) and unquote(part, errors="strict") for part in parts)
        except UnicodeDecodeError:
            return False
        return plain and spelled_keys(self.path) == list(self.keys.items())


class Found(NamedTuple):
    """The files of a source, and the skipped files beside them."""

    files: list[LogFile]
    skipped: list[str]

    def warning(self, where: str) -> SkippedFilesWarning:
        """Return the warning that names the skipped files."""
        number = f"{len(self.skipped):,} files or folders of {where} were"
        if len(self.skipped) == 1:
            number = f"1 file or folder of {where} was"
        return SkippedFilesWarning(f"{number} skipped: {listed(map(repr, self.skipped))}")


def is_csv(path: str) -> bool:
    """Return whether a file is read as CSV."""
    return path.lower().endswith(_CSV)


def find_files(paths: Sequence[str]) -> Found:
    """Return the files of paths, folders and globs, each once, in the order of *paths* and names.

    Raises
    ------
    SchemaError
        If the folders of a file spell a key twice, or a file is found with different keys.
    SourceError
        If nothing matches, or a folder cannot be read, or contains a Delta table.
    """
    if "" in paths:
        # The system reads an empty path as the working directory.
        hint = "is a variable of the shell not set? '.' is the folder here"
        raise no_match("", "an empty name", hint)
    globs = {name: _glob_of(name) for name in paths}
    tops = [top for top, _ in globs.values()]
    top = tops[0] if len(tops) == 1 else os.path.commonpath(map(_absolute, tops))
    places: dict[str, LogFile] = {}
    skipped: list[str] = []
    for name, (below, parts) in globs.items():
        files = _files(name, below, parts, skipped)
        if not files:
            raise _nothing(name, parts, skipped)
        for path in files:
            file = LogFile(path, _keys(path, top))
            first = places.setdefault(os.path.realpath(path), file)
            if first.keys != file.keys:
                msg = "one file is reached by two paths that spell different keys"
                where = f"{first.path!r} and {path!r}"
                raise SchemaError(msg, where=where, found=f"{first.keys} and {file.keys}")
    return Found(list(places.values()), skipped)


def _glob_of(name: str) -> tuple[str, tuple[str, ...] | None]:
    """Return the folder below which keys begin, and the parts of the glob below it; None for a file."""
    path = Path(name)
    if is_folder(path):
        return name, ("**",)
    if os.path.lexists(path) or not glob.has_magic(name):
        return str(path.parent), None
    fixed = next(i for i, part in enumerate(path.parts) if glob.has_magic(part))
    return str(Path(*path.parts[:fixed])), path.parts[fixed:]


def _files(name: str, top: str, parts: tuple[str, ...] | None, skipped: list[str]) -> list[str]:
    """Return the files of a path, in the order of their names; append other files to *skipped*."""
    if parts is None:
        return [name] if os.path.lexists(name) else []
    above = Path(_absolute(top))
    while "=" in above.name:
        above = above.parent
        if is_folder(above / DELTA_LOG):
            raise _files_of_table(str(above))
    return sorted(set(_matching(top, parts, skipped, frozenset()))) if is_folder(top) else []


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise _unreadable(folder, error) from error
    if any(entry.name == DELTA_LOG and _is_folder(entry) for entry in found):
        raise _files_of_table(folder)
    return found


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError as error:
        if error.errno == errno.ELOOP:  # a link to itself is not a folder
            return False
        raise _unreadable(entry.path, error) from error


def _is_log(entry: os.DirEntry[str], skipped: list[str]) -> bool:
    is_data = entry.name.lower().endswith(SUFFIXES)
    hidden = entry.name[0] in "._"
    if is_data and not hidden:
        return True
    if is_data or not hidden:  # markers such as _SUCCESS and .part.crc hold no rows, so need no report
        skipped.append(entry.path)
    return False


def _skip_hidden(folder: str, skipped: list[str]) -> None:
    """Append a hidden folder to *skipped* if it contains a log."""
    for _, _, files in os.walk(folder):
        if any(file.lower().endswith(SUFFIXES) for file in files):
            skipped.append(folder)
            return


def _matching(folder: str, parts: Sequence[str], skipped: list[str], above: frozenset[str]) -> Iterator[str]:
    """Yield the files below a folder that match the parts of a glob; matching folders are walked.

    Without parts, yield the files in the folder. Folders that contain themselves by a link are left out.
    """
    if not parts:
        yield from (
            entry.path for entry in _entries(folder) if not _is_folder(entry) and _is_log(entry, skipped)
        )
        return
    head, rest = parts[0], tuple(parts[1:])
    if head == "**":
        real = os.path.realpath(folder)
        if real in above:
            return
        yield from _matching(folder, rest, skipped, above)
        for entry in filter(_is_folder, _entries(folder)):
            if entry.name[0] in "._":
                _skip_hidden(entry.path, skipped)
            else:
                yield from _matching(entry.path, parts, skipped, above | {real})
        return
    matches: Callable[[str], bool] = re.compile(fnmatch.translate(head)).match  # type: ignore[assignment]
    for entry in _entries(folder):
        if not matches(entry.name) or (entry.name[0] == "." and head[0] != "."):
            continue
        if _is_folder(entry):
            if rest or entry.name[0] != "_":
                yield from _matching(entry.path, rest or ("**",), skipped, frozenset())
        elif not rest and (head[0] in "._" or _is_log(entry, skipped)):
            yield entry.path


def _absolute(path: str) -> str:
    # Links are not resolved: their names spell keys.
    try:
        return os.path.normpath(Path(path).absolute())
    except FileNotFoundError as error:  # the working directory is gone
        raise _unreadable(path, error) from error


def _keys(path: str, top: str) -> dict[str, str]:
    """Return the keys that the folders of a path below *top* spell, as ``country=de``."""
    below = Path(os.path.relpath(Path(_absolute(path)).parent, _absolute(top)))
    keys: dict[str, str] = {}
    try:
        spelled = spelled_keys(str(below / "file"), errors="strict")
    except UnicodeDecodeError as error:
        # Two different undecodable values would become the same.
        msg = "the folders of a file spell a key that is not UTF-8"
        hint = "rename the folders: é is %C3%A9, not %E9"
        raise SchemaError(msg, where=repr(path), found=str(error), hint=hint) from error
    for name, value in spelled:
        if name in keys:
            msg = f"the folders of a file spell the key {name!r} twice"
            raise SchemaError(msg, where=repr(path), found=f"{keys[name]!r} and {value!r}")
        keys[name] = value
    return keys


def spelled_keys(path: str, *, errors: str = "replace") -> list[tuple[str, str]]:
    """Return every key that the folders of a path spell, also above the source."""
    matches = (_HIVE.fullmatch(part) for part in Path(path).parent.parts)
    return [
        (unquote(match[1], errors=errors), unquote(match[2], errors=errors)) for match in matches if match
    ]


def _nothing(name: str, parts: tuple[str, ...] | None, skipped: Sequence[str]) -> SourceError:
    if is_folder(name):
        found = "a folder without logs" if _entries(name) else "an empty folder"
        if skipped:
            others = sorted({Path(file).suffix or "no ending" for file in skipped})
            found = f"a folder with {quantity(len(skipped), 'other file')} ({', '.join(others)})"
        return no_match(name, found, f"logs end in {', '.join(SUFFIXES)}")
    what = "a glob that matches nothing" if parts else "no such file or folder"
    return no_match(name, what, f"the nearest folder that exists is {nearest_folder(name)!r}")


def no_match(source: str, found: str, hint: str) -> SourceError:
    """Return the error for a path, folder or glob without a log."""
    return SourceError("no log matched the source", where=repr(source), found=found, hint=hint)


def _unreadable(folder: str, error: OSError) -> SourceError:
    found = error.strerror or str(error)
    return SourceError("a folder of the source cannot be read", where=repr(folder), found=found)


def _files_of_table(folder: str) -> SourceError:
    return SourceError(
        "the files of a Delta table are not all rows of it: only its log says which are",
        where=repr(folder),
        hint="name the table alone; where only files are taken, those of DeltaTable(folder).file_uris()",
    )
