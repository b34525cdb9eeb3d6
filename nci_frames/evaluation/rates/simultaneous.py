"""Intervals of a rate that hold at every threshold at once: a band with equal local levels.

If the scores of a class are independent, the shares of the population above them are order statistics of
uniform numbers, whatever the distribution of the scores. The interval at each threshold is that of Clopper
and Pearson, at one local level such that all intervals hold at once with the requested level. Ties and few
thresholds only omit some of the intervals, so the band still holds.
"""

import math
from functools import lru_cache

import numpy as np
import polars as pl

from nci_frames.base.typing import Floats
from nci_frames.evaluation.rates.intervals import Bounds, exact_interval

#: The local level is exact up to 64 rows; beyond, it is interpolated between powers of 2 up to 1024 = 2^10.
_EXACT = 64
_LARGEST_NODE = 10
#: Above this level the Bonferroni correction is exact, up to rounding.
_CERTAIN = 1 - 1e-8
#: Keeps probabilities away from 0 and 1, whose logarithms cannot be used.
_LEAST = 1e-16


def simultaneous_interval(hits: pl.Expr, trials: pl.Expr, rows: pl.Expr, *, level: float) -> Bounds:
    """Return the bounds of a rate at every threshold as expressions; null where there are no trials.

    Parameters
    ----------
    hits, trials
        Numbers, hits <= trials; not whole for effective numbers of rows.
    rows
        Number of rows of the class, hence of intervals that hold at once.
    level
        Confidence of all intervals together, in (0, 1).
    """

    def tails(sizes: pl.Series) -> pl.Series:
        known = {size: local_alpha(int(size), level) / 2 for size in sizes.unique() if (size or 0) >= 1}
        return sizes.replace_strict(known, default=None, return_dtype=pl.Float64)

    return exact_interval(hits, trials, rows.map_batches(tails, return_dtype=pl.Float64))


@lru_cache(maxsize=4096)
def local_alpha(rows: int, level: float) -> float:
    """Return the error rate of each interval such that all hold at once with probability *level*.

    >>> round(local_alpha(1, 0.95), 4), round(local_alpha(1000, 0.95), 6)
    (0.05, 0.001071)
    """
    if level > _CERTAIN:
        return (1 - level) / rows
    return min(-math.log(level) / _effective_number(rows, level), 1.0)


def _effective_number(rows: int, level: float) -> float:
    """Return -log(level) over the local error rate: the number of independent intervals in the band.

    It is nearly linear in x·log(x) with x = log(rows), so it is interpolated and extrapolated: within 1 % up
    to 100,000 rows.
    """
    if rows <= _EXACT:
        return -math.log(level) / _exact_alpha(rows, level)
    end = 2 ** min((rows - 1).bit_length(), _LARGEST_NODE)
    begin = end // 2
    at_begin, at_end = (-math.log(level) / _exact_alpha(size, level) for size in (begin, end))
    share = (_scale(rows) - _scale(begin)) / (_scale(end) - _scale(begin))
    return at_begin + share * (at_end - at_begin)


def _scale(rows: float) -> float:
    x = math.log(rows)
    return x * math.log(x)


@lru_cache(maxsize=256)
def _exact_alpha(rows: int, level: float) -> float:
    from scipy.optimize import brentq  # noqa: PLC0415  (slow to import, and seldom needed)

    def excess(log_alpha: float) -> float:
        # On this scale the function is nearly linear, so few evaluations suffice.
        probability = min(max(_probability(rows, math.exp(log_alpha)), _LEAST), 1 - _LEAST)
        return math.log(math.log(probability) / math.log(level))

    # Each of n order statistics fails with probability alpha; together they fail with at most n·alpha.
    lowest, highest = math.log((1 - level) / rows) - 1e-3, min(math.log(1 - level) + 1e-3, 0.0)
    return math.exp(brentq(excess, lowest, highest, xtol=1e-9))


def _probability(rows: int, alpha: float) -> float:
    """Return the probability that all order statistics of uniform numbers are within their intervals.

    The number of values below t is a Poisson process as t passes the bounds of all intervals, conditioned on
    its final value; states that an interval excludes are dropped. This is the recursion of Moscovich and
    Nadler (2017), doi:10.1016/j.spl.2016.11.027, with plain convolutions.
    """
    from scipy.special import betainccinv, betaincinv, gammaln  # noqa: PLC0415  (as above)

    rank = np.arange(1, rows + 1)
    lower = betaincinv(rank, rows + 1 - rank, alpha / 2)
    upper = betainccinv(rank, rows + 1 - rank, alpha / 2)
    times = np.concatenate([lower, upper])
    log_factorial = gammaln(np.arange(8 * rows + 64) + 1.0)
    state, least, most, now, log_scale = np.ones(1), 0, 0, 0.0, 0.0
    for event in np.argsort(times, kind="stable"):
        mean = (times[event] - now) * rows
        now = times[event]
        state = np.convolve(state, _poisson(mean, log_factorial))
        if event < rows:
            # Before this lower bound, at most *most* values are allowed.
            state = state[: most - least + 1]
            most += 1
        else:
            state = state[1:][: most - least]
            least += 1
        total = state.sum()
        if not total > 0:
            return 0.0
        state /= total
        log_scale += math.log(total)
    missing = rows - least - np.arange(len(state))
    last = _poisson((1 - now) * rows, log_factorial, int(missing.max(initial=0)) + 1)
    left = float((state * np.where(missing >= 0, last[np.maximum(missing, 0)], 0.0)).sum())
    if left <= 0:
        return 0.0
    log_total = -rows + rows * math.log(rows) - float(gammaln(rows + 1.0))
    return math.exp(log_scale + math.log(left) - log_total)


def _poisson(mean: float, log_factorial: Floats, size: int | None = None) -> Floats:
    """Return Poisson probabilities of 0, 1, ... events, up to *size* or until they are negligible."""
    number = np.arange(int(mean + 12 * math.sqrt(mean) + 16) if size is None else size)
    if mean <= 0:
        return np.asarray(number == 0, np.float64)
    return np.asarray(np.exp(number * math.log(mean) - mean - log_factorial[: len(number)]))
