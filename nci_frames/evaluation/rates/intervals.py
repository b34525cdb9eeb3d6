"""Intervals of a rate from counts: hits among trials.

Each interval is a pair of Polars expressions of hits and trials; beta quantiles use SciPy.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, TypeVar

import numpy as np
import polars as pl

from nci_frames.base.arguments import check_allowed
from nci_frames.base.errors import ParameterError
from nci_frames.base.normal import normal_quantile
from nci_frames.base.threads import map_in_threads
from nci_frames.base.typing import FloatPair, Floats
from nci_frames.schemas import CELLS, checked

Interval = Literal["wilson", "clopper_pearson", "jeffreys", "agresti_coull", "hoeffding"]
AccuracyMethod = Literal["wald", "wilson", "clopper_pearson", "jeffreys", "agresti_coull", "hoeffding"]
Bounds = tuple[pl.Expr, pl.Expr]
Numbers = TypeVar("Numbers", pl.Expr, Floats)

#: Quantiles that a thread computes at a time.
_AT_ONCE = 1 << 14


def require_row_counts(frame: pl.DataFrame) -> None:
    """Raise ParameterError if counts are sums of weights, which are not binomial."""
    if not all(frame.schema[name].is_integer() for name in CELLS):
        found = "sums of weights: their spread is not that of a binomial distribution"
        hint = (
            "cast numbers of rows to Int64; round to 1,000 weights or fewer, or give half_width=(of TPR, of "
            "FPR), e.g. from a bootstrap"
        )
        raise ParameterError("intervals need counts of rows", found=found, hint=hint)


def rate_interval(method: AccuracyMethod, hits: pl.Expr, trials: pl.Expr, *, level: float) -> Bounds:
    """Return the bounds of a rate as expressions, within [0, 1]; null where there are no trials.

    Parameters
    ----------
    method
        Name of the interval.
    hits, trials
        Whole numbers, hits <= trials.
    level
        Confidence of the interval, in (0, 1).
    """
    hits, trials = hits.cast(pl.Float64), trials.cast(pl.Float64)
    return _known(_INTERVALS[method](hits, trials, level), trials)


def _known(bounds: Bounds, trials: pl.Expr) -> Bounds:
    lower, upper = (pl.when(trials > 0).then(bound.clip(0, 1)) for bound in bounds)
    return lower, upper


def exact_interval(hits: pl.Expr, trials: pl.Expr, tail: pl.Expr) -> Bounds:
    """Return Clopper and Pearson's bounds, each with probability *tail* beyond it; null without trials."""
    hits, trials = hits.cast(pl.Float64), trials.cast(pl.Float64)
    return _known(_beta_quantiles(hits, trials - hits, tail, prior=0.0), trials)


def _wald(hits: pl.Expr, trials: pl.Expr, level: float) -> Bounds:
    rate = hits / trials
    half = normal_quantile(level) * (rate * (1 - rate) / trials).sqrt()
    return rate - half, rate + half


def _wilson(hits: pl.Expr, trials: pl.Expr, level: float) -> Bounds:
    return wilson_bounds(hits / trials, trials, normal_quantile(level))


def wilson_bounds(rates: Numbers, trials: Numbers, z: Any) -> tuple[Numbers, Numbers]:
    """Return the Wilson bounds of each rate; *z* is the number of standard errors."""
    z2, hits = z * z, trials * rates
    above = hits + (z2 / 2 + (z2 * (hits * (1 - rates) + z2 / 4)) ** 0.5)
    # The lower bound comes from the known product of the bounds, which avoids cancellation.
    return hits * rates / above, above / (trials + z2)


def exact_bounds(rates: Floats, trials: Floats, z: float | Floats) -> FloatPair:
    """Return Clopper-Pearson bounds of each rate."""
    from scipy.special import betaincinv, ndtr  # noqa: PLC0415  (SciPy is slow to import)

    hits, misses, tail = trials * rates, trials * (1 - rates), ndtr(-np.asarray(z))
    # Quantiles are NaN without hits and for tiny results; the bound is then 0.
    lower = np.nan_to_num(betaincinv(hits, misses + 1, tail))
    return lower, 1 - np.nan_to_num(betaincinv(misses, hits + 1, tail))


def _agresti_coull(hits: pl.Expr, trials: pl.Expr, level: float) -> Bounds:
    z2 = normal_quantile(level) ** 2
    return _wald(hits + z2 / 2, trials + z2, level)


def _hoeffding(hits: pl.Expr, trials: pl.Expr, level: float) -> Bounds:
    half = (math.log(2 / (1 - level)) / (2 * trials)).sqrt()
    return hits / trials - half, hits / trials + half


def _beta(hits: pl.Expr, trials: pl.Expr, level: float, *, prior: float) -> Bounds:
    return _beta_quantiles(hits, trials - hits, pl.lit((1 - level) / 2), prior=prior)


def _beta_quantiles(hits: pl.Expr, misses: pl.Expr, tail: pl.Expr, *, prior: float) -> Bounds:
    """Return quantiles of the beta posterior; with prior 0, the exact (Clopper-Pearson) bounds."""
    from scipy.special import betainccinv, betaincinv  # noqa: PLC0415  (slow to import, and seldom needed)

    outward = 1.0 if prior == 0 else prior
    # Without hits or misses the bound is replaced (below); 1 avoids an error of SciPy.
    hit, miss = (pl.when(rows > 0).then(rows + prior).otherwise(1.0) for rows in (hits, misses))
    lower = _each_row(betaincinv, hit, misses + outward, tail)
    upper = _each_row(betainccinv, hits + outward, miss, tail)
    # Without hits a rate of 0 is possible, without misses a rate of 1.
    return pl.when(hits > 0).then(lower).otherwise(0.0), pl.when(misses > 0).then(upper).otherwise(1.0)


def _each_row(function: np.ufunc, *columns: pl.Expr) -> pl.Expr:
    def found(given: Sequence[pl.Series]) -> pl.Series:
        numbers = np.stack(np.broadcast_arrays(*(column.to_numpy() for column in given)))
        # A microsecond for each: neighbours that are equal are computed once, all others in threads.
        changes = np.append(True, (numbers[:, 1:] != numbers[:, :-1]).any(axis=0))[: len(numbers[0])]
        parts = np.array_split(numbers[:, changes], 1 + changes.sum() // _AT_ONCE, axis=1)
        values = [*map_in_threads(lambda part: function(*part), parts)]
        return pl.Series(np.concatenate(values)[changes.cumsum() - 1], nan_to_null=True)

    # Polars takes a ufunc of expressions, too, but computes it in one thread.
    return pl.map_batches(columns, found, return_dtype=pl.Float64)


_INTERVALS: dict[str, Callable[[pl.Expr, pl.Expr, float], Bounds]] = {
    "wald": _wald,
    "wilson": _wilson,
    "clopper_pearson": partial(_beta, prior=0.0),
    "jeffreys": partial(_beta, prior=0.5),
    "agresti_coull": _agresti_coull,
    "hoeffding": _hoeffding,
}


@checked
def accuracy_interval(
    correct: int, total: int, *, method: AccuracyMethod = "wilson", level: float = 0.95
) -> tuple[float, float]:
    """Return bounds of the accuracy of a classifier, from its number of correct decisions.

    Parameters
    ----------
    correct
        Number of correct decisions, tp + tn; from 0 to *total*.
    total
        Number of rows, at least 1.
    method
        "wilson", "clopper_pearson", "jeffreys", "agresti_coull" or "hoeffding", see ``compute_rates``; or
        "wald", the normal approximation of textbooks.
    level
        Confidence of the interval, in (0, 1).

    Returns
    -------
    The lower and the upper bound, within [0, 1].

    Raises
    ------
    ParameterError
        If *correct* exceeds *total*, the level is outside (0, 1), or the method is unknown.

    Notes
    -----
    The Wald interval is a ± z·√(a·(1-a)/n). Unlike the others, it has length 0 if all decisions are correct
    or all are wrong. At an accuracy of 0.98 and 100 rows, the 95 % Wald interval has coverage 0.87, Wilson's
    0.95.

    References
    ----------
    Brown, Cai and DasGupta (2001), doi:10.1214/ss/1009213286.

    Examples
    --------
    80 of 100 decisions are correct.

    >>> import nci_frames as nf
    >>> [round(bound, 4) for bound in nf.accuracy_interval(80, 100)]
    [0.7112, 0.8666]
    >>> [round(bound, 4) for bound in nf.accuracy_interval(80, 100, method="wald")]
    [0.7216, 0.8784]
    """
    check_allowed(total >= 1, "total", total, "at least 1")
    check_allowed(0 <= correct <= total, "correct", correct, f"within [0, {total}], the total")
    hits, trials = pl.lit(float(correct)), pl.lit(float(total))
    lower, upper = rate_interval(method, hits, trials, level=level)
    row: tuple[float, float] = pl.select(lower=lower, upper=upper).row(0)
    return row
