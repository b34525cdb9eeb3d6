"""Counts by bucket of units -> effective numbers of independent rows of each class."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from nci_frames.base.normal import normal_quantile
from nci_frames.base.typing import FloatPair, Floats, Rows
from nci_frames.counts.pooling import pooled_counts
from nci_frames.evaluation.arrays.buckets import BucketCounts, bucket_counts, even_buckets
from nci_frames.evaluation.rates.intervals import wilson_bounds
from nci_frames.evaluation.rates.strata import WORTH, rates_of_strata
from nci_frames.schemas import COUNTS, beside, has_strata

#: Columns of effective numbers of rows, and of independent rows per row, of each class.
EFFECTIVE = ("__positives", "__negatives")
CLASS_WORTH = ("positives_worth", "negatives_worth")

#: With fewer hits or misses the design effect of a single threshold is too uncertain to be used alone.
FEW_HITS = 10

#: Largest share of rows of unseen units whose rate is taken to lie within that of the units seen. With so few
#: units that the log may lack a larger share, the rate of the excess may be 0 or 1.
COMMON = 0.04


def effective_rows(
    counts: pl.DataFrame,
    units: str,
    groups: Sequence[BucketCounts],
    *,
    level: float,
    least_effect: float = 1.0,
) -> pl.DataFrame:
    """Return the effective number of rows of each class at each threshold, for intervals of rates.

    Parameters
    ----------
    counts
        Counts of rows with the key *units*, of at least 20 values.
    units
        The key whose values are independent of each other.
    groups
        The result of ``bucket_counts``.
    level
        Confidence of the intervals. With few buckets the variance is uncertain, which reduces the numbers.
    least_effect
        Smallest design effect; 2 if every row occurs twice.

    Returns
    -------
    model, the other keys, tp, fp, __positives, __negatives: a row for each pair (tp, fp) of the group. The
    numbers are null if all buckets are alike at all thresholds, or one has all rows.

    Notes
    -----
    With h hits among n rows of a bucket, N = sum(n) and p = sum(h)/N, the variance of p is that of the
    jackknife, which leaves out one bucket at a time: (B-1)/B times the sum of ((h - p·n)/(N - n))² over the B
    buckets that have rows of the class. Its ratio to p(1-p)/N, at least 1, is the design effect, by which the
    rows are divided. With fewer than ten hits or misses, it is at least that of all thresholds of the group
    together.

    A log may lack a kind of unit by chance, such as the few faulty hosts that cause most false positives. So
    the variance is increased by (d·s/z)²: s is the share of rows that B' buckets of equal size would miss
    with probability (1 - level)/2, 1 - ((1 - level)/2)^(1/B'), and d the distance from the rate to the
    nearer Wilson bound of the most extreme bucket. With fewer than 91 units (at 95 %) s is above 4 %: a log
    may lack even a kind that is one unit in 25. The excess of s over 4 % moves the bounds towards 0 and 1.
    Rarer units that are worse than all units of the log are not accounted for.
    """
    if not groups:
        return _of_none(counts, units, "tp", "fp", numbers=EFFECTIVE)
    found = [_worth(group, level, least_effect) for group in groups]
    keys = pl.concat(group.histogram.group for group in groups)
    lists = (pl.Series(name, [columns[name] for columns in found]) for name in found[0])
    known = keys.with_columns(lists).explode(*found[0]).fill_nan(None)
    if not has_strata(counts):
        return known.drop("threshold")
    # In strata the numbers are at most those of the strata themselves; tp and fp are summed as in rates.
    on = [name for name in known.columns if name not in ("tp", "fp", *EFFECTIVE)]
    own = rates_of_strata(pooled_counts(counts, over=units)).select(*on, "tp", "fp", *WORTH)
    joined = beside(known.drop("tp", "fp"), own, on)
    both = zip(EFFECTIVE, WORTH, strict=True)
    least = (pl.when(pl.col(name).is_not_null()).then(pl.min_horizontal(name, worth)) for name, worth in both)
    return joined.with_columns(least).select(*known.drop("threshold").columns)


def class_worth(
    counts: pl.DataFrame, units: str, groups: Sequence[BucketCounts] | None = None
) -> pl.DataFrame:
    """Return the number of independent rows per row of each class, over all thresholds together.

    Parameters
    ----------
    counts
        Counts of rows with the key *units*, of at least 20 values.
    units
        The key whose values are independent of each other.
    groups
        The result of ``bucket_counts``, if known.

    Returns
    -------
    model, the other keys, positives_worth, negatives_worth: a row for each group, at most 1. It is 1 if all
    buckets are alike at all thresholds. If one bucket has all rows, they are worth one row together.

    Notes
    -----
    The number is 1 over the design effect: the variance of the rate between buckets over that of independent
    rows, both summed over the thresholds. It is one half if every row occurs twice.
    """
    groups = bucket_counts(counts, units) if groups is None else groups
    if not groups:
        return _of_none(counts, units, numbers=CLASS_WORTH)
    worth = np.ones((len(groups), 2))
    for group, mine in zip(groups, worth, strict=True):
        sides = zip(group.histogram.classes, group.even, group.classes, strict=True)
        for place, (rows, even, of_bucket) in enumerate(sides):
            variance, independent = _variances(*_reached(rows), even, of_bucket)
            together, alone = float(np.nansum(variance)), float(np.nansum(independent))
            if np.count_nonzero(of_bucket.sum(axis=1)) == 1:
                mine[place] = 1 / even
            elif together > 0 and alone > 0:
                mine[place] = min(1.0, alone / together)
    keys = pl.concat(group.histogram.group for group in groups)
    return keys.with_columns(pl.Series(name, side) for name, side in zip(CLASS_WORTH, worth.T, strict=True))


def _of_none(counts: pl.DataFrame, units: str, *columns: str, numbers: Sequence[str]) -> pl.DataFrame:
    """Return the empty table for counts without groups."""
    keys = [key for key in COUNTS.keys(counts.columns) if key != units]
    none = (pl.lit(None, pl.Float64).alias(name) for name in numbers)
    return counts.clear().select("model", *keys, *columns, *none)


def _worth(group: BucketCounts, level: float, least: float) -> dict[str, Floats | Rows]:
    """Return the columns of ``effective_rows`` and the thresholds of one group."""
    histogram = group.histogram
    columns: dict[str, Floats | Rows] = {"threshold": histogram.thresholds}
    for hit, name, rows, even, of_bucket in zip(
        ("tp", "fp"), EFFECTIVE, histogram.classes, group.even, group.classes, strict=True
    ):
        hits, size = _reached(rows)
        known = float(known_share(np.asarray(of_bucket.sum(axis=1)), level))
        independent = _effective(hits, size, even, of_bucket, least) * known
        rate = hits / (size or 1)
        # Weight of one independent row.
        each = least * size / even if even else least
        unseen = independent * (_unseen(rate, of_bucket, level, each) / normal_quantile(level)) ** 2
        independent = independent / (1 + np.where(unseen > 0, unseen / (rate * (1 - rate)), 0.0))
        independent = _lacking(rate, independent, _missed(of_bucket, level), level)
        columns[hit], columns[name] = hits, independent
    # Both counts are monotone, so equal pairs are consecutive.
    new = np.ones(len(histogram.thresholds), np.bool_)
    new[1:] = (np.diff(columns["tp"]) != 0) | (np.diff(columns["fp"]) != 0)
    return {name: columns[name][new] for name in ("threshold", "tp", "fp", *EFFECTIVE)}


def _reached(rows: Rows) -> tuple[Rows, float]:
    """Return hits at each threshold and all rows, summed in one order, so that a rate of 1 is exact."""
    reached = rows.cumsum()
    return reached[:-1], reached[-1].item()


def _effective(hits: Rows, size: float, even: float, of_bucket: Any, least: float) -> Floats:
    """Return the rows of a class over the design effect at each threshold, before ``known_share``."""
    variance, independent = _variances(hits, size, even, of_bucket)
    own = np.where(independent > 0, variance / independent, np.nan)
    together = variance.sum() / independent.sum()
    # Sums of weights are rounded.
    few = np.minimum(hits, size - hits) * even < FEW_HITS * size * (1 - 1e-9)
    effect = np.where(few, np.fmax(own, together), own)
    return np.asarray(even / np.fmax(effect, np.where(np.isnan(effect), np.nan, least)))


def _variances(hits: Rows, size: float, even: float, of_bucket: Any) -> FloatPair:
    """Return the variance of the rate at each threshold: between buckets, and of *even* independent rows."""
    bins = of_bucket.shape[1]
    bucket, total, before, after = _steps(of_bucket)
    weights = jackknife_weights(total)
    moved = (after**2 - before**2) * weights[bucket], of_bucket.data * (total * weights)[bucket]
    squares, products = (np.cumsum(np.bincount(of_bucket.indices, each, bins))[:-1] for each in moved)
    rate = hits / size
    spread = np.maximum(squares - 2 * rate * products + rate**2 * (weights * total**2).sum(), 0.0)
    return spread, rate * (1 - rate) / even


def _steps(of_bucket: Any) -> tuple[Rows, Floats, Floats, Floats]:
    """Return the bucket of each cell, all rows of each bucket, and its hits before and after the cell."""
    bucket = np.repeat(np.arange(len(of_bucket.indptr) - 1), np.diff(of_bucket.indptr))
    reached = np.append(0.0, np.cumsum(of_bucket.data))
    before = reached[:-1] - reached[of_bucket.indptr[bucket]]
    return bucket, np.asarray(of_bucket.sum(axis=1)), before, before + of_bucket.data


def _unseen(rate: Floats, of_bucket: Any, level: float, least: float) -> Floats:
    """Return how far each rate moves by unseen buckets that are like the most extreme one."""
    bins, z = of_bucket.shape[1], normal_quantile(level)
    bucket, total, before, after = _steps(of_bucket)
    most = []
    for hits in (after, total[bucket] - before):
        lower, _ = wilson_bounds(hits / total[bucket], total[bucket] / least, z)
        of_bin = np.zeros(bins)
        np.maximum.at(of_bin, of_bucket.indices, lower)
        most.append(of_bin)
    # Hits grow as the threshold falls, misses as it rises.
    hits, misses = np.maximum.accumulate(most[0])[:-1], np.maximum.accumulate(most[1][::-1])[::-1][1:]
    farther = np.maximum(np.maximum(hits - rate, misses - (1 - rate)), 0.0)
    return np.asarray(_missed(of_bucket, level) * farther)


def _missed(of_bucket: Any, level: float) -> float:
    """Return the largest share of rows in a kind of units that the log may lack by chance."""
    even = max(float(even_buckets(np.asarray(of_bucket.sum(axis=1)))), 1.0)
    return float(1 - ((1 - level) / 2) ** (1 / even))


def _lacking(rate: Floats, independent: Floats, missed: float, level: float) -> Floats:
    """Return the number of rows whose Wilson bounds allow for common kinds of units that the log may lack."""
    share = missed - COMMON
    if share <= 0:
        return independent
    z = normal_quantile(level)
    lower, upper = wilson_bounds(rate, independent, z)
    low = rate - np.hypot(rate - lower, share * rate)
    high = rate + np.hypot(upper - rate, share * (1 - rate))
    moved = np.stack([np.maximum(low, lower * (1 - share)), np.minimum(high, upper + share * (1 - upper))])
    # Wilson's bound b of n rows solves (b - rate)² = z²·b(1 - b)/n.
    return np.asarray(np.fmin(*(z**2 * moved * (1 - moved) / (moved - rate) ** 2)))


def jackknife_weights(rows: Floats) -> Floats:
    """Return weights w such that sum(w·(hits - rate·rows)²) over buckets is the variance of the rate.

    This is the jackknife variance, which leaves out one bucket at a time, so that a bucket counts by how far
    it moves the rate. NaN where fewer than two buckets have rows.

    Parameters
    ----------
    rows
        The rows of a class in each bucket, along the last axis.
    """
    buckets = np.count_nonzero(rows, axis=-1, keepdims=True)
    factor = np.where(buckets > 1, (buckets - 1) / buckets, np.nan)
    return np.asarray(factor / (rows.sum(axis=-1, keepdims=True) - rows) ** 2)


def known_share(rows: Floats, level: float) -> Floats:
    """Return the factor that reduces effective rows because few buckets estimate the variance.

    This is Korn and Graubard's factor, (z/t)². Buckets of unequal size are worth sum(n)²/sum(n²) equal ones
    (Kish); Student's t has one degree of freedom fewer, but at least one.

    Parameters
    ----------
    rows
        The rows of a class in each bucket, along the last axis.
    level
        Confidence of the interval.
    """
    from scipy.special import stdtrit  # noqa: PLC0415  (slow to import, and seldom needed)

    student = stdtrit(np.maximum(even_buckets(rows) - 1, 1.0), 0.5 + level / 2)
    # At a level that rounds to 0 both quantiles are 0.
    return np.where(student > 0, (normal_quantile(level) / np.where(student > 0, student, 1.0)) ** 2, 1.0)
