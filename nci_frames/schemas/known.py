"""Large frames that need no second check, because their very memory was checked or made by the library.

A frame may be changed in place, so its identity says nothing. What is remembered is where the memory of its
columns lies, along with a second frame that shares this memory. As long as that one lives, Polars writes to
none of it (it copies what is shared), and nothing else can come to lie there: equal addresses are equal
values. The second frame goes when the first does.
"""

import weakref

import polars as pl

__all__ = ["is_known", "remember"]

#: A check of fewer rows takes less time than to look where they lie.
_LEAST_ROWS = 1 << 14

_Places = tuple[object, ...]
_KNOWN: dict[int, tuple[weakref.ref[pl.DataFrame], str, _Places, pl.DataFrame]] = {}


def remember(frame: pl.DataFrame, kind: str) -> None:
    """Remember that *frame* is of a kind and was checked, or made by the library."""
    if len(frame) < _LEAST_ROWS:
        return
    number = id(frame)
    kept = frame.clone()
    gone = weakref.ref(frame, lambda _: _KNOWN.pop(number, None))
    _KNOWN[number] = (gone, kind, _places(kept), kept)


def is_known(frame: pl.DataFrame, kinds: tuple[str, ...]) -> bool:
    """Return whether *frame* was remembered as one of *kinds*, and has not been changed since."""
    found = _KNOWN.get(id(frame))
    if found is None or found[0]() is not frame:
        return False
    return found[1] in kinds and found[2] == _places(frame)


def _places(frame: pl.DataFrame) -> _Places:
    """Return where the memory of each column lies."""
    # The resolution may be one string for all rows, which gets new memory each time; any value is valid.
    table = frame.drop("resolution", strict=False).to_arrow(compat_level=pl.CompatLevel.newest())
    return tuple(
        (name, str(column.type), chunk.offset, len(chunk), *(b and b.address for b in chunk.buffers()))
        for name, column in zip(table.column_names, table.columns, strict=True)
        for chunk in column.chunks
    )
