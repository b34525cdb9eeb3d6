"""Detection of a forked process: forked while Polars had threads, it would hang at its first query."""

import os
from contextlib import suppress
from pathlib import Path

from nci_frames.base.errors import ParameterError

_state = {"has_threads": False, "is_forked": False}


def _polars_has_threads() -> bool:
    """Return whether threads of Polars run in this process; without /proc, assume so."""
    names = []
    for task in Path("/proc/self/task").glob("*"):
        with suppress(OSError):  # the thread has just ended
            names.append((task / "comm").read_text())
    return not names or any(name.startswith("polars") for name in names)


def _before() -> None:
    _state["has_threads"] = _polars_has_threads()


def _in_child() -> None:
    _state["is_forked"] = _state["is_forked"] or _state["has_threads"]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_child=_in_child)


def refuse_after_fork() -> None:
    """Raise ParameterError in a process where Polars would hang."""
    if _state["is_forked"]:
        msg = "this process was forked after Polars had run, and would hang"
        raise ParameterError(msg, hint="start processes by 'spawn': multiprocessing.get_context('spawn')")
