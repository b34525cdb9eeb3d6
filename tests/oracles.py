"""Slow and simple ways to compute what the project computes, which several tests compare it with."""

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from tests.logs import repeated_log

#: Whole numbers of 64 bits.
MASK = 2**64 - 1


def splitmix(value: int) -> int:
    """SplitMix64's finaliser, in Python's whole numbers."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def areas_of_repeats(metric: str, model: str, eta: float | None) -> list[float]:
    """Return the area of each repeat of ``repeated_log`` by scikit-learn."""
    found = []
    for _, rows in repeated_log().filter(model=model).group_by("repeat", maintain_order=True):
        label, score = rows["label"].to_numpy(), rows["score"].to_numpy()
        if metric == "roc_auc":
            found.append(roc_auc_score(label, score))
        else:
            assert eta is not None
            weight = np.where(label, eta / label.mean(), (1 - eta) / (1 - label.mean()))
            found.append(average_precision_score(label, score, sample_weight=weight))
    return found
