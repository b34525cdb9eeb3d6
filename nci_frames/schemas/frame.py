"""Schemas of frames and columns, and the check of a frame against its schema."""

import contextlib
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import cast

import numpy as np
import polars as pl

from nci_frames.base.docstrings import COLUMNS
from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.base.messages import a_frame, listed, quantity
from nci_frames.base.typing import Frame
from nci_frames.schemas.consistency import check_cells, place_of
from nci_frames.schemas.keys import RESERVED, Family, check_keys, check_patterns, check_times
from nci_frames.schemas.untouched import is_untouched, remember

#: Largest count of rows: Float64 represents every whole number up to it, and the sum of some hundreds of
#: counts does not overflow Int64.
MOST_ROWS = 2**53

#: Upper end of ranges that only exclude infinity.
FINITE = sys.float_info.max
#: Largest sum of weights: its square is finite.
MOST_WEIGHT = 1e150

#: Tolerance of range checks for rounding, relative to the largest value.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a frame: its meaning, unit and range, and what null means."""

    name: str
    meaning: str
    #: What null means; "never" if the column has no nulls.
    null: str = "never"
    _: KW_ONLY
    dtypes: tuple[type[pl.DataType] | pl.DataType, ...]
    required: bool = True
    #: The range, ends included. NaN is in no range: undefined values are null.
    minimum: float = -math.inf
    maximum: float = math.inf
    #: The largest number of rows, a power of 2, where the column counts rows.
    most: int | None = None

    @property
    def nullable(self) -> bool:
        """Whether the column may hold nulls."""
        return self.null != "never"

    @property
    def numeric(self) -> bool:
        """Whether the column holds numbers; only these have a range."""
        return all(dtype.is_numeric() for dtype in self.dtypes)

    @property
    def types(self) -> str:
        """The types in words, in short: of more than two the first."""
        first, *others = map(str, self.dtypes)
        return " or ".join([first, *(others if len(others) < 2 else ["other"])])

    @property
    def allowed(self) -> str:
        """The range in words."""
        low, high = f"{self.minimum:g}", f"{self.maximum:g}"
        if self.maximum == MOST_WEIGHT:
            return f">= {low} and <= {high}" + (
                f"; whole numbers <= 2^{self.most.bit_length() - 1}" if self.most else ""
            )
        if self.maximum == FINITE:
            return f"finite and >= {low}"
        if self.minimum == -math.inf:
            return "a number" if self.maximum == math.inf else f"<= {high}"
        return f">= {low}" if self.maximum == math.inf else f"within [{low}, {high}]"

    def problem(self, values: pl.Series) -> tuple[pl.Series, str] | None:
        """Return which values are not allowed, and a description of the allowed ones; None if all are."""
        if not self.nullable and values.null_count():
            return values.is_null(), "given in every row"
        if not (self.numeric and values.dtype.is_numeric()):
            return None
        slack, high = 0.0, self.maximum
        if values.dtype.is_float():
            nan = values.is_nan()
            if nan.any():
                return nan.fill_null(value=False), "a number or null, not NaN"
        elif self.most is not None:
            high = self.most
        # Minimum and maximum first: comparing each value takes memory for each.
        least, most = cast("float", values.min() or 0), cast("float", values.max() or 0)
        if values.dtype.is_float():
            largest = max(abs(least), abs(most), 1.0)
            slack = _ROUNDING * largest if largest <= FINITE else 0.0
        if slack and high != FINITE:
            high += slack
        low = self.minimum - slack
        if values.null_count() == len(values) or (least >= low and most <= high):
            return None
        return ((values < low) | (values > high)).fill_null(value=False), self.allowed


#: Every kind of frame, in order of definition.
FRAMES: list["FrameSchema"] = []


class FrameSchema:
    """The fixed columns of one kind of frame; all other columns are keys."""

    def __init__(
        self,
        name: str,
        maker: str,
        *columns: Column,
        derived: Sequence[str] = (),
        counted: bool = False,
        brings_keys: bool = False,
        strata: Column | None = None,
        family: Family = "binary",
    ) -> None:
        self.name, self.maker, self.columns, self.family = name, maker, columns, family
        #: Further names that are not keys: columns that later steps add to such a frame.
        self.derived = derived
        #: Whether the rows are counts of groups at thresholds, which must be consistent.
        self.counted = counted
        #: Whether other frames inherit the keys of such a frame, so that their names must be free there.
        self.brings_keys = brings_keys
        #: The key with the weight of each row of a group, if such frames may have it.
        self.strata = strata
        #: The names of the fixed columns.
        self.fixed = tuple(column.name for column in columns)
        RESERVED[family].update(self.fixed)
        FRAMES.append(self)
        COLUMNS[name] = [(c.name, c.types, c.meaning, c.null) for c in columns]

    def dtypes(self) -> dict[str, type[pl.DataType] | pl.DataType]:
        """Return the fixed columns and the types that the library gives them."""
        return {column.name: column.dtypes[0] for column in self.columns}

    def keys(self, columns: Iterable[str]) -> list[str]:
        """Return the keys among *columns*, in their order; ``model`` is not a key."""
        fixed = {*self.fixed, *self.derived}
        return [column for column in columns if column not in fixed]

    def need_keys(self, frame: pl.DataFrame, wanted: Iterable[str | None], option: str) -> list[str]:
        """Return the keys of a frame; raise SchemaError if one that *option* names is missing."""
        keys = self.keys(frame.columns)
        for key in wanted:
            if key is not None and key not in keys:
                raise SchemaError.missing_column(key, option, f"the keys of the {self.name} frame", keys)
        return keys

    def empty(self, keys: pl.DataFrame) -> pl.DataFrame:
        """Return an empty frame of this kind, with the model and key columns of *keys*."""
        none = {name: pl.lit(None, kind) for name, kind in self.dtypes().items() if name not in keys.columns}
        return self.finish(keys.clear().with_columns(**none))

    def joined(self, tables: Iterable[pl.DataFrame], keys: pl.DataFrame) -> pl.DataFrame:
        """Concatenate tables, and drop columns outside this kind; without tables, return an empty frame."""
        names = dict.fromkeys([*keys.columns, *self.fixed])
        found = [table.select(name for name in names if name in table.columns) for table in tables]
        return self.finish(pl.concat(found)) if found else self.empty(keys)

    def check(self, frame: pl.DataFrame) -> None:
        """Raise SchemaError unless *frame* has the required columns with valid types and values.

        Counts and rates must also be consistent within each group.
        """
        self.check_types(frame)
        self.check_times(frame)
        keys, free = self.keys(frame.columns), self.free_texts(frame)
        for column in self._present(frame):
            if column.name in free:
                continue
            problem = column.problem(frame[column.name])
            if problem is not None:
                wrong, wanted = problem
                row = int(wrong.arg_max() or 0)
                where = place_of(frame, row, keys)
                found = f"{frame[column.name][row]!r} ({wrong.sum():,} of {quantity(len(frame), 'row')})"
                what = f"column {column.name!r} of {a_frame(self.name)} must be {wanted}"
                raise SchemaError(what, where=where, found=found)
        if self.counted:
            check_cells(frame, self.name, ["model", *keys], rates="tpr" in self.fixed)

    def check_times(self, frame: pl.DataFrame) -> None:
        """Raise SchemaError if different times among inherited keys are equal in Python."""
        if self.brings_keys:
            check_times(frame, self.keys(frame.columns), self.name)

    def _present(self, frame: pl.DataFrame) -> list[Column]:
        """Return the columns of the schema that the frame has."""
        names = frame.columns
        return [column for column in (*self.columns, self.strata) if column and column.name in names]

    def free_texts(self, frame: pl.DataFrame) -> list[str]:
        """Return the columns that accept any string or null, so need no check.

        Such a column may store one string for all rows, as the resolution of exact counts does. Reading it
        would repeat the string for each row.
        """
        dtypes = frame.schema
        return [c.name for c in self._present(frame) if c.nullable and dtypes[c.name] == pl.String]

    def looked_at(self, frame: pl.DataFrame) -> list[str]:
        """Return the columns whose values are checked."""
        free = self.free_texts(frame)
        return [name for name in frame.columns if name not in free]

    def check_types(self, frame: pl.DataFrame) -> None:
        """Raise SchemaError unless *frame* has the required columns with valid types."""
        schema = frame.schema
        missing = [column.name for column in self.columns if column.required and column.name not in schema]
        if missing:
            raise lacking(self.name, missing, list(schema), self.maker)
        for column in self._present(frame):
            dtype = schema[column.name]
            if dtype not in (*column.dtypes, pl.Null):
                wanted = " or ".join(str(d) for d in column.dtypes)
                cast = f"cast it: frame.cast({{{column.name!r}: polars.{column.dtypes[0]}}})"
                hint = cast if dtype.is_numeric() and column.dtypes[0].is_numeric() else None
                raise SchemaError.wrong_type(column.name, a_frame(self.name), str(dtype), wanted, hint)
        if self.brings_keys:
            weighed = [] if self.strata is None else [self.strata.name]
            keys = [key for key in self.keys(schema) if key not in weighed]
            check_keys(frame, keys, self.name, self.family)
            self._check_whole(frame)
        opaque = next((name for name, dtype in schema.items() if dtype == pl.Object), None)
        if opaque is not None:
            wanted = "of a type that Polars can compare"
            raise SchemaError.wrong_type(opaque, a_frame(self.name), "Object", wanted)
        check_patterns(schema, self.name)

    def _check_whole(self, frame: pl.DataFrame) -> None:
        """Raise SchemaError if counts of strata, whose rows have a weight, are already sums of weights."""
        if self.strata is None or self.strata.name not in frame.columns:
            return
        for column in self.columns:
            if column.maximum == MOST_WEIGHT and frame.schema.get(column.name) == pl.Float64:
                where = f"{a_frame(self.name)} with the key {self.strata.name!r}"
                hint = "sum the weights away: pool_counts(counts, over='weight')"
                raise SchemaError.wrong_type(column.name, where, "Float64", "Int64 (rows)", hint)

    def finish(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return a table of the library with checked types and ordered columns.

        The order is: the model, if the schema begins with it, the keys, the other columns of the schema.
        """
        first = ["model"] if self.columns[0].name == "model" else []
        present = [name for name in self.fixed if name in table.columns and name not in first]
        finished = table[[*first, *self.keys(table.columns), *present]]
        self.check_types(finished)
        return finished

    def finish_right(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return ``finish(table)`` for counts known to be valid: counts of rows then skip later checks."""
        finished = self.finish(table)
        # Sums of weights may exceed the allowed range.
        right = finished.schema["tp"].is_integer()
        return remember(finished, self.looked_at(finished)) if right else finished


#: Context, or decorator, of arithmetic without warnings: 0/0 is NaN, which tables show as null.
undefined_is_nan = partial(np.errstate, divide="ignore", invalid="ignore", over="ignore")

#: Number of nested calls of public functions.
_DEPTH = ContextVar("depth", default=0)


@contextlib.contextmanager
def within() -> Iterator[None]:
    """Mark a nested call: frames passed inside it were checked by the outer call. Undefined is NaN in it."""
    token = _DEPTH.set(_DEPTH.get() + 1)
    try:
        with undefined_is_nan():
            yield
    finally:
        _DEPTH.reset(token)


def collect(frame: Frame, schema: FrameSchema, *, strata: bool = False) -> pl.DataFrame:
    """Return *frame* as a DataFrame of the kind that *schema* describes.

    Only the outermost call checks the values, unless the library made the frame and it is unchanged. Nested
    calls trust them: another pass over all rows would take longer than most tables. Names and types are
    always checked. *strata* says that the caller multiplies by the key ``weight``; otherwise counts with it
    are refused.
    """
    collected = frame.collect() if isinstance(frame, pl.LazyFrame) else frame
    schema.check_types(collected)
    if schema.strata is not None and schema.strata.name in collected.columns and not strata:
        msg = "this needs counts whose rows all weigh the same"
        hint = "count without weights, or take sums: pool_counts(counts, over='weight')"
        raise ParameterError(msg, found=f"the key {schema.strata.name!r}", hint=hint)
    if _DEPTH.get() <= 1:
        made = is_untouched(collected, schema.looked_at(collected))
        collected = unflagged(collected, schema.free_texts(collected))
        (schema.check_times if made else schema.check)(collected)
    # Columns of nulls without a type come from pandas and literals.
    dtypes = collected.schema
    untyped = [column for column in schema.columns if dtypes.get(column.name) == pl.Null]
    if not untyped:
        return collected
    return collected.with_columns(pl.col(column.name).cast(column.dtypes[0]) for column in untyped)


def unflagged(frame: pl.DataFrame, free_texts: Sequence[str] = ()) -> pl.DataFrame:
    """Remove the sorted flags of all columns: with a false flag, Polars groups wrongly.

    A column of *free_texts* that stores one string for all rows still does so.

    >>> unflagged(pl.DataFrame({"a": [2, 1]}).with_columns(pl.col("a").set_sorted())).sort("a")["a"].to_list()
    [1, 2]
    """
    flags = {name: frame[name].flags for name in frame.columns if name not in free_texts}
    claims = (name for name, claim in flags.items() if claim["SORTED_ASC"] or claim["SORTED_DESC"])
    fields = (pl.struct(name).struct.field(name) for name in free_texts)
    return frame.with_columns(*(_unflagged(frame[name]) for name in claims), *fields)


def _unflagged(column: pl.Series) -> pl.Series:
    # A struct field has no sorted flag. Chunk by chunk, nothing is copied.
    chunks = (chunk.to_frame().to_struct().struct.unnest().to_series() for chunk in column.get_chunks())
    return pl.concat(chunks, rechunk=False)


def lacking(wanted: str, missing: Sequence[str], available: Sequence[str], maker: str) -> SchemaError:
    """Return the error for a frame of the wrong kind."""
    what = f"this is not {a_frame(wanted)}: it lacks {listed(map(repr, missing))}"
    found = f"columns {listed(map(repr, available), 20)}"
    return SchemaError(what, found=found, hint=f"make one with {maker}")
