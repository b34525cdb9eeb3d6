"""An opened log, whatever it was opened from."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import polars as pl

from nci_frames.base.errors import SourceError
from nci_frames.counting.logs.checksums import PageChecksums
from nci_frames.counting.logs.texts import why_unreadable

#: What the libraries raise where a file cannot be read.
READ_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)

#: Number of the file on its disk, size, time of the last change.
Stamp = tuple[int, int, int]

#: Name of the column that says which file a row is from.
FILE = "__file"


def stamp_of(file: str) -> Stamp:
    """Return what changes if a file is written to or replaced."""
    status = Path(file).stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def count_rows(frame: pl.LazyFrame, column: str) -> pl.LazyFrame:
    """Count the rows of each value of a column, in 64 bits (``len`` has 32)."""
    one = pl.lit(1, pl.Int64).alias(f"rows of {column}")
    # The ones must be a column: a literal inside an aggregation is one value, however many rows there are.
    return frame.select(column, one).group_by(column).agg(pl.all().sum()).sort(column)


class Elsewhere(Protocol):
    """Rows that another engine has, and counts where they are (``engine.passes.Engine``)."""

    def only(self, needed: Mapping[str, str]) -> "OpenedLog":
        """Return these rows with some columns, given by their roles; each of their files must have them."""

    def distinct(self, column: str, most: int | None) -> pl.Series:
        """Return the values of a column, neither null nor NaN, each once; at most *most* of them."""

    def refusal(self) -> SourceError:
        """Return the error where the rows are wanted here."""


@dataclass(frozen=True, slots=True)
class OpenedLog:
    """An opened log."""

    #: Of files with one more column, ``FILE``: the file that a row is from.
    frame: pl.LazyFrame
    #: For messages: what the user called it.
    where: str
    #: The files behind it; empty for frames and remote stores.
    files: tuple[str, ...] = ()
    #: Rows according to the footers, or of the DataFrame; None where only reading tells.
    rows: int | None = None
    #: By file, what changes when it is written to.
    stamps: Mapping[str, Stamp] = field(default_factory=dict)
    #: By name, what scans one of the parts that are stored somewhere: files, tables, URLs.
    stored: Mapping[str, Callable[[], pl.LazyFrame]] = field(default_factory=dict)
    #: The columns of CSV files that hold numbers.
    numbers: tuple[str, ...] = ()
    #: Whether there are rows that are not stored: those of a frame.
    has_frames: bool = False
    #: The working directory, if a path begins there.
    folder: str | None = None
    #: What a user should know before the rows are used.
    warnings: tuple[UserWarning, ...] = ()
    #: Whether the pages of the files are those that were written is known after the first reading.
    checksums: PageChecksums = field(default_factory=PageChecksums)
    #: Opens the same files with all columns that they share, where only some were opened.
    whole: Callable[[], "OpenedLog"] | None = None
    #: The rows, if another engine has them; ``frame`` then has only their columns.
    elsewhere: Elsewhere | None = None

    def schema(self) -> pl.Schema:
        """Return the columns and their types."""
        return self.frame.collect_schema()

    def some(self, column: str, most: int) -> pl.Series:
        """Return at most *most* of the values of a column, neither null nor NaN, each once."""
        if self.elsewhere is not None:
            return self.elsewhere.distinct(column, most)
        known = pl.col(column).drop_nulls()
        known = known.drop_nans() if self.schema()[column].is_float() else known
        with self.reading():
            return self.frame.select(known.unique()).head(most).collect()[column]

    def values(self, column: str) -> tuple[pl.Series, int | None]:
        """Return the values of a column, neither null nor NaN, each once; and how many rows were read here.

        Of a stream that can be read only once, a later pass has fewer.
        """
        if self.elsewhere is not None:
            return self.elsewhere.distinct(column, None).sort(), None
        with self.reading():
            counted = count_rows(self.frame, column).collect()
        values = counted[column].drop_nulls()
        values = values.drop_nans() if values.dtype.is_float() else values
        return values, int(counted.to_series(1).sum())

    def need_same_folder(self) -> None:
        """Raise SourceError if paths that begin in the working directory would now begin in another one."""
        if self.folder is None:
            return
        with suppress(OSError):  # one of them is gone
            if Path.cwd().samefile(self.folder):
                return
        msg = "the working directory has changed since the log was opened"
        found, hint = f"opened in {self.folder!r}", "name the log by an absolute path"
        raise SourceError(msg, where=self.where, found=found, hint=hint)

    def need_unchanged(self) -> None:
        """Raise SourceError if a file is not the one whose footer was read."""
        changed = self.changed()
        if changed:
            hint = "count again after the files are complete"
            raise SourceError.of_files("changed while it was read", changed, hint)

    def changed(self) -> dict[str, str]:
        """Return the files that are not those whose footers were read, and why."""
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
        """Turn what goes wrong while files are read into an error that names the files.

        Raises
        ------
        SourceError
            If a file cannot be read, or a page has another checksum than was written with it.
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
        """Read each stored part alone; return what is wrong with those that cannot be read.

        If all can, they are blamed for the *reason* why the whole could not, unless frames may be.
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
