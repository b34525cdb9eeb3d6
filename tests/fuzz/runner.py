"""Cases -> outcomes, several at a time."""

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

from tests.fuzz.campaign import CLEAN, RIGHT, SILENT, Campaign, Found
from tests.fuzz.guard import Guard


@dataclass(frozen=True)
class Outcome:
    """What came of a case."""

    campaign: Campaign
    number: int
    label: str
    found: Found
    seconds: float

    @property
    def known(self) -> bool:
        return self.found.kind == SILENT and bool(self.campaign.silent)

    @property
    def fails(self) -> bool:
        return self.found.kind not in (CLEAN, RIGHT) and not self.known


def run_cases(wanted: Sequence[tuple[Campaign, int]], seed: int, workers: int) -> Iterator[Outcome]:
    """Run cases in so many processes; yield the outcomes in the order of the cases."""
    own = threading.local()
    with ExitStack() as guards, ThreadPoolExecutor(workers) as pool:

        def run(case: tuple[Campaign, int]) -> Outcome:
            if not hasattr(own, "guard"):
                own.guard = guards.enter_context(Guard(seed))
            begun = time.monotonic()
            label, found = own.guard.run(*case)
            return Outcome(*case, label, found, time.monotonic() - begun)

        yield from pool.map(run, wanted)
