"""The columns of a log -> the columns of predictions, with the reason why a row is not valid."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.base.messages import Option
from nci_frames.counting.logs.opened import FILE
from nci_frames.counting.logs.types import is_text
from nci_frames.schemas import Family, name_problem

Positive = str | int | float | bool | None

#: Column of a raw scan with the reason why a row is not valid (0: it is valid).
REASON = "__reason"

#: Score columns read in one scan.
_SCORES_AT_ONCE = 16

#: The code of a label that is neither 0 nor 1.
NEITHER = 2

#: The code of a label whose class has no score.
NO_SCORE = 9

#: Test for an invalid score, by code.
_BAD_SCORES = {3: pl.Expr.is_null, 4: pl.Expr.is_nan}

#: Meaning of each code.
REASONS = (
    "valid",
    "label is null",
    "label is neither 0 nor 1",
    "score is null",
    "score is NaN",
    "weight is not a finite number >= 0",
    "label is NaN",
    "decision is null",
    "decision is NaN",
    "label is a class without a score",
)


def score_name(place: int, part: int = 0) -> str:
    """Return the name of a score column, if models have score columns of their own."""
    return f"__score_{place}_{part}"


def check_key(name: str, hint: str, *, family: Family = "binary") -> None:
    """Raise ParameterError unless *name* can be the name of a key; *hint* is for the message.

    >>> check_key("country", "rename it")
    """
    problem = name_problem(name, family)
    if problem is not None:
        raise ParameterError(f"the segment {name!r} {problem}", hint=hint)


def key_columns(
    named: Mapping[str, str | None],
    segments: str | Sequence[str],
    hint: str,
    *,
    family: Family = "binary",
) -> dict[str, str]:
    """Return the column of each key: keys with their own option, and segments.

    Raises
    ------
    ParameterError
        If the name of a segment cannot be that of a key (*hint* is for the message), or is given twice.
    """
    keys = {key: column for key, column in named.items() if column is not None}
    for segment in [segments] if isinstance(segments, str) else segments:
        check_key(segment, hint, family=family)
        if segment in keys:
            where = f", as {Option(segment)} or among {Option('segments')}" if segment in named else ""
            raise ParameterError(f"the key {segment!r} is asked for twice", hint=f"name it once{where}")
        keys[segment] = segment
    return keys


@dataclass(frozen=True, slots=True)
class Roles:
    """The role of each column of a log."""

    model: str | None
    label: str | None  # None: the rows have no labels
    #: Score column by model, a single "" if the model is a column; for classes, by model and class.
    scores: Mapping[Any, str]
    keys: Mapping[str, str]  # column by name of the key
    weight: str | None = None
    unit: str | None = None
    #: Instead of scores, the decision column of each model.
    decisions: Mapping[str, str] = field(default_factory=dict)

    def needed(self) -> dict[str, str]:
        """Return every column with its role."""
        roles = [
            (self.label, "label"),
            *((column, "decision") for column in self.decisions.values()),
            *((column, "score") for column in self.scores.values()),
            (self.model, "model"),
            *((column, k if k in ("fold", "repeat") else "segments") for k, column in self.keys.items()),
            (self.weight, "weight"),
            (self.unit, "unit"),
        ]
        return {column: role for column, role in roles if column is not None}


def is_of_classes(names: Collection[str]) -> bool:
    """Return whether columns are those of decisions among classes, which have no score."""
    return "decision" in names and "score" not in names


def other_columns(schema: pl.Schema, columns: Roles) -> list[str]:
    """Return the columns of a log without a role."""
    return [name for name in schema if name not in columns.needed() and name != FILE]


def raw_predictions(
    frame: pl.LazyFrame,
    schema: pl.Schema,
    columns: Roles,
    positive: Positive,
    *,
    once: bool = False,
    wide: bool = False,
    whole: bool = False,
) -> pl.LazyFrame:
    """Convert a log to the columns of predictions, with the reason why a row is not valid.

    If *once*, the log may be a stream, so it is scanned once, whatever memory that takes. If *wide*, each
    model keeps its score column, named by ``score_name``, and only labels are checked. If *whole*, the
    columns without a role are kept, whose names must differ from those of the others.
    """
    precision = precision_of(schema, columns)
    keys, rest = shared_columns(frame, schema, columns)
    others = other_columns(schema, columns) if whole else []
    # Without labels, a column "label" is one of the others.
    labels = (
        [] if whole and columns.label is None else [_labels(columns.label, schema, positive).alias("label")]
    )
    named: list[pl.Expr] = [
        *keys,
        *labels,
        _label_reason(columns.label, schema, positive).alias(REASON),
        *rest,
        *map(pl.col, others),
    ]
    taken = {"model", "score", *(column.meta.output_name() for column in (*keys, *labels, *rest))}
    twice = [name for name in others if name in taken]
    if twice:
        msg = f"drawn rows get a column {twice[0]!r}, which the log has already"
        raise SchemaError(msg, found=repr(twice), hint="rename the column in the log")
    if wide:
        scores = enumerate(columns.scores.values())
        return frame.select(*named, *(pl.col(c).cast(precision).alias(score_name(n)) for n, c in scores))
    if columns.model is not None:
        long = frame.select(*named, pl.col(columns.scores[""]).cast(precision).alias("score"))
    else:
        # Unpivot a few score columns per scan: all at once would take the memory of a batch times the number
        # of models.
        models = list(columns.scores.items())
        size = len(models) if once else _SCORES_AT_ONCE
        parts = [models[place : place + size] for place in range(0, len(models), size)]
        long = pl.concat([_long(frame, named, precision, dict(part)) for part in parts])
    names = dict.fromkeys(("model", *columns.keys, "label", "score", "weight", "unit", *others, REASON, FILE))
    there = long.collect_schema()
    reason = reason_of_row(pl.col(REASON), [pl.col("score")], weighted=columns.weight is not None)
    return long.with_columns(reason.alias(REASON)).select(name for name in names if name in there)


def precision_of(schema: pl.Schema, columns: Roles) -> pl.DataType:
    """Return the precision in which the scores of the log are compared."""
    single = all(schema[column] == pl.Float32 for column in columns.scores.values())
    return pl.Float32() if single else pl.Float64()


def shared_columns(
    frame: pl.LazyFrame, schema: pl.Schema, columns: Roles
) -> tuple[list[pl.Expr], list[pl.Expr]]:
    """Return the columns of model, if there is one, and keys; and those of weight, unit and file."""
    model = [] if columns.model is None else [pl.col(columns.model).cast(pl.String).alias("model")]
    rest = []
    if columns.weight:
        rest.append(unflagged(columns.weight).cast(pl.Float64).alias("weight"))
    if columns.unit:
        rest.append(plain(columns.unit, schema[columns.unit]).alias("unit"))
    if FILE in frame.collect_schema():
        rest.append(pl.col(FILE))
    keys = (plain(column, schema[column]).alias(key) for key, column in columns.keys.items())
    return [*model, *keys], rest


def _long(
    frame: pl.LazyFrame, named: list[pl.Expr], precision: pl.DataType, scores: Mapping[str, str]
) -> pl.LazyFrame:
    """Return one row per row of the log and model."""
    short = {score_name(place): column for place, column in enumerate(scores.values())}
    names = dict(zip(short, scores, strict=True))
    wide = frame.select(*named, *(pl.col(column).cast(precision).alias(s) for s, column in short.items()))
    index = [name for name in wide.collect_schema() if name not in short]
    long = wide.unpivot(on=list(short), index=index, variable_name="model", value_name="score")
    return long.with_columns(pl.col("model").replace_strict(names, return_dtype=pl.String))


def unflagged(column: str) -> pl.Expr:
    """Return a column without its sorted flag, which files may set wrongly and Polars trusts."""
    return pl.struct(column).struct.field(column)


def plain(column: str, dtype: pl.DataType) -> pl.Expr:
    """Return a column without its sorted flag; categories become strings."""
    return unflagged(column).cast(pl.String) if is_text(dtype) else unflagged(column)


def _labels(column: str | None, schema: pl.Schema, positive: Positive) -> pl.Expr:
    if column is None:
        return pl.lit(value=False)  # every row counts as a negative
    label, dtype = unflagged(column), schema[column]
    if isinstance(positive, int) and not isinstance(positive, bool) and dtype.is_integer():
        # Compare as 128 bits, so that no label overflows or is rounded.
        return label.cast(pl.Int128) == pl.lit(positive, pl.Int128)
    if positive is not None:
        return plain(column, dtype) == pl.lit(positive)
    return label if dtype == pl.Boolean else label == 1


def _label_reason(label: str | None, schema: pl.Schema, positive: Positive) -> pl.Expr:
    if label is None:
        return pl.lit(0, pl.UInt8)
    cases = label_cases(label, schema)
    if positive is None and schema[label].is_numeric():
        cases.append((2, (unflagged(label) != 0) & (unflagged(label) != 1)))
    return first_reason(cases, otherwise=pl.lit(0, pl.UInt8))


def label_cases(label: str, schema: pl.Schema) -> list[tuple[int, pl.Expr]]:
    """Return the conditions, with their codes, under which a label of any kind is not valid."""
    return class_cases("label", unflagged(label), schema[label])


def class_cases(role: str, value: pl.Expr, dtype: pl.DataType) -> list[tuple[int, pl.Expr]]:
    """Return the conditions, with their codes, under which a class as a label or decision is not valid."""
    tests = {"null": value.is_null()} | ({"NaN": value.is_nan()} if dtype.is_float() else {})
    return [(REASONS.index(f"{role} is {what}"), holds) for what, holds in tests.items()]


def weight_case(weight: pl.Expr) -> tuple[int, pl.Expr]:
    """Return the condition, with its code, under which a weight is not valid."""
    # Polars orders NaN above infinity. Two comparisons take half the time of ``is_finite``.
    return 5, ~((weight >= 0) & (weight < math.inf)).fill_null(value=False)


def reason_of_row(by_label: pl.Expr, scores: Iterable[pl.Expr], *, weighted: bool) -> pl.Expr:
    """Return why a row is not valid: *by_label*, else by its scores and weight."""
    parts = list(scores)
    cases = [(code, pl.any_horizontal(map(bad, parts))) for code, bad in _BAD_SCORES.items() if parts]
    if weighted:
        cases.append(weight_case(pl.col("weight")))
    by_value = first_reason(cases, otherwise=pl.lit(0, pl.UInt8))
    return pl.when(by_label > 0).then(by_label).otherwise(by_value)


def first_reason(cases: list[tuple[int, pl.Expr]], *, otherwise: pl.Expr) -> pl.Expr:
    """Return the code of the first case that holds."""
    reason = otherwise
    for code, holds in reversed(cases):
        reason = pl.when(holds).then(pl.lit(code, pl.UInt8)).otherwise(reason)
    return reason
