"""Repeats of a cross-validation: each of them has all rows again."""

import polars as pl

#: The key of the repeats.
REPEAT = "repeat"


def one_repeat(counts: pl.DataFrame) -> pl.DataFrame:
    """Return the counts of the first repeat; all of them where there are no repeats."""
    if REPEAT not in counts.columns:
        return counts
    return counts.filter(pl.col(REPEAT).eq_missing(pl.col(REPEAT).sort().first())).drop(REPEAT)
