"""Counts at distinct scores: one group, several at once, and sums of weights, against plain Python."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from nci_frames.counting.engine.distinct import Rows, count_distinct

SCORES = st.sampled_from([-np.inf, -1.5, -0.0, 0.0, 1e-300, 0.5, 7.0, np.inf])
ROWS = st.lists(st.tuples(st.integers(0, 2), SCORES, st.booleans()), min_size=1, max_size=40)


def counted(
    rows: list[tuple[int, float, bool]], weights: list[float] | None = None
) -> list[tuple[float, ...]]:
    numbers, scores, labels = (np.array(column) for column in zip(*rows, strict=True))
    _, numbers = np.unique(numbers, return_inverse=True)
    some = Rows(
        int(numbers.max()) + 1,
        numbers.astype(np.uint16),
        scores,
        labels,
        None if weights is None else np.array(weights),
    )
    sizes, columns = count_distinct(some)
    group = np.repeat(np.arange(some.groups), sizes)
    return [tuple(row) for row in zip(*(column.tolist() for column in (group, *columns)), strict=True)]


def brute_force(rows: list[tuple[int, float, bool]], weights: list[float]) -> list[tuple[float, ...]]:
    found = []
    for place, group in enumerate(sorted({number for number, _, _ in rows})):
        mine = [(s, y, w) for (n, s, y), w in zip(rows, weights, strict=True) if n == group]
        for at in sorted({score for score, _, _ in mine}):
            cells = [
                sum(w for s, y, w in mine if y == label and (s >= at) == reached)
                for reached, label in ((True, True), (True, False), (False, True), (False, False))
            ]
            found.append((place, at, *cells))
    return found


@example(rows=[(0, 0.5, True)])
@example(rows=[(0, 0.5, False), (1, 0.5, True), (1, -0.0, True), (1, 0.0, False)])
@given(rows=ROWS)
def test_rows_are_counted_at_every_distinct_score(rows: list[tuple[int, float, bool]]) -> None:
    ones = [1] * len(rows)
    assert counted(rows) == brute_force(rows, ones)  # type: ignore[arg-type]
    alone = [(0, score, label) for _, score, label in rows]
    assert counted(alone) == brute_force(alone, ones)  # type: ignore[arg-type]


@given(rows=ROWS, seed=st.integers(0, 9))
def test_weights_are_summed(rows: list[tuple[int, float, bool]], seed: int) -> None:
    weights = np.random.default_rng(seed).integers(0, 50, len(rows)).tolist()
    assert counted(rows, weights) == brute_force(rows, weights)
