"""Log files, found one by one, and identified by their content."""

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nci_frames.base.errors import ParameterError, SourceError
from nci_frames.base.folders import found_again
from nci_frames.base.messages import first_line, listed
from nci_frames.base.typing import PathLike
from nci_frames.base.urls import local_path
from nci_frames.counting.logs.opening import ArrowStream
from nci_frames.counting.logs.paths import find_files
from nci_frames.jobs.ledger.settings import CountingSettings
from nci_frames.jobs.ledger.storage import content_hash, file_hash

Window = tuple[datetime, datetime]

#: Paths inside a ledger, to the depth that a glob may match.
IN_LEDGER = (
    "ledger_part=x",
    "ledger_part=x/ledger_generation=x",
    "ledger_part=x/ledger_generation=x/x.parquet",
)
#: Prefix of names of frames; paths of files are absolute.
NAMED = "frame:"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file, the keys in its folders, and its window of time."""

    path: str
    keys: tuple[tuple[str, str], ...] = ()
    window: Window | None = None
    #: A Spark frame, which has a name instead of a path; None for files.
    frame: Any = field(default=None, compare=False)


def named_frame(frame: Any, name: str | None, window: Window | None) -> SourceFile:
    """Name a Spark frame, which has no content hash as an identity.

    Raises
    ------
    ParameterError
        If *name* is None.
    """
    if not name:
        msg = "a Spark DataFrame needs a name, by which the ledger knows it again"
        raise ParameterError(msg, hint="for example name='predictions/2026-11-22'; it is counted once")
    return SourceFile(f"{NAMED}{name}", (), window, frame)


def check_window(window: Window | None) -> Window | None:
    """Return a window in UTC.

    Raises
    ------
    ParameterError
        Unless it is a start and a later end, both with a time zone.
    """
    if window is None:
        return None
    start, end = window
    if start.tzinfo is None or end.tzinfo is None:
        raise ParameterError.out_of_range("window", window, "with a time zone")
    if not start < end:
        found = f"from {start.isoformat()} to {end.isoformat()}"
        raise ParameterError("window must be a start before its end", found=found)
    return start.astimezone(UTC), end.astimezone(UTC)


def find_logs(
    source: PathLike | Sequence[PathLike] | ArrowStream,
    window: Window | None = None,
    *,
    ledger: str | None = None,
    where: str | None = None,
    stacklevel: int = 2,
) -> list[SourceFile]:
    """Return the Parquet and CSV files of paths, folders and globs, each real file once.

    The folder of the *ledger* must not be among them. Warnings call the source *where*, by default its own
    name; *stacklevel* is passed to ``warnings.warn``.

    Raises
    ------
    SourceError
        If a path, folder or glob has no file, or *source* does not consist of paths.
    ParameterError
        If the source would match the ledger.

    Warns
    -----
    SkippedFilesWarning
        If files were skipped, as ``scan_predictions`` skips them.
    """
    given: Sequence[object] = [source] if isinstance(source, str | os.PathLike | ArrowStream) else source
    paths = []
    for item in given:
        if not isinstance(item, str | os.PathLike):
            msg = "a ledger counts files, which it knows again by their content"
            raise SourceError(msg, found=type(item).__name__, hint="write the frame to a Parquet file first")
        paths.append(local_path(item))
    if not paths:
        raise SourceError("the source is an empty list", hint="name a path, folder or glob")
    for path in paths:
        if ledger is not None and found_again(path, ledger, IN_LEDGER):
            msg = "the ledger lies among the sources, which would find it as a log"
            hint = "name another folder for the ledger"
            raise ParameterError(msg, found=f"source {path!r}, ledger {ledger!r}", hint=hint)
    found = find_files(paths)
    if found.skipped:
        warnings.warn(found.warning(where or listed(map(repr, paths))), stacklevel=stacklevel)
    return [
        SourceFile(str(Path(file.path).absolute()), tuple(sorted(file.keys.items())), window)
        for file in found.files
    ]


def identify(file: SourceFile, settings: CountingSettings) -> str:
    """Return the identity of a file: the hash of its content and of the keys in its folders.

    For a named frame, it is the hash of the name.

    Raises
    ------
    SourceError
        If it cannot be read.
    """
    if file.frame is not None:
        return content_hash(repr(file.path).encode())
    try:
        content = file_hash(file.path)
    except OSError as error:
        gone = isinstance(error, FileNotFoundError)
        reason = "it vanished" if gone else error.strerror or first_line(error)
        raise SourceError.unreadable({file.path: reason}) from error
    keys = keys_of_path(file, settings)
    if not keys:
        return content
    return content_hash(repr((content, sorted(keys.items()))).encode())


def keys_of_path(file: SourceFile, settings: CountingSettings) -> dict[str, str]:
    """Return the needed columns that the folders of the path spell, as ``country=de``."""
    found = dict(file.keys)
    return {column: found[column] for column in settings.roles() if column in found}
