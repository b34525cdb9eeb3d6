"""Handling of interrupts (Ctrl-C) in commands: end the process, or clean up first.

During imports there is nothing to clean up, and a KeyboardInterrupt would end in a traceback or in an error
of the interrupted module. So the process just ends. Work that writes files requests a KeyboardInterrupt
instead.
"""

# Importing signal takes milliseconds, in which an interrupt would end in a traceback.
import _signal  # type: ignore[import-not-found]
import os

#: True since folders and runs are replaced atomically, and a ledger grows by whole files.
INTERRUPTED = "interrupted: no output is half-written"


def leave_when_interrupted() -> None:
    """End the process at an interrupt from now on, unless interrupts are ignored."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _leave)


def clean_up_when_interrupted() -> None:
    """Raise KeyboardInterrupt at an interrupt from now on, if ``leave_when_interrupted`` was called."""
    if _signal.getsignal(_signal.SIGINT) is _leave:
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)


def _leave(_number: int, _frame: object) -> None:
    os.write(2, f"{INTERRUPTED}\n".encode())
    os._exit(130)
