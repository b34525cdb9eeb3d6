"""Fields of structs in Thrift's compact protocol, in which Parquet writes footers and page headers."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nci_frames.counting.kernels import library


class Fields(NamedTuple):
    """The wanted fields of some structs, in the order in which they are written."""

    struct: NDArray[np.int64]
    which: NDArray[np.int64]  # place among the wanted fields
    value: NDArray[np.int64]  # the integer, or the number of bytes
    end: NDArray[np.int64]  # the place after it
    ends: NDArray[np.int64]  # of each struct; -1 if it is damaged, or cut off


#: Places of structs.
Places = Sequence[int] | NDArray[np.int64]


def find_fields(
    data: bytes, places: Places, limits: Places, wanted: Sequence[Sequence[int]], *, room: int
) -> Fields:
    """Read structs, each between a place and a limit, and return some of their integers and bytes.

    Only the compiled loops can do so.

    Parameters
    ----------
    data
        The bytes that hold the structs.
    places, limits
        Where each struct begins, and where it must have ended.
    wanted
        The path of each field: field numbers from 1 to 62, from the outermost struct on. All elements of a
        list have the path of the list.
    room
        Maximum number of fields that can be found; a struct that exceeds it is damaged.
    """
    paths = np.array([_path(fields) for fields in wanted], np.uint64)
    found, ends = np.empty((room, 4), np.int64), np.empty(len(places), np.int64)
    begin, until = np.asarray(places, np.int64), np.minimum(limits, len(data))
    view = np.frombuffer(data, np.uint8)
    number = library.call("find_fields", len(ends), begin, until, view, len(paths), paths, room, found, ends)
    struct, which, value, end = found[:number].T
    return Fields(struct, which, value, end, ends)


def _path(fields: Sequence[int]) -> int:
    path = 0
    for field in fields:
        path = path << 6 | field
    return path
