"""Files, frames, Arrow objects -> one LazyFrame of checked predictions."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from nci_frames.base.arguments import check_allowed, check_utf8
from nci_frames.base.errors import MixedTypesWarning, ParameterError, SchemaError
from nci_frames.counting.logs.labels import as_label, check_labels
from nci_frames.counting.logs.opened import OpenedLog
from nci_frames.counting.logs.opening import Predictions, SourceLike, frame_source, need_columns, open_source
from nci_frames.counting.logs.reading import OnInvalid, Passes, Scan, predictions_of, scan_of
from nci_frames.counting.logs.rows import Positive, Roles, is_of_classes, key_columns, raw_predictions
from nci_frames.counting.logs.types import is_text
from nci_frames.schemas import PATTERN, PREDICTIONS, FrameSchema, checked, is_pattern

RENAME = "rename the column in the log, or on a LazyFrame before the scan"


@checked
def scan_predictions(
    source: SourceLike,
    /,
    *,
    model: str = "model",
    label: str | None = "label",
    score: str = "score",
    fold: str | None = None,
    repeat: str | None = None,
    segments: str | Sequence[str] | None = None,
    weight: str | None = None,
    unit: str | None = None,
    scores: Mapping[str, str] | None = None,
    positive: Positive = None,
    on_invalid: OnInvalid = "raise",
    storage_options: Mapping[str, Any] | None = None,
) -> pl.LazyFrame:
    """Open prediction logs as one LazyFrame of checked predictions.

    Files, columns and types are checked at once (every footer is read); rows are checked when they are read,
    even after the frame was filtered or changed. Dropped rows are always reported.

    Only the named columns of the log are read. A result of this function may be passed as *source* again.

    Parameters
    ----------
    source
        A path, glob, folder (its ``key=value`` subfolders become columns) or URL of Parquet or CSV files; the
        folder of a Delta table (extra ``delta``); a LazyFrame or DataFrame; any object with the Arrow
        PyCapsule interface (pandas, pyarrow, DuckDB); a list of these; or a Spark DataFrame (extra
        ``spark``), whose rows stay in Spark and can only be counted there.
    model, label, score
        Columns with the model name, the true class and the score (higher is more positive). Use
        ``label=None`` for a log without labels, which ``count_scores`` counts.
    fold
        Column with the cross-validation fold; it becomes the key ``fold``.
    repeat
        Column with the repeat of a repeated cross-validation; it becomes the key ``repeat``.
    segments
        Columns that split the log, such as country, device or month. They keep their names and values. ``()``
        means no segments.
    weight
        Column with the weight of each row.
    unit
        Column with the unit that a row belongs to: user, host, patient. Counts keep it only as the key that
        ``unit_buckets`` adds.
    scores
        ``{"model name": "score column"}`` for a log with one score column per model; *model* and *score* are
        then ignored.
    positive
        Label value of positives (a string is converted if the labels are numbers). Not needed for Boolean or
        0/1 labels.
    on_invalid
        How to treat a row whose label or score is null, whose score is NaN, whose label is neither 0 nor 1,
        or whose weight is not a finite number >= 0: "raise", or "drop" (counting then reports the dropped
        rows by reason). Infinite scores are valid.
    storage_options
        Options for object stores, passed to Polars.

    Returns
    -------
    A LazyFrame:

    %(columns of predictions)s

    Keys are ``fold`` and ``repeat``, if requested, and the segments under their own names, with the types of
    the log. ``weight`` and ``unit`` are present if requested, ``label`` unless it is None. Scores keep the
    precision of the log.

    Raises
    ------
    SourceError
        If nothing matches, or a file is empty, or neither Parquet nor CSV; or, when the frame is read, if the
        checksum of a page is wrong, or the rows are in Spark.
    SchemaError
        If a column is missing, has an unusable type, or has incompatible types in different files.
    InvalidRowsError
        If there are more than two labels, or two of which none is *positive*; or, when the frame is read, if
        a row is not valid and *on_invalid* is "raise".
    ParameterError
        If an argument has the wrong type, or two arguments contradict each other.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"clf": ["a", "a"], "y": ["spam", "ham"], "p": [0.9, 0.4]})
    >>> nf.scan_predictions(log, model="clf", label="y", score="p", positive="spam").collect().rows()
    [('a', True, 0.9), ('a', False, 0.4)]
    """
    if label is None and positive is not None:
        raise ParameterError("positive names a label, but label is None", hint="omit one of them")
    named = any(option is not None for option in (fold, repeat, segments, weight, unit, scores))
    frame = frame_source(source) if isinstance(source, Predictions) else None
    named = named or (model, label, score) != ("model", "label", "score")
    if frame is not None and not named and scan_of(source) is not None:
        columns = replace(roles_by_name(PREDICTIONS, frame.schema().names(), "label"), scores={"": score})
    else:
        check_allowed(scores is None or scores, "scores", scores, "at least one model and its score column")
        for name in scores or ():
            check_utf8("a model of scores", name)
        cut = () if segments is None else segments
        keys = key_columns({"fold": fold, "repeat": repeat}, cut, RENAME)
        by_model = scores or {"": score}
        columns = without_patterns(Roles(None if scores else model, label, by_model, keys, weight, unit))
    if frame is None:
        opened = open_source(source, columns.needed(), storage_options)
    else:
        opened = need_columns(frame, columns.needed())
    return predictions_of(_scan(opened, columns, positive, on_invalid))


def scan_behind(predictions: Predictions, *, labelled: bool = True) -> Scan:
    """Return the scan behind *predictions*; a user's own frame gets the same checks.

    Unless *labelled*, the rows may lack labels.

    Raises
    ------
    SchemaError
        If a column is missing or has an unusable type.
    """
    scan = scan_of_kind(predictions, classes=False)
    if scan is not None:
        if scan.label is None and labelled:
            msg = "the predictions have no labels"
            hint = "name the column with label=; count_scores counts rows without labels"
            raise SchemaError(msg, where=scan.source.where, found="label=None", hint=hint)
        return scan
    frame = frame_source(predictions)
    names = frame.schema().names()
    label = "label" if labelled or "label" in names else None
    columns = replace(roles_by_name(PREDICTIONS, names, label), scores={"": "score"})
    return _scan(need_columns(frame, columns.needed()), columns, None, "raise")


def scan_of_kind(predictions: Predictions, *, classes: bool) -> Scan | None:
    """Return the scan behind the result of a scan function; None for a user's own frame.

    Raises
    ------
    SchemaError
        If it holds binary predictions and *classes* is true, or decisions among classes and it is false.
    """
    scan = scan_of(predictions)
    if scan is not None and is_of_classes(scan.raw.collect_schema()) != classes:
        msg, hint = "these are decisions among classes, without a score", "count them with count_classes"
        if classes:
            msg, hint = "these are predictions of a binary classifier", "open the log with scan_classes"
        raise SchemaError(msg, where=scan.source.where, hint=hint)
    return scan


def scan_of_rows(log: Predictions) -> Scan:
    """Return the scan behind a log that only needs scores; other columns of a frame are not keys.

    Raises
    ------
    SchemaError
        If a column is missing or has an unusable type.
    """
    scan = scan_of(log)
    if scan is not None:
        there = [name for name in scan.raw.collect_schema() if not name.startswith("__")]
        if "score" not in there:
            raise SchemaError.missing_column("score", "score", scan.source.where, there)
        return scan
    frame = frame_source(log)
    names = frame.schema().names()
    weight, unit = (name if name in names else None for name in ("weight", "unit"))
    columns = Roles("model", None, {"": "score"}, {}, weight, unit)
    return _scan(need_columns(frame, columns.needed()), columns, None, "raise")


def _scan(opened: OpenedLog, columns: Roles, positive: Positive, on_invalid: OnInvalid) -> Scan:
    schema = opened.schema()
    check_types(schema, columns, opened.where)
    seen = None
    if columns.label is not None:
        positive = as_label(positive, schema[columns.label], opened.where)
        seen = check_labels(opened, columns.label, schema[columns.label], positive)

    precisions = {schema[column] for column in columns.scores.values()}
    if len(precisions) > 1 and pl.Float32 in precisions:
        told = "the score columns have different types, also Float32: all are compared as Float64"
        opened = replace(opened, warnings=(*opened.warnings, MixedTypesWarning(told)))
    known = seen if opened.rows is None else opened.rows
    models = tuple(columns.scores)
    return scan_opened(opened, columns, on_invalid, raw_predictions, models, known, positive=positive)


def scan_opened(
    opened: OpenedLog,
    columns: Roles,
    on_invalid: OnInvalid,
    prepare: Callable[..., pl.LazyFrame],
    models: tuple[str, ...],
    known: int | None,
    **how: Any,
) -> Scan:
    """Return the scan of an opened log; *known* is its number of rows, if known.

    *prepare*, called with the options *how*, converts the log to the columns of predictions.
    """
    once = opened.rows is None and (opened.has_frames or not opened.files)
    # A partial of plain values can be sent to another process.
    prepared = functools.partial(prepare, schema=opened.schema(), columns=columns, once=once, **how)
    rows = None if known is None else known * len(models)
    passes = Passes(exactly=rows if opened.rows is None else None)
    return Scan(opened, tuple(columns.keys), on_invalid, prepared, rows, columns.label, passes, models)


def roles_by_name(schema: FrameSchema, names: Sequence[str], label: str | None) -> Roles:
    """Return the roles that columns have by their names alone, except scores and decisions."""
    found = schema.keys(names)
    alone = {key: key if key in found else None for key in ("fold", "repeat")}
    scan = schema.maker.removesuffix(")")
    hint = f"rename the column, or say which columns are segments: {scan}, segments=[...])"
    keys = key_columns(alone, [key for key in found if key not in alone], hint, family=schema.family)
    weight, unit = (name if name in names else None for name in ("weight", "unit"))
    return without_patterns(Roles("model", label, {}, keys, weight, unit))


def without_patterns(columns: Roles) -> Roles:
    """Return the roles; raise ParameterError if Polars reads a column name as a pattern."""
    for column, role in columns.needed().items():
        if is_pattern(column):
            raise ParameterError(f"the column {column!r} ({role}) {PATTERN}", hint=RENAME)
    return columns


def check_types(schema: pl.Schema, columns: Roles, where: str) -> None:
    """Raise SchemaError unless each column has a type that fits its role."""

    def require(column: str, fits: bool, wanted: str, hint: str | None = None) -> None:
        if not fits and schema[column] != pl.Null:
            raise SchemaError.wrong_type(column, where, str(schema[column]), wanted, hint)

    for column in columns.scores.values():
        require(column, schema[column].is_numeric(), "a number (the score)")
        hint = "cast the column to Float32, and round thresholds to Float16: 0.1 is 0.09998 there"
        require(column, schema[column] != pl.Float16, "a number of more than 16 bits (the score)", hint)
    if columns.label is not None:
        dtype = schema[columns.label]
        hint = "make it a Boolean in the log, or on a LazyFrame before the scan"
        fits = dtype == pl.Boolean or dtype.is_numeric() or is_text(dtype)
        require(columns.label, fits, "a Boolean, number or String (the label)", hint)
    for column in [*columns.keys.values(), *([columns.model] if columns.model else [])]:
        dtype = schema[column]
        fits = not (dtype.is_float() or dtype.is_decimal() or dtype.is_nested() or dtype == pl.Object)
        require(column, fits, "a String, whole number, Boolean or date (a key)", "cut it into bins first")
    if columns.weight:
        require(columns.weight, schema[columns.weight].is_numeric(), "a number (the weight)")
    if columns.unit:
        dtype = schema[columns.unit]
        fits = is_text(dtype) or (dtype.is_integer() and dtype not in (pl.Int128, pl.UInt128))
        require(columns.unit, fits, "a String or whole number of up to 64 bits (the unit)")
