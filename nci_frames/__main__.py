"""Entry point of ``nci-frames``: until the commands are imported, an interrupt ends the process at once."""

import os
import sys

from nci_frames.base.interrupts import leave_when_interrupted

#: Allocations between two runs of the garbage collector. Imports and charts make many permanent objects: the
#: default of 700 makes a report 3 % slower.
_OBJECTS = 50_000

#: Parameter M_ARENA_MAX of mallopt: maximum number of arenas; by default glibc gives each thread one.
_ARENA_MAX = -8


def main() -> None:
    """Run the command line."""
    leave_when_interrupted()
    # Matrices have at most a few hundred rows, for which several BLAS threads, started when NumPy is
    # imported, would wait for each other longer than they compute.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import ctypes  # noqa: PLC0415
    import gc  # noqa: PLC0415

    gc.set_threshold(_OBJECTS)
    # Share freed memory between threads: by default the C library keeps it per thread.
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_ARENA_MAX, 1)
    # A terminal that does not know its width reports 0.
    if os.environ.get("COLUMNS") == "0":
        del os.environ["COLUMNS"]
    from nci_frames.commands.cli import main as command_line  # noqa: PLC0415
    from nci_frames.commands.ending import end_without_output  # noqa: PLC0415

    end_without_output()
    command_line()


if __name__ == "__main__":
    main()
