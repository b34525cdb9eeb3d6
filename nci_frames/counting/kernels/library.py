"""The compiled loops, if there are any."""

import ctypes
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def sources() -> list[Path]:
    """Return the C sources; the first one includes the others."""
    return sorted(Path(__file__).parent.glob("*.[ch]"))


def library_path() -> Path:
    """Return the path of the compiled loops, which names the version of the sources: no other is loaded."""
    version = zlib.crc32(b"".join(path.read_bytes() for path in sources()))
    return Path(__file__).with_name(f"kernels_{version:08x}.so")


def _loaded() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(str(library_path()))
    except OSError:
        return None


#: None stands for NumPy.
LIBRARY = _loaded()


def call(name: str, *arguments: NDArray[Any] | int | None) -> Any:
    """Call a C function with integers, contiguous arrays, and null pointers."""
    return getattr(LIBRARY, name)(*map(_passed, arguments))


def _passed(argument: NDArray[Any] | int | None) -> Any:
    if isinstance(argument, np.ndarray):
        return ctypes.c_void_p(address(argument))
    return argument if argument is None else ctypes.c_int64(argument)


def address(array: NDArray[Any]) -> int:
    """Return where an array begins in memory."""
    # Faster than array.ctypes.data.
    return int(array.__array_interface__["data"][0])
