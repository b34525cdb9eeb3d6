"""Detect whether a frame of the library is unchanged, so that its values need no second check.

The frame keeps references to its original columns, so their memory is not reused, and Polars never changes
shared memory. Frames that Polars derives from it keep no such references.
"""

from collections.abc import Sequence
from typing import Any

import polars as pl

#: The attribute of a frame that holds the references.
_MADE = "_nci_frames_made"
#: Types that Arrow lacks: their columns are always checked again.
WITHOUT_ARROW = (pl.Int128, pl.UInt128)


def remember(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return the frame with references to the columns *names*."""
    setattr(frame, _MADE, [frame[name] for name in names])
    return frame


def is_untouched(frame: pl.DataFrame, names: Sequence[str]) -> bool:
    """Return whether a frame has references to exactly these columns, in the same memory."""
    made: list[pl.Series] | None = getattr(frame, _MADE, None)
    if made is None or [column.name for column in made] != list(names):
        return False
    return all(_is_same(column, frame[column.name]) for column in made)


def _is_same(one: pl.Series, other: pl.Series) -> bool:
    if one.dtype != other.dtype or one.dtype in WITHOUT_ARROW:
        return False
    # Hold both while comparing: freed memory may be reused.
    held, beside = as_arrow(one), as_arrow(other)
    return [*map(_place, held)] == [*map(_place, beside)]


def as_arrow(column: pl.Series) -> list[Any]:
    """Return the chunks of a column as Arrow arrays, without a copy where its type allows it."""
    # Arrow refuses names with a NUL.
    newest = pl.CompatLevel.newest()
    return [chunk.to_arrow(compat_level=newest) for chunk in column.rename("").get_chunks()]


def _place(values: Any) -> tuple[int | None, ...]:
    return values.offset, len(values), *(buffer and buffer.address for buffer in values.buffers())
