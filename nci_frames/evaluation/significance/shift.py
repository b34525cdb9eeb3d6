"""Counts -> tests of what projection assumes: each class has the same score distribution everywhere.

A projection to another prevalence assumes that only the class balance changes, and that the score
distributions of the positives and of the negatives stay the same.
"""

from collections.abc import Iterable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.arguments import check_level
from nci_frames.counts.pooling import pool_counts
from nci_frames.errors import ParameterError, SchemaError
from nci_frames.evaluation.arrays.histograms import Histogram, histograms, whole_counts
from nci_frames.evaluation.significance.corrections import holm
from nci_frames.schemas import COUNTS, SHIFTS
from nci_frames.typing import Floats

__all__ = ["check_projection"]

Rows = NDArray[np.int64]

_LEAST_ROWS = 10
_MOST_CELLS = 20
_LEAST_EXPECTED = 5

#: Up to this size the distribution of the distance is exact; above it, its limit with Stephens's correction.
_MOST_EXACT = 2_000


def check_projection(
    counts: pl.DataFrame | pl.LazyFrame, /, *, over: str, level: float = 0.95
) -> pl.DataFrame:
    """Test whether each class has the same score distribution in all segments or periods.

    Every value of a key is tested against all other values together, separately for positives and negatives.

    Parameters
    ----------
    counts
        A counts frame of whole rows with the key *over*.
    over
        The key whose values are compared, such as the country or the month.
    level
        A difference is found if the adjusted p-value is below 1 - level.

    Returns
    -------
    A row per group, class and test, sorted by all columns left of ``rows``:

    =========== ======= ================================================= =================================
    column      dtype   meaning                                           null where
    =========== ======= ================================================= =================================
    model, keys          as in *counts*                                   as in *counts*
    class       String  "positive" or "negative"                          never
    test        String  "ks" or "chi_square"                              never
    rows        Int64   rows of the class that have this value of *over*  never
    statistic   Float64 ks: the maximum distance between the two shares   *reason* says why
                        of scores >= a threshold (for positives, between
                        two TPRs; for negatives, two FPRs), in [0, 1];
                        chi_square: Pearson's
    p_value     Float64 of this test alone                                *reason* says why
    adjusted    Float64 Holm's, over all values and classes of a model    *reason* says why
    verdict     String  "differs" or "no difference found"                *reason* says why
    reason      String  why there is no test                              there is one
    =========== ======= ================================================= =================================

    Raises
    ------
    ParameterError
        If the level is outside (0, 1), the counts are sums of weights, *over* has only one value, or its
        values were counted at different thresholds.
    SchemaError
        If *counts* is not a counts frame, or lacks the key *over*.

    Notes
    -----
    No difference found does not prove that there is none: tests on few rows have little power. With many rows
    even a tiny difference is found; the statistic of "ks" says how large it is. On a grid the distance is
    taken at the thresholds only, and tied scores make it smaller, so its p-value is too large rather than too
    small. The chi-square test merges neighbouring bins into at most 20 cells of about equal size, each with
    an expected number of at least 5. The p-value of the distance is exact up to a size m·n/(m+n) of 2,000;
    above it, it is Kolmogorov's limit with Stephens's correction, which is within 3 percent of the exact one
    if that is below 0.1.

    References
    ----------
    Stephens (1970), Journal of the Royal Statistical Society B 32(1), 115-122;
    Moreno-Torres et al. (2012), section 4 (prior probability shift), doi:10.1016/j.patcog.2011.06.019;
    Hodges (1958), doi:10.1007/BF02589501.

    Examples
    --------
    In May more negatives reach the threshold than in April; the positives may be unchanged.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": "a", "month": ["April", "May"], "threshold": 0.5,
    ...     "tp": [60, 55], "fp": [10, 40], "fn": [40, 45], "tn": [990, 960],
    ... })
    >>> found = nf.check_projection(counts, over="month").filter(test="chi_square", month="May")
    >>> found.select("class", pl.col("statistic", "adjusted").round(4), "verdict").rows()
    [('negative', 18.4615, 0.0001, 'differs'), ('positive', 0.5115, 0.949, 'no difference found')]
    """
    check_level(level)
    frame = whole_counts(counts)
    keys = COUNTS.keys(frame.columns)
    few = f"fewer than {_LEAST_ROWS} rows, here or elsewhere"
    if over not in keys:
        raise SchemaError.missing_column(over, "over", "the keys of the counts frame", keys)
    families = _families(frame, over)
    if not families:
        return SHIFTS.empty(frame.select("model", *keys))
    tables = [_tested(pooled, members) for pooled, members in families]
    adjusted = pl.col("adjusted")
    verdict = pl.when(adjusted < 1 - level).then(pl.lit("differs")).otherwise(pl.lit("no difference found"))
    order = ["model", *keys, "class", "test"]
    table = (
        pl.concat(tables)
        .with_columns(
            verdict=pl.when(adjusted.is_not_null()).then(verdict),
            reason=pl.when(adjusted.is_null()).then(pl.lit(few)),
        )
        .sort(order)
    )
    return SHIFTS.finish(table)


def _families(frame: pl.DataFrame, over: str) -> list[tuple[Histogram, list[Histogram]]]:
    """Return the groups without *over*, each with its member groups."""
    if len(frame) and frame[over].n_unique() < 2:
        msg = f"all rows have the same {over}, so there is nothing to compare"
        raise ParameterError(msg, found=repr(frame[over][0]))
    members: dict[tuple[object, ...], list[Histogram]] = {}
    for histogram in histograms(frame):
        members.setdefault(histogram.group.drop(over).row(0), []).append(histogram)
    return [(pooled, members[pooled.group.row(0)]) for pooled in histograms(pool_counts(frame, over=over))]


def _tested(pooled: Histogram, members: list[Histogram]) -> pl.DataFrame:
    """Test each member against the rest, and adjust the p-values of each test."""
    from scipy.special import chdtrc  # noqa: PLC0415  (what does not need it does not wait for it)

    found = []
    groups = pl.concat(member.group for member in members)
    classes = ("negatives", "positives")
    for name in classes:
        whole = getattr(pooled, name)
        for member in members:
            mine = np.zeros_like(whole)
            mine[member.places_in(pooled)] = getattr(member, name)
            found.append((int(mine.sum()), *_homogeneity(mine, whole - mine), *_distance(mine, whole - mine)))
    table = np.array(found)
    # SciPy's distributions are as fast for arrays as for single numbers.
    chi_square, freedom, distance, size = table[:, 1:].T
    p_values = {
        # All rows are in one cell: these bins show no difference.
        "chi_square": np.where(freedom == 0, 1.0, chdtrc(freedom, chi_square)),
        "ks": _law_of_distance(distance, size),
    }
    labels = [groups.with_columns(pl.lit(name[:-1]).alias("class")) for name in classes]
    rows = pl.concat(labels).with_columns(pl.Series("rows", table[:, 0].astype(np.int64)))
    return pl.concat(
        rows.with_columns(
            pl.lit(test).alias("test"),
            pl.Series("statistic", statistic, nan_to_null=True),
            pl.Series("p_value", p_values[test], nan_to_null=True),
            pl.Series("adjusted", holm(p_values[test]), nan_to_null=True),
        )
        for test, statistic in (("chi_square", chi_square), ("ks", distance))
    )


def _law_of_distance(distance: Floats, size: Floats) -> Floats:
    """Return the probability of so large a distance if both rows of bins have the same distribution."""
    from scipy.special import kolmogorov  # noqa: PLC0415  (as above)
    from scipy.stats import kstwo  # noqa: PLC0415  (as above)

    root = np.sqrt(size)
    limit: Floats = kolmogorov(distance * (root + 0.12 + 0.11 / root))
    # The exact distribution takes time in proportion to the size: seconds for millions of rows.
    small = size <= _MOST_EXACT
    limit[small] = kstwo.sf(distance[small], size[small])
    return np.asarray(np.clip(limit, 0, 1))


def _distance(mine: Rows, others: Rows) -> tuple[float, float]:
    """Return the Kolmogorov-Smirnov distance of two rows of bins and its size m·n/(m+n); NaN for too few."""
    m, n = int(mine.sum()), int(others.sum())
    if min(m, n) < _LEAST_ROWS:
        return np.nan, np.nan
    return float(np.abs(mine.cumsum() / m - others.cumsum() / n).max()), float(np.round(m * (n / (m + n))))


def _homogeneity(mine: Rows, others: Rows) -> tuple[float, float]:
    """Return Pearson's statistic of two rows of bins and its degrees of freedom; NaN for too few rows."""
    m, n = int(mine.sum()), int(others.sum())
    fewest, total = min(m, n), m + n
    if fewest < _LEAST_ROWS:
        return np.nan, np.nan
    cells = min(_MOST_CELLS, fewest // _LEAST_EXPECTED)
    both = mine + others
    cell = np.minimum((both.cumsum() - both / 2) * cells // total, cells - 1).astype(np.int64)
    summed = (np.bincount(cell, weights=rows, minlength=cells).tolist() for rows in (mine, others))
    table = _merged(zip(*summed, strict=True), _LEAST_EXPECTED * total / fewest)
    expected = np.outer([m / total, n / total], table.sum(axis=0))
    return float(((table - expected) ** 2 / expected).sum()), table.shape[1] - 1.0


def _merged(columns: Iterable[tuple[float, float]], least: float) -> Floats:
    """Merge neighbouring columns until each has a sum of at least *least*."""
    merged = [(0.0, 0.0)]
    for first, second in columns:
        merged[-1] = (merged[-1][0] + first, merged[-1][1] + second)
        if sum(merged[-1]) >= least:
            merged.append((0.0, 0.0))
    rest = merged.pop()
    if merged:
        merged[-1] = (merged[-1][0] + rest[0], merged[-1][1] + rest[1])
    return np.array(merged or [rest]).T
