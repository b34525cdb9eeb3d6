"""How much memory there is, and tables that would take more than their share of it."""

import os
import sys
from pathlib import Path

from nci_frames.base.errors import ParameterError

if sys.platform != "win32":
    import resource

#: Of the machine's memory, the share that one task may take unless it is told otherwise.
_SHARE = 0.5

#: A table is made of parts that are sorted, so that it is in memory several times.
_COPIES = 3


def gigabytes(size: float) -> str:
    """Return a number of bytes in words.

    >>> gigabytes(2.5e9)
    '2.5 GB'
    """
    return f"{size / 1e9:,.3g} GB"


def machine_memory() -> float:
    """Return the bytes of memory that this process can have."""
    limits = [float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")]
    # A container may have less than its machine, and a process less than its container.
    for place in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            limits.append(float(Path(place).read_text()))
        except (OSError, ValueError):
            continue
    if sys.platform != "win32":
        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            limits.append(float(most))
    return min(limits)


def usual_limit() -> float:
    """Return the bytes that one task may take."""
    return _SHARE * machine_memory()


def check_table(rows: int, columns: int, found: str, hint: str) -> None:
    """Raise ParameterError if a table would take more than one task may.

    Parameters
    ----------
    rows, columns
        The size of the table; a column takes 8 bytes a row.
    found
        For the message: what makes it so large.
    hint
        For the message: what to do instead.
    """
    needed = 8.0 * rows * columns * _COPIES
    if needed > usual_limit():
        msg = f"the result takes {gigabytes(needed)}, and the limit is {gigabytes(usual_limit())}"
        raise ParameterError(msg, found=found, hint=hint)
