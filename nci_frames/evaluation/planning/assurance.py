"""The size of a test set -> the share of studies of this size that are as precise as required."""

import bisect
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from nci_frames.base.normal import normal_quantile
from nci_frames.base.typing import Floats
from nci_frames.evaluation.rates.intervals import Interval, rate_interval

#: So many cells of outcomes of each class tell the share to about three digits.
_CELLS = 500
#: Outcomes so many standard deviations from their mean are left out.
_FARTHEST = 9
_HALVINGS = 40
#: Doubles of equal bounds may differ by so much of them.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Promise:
    """What a study must find, at the expected rates: one of the three goals."""

    tpr: float
    fpr: float
    #: Largest half-width of the interval of TPR and of FPR.
    half_widths: tuple[float, float] | None = None
    #: Largest width of the precision band at any prevalence.
    delta: float | None = None
    #: Largest half-width of the precision band at these odds.
    precision: tuple[float, float] | None = None

    def kept(self, interval: Interval, level: float, positives: int, negatives: int) -> float:
        """Return the share of studies of this size that keep the promise."""
        (tpr_share, tpr_low, tpr_high), (fpr_share, fpr_low, fpr_high) = (
            _intervals(interval, level, rate, rows)
            for rate, rows in ((self.tpr, positives), (self.fpr, negatives))
        )
        if self.half_widths is not None:
            of_tpr, of_fpr = (
                width / 2 * (1 - _ROUNDING) for width in (tpr_high - tpr_low, fpr_high - fpr_low)
            )
            held = (of_tpr <= self.half_widths[0])[:, None] & (of_fpr <= self.half_widths[1])
        elif self.delta is not None:
            with np.errstate(divide="ignore"):
                of_tpr, of_fpr = np.log(tpr_high / tpr_low), np.log(fpr_high / fpr_low)
            held = of_tpr[:, None] + of_fpr <= 4 * math.atanh(self.delta) * (1 + _ROUNDING)
        else:
            half_width, odds = self.precision or (1.0, 1.0)
            best, worst = odds * tpr_high[:, None], odds * tpr_low[:, None]
            width = best / (best + fpr_low) - worst / (worst + fpr_high)
            held = width / 2 <= half_width * (1 + _ROUNDING)
        return float(tpr_share @ held @ fpr_share)


def assured_rows(
    promise: Promise, interval: Interval, level: float, assurance: float
) -> tuple[int, int, float]:
    """Return about the fewest positives and negatives that keep a promise often enough, and how often."""
    if promise.half_widths is not None:
        # The classes are independent; each keeps its half so often that both do.
        of_tpr, of_fpr = promise.half_widths
        alone = math.sqrt(assurance)

        def enough(rate: float, half_width: float) -> int:
            one = Promise(rate, rate, half_widths=(half_width, 1.0))
            return _fewest(lambda rows: one.kept(interval, level, rows, 1) >= alone)

        positives, negatives = enough(promise.tpr, of_tpr), enough(promise.fpr, of_fpr)
        return positives, negatives, promise.kept(interval, level, positives, negatives)

    def rows(variation: float) -> tuple[int, int]:
        sizes = (_rows_for(interval, level, rate, variation) for rate in (promise.tpr, promise.fpr))
        positives, negatives = sizes
        return positives, negatives

    # Both rates get the same relative half-width, as in the paper: the largest that keeps the promise.
    low = high = 1.0
    while promise.kept(interval, level, *rows(low)) < assurance:
        high, low = low, low / 2
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        if promise.kept(interval, level, *rows(middle)) >= assurance:
            low = middle
        else:
            high = middle
    return *rows(low), promise.kept(interval, level, *rows(low))


def half_width_at(interval: Interval, level: float, rate: float, rows: int) -> float:
    """Return the half-width of the interval of a rate, if the rate itself is measured."""
    lower, upper = rate_interval(interval, pl.lit(rate * rows), pl.lit(float(rows)), level=level)
    return float(pl.select((upper - lower) / 2).item())


def _fewest(enough: Callable[[int], bool]) -> int:
    """Return a number of rows that is enough, while one fewer is not."""
    high = 1
    while not enough(high):
        high *= 2
    return high // 2 + 1 + bisect.bisect_left(range(high // 2 + 1, high), x=True, key=enough)


def _rows_for(interval: Interval, level: float, rate: float, variation: float) -> int:
    """Return the rows with which the interval at the expected rate has a relative half-width."""
    if interval == "hoeffding":
        return math.ceil(math.log(2 / (1 - level)) / (2 * (variation * rate) ** 2))
    # Wilson's half-width is c times its centre at the root of a quadratic equation in the rows.
    z2, c2 = normal_quantile(level) ** 2, variation**2
    a, b, c = c2 * rate**2, z2 * rate * (c2 - (1 - rate)), z2**2 * (c2 - 1) / 4
    return max(1, math.ceil((-b + math.sqrt(max(b * b - 4 * a * c, 0))) / (2 * a)))


def _intervals(interval: Interval, level: float, rate: float, rows: int) -> tuple[Floats, Floats, Floats]:
    """Return the probabilities of the outcomes of a class, and the bounds of its rate that each gives."""
    from scipy.special import betainc  # noqa: PLC0415  (slow to import, and seldom needed)

    middle, spread = rate * rows, _FARTHEST * (math.sqrt(rows * rate * (1 - rate)) + 1)
    first, last = max(-1, math.floor(middle - spread)), min(rows, math.ceil(middle + spread))
    ends = np.unique(np.linspace(first, last, min(_CELLS, last - first) + 1).astype(np.int64))
    inner = ends.clip(0, rows - 1).astype(np.float64)
    # SciPy's binomial distribution ends at 2**31 rows, the beta function does not.
    below = np.where(ends < 0, 0.0, np.where(ends >= rows, 1.0, betainc(rows - inner, inner + 1, 1 - rate)))
    hits = (ends[:-1] + 1 + ends[1:]) / 2
    lower, upper = rate_interval(interval, pl.col("hits"), pl.lit(float(rows)), level=level)
    bounds = pl.DataFrame({"hits": hits}).select(lower=lower, upper=upper)
    return np.diff(below), bounds["lower"].to_numpy(), bounds["upper"].to_numpy()
