"""An opened log of any source."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import polars as pl

from nci_frames.base.errors import IgnoredWeightsWarning, SourceError
from nci_frames.counting.logs.checksums import PageChecksums
from nci_frames.counting.logs.texts import why_unreadable

#: Exceptions of libraries for unreadable files.
READ_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)

#: Inode number, size, and time of the last change.
Stamp = tuple[int, int, int]

#: Name of the column with the file of a row.
FILE = "__file"


def ignored_weights(columns: Collection[str], roles: Collection[str], where: str) -> tuple[UserWarning, ...]:
    """Return a warning if *columns* are those of drawn rows, and *roles* lack their weight."""
    if "weight" in roles or not {"stratum", "weight"} <= {*columns}:
        return ()
    advice = "name the column: weight='weight' (on the command line --weight weight, in a job columns.weight)"
    msg = f"the rows of {where} were drawn by a plan ('stratum', 'weight'), but are counted without weights"
    return (IgnoredWeightsWarning(f"{msg}, so all shares are those of the sample, not of the log: {advice}"),)


def stamp_of(file: str) -> Stamp:
    """Return a stamp that changes if the file is written to or replaced."""
    status = Path(file).stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def count_rows(frame: pl.LazyFrame, column: str) -> pl.LazyFrame:
    """Count the rows of each value of a column in 64 bits (``len`` has 32)."""
    one = pl.lit(1, pl.Int64).alias(f"rows of {column}")
    # The ones must be a column: in an aggregation, a literal is one value, however many rows there are.
    return frame.select(column, one).group_by(column).agg(pl.all().sum()).sort(column)


class Elsewhere(Protocol):
    """Rows held, and counted, by another engine (``engine.passes.Engine``)."""

    def only(self, needed: Mapping[str, str]) -> "OpenedLog":
        """Return the rows with the columns *needed*, given with their roles; each file must have them."""

    def distinct(self, column: str, most: int | None) -> pl.Series:
        """Return the distinct values of a column, without null and NaN; at most *most* of them."""

    def refusal(self) -> SourceError:
        """Return the error for a request that needs the rows in this process."""


@dataclass(frozen=True, slots=True)
class OpenedLog:
    """An opened log."""

    #: For files, with the additional column ``FILE``.
    frame: pl.LazyFrame
    #: The log as the user named it, for messages.
    where: str
    #: The files behind it; empty for frames and remote stores.
    files: tuple[str, ...] = ()
    #: Number of rows by the footers or the DataFrame; None if unknown before reading.
    rows: int | None = None
    #: Stamp of each file, see ``stamp_of``.
    stamps: Mapping[str, Stamp] = field(default_factory=dict)
    #: Function that scans one stored part (file, table, URL), by name.
    stored: Mapping[str, Callable[[], pl.LazyFrame]] = field(default_factory=dict)
    #: Columns of CSV files with numbers.
    numbers: tuple[str, ...] = ()
    #: Whether some rows come from a frame, not from storage.
    has_frames: bool = False
    #: The working directory, if a path is relative.
    folder: str | None = None
    #: Warnings for the user, before the rows are used.
    warnings: tuple[UserWarning, ...] = ()
    #: The page checksums, compared at the first reading.
    checksums: PageChecksums = field(default_factory=PageChecksums)
    #: Opens the same files with all their common columns, if only some were opened.
    whole: Callable[[], "OpenedLog"] | None = None
    #: The rows, if another engine holds them; ``frame`` then only has the columns.
    elsewhere: Elsewhere | None = None

    def schema(self) -> pl.Schema:
        """Return the columns and their types."""
        return self.frame.collect_schema()

    def with_every_column(self) -> "OpenedLog":
        """Return the same log with all columns that its files have in common."""
        return self if self.whole is None else self.whole()

    def some(self, column: str, most: int) -> pl.Series:
        """Return at most *most* distinct values of a column, without null and NaN."""
        if self.elsewhere is not None:
            return self.elsewhere.distinct(column, most)
        known = pl.col(column).drop_nulls()
        known = known.drop_nans() if self.schema()[column].is_float() else known
        with self.reading():
            return self.frame.select(known.unique()).head(most).collect()[column]

    def values(self, column: str) -> tuple[pl.Series, int | None]:
        """Return the distinct values of a column, without null and NaN, and the number of rows read.

        If a later pass reads fewer rows, the source is a stream that can be read only once.
        """
        if self.elsewhere is not None:
            return self.elsewhere.distinct(column, None).sort(), None
        with self.reading():
            counted = count_rows(self.frame, column).collect()
        values = counted[column].drop_nulls()
        values = values.drop_nans() if values.dtype.is_float() else values
        return values, int(counted.to_series(1).sum())

    def need_same_folder(self) -> None:
        """Raise SourceError if the working directory of relative paths has changed."""
        if self.folder is None:
            return
        with suppress(OSError):  # one of the two is gone
            if Path.cwd().samefile(self.folder):
                return
        msg = "the working directory has changed since the log was opened"
        found, hint = f"opened in {self.folder!r}", "name the log by an absolute path"
        raise SourceError(msg, where=self.where, found=found, hint=hint)

    def need_unchanged(self) -> None:
        """Raise SourceError if a file has changed since its footer was read."""
        changed = self.changed()
        if changed:
            hint = "count again after the files are complete"
            raise SourceError.of_files("changed while it was read", changed, hint)

    def changed(self) -> dict[str, str]:
        """Return the files that have changed since their footers were read, and how."""
        changed: dict[str, str] = {}
        for file, stamp in self.stamps.items():
            try:
                if stamp_of(file) != stamp:
                    changed[file] = "it was written to, or replaced"
            except OSError as error:
                changed[file] = error.strerror or "it is gone"
        return changed

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Convert exceptions while reading into an error that names the files.

        Raises
        ------
        SourceError
            If a file cannot be read, or the checksum of a page is wrong.
        """
        self.need_same_folder()
        self.checksums.compare()
        try:
            yield
        except READ_ERRORS as error:
            if not self.stored:
                raise
            self.need_unchanged()
            bad = self._unreadable(error)
            if not bad:
                raise
            raise SourceError.unreadable(bad) from error

    def _unreadable(self, reason: Exception) -> dict[str, str]:
        """Read each stored part separately; return the problem of each unreadable part.

        If all parts are readable, each gets the *reason*, unless a frame may have caused it.
        """
        bad: dict[str, str] = {}
        alone = len(self.stored) == 1 and not self.has_frames
        for name, scan in () if alone else self.stored.items():
            try:
                scan().select(pl.all().count()).collect()
            except READ_ERRORS as error:
                bad[name] = why_unreadable(name, error)
        blamed = () if self.has_frames else self.stored
        return bad or {name: why_unreadable(name, reason) for name in blamed}
