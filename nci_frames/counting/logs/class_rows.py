"""A log's columns -> the columns of class predictions, and of each row why it is not a valid one."""

import contextlib
from collections.abc import Iterable
from typing import Any

import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import Option
from nci_frames.counting.logs.rows import (
    NO_SCORE,
    REASON,
    REASONS,
    Roles,
    first_reason,
    plain,
    precision_of,
    reason_of_row,
    score_name,
    shared_columns,
)
from nci_frames.schemas import CLASS_TYPES


def raw_classes(
    frame: pl.LazyFrame,
    *,
    schema: pl.Schema,
    columns: Roles,
    of_class: pl.DataType,
    classes: pl.Series,
    by_label: pl.Expr,
    once: bool = False,
    wide: bool = False,
) -> pl.LazyFrame:
    """Bring a log to the columns of class predictions, and say of each row why it is not valid.

    Parameters
    ----------
    frame
        The log, with such a schema.
    columns
        Which column plays which part.
    of_class
        The type of the classes.
    classes
        Those that have scores, in their order.
    by_label
        Why a row is not valid as far as its label or decision says.
    once
        Whether the log may be a stream, which is read once.
    wide
        Whether the scores of each model stay columns, named by ``score_name``, and nothing is said of rows.
    """
    keys, rest = shared_columns(frame, schema, columns)
    label = pl.lit(value=False) if columns.label is None else as_class(columns.label, schema, of_class)
    known = [*keys, label.alias("label")]
    precision, models = precision_of(schema, columns), models_of(columns)
    named = [] if columns.model is None else [pl.col(columns.model).cast(pl.String).alias("model")]
    # All models have scores of the same classes, in the same order.
    scores, size = [pl.col(column).cast(precision) for column in columns.scores.values()], len(classes)
    if wide:
        each = {score_name(*divmod(number, size)): score for number, score in enumerate(scores)}
        return frame.select(*named, *known, *rest, **each)
    source = frame.cache() if once and len(models) > 1 else frame
    names, parts = classes.cast(pl.String), []
    for place, model in enumerate(models):
        of_model = scores[place * size : (place + 1) * size]
        if of_model:
            struct = pl.struct(score.alias(name) for score, name in zip(of_model, names, strict=True))
            decision = [decided(of_model, classes).alias("decision"), struct.alias("scores")]
        else:
            decision = [as_class(columns.decisions[model], schema, of_class).alias("decision")]
        part = source.select(*(named or [pl.lit(model).alias("model")]), *known, *decision, *rest)
        fields = [pl.col("scores").struct[number] for number in range(size)]
        reason = reason_of_row(by_label, fields, weighted=columns.weight is not None)
        parts.append(part.with_columns(reason.alias(REASON)))
    return pl.concat(parts)


def reason_of_classes(columns: Roles, of_class: pl.DataType, classes: pl.Series) -> pl.Expr:
    """Return why a row is not valid as far as its ``label`` says, or its ``decision`` if it has no scores."""
    labelled, cases = columns.label is not None, []
    for name in [*["label"][:labelled], *([] if columns.scores else ["decision"])]:
        cases.append((REASONS.index(f"{name} is null"), pl.col(name).is_null()))
        if of_class.is_float():
            cases.append((REASONS.index(f"{name} is NaN"), pl.col(name).is_nan()))
    if labelled and len(classes):
        cases.append((NO_SCORE, ~pl.col("label").is_in(classes.implode())))
    return first_reason(cases, otherwise=pl.lit(0, pl.UInt8))


def models_of(columns: Roles) -> list[str]:
    """Return the models whose decisions or scores are columns; a single "" where the model is a column."""
    return list(columns.decisions or dict.fromkeys(model for model, _ in columns.scores))


def as_class(column: str, schema: pl.Schema, of_class: pl.DataType) -> pl.Expr:
    """Return a column of classes in their type."""
    return plain(column, schema[column]).cast(of_class)


def classes_of_fields(names: list[str], of_class: pl.DataType) -> pl.Series:
    """Return the classes whose scores have these names: their own as texts.

    >>> names = pl.Series([True, False]).cast(pl.String).to_list()
    >>> names, classes_of_fields(names, pl.Boolean()).to_list()
    (['true', 'false'], [True, False])
    """
    texts = pl.Series(names, dtype=pl.String)
    if isinstance(of_class, pl.Date | pl.Datetime):
        return texts.str.strptime(of_class)
    return texts == "true" if of_class == pl.Boolean else texts.cast(of_class)


def decided(scores: list[pl.Expr], classes: pl.Series) -> pl.Expr:
    """Return the class with the highest score, of equal ones the first."""
    highest = pl.max_horizontal(scores)
    place = pl.lit(len(scores) - 1, pl.UInt32)
    for number in range(len(scores) - 2, -1, -1):
        place = pl.when(scores[number] == highest).then(pl.lit(number, pl.UInt32)).otherwise(place)
    return pl.lit(classes).gather(place)


def classes_in(given: Iterable[Any], of_class: pl.DataType | None) -> pl.Series:
    """Return the classes that have scores, in the type of the labels; a command line passes only strings.

    Raises
    ------
    ParameterError
        If one is of another type than the labels, or given twice.
    """
    names, found = list(given), None
    with contextlib.suppress(pl.exceptions.PolarsError, TypeError, OverflowError):
        known = pl.Series("decision", names, strict=True)
        wanted = known.dtype if of_class is None else of_class
        read = wanted.is_numeric() and (known.dtype.is_numeric() or known.dtype == pl.String)
        if known.dtype in CLASS_TYPES and (read or known.dtype == wanted):
            found = known.cast(wanted, strict=True)
    if found is None:
        msg = f"the classes of {Option('scores')} are of several types, or of another type than the labels"
        raise ParameterError(msg, found=f"{names!r}; {of_class} labels")
    if found.n_unique() < len(found) or found.null_count():
        raise ParameterError(f"a class of {Option('scores')} is null, or given twice", found=repr(names))
    return found
