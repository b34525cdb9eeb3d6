"""Find the positive label, and refuse labels where it is ambiguous."""

import contextlib

import polars as pl

from nci_frames.base.errors import InvalidRowsError, ParameterError
from nci_frames.base.messages import Call, Option, listed
from nci_frames.counting.logs.opened import OpenedLog
from nci_frames.counting.logs.rows import Positive
from nci_frames.counting.logs.types import is_text

#: Above this, Float64 cannot represent every whole number.
_EXACT_IN_FLOAT64 = 2**53
#: Highest label that Int128, in which whole numbers are compared, can represent.
_MOST_INTEGER = 2**127 - 1
#: With more labels than this, the column is probably not the label.
_MOST_CLASSES = 50
_OF_CLASSES = Call(
    "scan_classes(..., decision=...) opens decisions among them",
    "nci-frames report LOGS --classes --decision COLUMN compares decisions among them",
)


def as_label(positive: Positive, dtype: pl.DataType, where: str) -> Positive:
    """Return the positive label, converted to the type of the labels if given as a string.

    Raises
    ------
    ParameterError
        If it has another type, or is a number that this type cannot distinguish from others.
    """
    if positive is None or dtype == pl.Null:
        return positive
    value: str | float | None = positive
    if isinstance(positive, str) and dtype == pl.Boolean:
        value = {"true": True, "false": False}.get(positive.lower())
    elif isinstance(positive, str) and dtype.is_numeric():
        value = _number(positive)
    if value is None or is_text(dtype) != isinstance(value, str):
        msg = f"{Option('positive', positive)} is of another type than the labels"
        raise ParameterError(msg, where=where, found=f"{dtype} labels")
    if isinstance(value, int | float) and dtype.is_numeric():
        # A whole number keeps all its digits; comparing it with a float would round both.
        most = _EXACT_IN_FLOAT64 if dtype.is_float() else _MOST_INTEGER
        if not abs(value) <= most:  # also for NaN
            raise ParameterError.out_of_range(
                "positive", positive, f"a number that {dtype} can distinguish from others"
            )
        return int(value) if value == int(value) else value
    return value


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return None


def check_labels(source: OpenedLog, column: str, dtype: pl.DataType, positive: object) -> int | None:
    """Raise unless the positive label is clear; return the number of rows read to find out, if any.

    Raises
    ------
    InvalidRowsError
        If there are more than two labels, or none of them is *positive*.
    ParameterError
        If the labels are strings and *positive* is None.
    """
    where = f"column {column!r} of {source.where}"
    if positive is None:
        if dtype == pl.Boolean or dtype.is_numeric() or dtype == pl.Null:
            return None
        seen = source.some(column, 5)
        values = sorted(seen.cast(pl.String, strict=False))
        msg = "it is not clear which label is the positive one"
        two = (
            f"say which value is positive, e.g. {Option('positive', values[-1] if values else 'yes')}; "
            "labels that are 0/1 or Boolean need none"
        )
        found = f"{dtype} labels: {', '.join(map(repr, values))}"
        raise ParameterError(msg, where=where, found=found, hint=classes_hint(source, column) or two)
    seen, rows = source.values(column)
    found = ", ".join(map(repr, seen.head(10).to_list())) + (" and more" if len(seen) > 10 else "")
    if len(seen) > 2:
        msg = f"the log has {len(seen)} different labels, but a classifier here has two classes"
        hint = f"{_OF_CLASSES}; or remove the rows of the other labels"
        raise InvalidRowsError(msg, where=where, found=found, hint=hint)
    if len(seen) == 2 and positive not in seen.to_list():
        msg = f"no row has the positive label {positive!r}"
        raise InvalidRowsError(msg, where=where, found=f"labels {found}", hint="check its spelling")
    return rows


def positive_hint(source: OpenedLog, column: str) -> str | None:
    """Return the hint for a log with two labels other than 0 and 1; None for another number of labels."""
    seen = source.some(column, 3).sort()
    if len(seen) != 2 or not seen.dtype.is_numeric():
        return None
    low, high = (int(value) if value == int(value) else value for value in seen.to_list())
    return f"the labels are {low} and {high}: say which is positive, e.g. {Option('positive', high)}"


def classes_hint(source: OpenedLog, column: str) -> str | None:
    """Return the hint for a log with more than two labels; None for two or fewer."""
    seen = source.some(column, _MOST_CLASSES + 1).sort()
    if len(seen) < 3:
        return None
    values = listed(map(str, seen))
    broken = seen.dtype.is_float() and bool((seen != seen.round()).any())
    if broken or len(seen) > _MOST_CLASSES:
        return f"it has values such as {values}: is {column!r} the column of the labels?"
    return f"the log has {len(seen)} classes: {_OF_CLASSES}; or make one of them 1 and the others 0"
