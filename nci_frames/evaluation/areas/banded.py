"""Simultaneous bounds of TPR and FPR -> the two curves that enclose the ROC curve, and the areas of these.

If the rates of every threshold are within their bounds, the ROC curve lies between the curve of the lowest
TPR and highest FPR of each threshold, and that of the highest TPR and lowest FPR. Between two thresholds only
their order is known, as in certified bounds; so the certified bounds of the two curves enclose every area.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

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
