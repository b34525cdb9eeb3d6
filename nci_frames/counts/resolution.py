"""How finely counts resolve the scores: at each of them, or on a grid."""

from collections.abc import Collection, Sequence

import polars as pl

__all__ = ["has_every_score"]


def has_every_score(columns: Collection[str], keys: Sequence[str]) -> pl.Expr:
    """Tell of each row of counts whether its group has a row for every distinct score.

    So it has if no other score lies above any of its thresholds before the next, and none below the lowest.

    Parameters
    ----------
    columns
        The columns of the counts.
    keys
        The columns that make a group.
    """
    if "resolution" not in columns:
        return pl.lit(value=False)
    resolved = (pl.col("resolution") == "exact").fill_null(value=False).all()
    none_below = (pl.col("fn") + pl.col("tn")).min() == 0
    return (resolved & none_below).over(keys)
