"""The errors that nci_frames raises, their messages and their exit codes.

Every message says what is wrong, where, what was found there, and what to do about it. Names that
come from data are shown by ``repr``, so that a hostile name cannot write to the terminal.

========= ============================================================
exit code meaning
========= ============================================================
0         done
1         a bug (please report it)
2         a wrong argument or setting
3         bad data: an unreadable source, wrong columns, invalid rows
4         the output cannot be written
5         conflict with another run
10        a gate failed
11        a gate is undecided, where that fails
130       interrupted
========= ============================================================

A message names options as the caller knows them: ``positive=1`` in Python, ``--positive 1`` on the
command line, ``columns.positive = 1`` in a job file. It is written once, with an ``Option`` in its place.
"""

import os
from collections.abc import Container, Mapping, Sequence
from typing import ClassVar, Self

from nci_frames.base.messages import (
    SHOWN_FILES,
    Call,
    Option,
    in_job_file,
    in_python,
    listed,
    nearest_name,
    on_command_line,
    quantity,
    short,
    shown,
)

__all__ = [
    "ConflictError",
    "InvalidRowsError",
    "InvalidRowsWarning",
    "LedgerError",
    "MissingPackageError",
    "MixedTypesWarning",
    "NciFramesError",
    "NearlyUniqueKeyWarning",
    "OutputError",
    "OutsideGridWarning",
    "ParameterError",
    "SchemaError",
    "SkippedFilesWarning",
    "SourceError",
    "ToleranceWarning",
    "UnknownMetricError",
]


def _option(name: str) -> str:
    """Return the name of an argument, marked as one; other words as they are."""
    return str(Option(name)) if name.isidentifier() else name


class NciFramesError(Exception):
    """Base of all errors that nci_frames raises on purpose."""

    exit_code: ClassVar[int] = 1

    def __init__(
        self, what: str, *, where: str | None = None, found: str | None = None, hint: str | None = None
    ) -> None:
        parts = {"where": where, "found": found, "hint": hint}
        lines = [f"  {name + ':':<6} {text}" for name, text in parts.items() if text]
        #: The message, with marks where options are named.
        self.marked = "\n".join([what, *lines])
        super().__init__(in_python(self.marked))
        self._marked_parts = {"what": what, **parts}
        self.what, self.where = in_python(what), where and in_python(where)
        self.found, self.hint = found and in_python(found), hint and in_python(hint)

    def at(self, where: str | None) -> Self:
        """Return the same error with another place, or none."""
        return type(self)(**(self._marked_parts | {"where": where}))  # type: ignore[arg-type]

    def for_job_file(self) -> str:
        """Return the message with options as they are written in a job file."""
        return in_job_file(self.marked)

    def for_command_line(self, options: Container[str] | None = None) -> str:
        """Return the message with options as they are given on the command line.

        Parameters
        ----------
        options
            The options that the command has; others are named as in Python. None stands for all.

        >>> from nci_frames.base.errors import NciFramesError
        >>> from nci_frames.base.messages import Option
        >>> error = NciFramesError("no positive label", hint=f"say {Option('on_invalid', 'drop')}")
        >>> print(error)
        no positive label
          hint:  say on_invalid='drop'
        >>> print(error.for_command_line())
        no positive label
          hint:  say --on-invalid drop
        """
        return on_command_line(self.marked, options)


class ParameterError(NciFramesError, ValueError):
    """An argument or option is outside its allowed values."""

    exit_code = 2

    @classmethod
    def out_of_range(cls, name: str, value: object, allowed: str) -> Self:
        """Build the error for an option whose value is not allowed."""
        return cls(f"{_option(name)} must be {allowed}", found=short(value))

    @classmethod
    def wrong_kind(cls, name: str, value: object, wanted: str, place: int | None, hint: str | None) -> Self:
        """Build the error for an argument, or an item of it, of a kind that the function does not take."""
        where = None if place is None else f"position {place} of the list"
        return cls(f"{_option(name)} must be {wanted}", where=where, found=shown(value), hint=hint)

    @classmethod
    def unknown_choice(cls, name: str, value: object, choices: Sequence[str]) -> Self:
        """Build the error for an option that must be one of a few words."""
        close = nearest_name(value, choices)
        return cls(
            f"{_option(name)} must be one of {', '.join(map(repr, choices))}",
            found=short(value),
            hint=f"did you mean {close!r}?" if close else None,
        )


class UnknownMetricError(ParameterError):
    """A metric has a name that is neither registered nor an alias."""

    @classmethod
    def from_name(cls, name: str, known: Sequence[str], hint: str | None = None) -> Self:
        """Build the error with the nearest known name, unless there is a better hint."""
        close = None if hint else nearest_name(name, known)
        hint = f"did you mean {close!r}?" if close else hint or "nci_frames.metrics() lists them all"
        return cls(f"unknown metric {name!r}", found=f"known are {listed(map(repr, known), 12)}", hint=hint)


class SourceError(NciFramesError):
    """A source cannot be found or read."""

    exit_code = 3

    @classmethod
    def no_match(cls, source: str, found: str, hint: str) -> Self:
        """Build the error for a path, folder or glob that yields no log."""
        return cls("no log matched the source", where=repr(source), found=found, hint=hint)

    @classmethod
    def unreadable(cls, files: Mapping[str, str]) -> Self:
        """Build one error for all files that cannot be read; *files* maps path to reason."""
        return cls(
            f"{len(files)} of the source's files cannot be read",
            where=listed(map(repr, files), SHOWN_FILES),
            found=listed(dict.fromkeys(files.values())),
            hint="write the files again, or remove them from the source",
        )

    @classmethod
    def no_rows(cls, where: str) -> Self:
        """Build the error for a source that turns out to have no rows when it is read."""
        hint = "a stream can be read only once: collect it first"
        return cls("the log has no rows", where=where, hint=hint)

    @classmethod
    def rows_in_spark(cls, where: str) -> Self:
        """Build the error for rows that are in Spark and are wanted here."""
        hint = "filter and join in Spark, before the scan; fetch a small frame with frame.toArrow()"
        return cls("these rows are in Spark, where they can only be counted", where=where, hint=hint)

    @classmethod
    def unreadable_folder(cls, folder: str, error: OSError) -> Self:
        """Build the error for a folder that cannot be listed."""
        found = error.strerror or str(error)
        return cls("a folder of the source cannot be read", where=repr(folder), found=found)

    @classmethod
    def files_of_table(cls, folder: str) -> Self:
        """Build the error for a folder or glob that would read what a Delta table has removed."""
        return cls(
            "the files of a Delta table are not all rows of it: only its log says which are",
            where=repr(folder),
            hint="name the table alone; where only files are taken, those of DeltaTable(folder).file_uris()",
        )

    @classmethod
    def changed(cls, files: Mapping[str, str]) -> Self:
        """Build the error for files that are no longer what they were when the source was opened."""
        return cls(
            f"{len(files)} of the source's files changed while it was read",
            where=listed(map(repr, files), SHOWN_FILES),
            found=listed(dict.fromkeys(files.values())),
            hint="count again after the files are complete",
        )

    @classmethod
    def damaged(cls, files: Mapping[str, str]) -> Self:
        """Build the error for files whose contents are not what their checksums say."""
        return cls(
            f"{len(files)} of the source's files are damaged",
            where=listed(map(repr, files), SHOWN_FILES),
            found=listed(dict.fromkeys(files.values())),
            hint="copy or write the files again",
        )

    @classmethod
    def not_counted(cls, failed: Sequence[str], changed: Sequence[str], files: int) -> Self:
        """Build the error for some of several files, whose reasons were told; the others were counted."""
        hints = []
        if failed:
            known = ": the others are known then" if len(failed) + len(changed) < files else ""
            hints.append(f"append again when these files are good{known}")
        if changed:
            recount = Option("on_changed", "recount")
            hints.append(f"{recount} counts the new content of changed files in place of the old")
        return cls(
            f"not counted: {len(failed) + len(changed):,} of {quantity(files, 'file')}",
            where=listed(map(repr, [*failed, *changed]), SHOWN_FILES),
            found=f"{len(failed):,} failed, {len(changed):,} changed" if changed else None,
            hint="; ".join(hints),
        )

    @staticmethod
    def all_of(problems: Sequence[NciFramesError]) -> NciFramesError:
        """Return the only problem, or one error that lists all of them; the same of several files is one."""
        alike: dict[object, list[NciFramesError]] = {}
        for problem in problems:
            what = problem if problem.where is None else (type(problem), problem.at(None).marked)
            alike.setdefault(what, []).append(problem)
        problems = [same[0].at(_places(same)) if len(same) > 1 else same[0] for same in alike.values()]
        if len(problems) == 1:
            return problems[0]
        told = [f"{place}. {problem.marked}" for place, problem in enumerate(problems, 1)]
        return SourceError("\n".join([f"the files of the source have {len(problems)} problems", *told]))


def _places(problems: Sequence[NciFramesError]) -> str:
    """Return where a problem is that several files have."""
    return f"{quantity(len(problems), 'file')}: {listed((str(one.where) for one in problems), SHOWN_FILES)}"


class SchemaError(NciFramesError):
    """A column is missing, or has a type or values that are not allowed."""

    exit_code = 3

    @classmethod
    def missing_column(cls, column: str, role: str, where: str, available: Sequence[str]) -> Self:
        """Build the error for a column that a source or frame lacks."""
        close = nearest_name(column, available) or nearest_name(role, available)
        meant = f"did you mean {close!r}? " if close else ""
        hint = f"{meant}name the column with {Option(role, close or '<name>')}" if available else None
        if hint and not close and role in {"model", "score"}:
            hint = f"{hint}; if each model has a score column, name them with {Option('scores')}"
        # Options that say what to do with a key are no nouns.
        part = f"option {role}" if role in {"by", "over", "units"} else f"the {role}"
        return cls(
            f"missing column {column!r} ({part})",
            where=where,
            found=f"columns {listed(map(repr, available), 20)}" if available else "no columns to choose from",
            hint=hint,
        )

    @classmethod
    def type_drift(cls, column: str, files_by_type: Mapping[str, Sequence[str]]) -> Self:
        """Build the error for a column whose type differs between files."""
        found = "; ".join(
            f"{dtype} in {quantity(len(files), 'file')} ({listed(map(repr, files))})"
            for dtype, files in files_by_type.items()
        )
        return cls(
            f"column {column!r} has different types in different files",
            where=f"{sum(map(len, files_by_type.values()))} files",
            found=found,
            hint="rewrite the files with one type, or count them separately and use merge_counts",
        )

    @classmethod
    def unlabelled(cls, where: str) -> Self:
        """Predictions without labels are used where labels are needed."""
        hint = "name the column with label=; count_scores counts rows without labels"
        return cls("the predictions have no labels", where=where, found="label=None", hint=hint)

    @classmethod
    def wrong_type(cls, column: str, where: str, found: str, wanted: str, hint: str | None = None) -> Self:
        """Build the error for a column whose type cannot serve."""
        return cls(f"column {column!r} must be {wanted}", where=where, found=found, hint=hint)

    @classmethod
    def wrong_key(cls, column: str, where: str, problem: str) -> Self:
        """Build the error for a column of a frame that cannot be a key under its name."""
        hint = f"drop it, or rename it: frame.rename({{{column!r}: ...}})"
        return cls(f"the key {column!r} {problem}", where=where, hint=hint)

    @classmethod
    def wrong_values(cls, column: str, frame: str, wanted: str, where: str, found: str) -> Self:
        """Build the error for a column of a frame that holds values that it cannot hold."""
        return cls(f"column {column!r} of a {frame} frame must be {wanted}", where=where, found=found)

    @classmethod
    def too_many_rows(cls, column: str, group: Mapping[str, object], total: float, *, whole: bool) -> Self:
        """Build the error for counts whose sum is more than a count can hold."""
        most, hint = "Float64 holds", "divide all weights by one number"
        if whole:
            most, hint = "2^53, the most rows that a count can hold", "check where these counts come from"
        what = f"the sum of column {column!r} is more than {most}"
        where = ", ".join(f"{name} {value!r}" for name, value in group.items())
        return cls(what, where=where, found=f"{total:,}", hint=hint)

    @classmethod
    def no_frame(cls, name: str, value: object, wanted: str, maker: str | None) -> Self:
        """Build the error for an argument that must be a frame; *maker* makes frames of its kind."""
        kind = type(value)
        known = "path" if isinstance(value, str | os.PathLike) else kind.__module__.lstrip("_").split(".")[0]
        hint = {
            "path": "read a saved frame first, e.g. with polars.read_parquet",
            "pandas": "turn a pandas frame into a Polars frame with polars.from_pandas",
            "duckdb": "turn a relation into a Polars frame with its method pl()",
        }.get(known, f"make one with {maker}" if maker else None)
        if name == "predictions":
            hint = "open a log with scan_predictions(source)"
        elif name in ("counts", "rates") and isinstance(value, list | tuple):
            hint = f"add the counts frames of a {kind.__name__} with merge_counts(*frames)"
        return cls(f"{name} must be {wanted}", found=shown(value), hint=hint)

    @classmethod
    def unnamed_model(cls) -> Self:
        """Build the error for a model whose name is null, where models must be told apart by name."""
        hint = "name it in the log, or in the frame: polars.col('model').fill_null('unknown')"
        return cls("a model has no name: its name is null", hint=hint)

    @classmethod
    def inconsistent(cls, what: str, where: str, found: str, hint: str | None) -> Self:
        """Build the error for counts or rates that cannot be those of one log."""
        return cls(what, where=where or None, found=found, hint=hint)

    @classmethod
    def not_a_frame(cls, wanted: str, missing: Sequence[str], available: Sequence[str], maker: str) -> Self:
        """Build the error for a frame that is not of the kind a function takes."""
        return cls(
            f"this is not a {wanted} frame: it lacks {listed(map(repr, missing))}",
            found=f"columns {listed(map(repr, available), 20)}",
            hint=f"make one with {maker}",
        )


class InvalidRowsError(NciFramesError):
    """Rows of a log are not valid predictions."""

    exit_code = 3

    @classmethod
    def from_reasons(cls, reasons: Mapping[str, int], where: str, hint: str) -> Self:
        """Build the error from the number of invalid rows by reason."""
        found = listed(f"{quantity(rows, 'row')}: {reason}" for reason, rows in reasons.items())
        return cls("the log has rows that are not valid predictions", where=where, found=found, hint=hint)

    @classmethod
    def endless_weights(cls, where: str) -> Self:
        """Build the error for weights whose sum is infinite."""
        msg = "the weights add up to more than Float64 holds"
        return cls(msg, where=where, hint="divide all weights by one number")

    @classmethod
    def not_paired(cls, what: str, where: str, found: str) -> Self:
        """Build the error for rows of two models that are not about the same units."""
        return cls(
            f"the rows cannot be paired: {what}",
            where=where,
            found=found,
            hint="every model needs one row of each unit; for several rows of a unit use "
            "bootstrap(counts, units='bucket')",
        )


class OutputError(NciFramesError):
    """A file or folder cannot be written."""

    exit_code = 4

    @classmethod
    def unwritable(cls, path: str, error: OSError) -> Self:
        """Build the error for a path that the system does not let us write."""
        return cls("the output cannot be written", where=repr(path), found=error.strerror or str(error))

    @classmethod
    def too_little_space(cls, path: str, needed: str, free: str) -> Self:
        """Build the error for a disk without the space that is needed on the way."""
        found = f"{free} are free, and {needed} are needed"
        return cls("the disk of the output is too small", where=repr(path), found=found)

    @classmethod
    def foreign_files(cls, folder: str, names: Sequence[str]) -> Self:
        """Build the error for a folder with files that an earlier run did not write."""
        return cls(
            "the output folder holds files that no earlier run wrote, and is replaced as a whole",
            where=repr(folder),
            found=listed(map(repr, names)),
            hint="name another folder, or move these files",
        )

    @classmethod
    def no_new_ledger(cls, folder: str, found: str) -> Self:
        """Build the error for a place where a ledger cannot be begun: a file, or a folder of other files."""
        return cls(
            "a new ledger needs a folder of its own",
            where=repr(folder),
            found=found,
            hint="name a folder that is empty or not there yet; the ledger comes before the files to count",
        )


class LedgerError(SourceError):
    """A ledger is damaged, or lacks what is asked of it."""

    @classmethod
    def no_ledger(cls, where: str, found: str | None) -> Self:
        """Build the error for a place that has no ledger."""
        append = Call("append(source)", "nci-frames ledger append")
        return cls(
            "there is no ledger here",
            where=repr(where),
            found=found,
            hint=f"check the path; {append} makes a new ledger",
        )

    @classmethod
    def damaged_ledger(cls, ledger: str, files: Mapping[str, str]) -> Self:
        """Build the error for files of a ledger that are not as they were written; path to reason."""
        return cls(
            "the ledger is damaged",
            where=repr(ledger),
            found=listed((f"{file!r}: {reason}" for file, reason in files.items()), SHOWN_FILES),
            hint="restore these files from a backup, or count the sources again into another ledger",
        )


class ConflictError(NciFramesError):
    """Another run does the same at the same time, or has done it already."""

    exit_code = 5

    @classmethod
    def published(cls, run: str, where: str) -> Self:
        """Build the error for a run id that was published before."""
        msg = "a run of that name has been published, and a run is published once"
        return cls(msg, where=repr(where), found=repr(run), hint="name another run")


class MissingPackageError(NciFramesError):
    """The request needs a package that is not installed."""

    exit_code = 2

    @classmethod
    def of_extra(cls, what: str, found: str, extra: str) -> Self:
        """Build the error for a package of one of the extras."""
        return cls(what, found=found, hint=f"pip install 'nci_frames[{extra}]'")


class InvalidRowsWarning(UserWarning):
    """Rows that are not valid predictions were dropped, as was asked for."""


class MixedTypesWarning(UserWarning):
    """Scores have different types in different files; they are compared in the wider type."""


class SkippedFilesWarning(UserWarning):
    """Files beside the log's files were not read."""

    @classmethod
    def of(cls, where: str, files: Sequence[str]) -> Self:
        """Build the warning that names the files."""
        number = "1 file or folder" if len(files) == 1 else f"{len(files):,} files or folders"
        were = "was" if len(files) == 1 else "were"
        return cls(f"{number} of {where} {were} skipped: {listed(map(repr, files))}")


class OutsideGridWarning(UserWarning):
    """The thresholds are on another scale than the scores, such as 0 to 1 for log-odds."""


class NearlyUniqueKeyWarning(UserWarning):
    """A key has nearly as many values as a model has rows, so nearly every row is a group."""


class ToleranceWarning(UserWarning):
    """The thresholds do not reach the tolerance that was asked for."""
