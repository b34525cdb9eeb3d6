"""Files, frames, Arrow objects -> one checked ``predictions`` LazyFrame."""

import contextlib
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, get_args

import polars as pl

from nci_frames.counting.logs.rows import (
    REASON,
    REASONS,
    Columns,
    Positive,
    count_rows,
    is_text,
    raw_predictions,
)
from nci_frames.counting.logs.sources import FILE, Source, SourceLike, open_source
from nci_frames.errors import InvalidRowsError, ParameterError, SchemaError, listed
from nci_frames.schemas import PREDICTIONS, RESERVED

__all__ = ["Scan", "kept_keys", "predictions_of", "scan_behind", "scan_of", "scan_predictions"]

OnInvalid = Literal["raise", "drop"]

_HINT = "mend the log, or leave the rows out with on_invalid='drop'"


@dataclass(frozen=True, slots=True)
class Scan:
    """What stands behind a predictions LazyFrame: the same rows before the invalid ones are refused."""

    source: Source
    keys: tuple[str, ...]
    on_invalid: OnInvalid
    #: The predictions, also the invalid ones, and the column ``REASON``.
    raw: pl.LazyFrame
    #: The same with the file that each row is from.
    raw_with_files: pl.LazyFrame | None
    #: Rows that ``raw`` must have according to the footers; None where only reading tells.
    rows: int | None

    def reasons(self, rows_by_code: Mapping[int, int]) -> dict[str, int]:
        """Return the number of invalid rows by reason."""
        return {REASONS[code]: rows for code, rows in sorted(rows_by_code.items()) if code and rows}

    def refuse(self) -> NoReturn:
        """Raise InvalidRowsError, which says how many rows are invalid and why, and in which files."""
        where = self.source.where
        invalid = (self.raw if self.raw_with_files is None else self.raw_with_files).filter(
            pl.col(REASON) > 0
        )
        if self.raw_with_files is not None:
            files = count_rows(invalid, FILE).collect()
            where = f"{len(files)} of {len(self.source.files)} files: {listed(map(repr, files[FILE]))}"
        rows_by_code = dict(count_rows(invalid, REASON).collect().rows())
        raise InvalidRowsError.from_reasons(self.reasons(rows_by_code), where, _HINT)


_SCANS: dict[int, Scan] = {}


def scan_of(predictions: pl.LazyFrame) -> Scan | None:
    """Return the scan behind what ``scan_predictions`` returned; None if it was changed since then."""
    return _SCANS.get(id(predictions))


def scan_predictions(
    source: SourceLike,
    /,
    *,
    model: str = "model",
    label: str = "label",
    score: str = "score",
    fold: str | None = None,
    segments: str | Sequence[str] = (),
    weight: str | None = None,
    unit: str | None = None,
    scores: Mapping[str, str] | None = None,
    positive: Positive = None,
    on_invalid: OnInvalid = "raise",
    storage_options: Mapping[str, Any] | None = None,
) -> pl.LazyFrame:
    """Open prediction logs as one lazy frame of checked predictions.

    The files, the columns and their types are checked at once (every footer is read); the rows are checked
    when they are read.

    Parameters
    ----------
    source
        A path, glob, folder (its ``key=value`` folders are columns) or URL of Parquet files; the folder of a
        Delta table (with the extra ``delta``); a LazyFrame; a DataFrame; any object with the Arrow PyCapsule
        interface (pandas, pyarrow, DuckDB); or a list of them.
    model, label, score
        The columns with the model's name, the true class and the score (higher is more positive).
    fold
        The column with the cross-validation fold; it becomes the key ``fold``.
    segments
        The columns by which the log can be cut: country, device, month. They keep their names and values.
    weight
        The column with the weight of each row.
    unit
        The column that says who a row belongs to: user, host, patient.
    scores
        ``{"model name": "score column"}`` for a log with one score column per model; *model* and *score*
        are then not used.
    positive
        The label value that means positive (a text is read as a number where the labels are numbers).
        Labels that are Boolean or 0/1 need none.
    on_invalid
        What to do with a row whose label or score is null, whose score is NaN, whose label is neither 0
        nor 1, or whose weight is not a finite number >= 0: "raise", or "drop" (counting then reports how
        many rows were dropped, by reason). An infinite score is valid: it is an extreme score.
    storage_options
        Passed to Polars for URLs of object stores.

    Returns
    -------
    A LazyFrame:

    ====== =============== ========================================== =======================
    column dtype           meaning                                    null means
    ====== =============== ========================================== =======================
    model  String          name of the model                          a model of its own
    fold   as in the log   the fold, if asked for                     a fold of its own
    keys   as in the log   the segments, under their own names        a segment of its own
    label  Boolean         true class                                 never
    score  Float32/Float64 score, in the log's own precision          never
    weight Float64         weight >= 0, if asked for                  never
    unit   as in the log   owner of the row, if asked for             belongs to nobody known
    ====== =============== ========================================== =======================

    Raises
    ------
    SourceError
        If nothing matches, or a file is empty or not Parquet.
    SchemaError
        If a column is missing, has an unusable type, or different types in different files.
    InvalidRowsError
        If there are more than two labels, or *positive* is not among them; or, when the frame is read, if a
        row is not valid and *on_invalid* is "raise".
    ParameterError
        If an argument is of the wrong kind, or two contradict each other.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"clf": ["a", "a"], "y": ["spam", "ham"], "p": [0.9, 0.4]})
    >>> nf.scan_predictions(log, model="clf", label="y", score="p", positive="spam").collect().rows()
    [('a', True, 0.9), ('a', False, 0.4)]
    """
    if on_invalid not in get_args(OnInvalid):
        raise ParameterError.unknown_choice("on_invalid", on_invalid, get_args(OnInvalid))
    columns = _columns(model, label, score, fold, segments, weight, unit, scores)
    opened = open_source(source, columns.needed(), storage_options)
    schema = opened.schema()
    _check_types(schema, columns, opened.where)
    positive = _as_label(positive, schema[columns.label], opened.where)
    _check_labels(opened, columns.label, schema[columns.label], positive)

    def raw(frame: pl.LazyFrame) -> pl.LazyFrame:
        return raw_predictions(frame, schema, columns, positive)

    with_files = None if opened.frame_with_files is None else raw(opened.frame_with_files)
    rows = None if opened.rows is None else opened.rows * len(columns.scores)
    return predictions_of(Scan(opened, tuple(columns.keys), on_invalid, raw(opened.frame), with_files, rows))


def predictions_of(scan: Scan) -> pl.LazyFrame:
    """Return the predictions of a scan, and remember what stands behind them."""
    predictions = _checked(scan)
    _SCANS[id(predictions)] = scan
    weakref.finalize(predictions, _SCANS.pop, id(predictions), None)
    return predictions


def scan_behind(predictions: pl.DataFrame | pl.LazyFrame) -> Scan:
    """Return the scan behind *predictions*; a frame of somebody's own gets the same checks."""
    scan = scan_of(predictions) if isinstance(predictions, pl.LazyFrame) else None
    if scan is not None:
        return scan
    columns = predictions.lazy().collect_schema().names()
    keys = PREDICTIONS.keys(columns)
    checked = scan_predictions(
        predictions,
        fold="fold" if "fold" in keys else None,
        segments=[key for key in keys if key != "fold"],
        weight="weight" if "weight" in columns else None,
        unit="unit" if "unit" in columns else None,
    )
    return _SCANS[id(checked)]


def kept_keys(keys: Sequence[str], by: str | Sequence[str] | None) -> list[str]:
    """Return the keys that are kept; None keeps all.

    Raises
    ------
    SchemaError
        If there is no such key.
    """
    if by is None:
        return list(keys)
    kept = [by] if isinstance(by, str) else list(by)
    for key in kept:
        if key not in keys:
            raise SchemaError.missing_column(key, "by", "the keys of the predictions", keys)
    return list(dict.fromkeys(kept))


def _columns(
    model: str,
    label: str,
    score: str,
    fold: str | None,
    segments: str | Sequence[str],
    weight: str | None,
    unit: str | None,
    scores: Mapping[str, str] | None,
) -> Columns:
    keys = {} if fold is None else {"fold": fold}
    for segment in [segments] if isinstance(segments, str) else segments:
        if segment in RESERVED or segment.startswith("__"):
            msg = f"the segment {segment!r} has a name that the tables need for themselves"
            raise ParameterError(msg, hint="rename the column in the log, or on a LazyFrame before the scan")
        if segment in keys:
            msg = f"the key {segment!r} is asked for twice"
            raise ParameterError(msg, hint="name it once, as fold= or among segments=")
        keys[segment] = segment
    if scores is not None and not scores:
        raise ParameterError.out_of_range("scores", scores, "at least one model and its score column")
    return Columns(
        model=None if scores else model,
        label=label,
        scores=scores or {"": score},
        keys=keys,
        weight=weight,
        unit=unit,
    )


def _check_types(schema: pl.Schema, columns: Columns, where: str) -> None:
    def require(column: str, fits: bool, wanted: str, hint: str | None = None) -> None:
        if not fits and schema[column] != pl.Null:
            raise SchemaError.wrong_type(column, where, str(schema[column]), wanted, hint)

    for column in columns.scores.values():
        require(column, schema[column].is_numeric(), "a number (the score)")
    score_types = {str(schema[column]): column for column in columns.scores.values()}
    if len(score_types) > 1:
        found = ", ".join(f"{column!r} is {dtype}" for dtype, column in score_types.items())
        msg = "the score columns of the models must have one type"
        raise SchemaError(msg, where=where, found=found, hint="cast them to one type in the log")
    for column in [*columns.keys.values(), *([columns.model] if columns.model else [])]:
        dtype = schema[column]
        fits = not (dtype.is_float() or dtype.is_decimal() or dtype.is_nested() or dtype == pl.Object)
        require(column, fits, "a String, whole number, Boolean or date (a key)", "cut it into bins first")
    if columns.weight:
        require(columns.weight, schema[columns.weight].is_numeric(), "a number (the weight)")
    if columns.unit:
        dtype = schema[columns.unit]
        require(columns.unit, dtype.is_integer() or is_text(dtype), "a String or whole number (the unit)")


def _as_label(positive: Positive, dtype: pl.DataType, where: str) -> Positive:
    """Return the positive label in the type of the labels; a command line knows only texts."""
    fits = positive is None or is_text(dtype) == isinstance(positive, str)
    if not fits and isinstance(positive, str) and dtype.is_numeric():
        with contextlib.suppress(ValueError):
            return float(positive)
    if not fits:
        msg = f"positive={positive!r} is of another type than the labels"
        raise ParameterError(msg, where=where, found=f"{dtype} labels")
    return positive


def _check_labels(source: Source, column: str, dtype: pl.DataType, positive: object) -> None:
    """Refuse labels of which it is not clear which are positive and which negative."""
    where = f"column {column!r} of {source.where}"
    if positive is None:
        if dtype == pl.Boolean or dtype.is_numeric() or dtype == pl.Null:
            return
        seen = source.frame.select(pl.col(column).drop_nulls().unique()).head(5).collect()[column]
        values = ", ".join(sorted(map(repr, seen.cast(pl.String, strict=False))))
        msg = "it is not clear which label is the positive one"
        raise ParameterError(
            msg,
            where=where,
            found=f"{dtype} labels: {values}",
            hint="say which value is positive, e.g. positive='yes'; labels that are 0/1 or Boolean need none",
        )
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


def _checked(scan: Scan) -> pl.LazyFrame:
    """Refuse or drop the invalid rows of a raw scan."""
    if scan.on_invalid == "drop":
        return scan.raw.filter(pl.col(REASON) == 0).drop(REASON)

    def refuse_invalid(batch: pl.DataFrame) -> pl.DataFrame:
        codes = batch[REASON]
        if codes.max():
            rows = codes.value_counts(name="rows").rows()
            reasons = scan.reasons(dict(rows))
            raise InvalidRowsError.from_reasons(reasons, scan.source.where, _HINT)
        return batch

    return scan.raw.map_batches(
        refuse_invalid,
        predicate_pushdown=False,
        projection_pushdown=False,
        streamable=True,
    ).drop(REASON)
