"""Slow and simple ways to compute what the project computes, which several tests compare it with."""

import itertools
from typing import Any

import numpy as np

from tests.logs import repeated_log

#: Whole numbers of 64 bits.
MASK = 2**64 - 1


def splitmix(value: int) -> int:
    """SplitMix64's finaliser, in Python's whole numbers."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def average_precision(positives: Any, negatives: Any, eta: float) -> float:
    found = 0.0
    for score, tied in zip(*np.unique(positives, return_counts=True), strict=True):
        tpr, fpr = (positives >= score).mean(), (negatives >= score).mean()
        found += tied / len(positives) * eta * tpr / (eta * tpr + (1 - eta) * fpr)
    return float(found)


def areas_by_hand(metric: str, model: str, eta: float | None) -> list[float]:
    """Return the area of each repeat from its rows, in plain NumPy."""
    found = []
    for _, rows in repeated_log().filter(model=model).group_by("repeat", maintain_order=True):
        positive, score = rows["label"].to_numpy(), rows["score"].to_numpy()
        if metric == "pr_auc":
            assert eta is not None
            found.append(average_precision(score[positive], score[~positive], eta))
        else:
            pairs = score[positive][:, None] - score[~positive][None, :]
            found.append(float((pairs > 0).mean() + (pairs == 0).mean() / 2))
    return found


def bonferroni_closed(p_values: list[float]) -> list[float]:
    """Reject a hypothesis if Bonferroni rejects every set that it is in: that is Holm's test."""
    tests = range(len(p_values))
    sets = [s for size in tests for s in itertools.combinations(tests, size + 1)]
    return [max(min(1, len(s) * min(p_values[j] for j in s)) for s in sets if i in s) for i in tests]
