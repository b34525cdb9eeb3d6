"""The errors that nci_frames raises, their messages and their exit codes.

Every message says what is wrong, where, what was found there, and what to do about it. Names from data are
shown by ``repr``, so that a hostile name cannot control the terminal.

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
11        a gate is undecided and counts as failed
130       interrupted
========= ============================================================

A message names options in the form of the caller: ``positive=1`` in Python, ``--positive 1`` on the command
line, ``columns.positive = 1`` in a job file. Its text has an ``Option``, which is converted to each form.
"""

from collections.abc import Collection, Container, Mapping, Sequence
from typing import ClassVar, Self

from nci_frames.base import messages
from nci_frames.base.messages import Call, Option, listed, nearest_name, quantity, short


def _option(name: str) -> str:
    """Return the name of an argument as a marked option; other words unchanged."""
    return str(Option(name)) if name.isidentifier() else name


class NciFramesError(Exception):
    """Base class of all errors that nci_frames raises."""

    exit_code: ClassVar[int] = 1

    def __init__(
        self, what: str, *, where: str | None = None, found: str | None = None, hint: str | None = None
    ) -> None:
        parts = {"where": where, "found": found, "hint": hint}
        lines = [f"  {name + ':':<6} {text}" for name, text in parts.items() if text]
        #: The message, with marked options.
        self.marked = "\n".join([what, *lines])
        super().__init__(messages.in_python(self.marked))
        self._marked_parts = {"what": what, **parts}
        self.what, self.where = messages.in_python(what), where and messages.in_python(where)
        self.found, self.hint = found and messages.in_python(found), hint and messages.in_python(hint)

    def at(self, where: str | None) -> Self:
        """Return a copy of the error with another place, or without one."""
        return type(self)(**(self._marked_parts | {"where": where}))  # type: ignore[arg-type]

    def for_job_file(self) -> str:
        """Return the message with options in the form of a job file."""
        return messages.in_job_file(self.marked)

    def for_command_line(self, options: Container[str] | None = None) -> str:
        """Return the message with options in the form of the command line.

        Parameters
        ----------
        options
            Options of the command; others are named as in Python. None means all.

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
        return messages.on_command_line(self.marked, options)


class ParameterError(NciFramesError, ValueError):
    """An argument or option is outside its allowed values."""

    exit_code = 2

    @classmethod
    def out_of_range(cls, name: str, value: object, allowed: str) -> Self:
        """Build the error for an option whose value is not allowed."""
        return cls(f"{_option(name)} must be {allowed}", found=short(value))

    @classmethod
    def unknown_choice(cls, name: str, value: object, choices: Sequence[object]) -> Self:
        """Build the error for an option that must be one of *choices*."""
        close = nearest_name(value, [choice for choice in choices if isinstance(choice, str)])
        what = f"{_option(name)} must be one of {', '.join(map(repr, choices))}"
        return cls(what, found=short(value), hint=f"did you mean {close!r}?" if close else None)


class UnknownMetricError(ParameterError):
    """The name of a metric is neither registered nor an alias."""


class SourceError(NciFramesError):
    """A source cannot be found or read."""

    exit_code = 3

    @classmethod
    def of_files(cls, what: str, files: Mapping[str, str], hint: str) -> Self:
        """Build one error for all files with a problem; *files* maps path to reason."""
        where, found = listed(map(repr, files), messages.SHOWN_FILES), listed(dict.fromkeys(files.values()))
        return cls(f"{len(files)} of the source's files {what}", where=where, found=found, hint=hint)

    @classmethod
    def unreadable(cls, files: Mapping[str, str]) -> Self:
        """Build one error for all unreadable files; *files* maps path to reason."""
        return cls.of_files("cannot be read", files, "write the files again, or remove them from the source")

    @staticmethod
    def all_of(problems: Sequence[NciFramesError]) -> NciFramesError:
        """Return the only problem, or one error that lists all; equal problems of files are merged."""
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
    """Return the places of a problem that several files have."""
    named = listed((str(one.where) for one in problems), messages.SHOWN_FILES)
    return f"{quantity(len(problems), 'file')}: {named}"


class SchemaError(NciFramesError):
    """A column is missing, or its type or values are not allowed."""

    exit_code = 3

    @classmethod
    def missing_column(
        cls, column: str, role: str, where: str, available: Sequence[str], roles: Collection[str] = ()
    ) -> Self:
        """Build the error for a column that a source or frame lacks; *roles* are those of all columns."""
        close = nearest_name(column, available) or nearest_name(role, available)
        meant = f"did you mean {close!r}? " if close else ""
        hint = f"{meant}name the column with {Option(role, close or '<name>')}" if available else None
        if hint and not close and role == "model" and [*roles].count("score") > 1:
            # The scores are those of classes, which say nothing of the model.
            hint = f"{hint}; if there is no column of models, add one with the model's name"
        elif hint and not close and role in {"model", "score"} and "decision" not in roles:
            key = 'columns.scores = { "<model>" = "<column>" }'
            each = Call("scores={model: column}", "--scores MODEL=COLUMN", key)
            hint = f"{hint}; if there is no column of models, name the score column of each with {each}"
        elif hint and not close and role in {"model", "decision"}:
            each = Call("decision={model: column}", "--decision MODEL=COLUMN")
            scores = Call("scores={class: column}", "--scores CLASS=COLUMN")
            hint = f"{hint}; if each model has a column of decisions, with {each}"
            hint = f"{hint}; of classes with scores, with {scores}"
        if role == "score" and "decision" in available:
            classes = Call("scan_classes opens them", "nci-frames report LOGS --classes compares them")
            hint = f"if these are decisions among classes, {classes}; otherwise {hint}"
        if {"tp", "fp", "fn", "tn"} <= {*available} and role in {"label", "score"}:
            reports = Call("compare_models takes them", "give the log; in Python compare_models takes counts")
            hint = f"these are counts, not rows: {reports}"
        # These option names are not nouns, so "the by" would be no English.
        part = f"option {role}" if role in {"by", "over", "units"} else f"the {role}"
        found = f"columns {listed(map(repr, available), 20)}" if available else "no columns to choose from"
        return cls(f"missing column {column!r} ({part})", where=where, found=found, hint=hint)

    @classmethod
    def wrong_type(cls, column: str, where: str, found: str, wanted: str, hint: str | None = None) -> Self:
        """Build the error for a column of the wrong type."""
        return cls(f"column {column!r} must be {wanted}", where=where, found=found, hint=hint)

    @classmethod
    def unnamed_model(cls) -> Self:
        """Build the error for a model whose name is null, in functions that need a name."""
        here = "name it in the log"
        hint = Call(f"{here}, or in the frame: polars.col('model').fill_null('unknown')", here)
        return cls("a model has no name: its name is null", hint=str(hint))


class InvalidRowsError(NciFramesError):
    """Rows of a log are not valid predictions."""

    exit_code = 3


class OutputError(NciFramesError):
    """A file or folder cannot be written."""

    exit_code = 4

    @classmethod
    def unwritable(cls, path: str, error: OSError) -> Self:
        """Build the error for a path that cannot be written."""
        return cls("the output cannot be written", where=repr(path), found=error.strerror or str(error))


class LedgerError(SourceError):
    """A ledger is damaged, or lacks the requested data."""


class ConflictError(NciFramesError):
    """Another run is doing the same, or has already done it."""

    exit_code = 5


class MissingPackageError(NciFramesError):
    """A required package is not installed."""

    exit_code = 2


class InvalidRowsWarning(UserWarning):
    """Rows that are not valid predictions were dropped, as requested."""


class MixedTypesWarning(UserWarning):
    """Scores have different types in different files or columns; the wider type is used."""


class SkippedFilesWarning(UserWarning):
    """Files beside the files of the log were not read."""


class OutsideGridWarning(UserWarning):
    """Thresholds and scores have different scales, such as 0 to 1 and log-odds."""


class NearlyUniqueKeyWarning(UserWarning):
    """A key has nearly as many values as a model has rows, so nearly every row is a group."""


class IgnoredUnitsWarning(UserWarning):
    """A log says to which units its rows belong, and the rows are counted as independent."""


class IgnoredWeightsWarning(UserWarning):
    """Rows were drawn by a plan, and are counted without their weights."""


class FewLabelsWarning(UserWarning):
    """A plan has too few labels to estimate anything."""


class ToleranceWarning(UserWarning):
    """The thresholds do not reach the requested tolerance."""
