"""Whether a frame is still what it was made as: then its values need not be looked at again.

A frame remembers the columns that it was made with, so nothing else can come to lie where they are, and
Polars changes no memory that somebody else has. What Polars makes of a frame remembers nothing.
"""

from collections.abc import Sequence
from typing import Any

import polars as pl

#: The attribute of a frame that has the columns.
_MADE = "_nci_frames_made"


def remember(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return a frame that remembers some of its columns as they are."""
    setattr(frame, _MADE, [frame[name] for name in names])
    return frame


def is_untouched(frame: pl.DataFrame, names: Sequence[str]) -> bool:
    """Return whether a frame remembers just these of its columns, and they are in the same memory."""
    made: list[pl.Series] | None = getattr(frame, _MADE, None)
    if made is None or [column.name for column in made] != list(names):
        return False
    return all(_is_same(column, frame[column.name]) for column in made)


def _is_same(one: pl.Series, other: pl.Series) -> bool:
    # Both are held while they are compared: memory that was given back may be taken again.
    held, beside = as_arrow(one), as_arrow(other)
    return one.dtype == other.dtype and [*map(_place, held)] == [*map(_place, beside)]


def as_arrow(column: pl.Series) -> list[Any]:
    """Return the chunks of a column as Arrow arrays, without a copy where its type allows it."""
    # A name may have a NUL, which Arrow refuses.
    newest = pl.CompatLevel.newest()
    return [chunk.rename("").to_arrow(compat_level=newest) for chunk in column.get_chunks()]


def _place(values: Any) -> tuple[int | None, ...]:
    return values.offset, len(values), *(buffer and buffer.address for buffer in values.buffers())
