"""Counts by buckets of units -> how many independent rows the rows of each class are worth."""

import math

import polars as pl

from nci_frames.errors import ParameterError, SchemaError
from nci_frames.normal import normal_quantile
from nci_frames.schemas import COUNTS

__all__ = ["LEAST_BUCKETS", "effective_rows", "require_buckets"]

#: Fewer buckets than this show too little of how one log differs from another.
LEAST_BUCKETS = 20

#: Rows of a class that reach a threshold, and those that do not.
_CLASSES = {"tp": "fn", "fp": "tn"}

#: With fewer hits or misses than this a threshold's own design effect is too uncertain to be used alone.
_FEW = 10


def require_buckets(counts: pl.DataFrame, units: str) -> int:
    """Return how many values the key *units* has.

    Raises
    ------
    ParameterError
        If there are too few, or rows without one.
    SchemaError
        If the counts lack the key.
    """
    keys = COUNTS.keys(counts.columns)
    if units not in keys:
        raise SchemaError.missing_column(units, "units", "the keys of the counts frame", keys)
    if counts[units].null_count():
        msg = f"rows without a {units} cannot be resampled by it"
        raise ParameterError(msg, hint="remove the rows that belong to no unit before counting")
    buckets = counts[units].n_unique()
    if len(counts) and buckets < LEAST_BUCKETS:
        raise ParameterError(
            f"there are too few values of {units!r} to see how they differ",
            found=f"{buckets}; {LEAST_BUCKETS} are needed",
            hint="count by more, e.g. by unit_buckets(predictions, buckets=256)",
        )
    return buckets


def effective_rows(counts: pl.DataFrame, units: str, *, level: float) -> pl.DataFrame:
    """Return how many independent rows each class is worth at each threshold, for intervals of rates.

    Parameters
    ----------
    counts
        Counts of rows with the key *units*, of at least 20 values.
    units
        The key whose values are independent of each other.
    level
        Confidence of the intervals: with few buckets their variance is uncertain, which costs rows.

    Returns
    -------
    model, the other keys, tp, fp, effective_positives, effective_negatives: a row for each two counts that
    thresholds of the group have; null where no bucket differs at any threshold.

    Notes
    -----
    With h hits among n rows of a bucket and p = sum(h)/sum(n), the variance of p is B/(B-1) times the sum of
    (h - p·n)² over the B buckets, divided by sum(n)². Its ratio to p(1-p)/sum(n), at least 1, is the design
    effect, by which the rows are divided. Where there are fewer than ten hits or misses, it is at least that
    of all thresholds of the group together.
    """
    buckets = require_buckets(counts, units)
    group = ["model", *(key for key in COUNTS.keys(counts.columns) if key != units)]
    # What a bucket adds to each sum when the threshold falls to one of its own; so buckets may have different
    # thresholds, as in exact counts.
    numbers = [pl.col(cell).cast(pl.Float64) for cell in ("tp", "fp", "fn", "tn")]
    falling = counts.select(*group, units, "threshold", *numbers).sort(*group, units, -pl.col("threshold"))
    steps, totals = [], []
    for hit, missed in _CLASSES.items():
        before = pl.col(hit).shift().over(*group, units).fill_null(0.0)
        rows = pl.col(hit) + pl.col(missed)
        steps += [
            (pl.col(hit) - before).alias(f"{hit}_h"),
            (pl.col(hit) ** 2 - before**2).alias(f"{hit}_hh"),
            ((pl.col(hit) - before) * rows).alias(f"{hit}_hn"),
        ]
        totals.append(rows.first().alias(f"{hit}_n"))
    sums = [f"{hit}_{name}" for hit in _CLASSES for name in ("h", "hh", "hn")]
    moved = falling.select(*group, "threshold", *steps).group_by(*group, "threshold").agg(pl.col(sums).sum())
    sizes = falling.group_by(*group, units).agg(totals)
    sizes = sizes.group_by(group).agg(
        *(pl.col(f"{hit}_n").sum() for hit in _CLASSES),
        *((pl.col(f"{hit}_n") ** 2).sum().alias(f"{hit}_nn") for hit in _CLASSES),
    )
    summed = moved.sort(*group, -pl.col("threshold")).with_columns(pl.col(sums).cum_sum().over(group))
    table = summed.join(sizes, on=group, how="left", nulls_equal=True)
    # Korn and Graubard's factor: the variance is known from so many buckets only.
    worth = (normal_quantile(level) / _student(level, buckets - 1)) ** 2
    found = table.with_columns(
        _effective(hit, buckets, group, worth).alias(name)
        for hit, name in (("tp", "effective_positives"), ("fp", "effective_negatives"))
    )
    return found.select(
        *group, *(pl.col(f"{hit}_h").round().cast(pl.Int64).alias(hit) for hit in _CLASSES),
        "effective_positives", "effective_negatives",
    ).unique([*group, "tp", "fp"], keep="first", maintain_order=True)  # fmt: skip


def _effective(hit: str, buckets: int, group: list[str], worth: float) -> pl.Expr:
    h, hh, hn, n, nn = (pl.col(f"{hit}_{name}") for name in ("h", "hh", "hn", "n", "nn"))
    rate = h / n
    # The numbers of hits are whole, so the sum is 0 only by rounding where no bucket differs.
    spread = (hh - 2 * rate * hn + rate**2 * nn).clip(0)
    variance = buckets / (buckets - 1) * spread / n**2
    independent = rate * (1 - rate) / n
    together = variance.sum().over(group) / independent.sum().over(group)
    own = pl.when(independent > 0).then(variance / independent)
    few = pl.min_horizontal(h, n - h) < _FEW
    effect = pl.when(few).then(pl.max_horizontal(own, together)).otherwise(own)
    known = n.is_not_null() & (n > 0) & effect.is_not_nan()
    return pl.when(known).then(n * worth / effect.clip(1.0))


def _student(level: float, freedom: int) -> float:
    from scipy.special import stdtrit  # noqa: PLC0415  (slow to import, and seldom needed)

    return float(stdtrit(freedom, 0.5 + level / 2)) if math.isfinite(level) else math.nan
