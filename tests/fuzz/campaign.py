"""What a campaign is, and how one of its cases may end."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import nci_frames as nf


@dataclass(frozen=True)
class Case:
    """Something to try in an empty folder: it returns what is wrong in silence, or None."""

    label: str
    run: Callable[[Path], str | None]


@dataclass(frozen=True)
class Campaign:
    """Numbered cases of one kind: a case depends on the seed and its number alone."""

    name: str
    #: How many cases there are at scale 1, and in the short run of the tests.
    size: int
    few: int
    case: Callable[[int, int], Case]
    #: A case that takes longer hangs.
    seconds: int = 60
    #: Bytes of address space that the process may take; None for no limit.
    memory: int | None = 6 << 30
    #: Why nobody can keep a case from being wrong in silence; "" where that is a failure.
    silent: str = ""


def judged(run: Callable[[], str | None], arguments: Sequence[str] = ()) -> str | None:
    """Run something that returns what is wrong with its result, or None.

    An error that says what is wrong is None, too; a TypeError does if it names one of the arguments.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return run()
    except nf.NciFramesError:
        return None
    except TypeError as error:
        if any(_names(str(error), name) for name in arguments):
            return None
        raise


def _names(told: str, argument: str) -> bool:
    # A name of one letter is part of most messages.
    return told.startswith(f"{argument} must be") or f"'{argument}'" in told
