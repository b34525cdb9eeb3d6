"""Simultaneous bounds of TPR and FPR -> the two curves that enclose the ROC curve, and the areas of these.

If the rates of every threshold are within their bounds, the ROC curve lies between the curve of the lowest
TPR and highest FPR of each threshold, and that of the highest TPR and lowest FPR. Between two thresholds only
their order is known, as in certified bounds; so the certified bounds of the two curves enclose every area.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from nci_frames.base.typing import Floats
from nci_frames.evaluation.arrays.roc_steps import Curves, curve_parts


@dataclass(frozen=True, slots=True)
class Band:
    """The curves of some groups, and those that enclose them."""

    lowest: Curves
    highest: Curves


def band_parts(rates: pl.DataFrame, keys: list[str]) -> Iterator[Callable[[], Band]]:
    """Return the bands of bounded rates, sorted by *keys* and threshold, in the parts of ``curve_parts``."""
    lowest, highest = (
        # A class of one row, of which so much is above the threshold.
        rates.select(*keys, "threshold", tp=tpr, fp=fpr, fn=1 - pl.col(tpr), tn=1 - pl.col(fpr))
        for tpr, fpr in (("tpr_lower", "fpr_upper"), ("tpr_upper", "fpr_lower"))
    )
    for low, high in zip(curve_parts(lowest, keys), curve_parts(highest, keys), strict=True):
        yield lambda low=low, high=high: Band(_unknown_between(low()), _unknown_between(high()))  # type: ignore[misc]


def _unknown_between(curves: Curves) -> Curves:
    """Return curves of which nothing is known between two points."""
    return replace(curves, tied=np.zeros(len(curves.tied), np.bool_))


def highest_average_precision(rising: Curves, eta: float | Floats) -> Floats:
    """Return the largest average precision of curves below these, of the steps in which TPR grows.

    At a recall r, precision is that of the first score that reaches it. If its rows are tied, they end at a
    higher recall, perhaps at one of a later step, where precision may be higher.
    """
    of_step = np.repeat(eta, rising.size) if isinstance(eta, np.ndarray) else eta
    with np.errstate(invalid="ignore", divide="ignore"):
        true = of_step * rising.tpr1
        precision = true / (true + (1 - of_step) * rising.fpr0)
    for start, size in zip(rising.start, rising.size, strict=True):
        later = precision[start : start + size][::-1]
        np.maximum.accumulate(later, out=later)
    return rising.sum((rising.tpr1 - rising.tpr0) * precision)
