"""The size of a test set -> the share of studies of this size that reach the required precision."""

import bisect
import math
from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
import polars as pl

from nci_frames.base.binomial import at_most
from nci_frames.base.normal import normal_quantile
from nci_frames.base.typing import Flags, Floats
from nci_frames.evaluation.rates.intervals import Interval, rate_interval

#: Cells of outcomes of each class, which give the share to about three digits.
_CELLS = 500
#: Outcomes more than this number of standard deviations from their mean are ignored.
_FARTHEST = 9
_HALVINGS = 40
#: Relative rounding error of equal bounds.
_ROUNDING = 1e-9

#: Tells whether a promise is kept, from the lower and upper bounds of TPR (outcomes of the positives, along
#: rows) and of FPR (outcomes of the negatives).
Held = Callable[[Floats, Floats, Floats, Floats], Flags]


class Promise(NamedTuple):
    """The precision that a study must reach, at the expected rates."""

    tpr: float
    fpr: float
    #: Half-widths of TPR and FPR that keep the promise in a study that measures the expected rates.
    half_widths: tuple[float, float]
    held: Held
    #: Whether the promise is one about each rate separately.
    apart: bool = False

    @classmethod
    def of_rates(cls, tpr: float, fpr: float, half_widths: tuple[float, float]) -> Self:
        """Promise that the intervals of the rates have at most these half-widths."""

        def held(tpr_low: Floats, tpr_high: Floats, fpr_low: Floats, fpr_high: Floats) -> Flags:
            narrow = (tpr_high - tpr_low) / 2 * (1 - _ROUNDING) <= half_widths[0]
            return np.asarray(narrow & ((fpr_high - fpr_low) / 2 * (1 - _ROUNDING) <= half_widths[1]))

        return cls(tpr, fpr, half_widths, held, apart=True)

    @classmethod
    def of_band(cls, tpr: float, fpr: float, delta: float) -> Self:
        """Promise that the precision band is at most *delta* wide at every prevalence."""

        def held(tpr_low: Floats, tpr_high: Floats, fpr_low: Floats, fpr_high: Floats) -> Flags:
            width = np.log(tpr_high / tpr_low) + np.log(fpr_high / fpr_low)
            return np.asarray(width <= 4 * math.atanh(delta) * (1 + _ROUNDING))

        return cls(tpr, fpr, (delta * tpr, delta * fpr), held)

    @classmethod
    def of_precision(cls, tpr: float, fpr: float, half_width: float, prevalence: float) -> Self:
        """Promise that the precision band has at most this half-width at a prevalence."""
        odds = prevalence / (1 - prevalence)

        def held(tpr_low: Floats, tpr_high: Floats, fpr_low: Floats, fpr_high: Floats) -> Flags:
            best, worst = odds * tpr_high, odds * tpr_low
            width = best / (best + fpr_low) - worst / (worst + fpr_high)
            return np.asarray(width / 2 <= half_width * (1 + _ROUNDING))

        cv = _coefficient_of_variation(half_width, odds * tpr / fpr)
        return cls(tpr, fpr, (cv * tpr, cv * fpr), held)

    def kept(self, interval: Interval, level: float, positives: int, negatives: int) -> float:
        """Return the share of studies of this size that keep the promise."""
        tpr_share, *of_tpr = _intervals(interval, level, self.tpr, positives)
        fpr_share, *of_fpr = _intervals(interval, level, self.fpr, negatives)
        held = self.held(*(bound[:, None] for bound in of_tpr), *of_fpr)
        return float(tpr_share @ held @ fpr_share)


def assured_rows(
    promise: Promise, interval: Interval, level: float, assurance: float
) -> tuple[int, int, float]:
    """Return nearly the fewest positives and negatives that keep a promise often enough, and how often."""
    if promise.apart:
        # The classes are independent, so the probability is a product: each needs the square root.
        alone = math.sqrt(assurance)

        def enough(rate: float, half_width: float) -> int:
            one = Promise.of_rates(rate, rate, (half_width, 1.0))
            return _fewest(lambda rows: one.kept(interval, level, rows, 1) >= alone)

        positives, negatives = map(enough, (promise.tpr, promise.fpr), promise.half_widths)
        return positives, negatives, promise.kept(interval, level, positives, negatives)

    def rows(variation: float) -> tuple[int, ...]:
        return tuple(_rows_for(interval, level, rate, variation) for rate in (promise.tpr, promise.fpr))

    def share(variation: float) -> float:
        return promise.kept(interval, level, *rows(variation))

    # Both rates get the same relative half-width, as in the paper: the largest that keeps the promise.
    low = high = 1.0
    while share(low) < assurance:
        high, low = low, low / 2
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if share(middle) >= assurance else (low, middle)
    positives, negatives = rows(low)
    return positives, negatives, share(low)


def half_width_at(interval: Interval, level: float, rate: float, rows: int) -> float:
    """Return the half-width of the interval of a rate, if the rate itself is measured."""
    lower, upper = rate_interval(interval, pl.lit(rate * rows), pl.lit(float(rows)), level=level)
    return float(pl.select((upper - lower) / 2).item())


def _fewest(enough: Callable[[int], bool]) -> int:
    """Return the least number of rows that is enough."""
    high = 1
    while not enough(high):
        high *= 2
    return high // 2 + 1 + bisect.bisect_left(range(high // 2 + 1, high), x=True, key=enough)


def _rows_for(interval: Interval, level: float, rate: float, variation: float) -> int:
    """Return the rows at which the interval of the expected rate has this relative half-width."""
    if interval == "hoeffding":
        return math.ceil(math.log(2 / (1 - level)) / (2 * (variation * rate) ** 2))
    # Wilson's half-width is c times its centre at the root of a quadratic equation in the rows.
    z2, c2 = normal_quantile(level) ** 2, variation**2
    a, b, c = c2 * rate**2, z2 * rate * (c2 - (1 - rate)), z2**2 * (c2 - 1) / 4
    return max(1, math.ceil((-b + math.sqrt(max(b * b - 4 * a * c, 0))) / (2 * a)))


def _intervals(interval: Interval, level: float, rate: float, rows: int) -> tuple[Floats, Floats, Floats]:
    """Return the probabilities of the outcomes of a class, and the bounds of its rate that each gives."""
    middle, spread = rate * rows, _FARTHEST * (math.sqrt(rows * rate * (1 - rate)) + 1)
    first, last = max(-1, math.floor(middle - spread)), min(rows, math.ceil(middle + spread))
    ends = np.unique(np.linspace(first, last, min(_CELLS, last - first) + 1).astype(np.int64))
    hits = (ends[:-1] + 1 + ends[1:]) / 2
    lower, upper = rate_interval(interval, pl.col("hits"), pl.lit(float(rows)), level=level)
    bounds = pl.DataFrame({"hits": hits}).select(lower=lower, upper=upper)
    return np.diff(at_most(ends, rows, rate)), bounds["lower"].to_numpy(), bounds["upper"].to_numpy()


def _coefficient_of_variation(half_width: float, odds: float) -> float:
    """Return the CV of both rates at which the precision band has this half-width at these odds."""
    middle = half_width * (1 + odds**2)
    root = math.sqrt(middle**2 + odds**2 * (1 - 4 * half_width**2))
    # g - 1 = (middle + root - odds·(1-2w)) / (odds·(1-2w)) for the root g of the quadratic equation.
    one = odds * (1 - 2 * half_width)
    return (middle + root - one) / (middle + root + one)
