"""Independent work on several threads."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from itertools import chain, islice, starmap
from typing import Any, TypeVar

import polars as pl

_Result = TypeVar("_Result")


def map_in_threads(function: Callable[..., _Result], /, *items: Iterable[Any]) -> Iterator[_Result]:
    """Yield the results of ``map(function, *items)`` in order, from as many threads as Polars uses.

    NumPy releases the GIL while it computes. Items are taken a few ahead only, as they may be large. Each
    call has the context variables of the caller.

    >>> [*map_in_threads(pow, range(4), range(4))]
    [1, 1, 4, 27]
    """
    given = zip(*items, strict=False)
    some = [*islice(given, 2)]
    if len(some) < 2:
        yield from starmap(function, some)
        return
    threads = pl.thread_pool_size()
    running: deque[Future[_Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for item in chain(some, given):
            running.append(pool.submit(copy_context().run, function, *item))
            if len(running) > 2 * threads:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
