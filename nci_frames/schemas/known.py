"""Large frames that need no second check, because their very memory was checked or made by the library.

A frame may be changed in place, so its identity says nothing. What is remembered is where the memory of its
columns lies, along with a second frame that shares this memory. As long as that one lives, Polars writes to
none of it (it copies what is shared), and nothing else can come to lie there: equal addresses are equal
values. The second frame goes when the first does.
"""

import weakref
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["is_known", "known_groups", "remember"]

#: A check of fewer rows, in a piece of memory, takes less time than to look where they lie.
_LEAST_ROWS = 1 << 14

_Places = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    """What is remembered of a frame."""

    frame: weakref.ref[pl.DataFrame]
    kind: str
    places: _Places
    kept: pl.DataFrame
    #: The columns that make a group, and where the groups begin, if every group is one run of rows.
    groups: tuple[list[str], NDArray[np.int64]] | None


_KNOWN: dict[int, _Known] = {}


def remember(
    frame: pl.DataFrame, kind: str, groups: tuple[list[str], NDArray[np.int64]] | None = None
) -> None:
    """Remember that *frame* is of a kind and was checked, or made by the library.

    Parameters
    ----------
    frame
        What to remember, unless it is small or in many pieces.
    kind
        What kind of frame it is.
    groups
        The columns that make a group, and the first row of each, if every group is one run of rows with
        ascending thresholds.
    """
    if len(frame) < _LEAST_ROWS * max(frame.n_chunks(), 1):
        return
    number = id(frame)
    kept = frame.clone()
    gone = weakref.ref(frame, lambda _: _KNOWN.pop(number, None))
    _KNOWN[number] = _Known(gone, kind, _places(kept), kept, groups)


def is_known(frame: pl.DataFrame, kinds: tuple[str, ...]) -> bool:
    """Return whether *frame* was remembered as one of *kinds*, and has not been changed since."""
    known = _known(frame)
    return known is not None and known.kind in kinds


def known_groups(frame: pl.DataFrame, keys: list[str]) -> NDArray[np.int64] | None:
    """Return the first row of each group of a frame that was remembered with its groups; None of others."""
    known = _known(frame)
    if known is None or known.groups is None or known.groups[0] != keys:
        return None
    return known.groups[1]


def _known(frame: pl.DataFrame) -> _Known | None:
    known = _KNOWN.get(id(frame))
    if known is None or known.frame() is not frame or known.places != _places(frame):
        return None
    return known


def _places(frame: pl.DataFrame) -> _Places:
    """Return where the memory of each column lies."""
    # The resolution may be one string for all rows, which gets new memory each time; any value is valid.
    names = [name for name in frame.columns if name != "resolution"]
    # Arrow takes no name with a NUL.
    plain = pl.DataFrame([frame[name].alias(str(place)) for place, name in enumerate(names)])
    table = plain.to_arrow(compat_level=pl.CompatLevel.newest())
    return tuple(
        (name, str(column.type), chunk.offset, len(chunk), *(b and b.address for b in chunk.buffers()))
        for name, column in zip(names, table.columns, strict=True)
        for chunk in column.chunks
    )
