"""Available memory, and a check of the size of tables."""

import os
import sys
from pathlib import Path

from nci_frames.base.errors import ParameterError

if sys.platform != "win32":
    import resource

#: Default share of the machine's memory for one task.
_SHARE = 0.5

#: Copies of a table in memory while it is built from sorted parts.
_COPIES = 3


def gigabytes(size: float) -> str:
    """Format a number of bytes.

    >>> gigabytes(2.5e9)
    '2.5 GB'
    """
    return f"{size / 1e9:,.3g} GB"


def machine_memory() -> float:
    """Return the bytes of memory available to this process."""
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
    """Return the default limit in bytes for one task."""
    return _SHARE * machine_memory()


def check_table(rows: int, columns: int, found: str, hint: str) -> None:
    """Raise ParameterError if a table would exceed the memory limit of a task.

    Parameters
    ----------
    rows, columns
        Size of the table; a column takes 8 bytes per row.
    found
        Cause of the size, for the message.
    hint
        What to do instead, for the message.
    """
    needed = 8.0 * rows * columns * _COPIES
    if needed > usual_limit():
        msg = f"the result takes {gigabytes(needed)}, and the limit is {gigabytes(usual_limit())}"
        raise ParameterError(msg, found=found, hint=hint)
