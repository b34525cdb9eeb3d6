"""Which label is the positive one, and whether that is clear."""

import contextlib

import polars as pl

from nci_frames.counting.logs.rows import Positive
from nci_frames.counting.logs.source import Source
from nci_frames.counting.logs.types import is_text
from nci_frames.errors import InvalidRowsError, Option, ParameterError

__all__ = ["as_label", "check_labels"]


def as_label(positive: Positive, dtype: pl.DataType, where: str) -> Positive:
    """Return the positive label in the type of the labels; a command line knows only texts.

    Raises
    ------
    ParameterError
        If it is of another type.
    """
    fits = positive is None or is_text(dtype) == isinstance(positive, str)
    if not fits and isinstance(positive, str) and dtype.is_numeric():
        with contextlib.suppress(ValueError):
            return float(positive)
    if not fits:
        msg = f"positive={positive!r} is of another type than the labels"
        raise ParameterError(msg, where=where, found=f"{dtype} labels")
    return positive


def check_labels(source: Source, column: str, dtype: pl.DataType, positive: object) -> None:
    """Refuse labels of which it is not clear which are positive and which negative.

    Raises
    ------
    InvalidRowsError
        If there are more than two labels, or none of them is *positive*.
    ParameterError
        If the labels are texts and *positive* is None.
    """
    where = f"column {column!r} of {source.where}"
    if positive is None:
        if dtype == pl.Boolean or dtype.is_numeric() or dtype == pl.Null:
            return
        with source.reading():
            seen = source.frame.select(pl.col(column).drop_nulls().unique()).head(5).collect()[column]
        values = sorted(seen.cast(pl.String, strict=False))
        msg = "it is not clear which label is the positive one"
        raise ParameterError(
            msg,
            where=where,
            found=f"{dtype} labels: {', '.join(map(repr, values))}",
            hint=f"say which value is positive, e.g. {Option('positive', values[-1] if values else 'yes')}; "
            "labels that are 0/1 or Boolean need none",
        )
    with source.reading():
        seen = source.frame.select(pl.col(column).drop_nulls().unique()).collect()[column].sort()
    found = ", ".join(map(repr, seen.head(10).to_list())) + (" and more" if len(seen) > 10 else "")
    if len(seen) > 2:
        msg = f"the log has {len(seen)} different labels, but a classifier here has two classes"
        raise InvalidRowsError(
            msg,
            where=where,
            found=found,
            hint="filter the third label out, or turn the labels into one against the rest",
        )
    if len(seen) == 2 and positive not in seen.to_list():
        msg = f"no row has the positive label {positive!r}"
        raise InvalidRowsError(msg, where=where, found=f"labels {found}", hint="check how it is spelt")
