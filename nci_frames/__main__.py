"""Where ``nci-frames`` starts: until the commands are imported, an interrupt ends the process at once."""

import os
import sys

from nci_frames.base.interrupts import leave_when_interrupted

#: Objects that are made before Python looks for unused ones. Imports and charts make many that stay: to look
#: after every 700, as usual, makes a report 3 % slower.
_OBJECTS = 50_000

#: The parameter of mallopt: the most arenas, of which glibc gives each thread one.
_ARENA_MAX = -8


def main() -> None:
    """Run the command line."""
    leave_when_interrupted()
    # Matrices have a hundred rows or two. Several threads of BLAS, which NumPy starts when it is imported,
    # would wait for each other longer than they compute, most of all beside other programs.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import ctypes  # noqa: PLC0415
    import gc  # noqa: PLC0415

    gc.set_threshold(_OBJECTS)
    # Let what one thread has freed be used by all: by default the C library keeps it for the thread.
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_ARENA_MAX, 1)
    # A terminal that does not know its width.
    if os.environ.get("COLUMNS") == "0":
        del os.environ["COLUMNS"]
    from nci_frames.commands.cli import main as command_line  # noqa: PLC0415
    from nci_frames.commands.ending import end_without_output  # noqa: PLC0415

    end_without_output()
    command_line()


if __name__ == "__main__":
    main()
