"""The coverage of intervals and bands, exact by summing binomial probabilities."""

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.arguments import check_level, check_whole, number_list
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Floats
from nci_frames.evaluation.rates.intervals import Interval, rate_interval
from nci_frames.schemas import BAND_COVERAGE, INTERVAL_COVERAGE
from nci_frames.schemas.checked import checked

#: The outcomes that are not too improbable to count are as many as the square root of this, times 10.
_MOST_ROWS = 10**12


@checked
def interval_coverage(
    rate: float | Sequence[float], *, trials: int, interval: Interval = "wilson", level: float = 0.95
) -> pl.DataFrame:
    """Return the probability that the interval of a rate encloses the true rate.

    Parameters
    ----------
    rate
        True rates, each in [0, 1].
    trials
        Rows of the class in the test set, 1 to 10¹².
    interval
        As in ``compute_rates``.
    level
        Nominal confidence of the interval, in (0, 1).

    Returns
    -------
    A row per rate, in the given order:

    %(columns of interval coverage)s

    Raises
    ------
    ParameterError
        If a rate, the level or the trials are out of range, or the interval unknown.

    Notes
    -----
    The sum of the binomial probabilities of all outcomes whose interval encloses the rate; no simulation.

    References
    ----------
    Brown, Cai and DasGupta (2001), doi:10.1214/ss/1009213286.

    Examples
    --------
    With 5 hits expected in 100 trials, the exact interval is conservative; Wilson's is near its level.

    >>> import nci_frames as nf
    >>> [
    ...     round(nf.interval_coverage(0.05, trials=100, interval=name)["coverage"].item(), 4)
    ...     for name in ("clopper_pearson", "wilson")
    ... ]
    [0.9826, 0.9659]
    """
    rates = number_list(rate)
    check_whole("trials", trials, 1, _MOST_ROWS)
    rows = []
    for p in rates:
        chance, lower, upper = _outcomes("rate", p, trials, interval, level)
        covered = float(chance[_encloses(lower, upper, p)].sum())
        rows.append((interval, float(level), trials, p, covered, float((chance * (upper - lower)).sum())))
    table = pl.DataFrame(rows, schema=INTERVAL_COVERAGE.dtypes(), orient="row")
    return INTERVAL_COVERAGE.finish(table)


@checked
def band_coverage(
    *,
    tpr: float,
    fpr: float,
    positives: int,
    negatives: int,
    interval: Interval = "wilson",
    level: float = 0.95,
) -> pl.DataFrame:
    """Return the probability that the precision band of a test set encloses the true precision.

    Parameters
    ----------
    tpr, fpr
        True rates, each in (0, 1].
    positives, negatives
        Rows of each class in the test set, 1 to 10¹².
    interval
        Interval method for the rates, as in ``compute_rates``.
    level
        Confidence of each rate's interval, in (0, 1).

    Returns
    -------
    One row:

    %(columns of band coverage)s

    If both bounds enclose their rates, every monotone metric is in its band, at every prevalence and beta
    at once.

    Raises
    ------
    ParameterError
        If a rate, a size or the level is out of range, or the interval unknown.

    Notes
    -----
    At odds o precision is o·L/(1+o·L) with L = TPR/FPR, and the band's edges are the same with L- =
    TPR_lower/FPR_upper and L+ = TPR_upper/FPR_lower. So precision is in the band at one prevalence in (0, 1)
    if and only if it is at all of them, namely if L- ≤ L ≤ L+. That is more probable than both rates being in
    their intervals, because errors of the two can cancel. The probabilities are exact sums over both binomial
    distributions.

    References
    ----------
    Brabec et al. (2020), Corollary 1, doi:10.1007/978-3-030-50423-6_6.

    Examples
    --------
    For two 95 % intervals the corollary gives 0.9025. The coverage of the band is higher.

    >>> import nci_frames as nf
    >>> nf.band_coverage(tpr=0.6, fpr=0.001, positives=100, negatives=10_000).select(
    ...     pl.col("corollary", "box_coverage", "band_coverage").round(4)
    ... ).row(0)
    (0.9025, 0.9128, 0.9832)
    """
    for name, rate in (("tpr", tpr), ("fpr", fpr)):
        if rate == 0:
            raise ParameterError.out_of_range(name, rate, "within (0, 1]")
    check_whole("positives", positives, 1, _MOST_ROWS)
    check_whole("negatives", negatives, 1, _MOST_ROWS)
    chance, tpr_lower, tpr_upper = _outcomes("tpr", tpr, positives, interval, level)
    fpr_chance, fpr_lower, fpr_upper = _outcomes("fpr", fpr, negatives, interval, level)
    of_tpr = float(chance[_encloses(tpr_lower, tpr_upper, tpr)].sum())
    of_fpr = float(fpr_chance[_encloses(fpr_lower, fpr_upper, fpr)].sum())
    # Both bounds of FPR grow with the false positives. So, for each count of true positives, the counts of
    # false positives whose band encloses the precision are consecutive: from the first upper bound that is
    # high enough to the last lower bound that is low enough.
    first = np.searchsorted(fpr_upper, tpr_lower * (fpr / tpr) * (1 - 1e-12), side="left")
    last = np.searchsorted(fpr_lower, tpr_upper * (fpr / tpr) * (1 + 1e-12), side="right")
    up_to = np.concatenate([[0.0], np.cumsum(fpr_chance)])
    fitting = np.maximum(up_to[last] - up_to[first], 0.0)
    box, band = of_tpr * of_fpr, float((chance * fitting).sum())
    row = (interval, float(level), of_tpr, of_fpr, float(level) ** 2, box, band)
    table = pl.DataFrame([row], schema=BAND_COVERAGE.dtypes(), orient="row")
    return BAND_COVERAGE.finish(table)


def _encloses(lower: Floats, upper: Floats, rate: float) -> NDArray[np.bool_]:
    """Return which intervals enclose the rate, with a tolerance for rounding of the bounds."""
    return (lower <= rate * (1 + 1e-12)) & (rate <= upper * (1 + 1e-12))


def _outcomes(
    name: str, rate: float, trials: int, interval: Interval, level: float
) -> tuple[Floats, Floats, Floats]:
    """Return the probability and the bounds of every possible number of hits."""
    from scipy.stats import binom  # noqa: PLC0415  (slow to import, and seldom needed)

    if not 0 <= rate <= 1:
        raise ParameterError.out_of_range(name, rate, "within [0, 1]")
    check_level(level)
    # By Bernstein's inequality both tails beyond are below exp(-42), too small to change a sum of doubles.
    reach = 14 + math.sqrt(196 + 84 * trials * rate * (1 - rate))
    low, high = max(0, math.floor(trials * rate - reach)), min(trials, math.ceil(trials * rate + reach))
    hits = np.arange(low, high + 1)
    lower, upper = rate_interval(interval, pl.col("hits"), pl.lit(trials), level=level)
    bounds = pl.DataFrame({"hits": hits}).select(lower=lower, upper=upper)
    chance = np.asarray(binom.pmf(hits, trials, rate), dtype=np.float64)
    return chance, bounds["lower"].to_numpy(), bounds["upper"].to_numpy()
