"""Work on several threads gives what a loop gives."""

import threading
from collections.abc import Iterator
from contextvars import ContextVar

import pytest

from nci_frames.base.threads import map_in_threads


def test_the_order_is_that_of_the_items() -> None:
    differences = map_in_threads(lambda a, b: a - b, range(1000), iter(range(1000, 0, -1)))
    assert list(differences) == list(range(-1000, 1000, 2))


def test_items_are_taken_only_a_few_ahead() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for item in range(100):
            taken.append(item)
            yield item

    found = map_in_threads(str, items())
    assert next(found) == "0"
    assert taken == [0, 1, 2, 3, 4]


def test_calls_run_at_the_same_time_with_the_context_of_the_caller() -> None:
    both = threading.Barrier(2, timeout=10)
    depth = ContextVar("depth", default=0)
    depth.set(3)

    def met(_: int) -> int:
        both.wait()
        return depth.get()

    assert list(map_in_threads(met, range(2))) == [3, 3]


def test_an_error_ends_the_work() -> None:
    with pytest.raises(ZeroDivisionError):
        list(map_in_threads(lambda a: 1 // a, [1, 0, 1]))
