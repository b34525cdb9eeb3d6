"""What an interrupt (Ctrl-C) does to a command: it ends the process, or cleans up first.

While modules are imported there is nothing to clean up, and a KeyboardInterrupt that is raised amid an import
ends in a traceback, or in an error of the module that was interrupted. So the process just ends. Work that
writes files asks for a KeyboardInterrupt instead.
"""

# The modules signal and types take milliseconds, in which an interrupt would end in a traceback.
import _signal  # type: ignore[import-not-found]
import os

#: What a user is told: folders and runs are replaced as a whole, and a ledger grows by whole files.
INTERRUPTED = "interrupted: no output is half-written"


def leave_when_interrupted() -> None:
    """From here on, end the process at an interrupt, unless interrupts are ignored."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _leave)


def clean_up_when_interrupted() -> None:
    """From here on, raise KeyboardInterrupt at an interrupt, where ``leave_when_interrupted`` was called."""
    if _signal.getsignal(_signal.SIGINT) is _leave:
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)


def _leave(_number: int, _frame: object) -> None:
    os.write(2, f"{INTERRUPTED}\n".encode())
    os._exit(130)
