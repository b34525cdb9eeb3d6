"""What a frame and its columns are, and the check that a frame is of its kind."""

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from nci_frames.errors import SchemaError

__all__ = [
    "Column",
    "FrameSchema",
    "collect",
]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a frame: what it holds, in which unit and range, and what null means there."""

    name: str
    dtypes: tuple[type[pl.DataType], ...]
    meaning: str
    null: str = "never"
    required: bool = True


@dataclass(frozen=True, slots=True)
class FrameSchema:
    """The fixed columns of one kind of frame; all others are keys."""

    name: str
    maker: str
    columns: tuple[Column, ...]
    #: Further names that are no keys: what a later step adds to a frame of this kind.
    derived: tuple[str, ...] = ()

    def dtypes(self) -> dict[str, type[pl.DataType]]:
        """Return the fixed columns with the type that the library gives them."""
        return {column.name: column.dtypes[0] for column in self.columns}

    @property
    def fixed(self) -> tuple[str, ...]:
        """The names that are not keys."""
        return tuple(column.name for column in self.columns)

    def keys(self, columns: Iterable[str]) -> list[str]:
        """Return the key columns among *columns*, in their order; ``model`` is not one of them."""
        fixed = {*self.fixed, *self.derived}
        return [column for column in columns if column not in fixed]

    def empty(self, keys: pl.DataFrame) -> pl.DataFrame:
        """Return a frame of this kind without rows, whose model and keys are those of *keys*."""
        results = {c.name: c.dtypes[0] for c in self.columns if c.name not in keys.columns}
        return keys.clear().with_columns(pl.lit(None, dtype).alias(name) for name, dtype in results.items())

    def check(self, frame: pl.DataFrame) -> None:
        """Raise SchemaError unless *frame* has the required columns with admissible types."""
        schema = frame.schema
        missing = [column.name for column in self.columns if column.required and column.name not in schema]
        if missing:
            raise SchemaError.not_a_frame(self.name, missing, list(schema), self.maker)
        for column in self.columns:
            dtype = schema.get(column.name)
            if dtype is not None and dtype not in (*column.dtypes, pl.Null):
                wanted = " or ".join(str(d) for d in column.dtypes)
                raise SchemaError.wrong_type(column.name, f"a {self.name} frame", str(dtype), wanted)


def collect(frame: pl.DataFrame | pl.LazyFrame, schema: FrameSchema) -> pl.DataFrame:
    """Return *frame* as a checked DataFrame of the kind that *schema* describes."""
    collected = frame.collect() if isinstance(frame, pl.LazyFrame) else frame
    schema.check(collected)
    return collected
