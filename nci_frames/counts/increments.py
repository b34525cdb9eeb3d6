"""Counts <-> increments: the numbers of rows with a score from each threshold to below the next.

Counts accumulate from the highest score down, with one row per threshold. Increments are their differences:
at most n of them are not zero in a group of n rows. Increments of disjoint rows are added, and accumulating
the sums gives counts again.
"""

from collections.abc import Sequence

import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import quantity
from nci_frames.counts.sums import check_sums

#: Maximum of groups times thresholds in a table of counts: some 3 GB.
MOST_CELLS = 40_000_000


def check_size(groups: pl.DataFrame, thresholds: int, where: str) -> None:
    """Raise ParameterError if the counts would not fit in memory.

    Parameters
    ----------
    groups
        One row per group: its model and keys.
    thresholds
        Number of thresholds of each group.
    where
        Name of the source, for the message.
    """
    if len(groups) * thresholds <= MOST_CELLS:
        return
    values = {key: groups[key].n_unique() for key in groups.columns}
    worst = max(values, key=lambda key: values[key])
    msg = f"the counts would have more than {MOST_CELLS:,} rows"
    size = f"{quantity(len(groups), 'group')} x {quantity(thresholds, 'threshold')}"
    found = f"{size}; {worst!r} has {quantity(values[worst], 'value')}"
    hint = f"cut {worst!r} into fewer values, leave it out of the segments, or take fewer thresholds"
    raise ParameterError(msg, where=where, found=found, hint=hint)


def increments_of(counts: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return the increments of counts sorted by *keys* and threshold.

    Parameters
    ----------
    counts
        Whole-number counts, ascending by threshold within each group.
    keys
        Columns that define a group, including ``model``.

    Returns
    -------
    The keys, ``threshold`` (null: below every threshold), ``positives`` and ``negatives``: the rows with a
    score from this threshold to below the next. Increments without rows are absent.

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
    """Return, for sorted counts, the rows from each threshold to below the next of its group."""

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
        Columns that define a group, including ``model``.
    thresholds
        Thresholds of the counts; None means every distinct score.

    Returns
    -------
    A counts frame, sorted by *keys* and threshold, bit for bit equal to counting all rows at once.

    Raises
    ------
    SchemaError
        If a sum exceeds the range of a count.
    """
    check_sums(increments, ["positives", "negatives"], keys)
    # Stable sorts by one column after the other are faster than one sort. Null (below all) comes first.
    for name in ("threshold", *reversed(keys)):
        increments = increments.sort(name, maintain_order=True)
    # In a fixed order, so that sums of weights are bit for bit the same in every run.
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
    # In the same order: in another one, rounding could make the sum of all weights less than a partial sum.
    below = reached.with_columns(
        fn=pl.col("tp").first().over(keys) - pl.col("tp"), tn=pl.col("fp").first().over(keys) - pl.col("fp")
    )
    resolution = "exact" if thresholds is None else "grid"
    return below.drop_nulls("threshold").with_columns(resolution=pl.lit(resolution))
