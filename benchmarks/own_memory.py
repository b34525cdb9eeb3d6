"""The most memory that this process has had."""

import resource
import sys
from pathlib import Path

__all__ = ["peak_bytes"]


def peak_bytes() -> int:
    """Return the most memory that this process had.

    In Linux getrusage begins with that of the process which started this one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * int(status.read_text().split("VmHWM:")[1].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
