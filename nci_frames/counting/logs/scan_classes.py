"""Files, frames, Arrow objects -> one LazyFrame of checked decisions among any number of classes."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from nci_frames.base.arguments import check_allowed, check_utf8
from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.base.messages import Call, Option
from nci_frames.counting.logs import rows, scan
from nci_frames.counting.logs.opened import OpenedLog
from nci_frames.counting.logs.opening import Predictions, SourceLike, frame_source, need_columns, open_source
from nci_frames.counting.logs.reading import OnInvalid, Scan, predictions_of
from nci_frames.counting.logs.types import common_type
from nci_frames.schemas import CLASS_PREDICTIONS, CLASS_TYPES, checked


@checked
def scan_classes(
    source: SourceLike,
    /,
    *,
    model: str = "model",
    label: str | None = "label",
    decision: str | Mapping[str, str] | None = None,
    scores: Mapping[Any, str] | Mapping[str, Mapping[Any, str]] | None = None,
    segments: str | Sequence[str] = (),
    fold: str | None = None,
    weight: str | None = None,
    unit: str | None = None,
    on_invalid: OnInvalid = "raise",
    storage_options: Mapping[str, Any] | None = None,
) -> pl.LazyFrame:
    """Open logs of decisions among any number of classes as one LazyFrame of checked predictions.

    Files are checked at once, rows when they are read, as in ``scan_predictions``.

    Parameters
    ----------
    source
        As in ``scan_predictions``, except a Spark DataFrame.
    model, label
        Columns with the model name and the true class: strings, whole numbers, Booleans, numbers or dates.
        Use ``label=None`` for a log without labels.
    decision
        Column with the predicted class, or another decision, such as "abstain"; or
        ``{"model name": "column"}`` for a log with one such column per model. Default: the column
        ``decision``, unless *scores* is given.
    scores
        Instead of *decision*, one score column per class: ``{class: "column"}``, or
        ``{"model name": {class: "column"}}``. The class with the highest score is decided, the first one
        among ties.
    segments
        Columns that split the log, such as country, device or month. They keep their names and values.
    fold
        Column with the cross-validation fold; it becomes the key ``fold``.
    weight
        Column with the weight of each row.
    unit
        Column with the unit that a row belongs to: user, host, patient.
    on_invalid
        How to treat a row whose label, decision or score is null or NaN, whose label has no score column, or
        whose weight is not a finite number >= 0: "raise", or "drop" (counting then reports the dropped rows
        by reason). Infinite scores are valid.
    storage_options
        Options for object stores, passed to Polars.

    Returns
    -------
    A LazyFrame:

    %(columns of class predictions)s

    Keys are ``fold``, if requested, and the segments under their own names, with the types of the log.
    ``weight``, ``unit`` and ``scores`` are present if requested, ``label`` unless it is None. Labels and
    decisions have the same type; -0.0 is 0.0.

    Raises
    ------
    SourceError
        As ``scan_predictions`` does; or if the rows are in Spark.
    SchemaError
        If a column is missing, has an unusable type, or has incompatible types in different files; or if
        decisions and labels have different types.
    InvalidRowsError
        When the frame is read, if a row is not valid and *on_invalid* is "raise".
    ParameterError
        If an argument has the wrong type, or two arguments contradict each other.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": ["cat", "dog"], "p_cat": [0.5, 0.1], "p_dog": [0.5, 0.9]})
    >>> scan = nf.scan_classes(log, scores={"cat": "p_cat", "dog": "p_dog"})
    >>> scan.collect()["decision"].to_list()
    ['cat', 'dog']
    """
    if decision is not None and scores is not None:
        raise ParameterError("give a decision or scores, not both", hint="omit one of them")
    by_column = "decision" if decision is None and scores is None else decision
    decisions: Mapping[str, str] = {"": by_column} if isinstance(by_column, str) else by_column or {}
    of_classes = {} if scores is None else _scores_of_classes(scores)
    check_allowed(decisions or of_classes, "decision", decision, "at least one model and its column")
    keys = rows.key_columns({"fold": fold}, segments, scan.RENAME, family="classes")
    named = [*decisions, *(name for name, _ in of_classes)]
    for name in named:
        check_utf8("a model", name)
    columns = rows.Roles(model if "" in named else None, label, of_classes, keys, weight, unit, decisions)
    opened = open_source(source, columns.needed(), storage_options)
    return predictions_of(_scan(opened, columns, on_invalid))


def _scores_of_classes(scores: Mapping[Any, Any]) -> dict[tuple[str, Any], str]:
    """Return the score column of each model and class, or raise ParameterError."""
    nested = bool(scores) and all(isinstance(value, Mapping) for value in scores.values())
    found: dict[str, Mapping[Any, str]] = dict(scores) if nested else {"": scores}
    for model, columns in found.items():
        if not isinstance(model, str) or len(columns) < 2:
            wanted = Call(
                "a dict from at least two classes to their columns, or from models to such dicts",
                "CLASS=COLUMN, for at least two classes",
            )
            raise ParameterError.out_of_range("scores", scores, str(wanted))
        if list(columns) != list(next(iter(found.values()))):
            msg = "all models must have scores of the same classes, in the same order"
            raise ParameterError(msg, where=f"model {model!r}", found=repr(list(columns)))
    return {(model, name): column for model, columns in found.items() for name, column in columns.items()}


def class_scan_behind(predictions: Predictions) -> Scan:
    """Return the scan behind class predictions; a user's own frame gets the same checks.

    The rows may lack labels.

    Raises
    ------
    SchemaError
        If a column is missing or has an unusable type.
    """
    known = scan.scan_of_kind(predictions, classes=True)
    if known is not None:
        return known
    frame = frame_source(predictions)
    schema = frame.schema()
    columns = scan.roles_by_name(CLASS_PREDICTIONS, schema.names(), "label" if "label" in schema else None)
    columns = replace(columns, decisions={"": "decision"})
    struct = schema.get("scores")
    if isinstance(struct, pl.Struct):
        # With scores, the decisions follow from them.
        of_class = _checked_types(schema, columns, frame.where)
        classes = read_classes([field.name for field in struct.fields], of_class, "the fields of scores")
        scores = {("", name): rows.score_name(n) for n, name in enumerate(classes)}
        columns = replace(columns, decisions={}, scores=scores)
        fields = {column: pl.col("scores").struct[n] for n, column in enumerate(columns.scores.values())}
        frame = replace(frame, frame=frame.frame.with_columns(**fields))
    return _scan(need_columns(frame, columns.needed()), columns, "raise")


def _scan(opened: OpenedLog, columns: rows.Roles, on_invalid: OnInvalid) -> Scan:
    if opened.elsewhere is not None:
        raise opened.elsewhere.refusal()
    of_class = _checked_types(opened.schema(), columns, opened.where)
    classes = pl.Series("decision", [], of_class)
    if columns.scores:
        names = [*dict.fromkeys(name for _, name in columns.scores)]
        classes = read_classes(names, of_class, f"the classes of {Option('scores')}")
        if classes.n_unique() < len(classes) or classes.null_count():
            raise ParameterError(f"a class of {Option('scores')} is null, or given twice", found=repr(names))
    told: dict[str, Any] = {"classes": classes, "by_label": _reason_by_label(columns, classes)}
    models = tuple(_models_of(columns))
    return replace(scan.scan_opened(opened, columns, on_invalid, _raw, models, opened.rows, **told), **told)


def _checked_types(schema: pl.Schema, columns: rows.Roles, where: str) -> pl.DataType:
    """Return the type of labels and decisions, Null if there are none; raise if a type is unusable."""
    scan.check_types(schema, replace(scan.without_patterns(columns), label=None), where)
    found: dict[pl.DataType, str] = {}
    for column in (columns.label, *columns.decisions.values()):
        if column is None or schema.get(column, pl.Null()) == pl.Null:
            continue
        dtype = schema[column]
        if dtype not in (*CLASS_TYPES, pl.Categorical, pl.Enum):
            wanted = "a text, number, Boolean or date (a class)"
            raise SchemaError.wrong_type(column, where, str(dtype), wanted)
        found[pl.String() if dtype in (pl.Categorical, pl.Enum) else dtype] = column
    common = common_type(found, "decision")
    if common is None:
        told = ", ".join(f"{column!r} is {dtype}" for dtype, column in found.items())
        hint = str(Call("cast one of them on a LazyFrame before the scan", "write both as one type"))
        raise SchemaError("labels and decisions have no common type", where=where, found=told, hint=hint)
    return common


def _raw(
    frame: pl.LazyFrame,
    *,
    schema: pl.Schema,
    columns: rows.Roles,
    classes: pl.Series,
    by_label: pl.Expr,
    once: bool = False,
    wide: bool = False,
) -> pl.LazyFrame:
    """Convert a log to the columns of class predictions, with the reason why a row is not valid.

    Parameters
    ----------
    frame
        The log, with the columns of *schema*.
    columns
        Role of each column.
    classes
        Classes with scores, in their order and in the type of the labels.
    by_label
        Reason why a row is not valid, judged by its label or decision alone.
    once
        Whether the log may be a stream, which can be read only once.
    wide
        Whether to keep one score column per model and class, named by ``score_name``, and not to judge rows.
    """

    def as_class(column: str) -> pl.Expr:
        return rows.plain(column, schema[column]).cast(classes.dtype)

    keys, rest = rows.shared_columns(frame, schema, columns)
    label = pl.lit(value=False) if columns.label is None else as_class(columns.label)
    known = [*keys, label.alias("label")]
    precision, models = rows.precision_of(schema, columns), _models_of(columns)
    # All models have scores of the same classes, in the same order.
    scores, size = [pl.col(column).cast(precision) for column in columns.scores.values()], len(classes)
    if wide:
        each = {rows.score_name(*divmod(number, size)): score for number, score in enumerate(scores)}
        return frame.select(*known, *rest, **each)
    source = frame.cache() if once and len(models) > 1 else frame
    names, parts = classes.cast(pl.String), []
    for place, model in enumerate(models):
        of_model = scores[place * size : (place + 1) * size]
        if of_model:
            struct = pl.struct(score.alias(name) for score, name in zip(of_model, names, strict=True))
            highest = pl.max_horizontal(of_model)
            # The first of equal scores. A list of the scores takes six times as long.
            first = pl.coalesce(pl.when(score == highest).then(n) for n, score in enumerate(of_model))
            decision = [pl.lit(classes).gather(first).alias("decision"), struct.alias("scores")]
        else:
            decision = [as_class(columns.decisions[model]).alias("decision")]
        name = [pl.lit(model).alias("model")] if columns.model is None else []
        part = source.select(*name, *known, *decision, *rest)
        fields = [pl.col("scores").struct[number] for number in range(size)]
        reason = rows.reason_of_row(by_label, fields, weighted=columns.weight is not None)
        parts.append(part.with_columns(reason.alias(rows.REASON)))
    return pl.concat(parts)


def _reason_by_label(columns: rows.Roles, classes: pl.Series) -> pl.Expr:
    """Return why a row is not valid, judged by its ``label``, or by its ``decision`` without scores."""
    cases = [] if columns.label is None else rows.class_cases("label", pl.col("label"), classes.dtype)
    if not columns.scores:
        cases += rows.class_cases("decision", pl.col("decision"), classes.dtype)
    elif columns.label is not None:
        cases.append((rows.NO_SCORE, ~pl.col("label").is_in(classes.implode())))
    return rows.first_reason(cases, otherwise=pl.lit(0, pl.UInt8))


def _models_of(columns: rows.Roles) -> list[str]:
    """Return the models that have columns of their own; a single "" if the model is a column."""
    return list(columns.decisions or dict.fromkeys(model for model, _ in columns.scores))


def read_classes(given: Iterable[Any], labels: pl.DataType, what: str) -> pl.Series:
    """Return classes in the type of the labels, their own if that is Null; text may stand for any type.

    Raises
    ------
    ParameterError
        If they are of another type than the labels; *what* names them.

    >>> read_classes(["true", "false"], pl.Boolean(), "classes").to_list()
    [True, False]
    """
    names, found = list(given), None
    with contextlib.suppress(pl.exceptions.PolarsError, TypeError, OverflowError):
        known = pl.Series("decision", names, strict=True)
        wanted = known.dtype if labels == pl.Null else labels
        text = known.dtype == pl.String
        if text and isinstance(wanted, pl.Date | pl.Datetime):
            found = known.str.strptime(wanted)
        elif text and wanted == pl.Boolean:
            found = known.replace_strict(["true", "false"], [True, False], return_dtype=wanted)
        elif text or known.dtype == wanted or (known.dtype.is_numeric() and wanted.is_numeric()):
            cast = known.cast(wanted)
            found = cast if text or (cast.cast(known.dtype) == known).all() else None
    if found is None or found.dtype not in CLASS_TYPES:
        msg = f"{what} are of several types, or of another type than the labels"
        raise ParameterError(msg, found=f"{names!r}; {labels} labels")
    return found
