"""The number of rows at which a measured rate lies within a half-width of the true rate."""

import bisect
import math
import sys

from nci_frames.base.binomial import at_least, at_most

#: Tolerance for rounding, by which n·(rate - half_width) may miss a whole number.
_ROUNDING = 1e-9


def hoeffding_rows(half_width: float, level: float) -> int:
    """Return the number of rows that suffices for any rate."""
    return math.ceil(math.log(2 / (1 - level)) / (2 * half_width**2) - _ROUNDING)


def exact_rows(rate: float, half_width: float, level: float) -> int:
    """Return the smallest number of rows from which on the half-width is always met.

    The probability of missing it is not monotone in the number of rows: it jumps wherever one more outcome
    fits. So find a number that suffices by a smooth bound, then search downwards for the last that fails.
    """
    tail = 1 - level
    rate = min(rate, 1 - rate)  # symmetric: 1 - rate is missed as often

    def suffice(rows: int) -> bool:
        # One outcome less on each side: a bound that holds for any rounding of the limits.
        fewest = rows * (rate - half_width) + 1 if rate > half_width else 0.0
        return _missed(rate, fewest, rows * (rate + half_width) - 1, rows, rows) <= tail

    most = min(hoeffding_rows(half_width, level), sys.maxsize)
    end = 1 + bisect.bisect_left(range(1, most), x=True, key=suffice)
    # With many outcomes one more hardly matters: the bound is too high by less than 1 in 100,000.
    return end if rate > 1e5 * half_width else _last_failure(rate, half_width, tail, end) + 1


def _last_failure(rate: float, half_width: float, tail: float, end: int) -> int:
    """Return the largest number of rows below *end* that misses the half-width too often; 0 if none does."""
    block = 1
    while end > 1:
        block = min(block, end - 1)
        first, last = end - block, end - 1
        fewest = math.ceil(last * (rate - half_width) - _ROUNDING)
        most = math.floor(first * (rate + half_width) + _ROUNDING)
        if _missed(rate, fewest, most, first, last) <= tail:
            end -= block
            block *= 2
        elif block > 1:
            block //= 2
        else:
            return last
    return 0


def _missed(rate: float, fewest: float, most: float, first: int, last: int) -> float:
    """Bound the probability of fewer than *fewest* or more than *most* hits in *first* to *last* rows.

    Hits grow with the rows: too few are most probable in the fewest rows, too many in the most rows. For a
    single number of rows this is the exact probability.
    """
    return float(at_most(fewest - 1, first, rate) + at_least(most + 1, last, rate))
