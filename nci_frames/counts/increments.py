"""Counts <-> increments: how many rows lie from each threshold to before the next.

Counts accumulate from the highest score down, so they are as many as there are thresholds; increments are
their differences, and a group of n rows has at most n of them that are not zero. Increments of different rows
are added; what they add up to is accumulated again.
"""

from collections.abc import Sequence

import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import quantity
from nci_frames.counts.sums import check_sums

#: Groups times thresholds that a table of counts may have: some 3 GB.
MOST_CELLS = 40_000_000


def check_size(groups: pl.DataFrame, thresholds: int, where: str) -> None:
    """Raise ParameterError if the counts of so many groups would not fit in memory.

    Parameters
    ----------
    groups
        One row for each group: its model and keys.
    thresholds
        How many thresholds each group has.
    where
        For the message: what has these groups.
    """
    if len(groups) * thresholds <= MOST_CELLS:
        return
    values = {key: groups[key].n_unique() for key in groups.columns}
    worst = max(values, key=lambda key: values[key])
    msg = f"the counts would have more than {MOST_CELLS:,} rows"
    raise ParameterError(
        msg,
        where=where,
        found=f"{quantity(len(groups), 'group')} x {quantity(thresholds, 'threshold')}; "
        f"{worst!r} has {quantity(values[worst], 'value')}",
        hint=f"cut {worst!r} into fewer values, leave it out of the segments, or take fewer thresholds",
    )


def increments_of(counts: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return the increments of counts that are sorted by *keys* and threshold.

    Parameters
    ----------
    counts
        Whole-number counts, ascending by threshold within each group.
    keys
        The columns that make a group, ``model`` among them.

    Returns
    -------
    The keys, ``threshold`` (null: below every threshold), ``positives`` and ``negatives``: the rows whose
    score lies from this threshold to before the next. Increments of no row are absent.

    Examples
    --------
    >>> import polars as pl
    >>> counts = pl.DataFrame(
    ...     {"model": "a", "threshold": [0.3, 0.5], "tp": [2, 1], "fp": [1, 0], "fn": [0, 1], "tn": [1, 2]}
    ... )
    >>> increments_of(counts, ["model"]).rows()
    [('a', None, 0, 1), ('a', 0.3, 1, 1), ('a', 0.5, 1, 0)]
    """
    lowest = counts.group_by(keys, maintain_order=True).first()
    below = lowest.select(*keys, pl.lit(None, pl.Float64).alias("threshold"), positives="fn", negatives="tn")
    cells = pl.concat([below, steps_of(counts, keys)]).filter(
        (pl.col("positives") != 0) | (pl.col("negatives") != 0)
    )
    return cells.sort(*keys, "threshold")


def steps_of(counts: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return, of sorted counts, the rows from each threshold to before the next of its group."""

    def here(reached: str) -> pl.Expr:
        return pl.col(reached) - pl.col(reached).shift(-1, fill_value=0).over(keys)

    return counts.select(*keys, "threshold", positives=here("tp"), negatives=here("fp"))


def counts_of(
    increments: pl.DataFrame, keys: Sequence[str], thresholds: Sequence[float] | None
) -> pl.DataFrame:
    """Return the counts that increments add up to.

    Parameters
    ----------
    increments
        The keys, ``threshold``, ``positives`` and ``negatives``, in any order; a group and threshold may
        appear any number of times.
    keys
        The columns that make a group, ``model`` among them.
    thresholds
        The thresholds that were counted at; None stands for every distinct score.

    Returns
    -------
    A counts frame, sorted by *keys* and threshold: bit for bit that of counting all rows at once.

    Raises
    ------
    SchemaError
        If a sum is more than a count can hold.
    """
    check_sums(increments, ["positives", "negatives"], keys)
    # One column after the other is faster than all at once. Null, below every threshold, comes first.
    for name in ("threshold", *reversed(keys)):
        increments = increments.sort(name, maintain_order=True)
    # In one order, so that sums of weights are the same to the bit in every run.
    groups = increments.group_by(*keys, "threshold", maintain_order=True)
    cells = groups.agg(pl.col("positives", "negatives").sum())
    if thresholds is not None:
        single = cells.select(keys).unique(maintain_order=True)
        check_size(single, len(thresholds), "the increments")
        grid = pl.Series("threshold", [None, *thresholds], dtype=pl.Float64).to_frame()
        cells = (
            single.join(grid, how="cross", maintain_order="left_right")
            .join(cells, on=[*keys, "threshold"], how="left", nulls_equal=True, maintain_order="left")
            .with_columns(pl.col("positives", "negatives").fill_null(0))
        )
    reached = cells.select(
        *keys,
        "threshold",
        tp=pl.col("positives").cum_sum(reverse=True).over(keys),
        fp=pl.col("negatives").cum_sum(reverse=True).over(keys),
    )
    # All rows, in the same order: in another, the sum of weights could be less than that of some of them.
    below = reached.with_columns(
        fn=pl.col("tp").first().over(keys) - pl.col("tp"), tn=pl.col("fp").first().over(keys) - pl.col("fp")
    )
    return below.filter(pl.col("threshold").is_not_null()).with_columns(
        resolution=pl.lit("exact" if thresholds is None else "grid")
    )
