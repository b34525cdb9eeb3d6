"""What a campaign is, and what can come of one of its cases."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import nci_frames as nf

CLEAN, RIGHT, SILENT, TRACEBACK, CRASH, HANG = CLASSES = (
    "clean error",
    "right or finished",
    "wrong in silence",
    "traceback",
    "crash",
    "hang",
)


@dataclass(frozen=True)
class Found:
    """What came of a case: one of ``CLASSES``, and in a line what was seen."""

    kind: str
    detail: str = ""


@dataclass(frozen=True)
class Case:
    """Something to try in an empty folder."""

    label: str
    run: Callable[[Path], Found]


@dataclass(frozen=True)
class Campaign:
    """Numbered cases of one kind: a case depends on the seed and its number alone."""

    name: str
    #: How many cases there are at scale 1, and in the short run of the tests.
    size: int
    few: int
    case: Callable[[int, int], Case]
    #: A case that takes longer hangs.
    seconds: float = 60.0
    #: Bytes of address space that the process may take; None for no limit.
    memory: int | None = 6 << 30
    #: Whether each case gets a process of its own.
    alone: bool = False
    #: Why nobody can keep a case from being wrong in silence; "" where that is a failure.
    silent: str = ""


def judged(run: Callable[[], str | None], arguments: Sequence[str] = ()) -> Found:
    """Run something that returns what is wrong with its result, or None; say how it ended.

    A TypeError is clean if it names one of the arguments that it is about.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wrong = run()
    except nf.NciFramesError as error:
        return Found(CLEAN, _line(error))
    except KeyboardInterrupt:
        raise
    # A panic of Polars is no Exception.
    except BaseException as error:
        clean = isinstance(error, TypeError) and any(_names(str(error), name) for name in arguments)
        return Found(CLEAN if clean else TRACEBACK, f"{type(error).__name__}: {_line(error)}")
    return Found(RIGHT) if wrong is None else Found(SILENT, wrong)


def _names(told: str, argument: str) -> bool:
    # A name of one letter is part of most messages.
    return told.startswith(f"{argument} must be") or f"'{argument}'" in told


def _line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0][:200]
