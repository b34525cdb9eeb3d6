"""Cases -> outcomes, several at a time."""

import queue
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.fuzz.campaign import CLEAN, RIGHT, Campaign, Found
from tests.fuzz.guard import Guard
from tests.fuzz.known_limits import is_known


@dataclass(frozen=True)
class Outcome:
    """What came of a case."""

    campaign: str
    number: int
    label: str
    found: Found
    seconds: float

    @property
    def known(self) -> bool:
        return is_known(self.campaign, self.label, self.found)

    @property
    def fails(self) -> bool:
        return self.found.kind not in (CLEAN, RIGHT) and not self.known


def run_cases(wanted: Sequence[tuple[Campaign, int]], seed: int, workers: int) -> Iterator[Outcome]:
    """Run cases in so many processes; yield the outcomes as they come."""
    todo: queue.SimpleQueue[tuple[Campaign, int]] = queue.SimpleQueue()
    for case in wanted:
        todo.put(case)
    done: queue.SimpleQueue[Outcome | BaseException] = queue.SimpleQueue()
    threads = [threading.Thread(target=_work, args=(seed, todo, done), daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for _ in wanted:
        outcome = done.get()
        if isinstance(outcome, BaseException):
            raise outcome
        yield outcome
    for thread in threads:
        thread.join()


def _work(
    seed: int,
    todo: "queue.SimpleQueue[tuple[Campaign, int]]",
    done: "queue.SimpleQueue[Outcome | BaseException]",
) -> None:
    try:
        with Guard(seed) as guard:
            while True:
                try:
                    campaign, number = todo.get_nowait()
                except queue.Empty:
                    return
                begun = time.monotonic()
                label, found = guard.run(campaign, number)
                done.put(Outcome(campaign.name, number, label, found, time.monotonic() - begun))
    except BaseException as error:
        done.put(error)
