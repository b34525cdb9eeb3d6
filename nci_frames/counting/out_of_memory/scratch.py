"""Arrays in a file that nobody else sees, which several threads read."""

import threading
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from nci_frames.base.errors import OutputError

__all__ = ["Scratch"]


class Scratch:
    """Arrays one after the other in a file without a buffer."""

    def __init__(self, file: BinaryIO, path: str) -> None:
        self._file = file
        #: For messages: what is written in the end.
        self._path = path
        self._lock = threading.Lock()
        self.size = 0

    def reserve(self, size: int) -> int:
        """Return where the next so many bytes begin."""
        self.size += size
        return self.size - size

    def append(self, array: NDArray[Any]) -> int:
        """Write an array at the end, and return where it begins."""
        place = self.reserve(array.nbytes)
        self.write(place, array)
        return place

    def write(self, place: int, array: NDArray[Any]) -> None:
        """Write an array.

        Raises
        ------
        OutputError
            If the system does not let it be written: no space.
        """
        self._move(place, array, self._file.write)

    def read(self, place: int, dtype: np.dtype[Any] | type[Any], rows: int) -> NDArray[Any]:
        """Return an array."""
        array = np.empty(rows, dtype)
        self.read_into(place, array)
        return array

    def read_into(self, place: int, array: NDArray[Any]) -> None:
        """Fill an array, or a part of one."""
        self._move(place, array, self._file.readinto)  # type: ignore[attr-defined]

    def _move(self, place: int, array: NDArray[Any], move: Callable[[memoryview], int]) -> None:
        # Empty arrays have no bytes to look at.
        left = array.view(np.uint8).data
        try:
            with self._lock:
                self._file.seek(place)
                # The system moves at most 2 GB at a time.
                while left:
                    moved = move(left)
                    if not moved:
                        raise OSError(None, "the scratch file ends too early")
                    left = left[moved:]
        except OSError as error:
            raise OutputError.unwritable(self._path, error) from error
