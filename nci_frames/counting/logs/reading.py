"""A scan, whose LazyFrame guarantees that every row is counted, dropped with a report, or refused.

The query plan keeps this guarantee, not the Python object: an IO source checks each batch and reports the
dropped rows at the end. So it also holds after ``filter``, ``select``, ``head`` or ``pl.concat``. A subclass
of LazyFrame would lose it in ``pl.concat`` and ``group_by``, a hidden column in ``select``.
"""

import functools
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import Literal, NoReturn, TypeVar

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from nci_frames.base.arguments import name_list
from nci_frames.base.errors import InvalidRowsError, InvalidRowsWarning, SchemaError, SourceError
from nci_frames.base.messages import Call, Option, files_among, quantity
from nci_frames.counting.logs.labels import classes_hint, positive_hint
from nci_frames.counting.logs.opened import FILE, OpenedLog, count_rows
from nci_frames.counting.logs.paths import is_csv
from nci_frames.counting.logs.rows import NEITHER, NO_SCORE, REASON, REASONS
from nci_frames.counting.logs.texts import not_a_number
from nci_frames.schemas import WEIGHT

OnInvalid = Literal["raise", "drop"]
_Piece = TypeVar("_Piece", bound=Sized)

#: Attribute of a LazyFrame that is exactly the predictions of a scan; frames derived from it lack it.
_SCAN = "_nci_frames_scan"

#: Minimum and maximum number of rows of a batch: fewer take more calls, and more take more memory.
_FEWEST_ROWS, _MOST_ROWS = 1 << 16, 1 << 18


@dataclass(slots=True)
class Passes:
    """Number of rows that earlier passes over a scan read."""

    least: int = 0
    exactly: int | None = None


@dataclass(frozen=True, slots=True)
class Scan:
    """The log behind a LazyFrame of predictions, including its invalid rows."""

    source: OpenedLog
    keys: tuple[str, ...]
    on_invalid: OnInvalid
    #: Converts a frame with the columns of the source to ``raw``, in any process; if *wide*, with a score
    #: column per model.
    prepare: Callable[..., pl.LazyFrame]
    #: Rows that ``raw`` must have according to the footers; None if unknown before reading.
    rows: int | None
    #: The label column of the source.
    label: str | None = "label"
    passes: Passes = field(default_factory=Passes)
    #: Models with score columns of their own: each row of the log has a prediction per model.
    models: tuple[str, ...] = ()
    #: Whether weights are summed; otherwise ``weight`` is a key, and rows are counted.
    sums_weights: bool = True
    #: The classes with scores, in their order; empty for binary predictions or without scores.
    classes: pl.Series = field(default_factory=pl.Series)
    #: Reason why a row is not valid, by its label, or by its decision if there are no scores.
    by_label: pl.Expr = field(default_factory=lambda: pl.col(REASON))
    #: The predictions, including invalid ones, with the column ``REASON``.
    raw: pl.LazyFrame = field(init=False)
    #: The same with the file of each row, if there are files.
    located: pl.LazyFrame = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "located", self.prepare(self.source.frame))
        object.__setattr__(self, "raw", self.located.drop(FILE, strict=False))

    def prepared(self, **how: bool) -> pl.LazyFrame:
        """Return ``raw``, prepared with other options."""
        return self.prepare(self.source.frame, **how).drop(FILE, strict=False)

    def whole(self) -> pl.LazyFrame:
        """Return ``raw`` with all columns of the log; without labels, ``label`` is an ordinary column."""
        source = self.source.with_every_column()
        try:
            rows = self.prepare(source.frame, schema=source.schema(), whole=True)
        except SchemaError as error:
            raise error.at(source.where) from error
        return rows.drop(FILE, strict=False)

    @property
    def weighted(self) -> bool:
        """Whether each row has a weight that is summed."""
        return self.sums_weights and WEIGHT in self.raw.collect_schema()

    @property
    def score_type(self) -> type[np.floating]:
        """Type in which scores and thresholds are compared."""
        return np.float32 if self.raw.collect_schema()["score"] == pl.Float32 else np.float64

    @property
    def rows_are(self) -> str:
        """Word for a row of the predictions: a row of the log, unless it has a score column per model."""
        return "row" if len(self.models) < 2 else "prediction"

    def reasons(self, rows_by_code: Mapping[int, int]) -> dict[str, int]:
        """Return the number of invalid rows by reason."""
        return {REASONS[code]: rows for code, rows in sorted(rows_by_code.items()) if code and rows}

    def refuse(self) -> NoReturn:
        """Raise InvalidRowsError with the number of invalid rows by reason, and their files."""
        where = self.source.where
        invalid = self.located.filter(pl.col(REASON) > 0)
        with self.source.reading():
            if FILE in invalid.collect_schema():
                files = count_rows(invalid, FILE).collect()
                where = files_among(files[FILE].to_list(), len(self.source.files))
            rows_by_code = dict(count_rows(invalid, REASON).collect().rows())
        raise self.refusal(rows_by_code, where)

    def refusal(self, rows_by_code: Mapping[int, int], where: str) -> InvalidRowsError:
        """Return the error for invalid rows, given their numbers by code."""
        skip = Option("on_invalid", "drop")
        hint = f"fix the log, or skip these rows with {skip}"
        if NEITHER in rows_by_code and self.label is not None:
            two, more = positive_hint(self.source, self.label), classes_hint(self.source, self.label)
            hint = two or more or hint
        if NO_SCORE in rows_by_code:
            each = Call("scores={class: column}", "--scores CLASS=COLUMN")
            hint = f"name the score column of every class with {each}, or skip these rows with {skip}"
        files = [file for file in self.source.files if is_csv(file)] if self.source.numbers else []
        if {3, 5} & rows_by_code.keys():
            hint = "; ".join(filter(None, [not_a_number(files, self.source.numbers), hint]))
        reasons = self.reasons(rows_by_code).items()
        found = ", ".join(f"{quantity(rows, self.rows_are)}: {reason}" for reason, rows in reasons)
        msg = "the log has rows that are not valid predictions"
        return InvalidRowsError(msg, where=where, found=found, hint=hint)

    def batches(self, frame: pl.LazyFrame, *, maintain_order: bool) -> Iterator[pl.DataFrame]:
        """Read a frame derived from ``raw``; an error names the unreadable files."""
        with self.source.reading():
            # Without a size of chunks, for which Polars waits until the rows have left the cache.
            pieces = frame.collect_batches(maintain_order=maintain_order)
            for some in together(pieces, lambda: _FEWEST_ROWS):
                yield from pl.concat(some).iter_slices(_MOST_ROWS)

    def valid(self, batch: pl.DataFrame, rows_by_code: dict[int, int]) -> pl.DataFrame:
        """Return the valid rows of a batch with the column ``REASON``, and count all its rows by code.

        Raises
        ------
        InvalidRowsError
            If a row is not valid, and the scan does not drop such rows.
        """
        if len(batch) and batch[REASON].max():
            if self.on_invalid == "raise":
                self.refuse()
            for code, count in batch[REASON].filter(batch[REASON] > 0).value_counts().rows():
                rows_by_code[code] = rows_by_code.get(code, 0) + count
            batch = batch.filter(pl.col(REASON) == 0)
        rows_by_code[0] = rows_by_code.get(0, 0) + len(batch)
        return batch

    def models_there(self) -> list[str | None]:
        """Return the sorted names of the models, including those with only invalid rows."""
        with self.source.reading():
            names = self.raw.select(pl.col("model").unique()).collect(engine="streaming")["model"]
        return names.sort().to_list()

    def groups_there(self, keys: Sequence[str]) -> int:
        """Return the number of groups, including those with only invalid rows."""
        with self.source.reading():
            groups = self.raw.select(keys).unique().select(pl.len()).collect(engine="streaming")
        return int(groups.item())

    @property
    def has_units(self) -> bool:
        """Whether the scan has a unit."""
        return "unit" in self.raw.collect_schema()

    def need_unit(self) -> None:
        """Raise SchemaError unless the scan has a unit."""
        if not self.has_units:
            columns = [name for name in self.source.with_every_column().schema() if name != FILE]
            if "unit" in columns:
                # The log has it, but it was not named.
                hint = f"name the column with {Option('unit', 'unit')}"
                raise SchemaError("no column of units was named", where=self.source.where, hint=hint)
            raise SchemaError.missing_column("unit", "unit", self.source.where, columns)

    def need_all_rows(self, rows_by_code: Mapping[int, int]) -> None:
        """Raise SourceError if the number of rows differs from that of the footers."""
        seen = sum(rows_by_code.values())
        if self.rows not in (None, seen):
            msg = "the rows that were read are not the rows that the log has"
            changed = "".join(f"; {file!r}: {why}" for file, why in self.source.changed().items())
            found = f"{seen:,} of {quantity(self.rows or 0, 'row')}{changed}"
            raise SourceError(msg, where=self.source.where, found=found)
        self.source.need_unchanged()

    def met(self, rows: int) -> None:
        """Remember that a pass, perhaps abandoned, read *rows* rows: the next pass must read them again."""
        self.passes.least = max(self.passes.least, rows)

    def need_same_rows(self, rows: int) -> None:
        """Raise SourceError if a complete pass read another number of rows than an earlier one."""
        earlier = self.passes.least if self.passes.exactly is None else self.passes.exactly
        if rows < self.passes.least or self.passes.exactly not in (None, rows):
            msg = "the source gives other rows when it is read again"
            found = f"{quantity(rows, 'row')} after {'' if self.passes.exactly else 'at least '}{earlier:,}"
            hint = "collect what can be read only once: scan_predictions(frame.collect())"
            raise SourceError(msg, where=self.source.where, found=found, hint=hint)
        self.passes.exactly = rows

    def need_two_classes(self, rows_by_code: Mapping[int, int]) -> None:
        """Raise InvalidRowsError if dropping labels other than 0 and 1 removed a whole class."""
        # Without labels, no row has the code NEITHER.
        if rows_by_code.get(NEITHER) and positive_hint(self.source, str(self.label)):
            raise self.refusal(rows_by_code, self.source.where)

    def dropped(self, rows_by_code: Mapping[int, int], *, whole: bool = True) -> InvalidRowsWarning | None:
        """Return the warning with the dropped rows by reason; None if no row was dropped."""
        reasons = self.reasons(rows_by_code)
        if not reasons:
            return None
        told = ", ".join(f"{rows:,} ({reason})" for reason, rows in reasons.items())
        first = quantity(sum(rows_by_code.values()), self.rows_are)
        read = "" if whole else f", of the first {first} that were read"
        models = len(self.models)
        each = "" if models < 2 else f"; a row of the log has {models:,}, one of each model"
        return InvalidRowsWarning(f"{self.rows_are}s dropped from {self.source.where}: {told}{read}{each}")


def together(pieces: Iterable[_Piece], enough: Callable[[], int]) -> Iterator[list[_Piece]]:
    """Yield consecutive pieces that have *enough* rows together; the last ones may have fewer."""
    waiting: list[_Piece] = []
    rows = 0
    for piece in pieces:
        waiting.append(piece)
        rows += len(piece)
        if rows >= enough():
            yield waiting
            waiting, rows = [], 0
    if waiting:
        yield waiting


def scan_of(predictions: object) -> Scan | None:
    """Return the scan behind a result of ``scan_predictions``; None if the frame was changed since."""
    return getattr(predictions, _SCAN, None) if isinstance(predictions, pl.LazyFrame) else None


def predictions_of(scan: Scan) -> pl.LazyFrame:
    """Return the predictions of a scan as a LazyFrame that refers to the scan."""
    schema = scan.raw.collect_schema()
    schema.pop(REASON)
    if scan.label is None:
        schema.pop("label")
    predictions = register_io_source(
        functools.partial(_read, scan), schema=schema, explain_name=f"predictions of {scan.source.where}"
    )
    setattr(predictions, _SCAN, scan)
    return predictions


def _read(
    scan: Scan,
    with_columns: list[str] | None,
    predicate: pl.Expr | None,
    n_rows: int | None,
    _batch_size: int | None,
) -> Iterator[pl.DataFrame]:
    """Yield the valid rows, and report dropped rows at the end; Polars calls this to execute a plan."""
    rows_by_code: dict[int, int] = {}
    left = n_rows
    try:
        for batch in scan.batches(scan.raw, maintain_order=True):
            valid = scan.valid(batch, rows_by_code)
            if left is not None:
                valid = valid.head(left)
                left -= len(valid)
            if predicate is not None:
                valid = valid.filter(predicate)
            shown = valid.drop(REASON) if scan.label is not None else valid.drop(REASON, "label")
            yield shown if with_columns is None else shown.select(with_columns)
            if left == 0:
                break
        else:
            scan.need_all_rows(rows_by_code)
            scan.need_two_classes(rows_by_code)
    except GeneratorExit:
        _tell(scan, rows_by_code, whole=False)
        raise
    _tell(scan, rows_by_code, whole=left != 0)


def _tell(scan: Scan, rows_by_code: Mapping[int, int], *, whole: bool) -> None:
    dropped = scan.dropped(rows_by_code, whole=whole)
    for warning in (*scan.source.warnings, *([dropped] if dropped else [])):
        warnings.warn(warning, stacklevel=2)


def kept_keys(keys: Sequence[str], by: str | Sequence[str] | None) -> list[str]:
    """Return the keys to keep; None keeps all.

    Raises
    ------
    SchemaError
        If a key does not exist.
    """
    if by is None:
        return list(keys)
    kept = name_list(by)
    for key in kept:
        if key not in keys:
            raise SchemaError.missing_column(key, "by", "the keys of the predictions", keys)
    return kept
