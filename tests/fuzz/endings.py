"""A case for every way to end, to see that each is noticed."""

import os
import time
from pathlib import Path

import nci_frames as nf
from tests.fuzz.campaign import CLASSES, Campaign, Case, Found, judged


def _end(kind: str) -> str | None:
    match kind:
        case "clean error":
            raise nf.ParameterError("no")
        case "wrong in silence":
            return "2 for 1"
        case "traceback":
            raise ZeroDivisionError
        case "crash":
            os.abort()
        case "hang":
            time.sleep(600)
    return None


def _case(seed: int, number: int) -> Case:
    kind = CLASSES[number % len(CLASSES)]

    def run(folder: Path) -> Found:
        assert list(folder.iterdir()) == []
        (folder / "left").touch()
        return judged(lambda: _end(kind))

    return Case(kind, run)


CAMPAIGNS = (Campaign("endings", len(CLASSES), len(CLASSES), _case, seconds=6),)
