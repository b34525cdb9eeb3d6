"""What a pass over the rows gives, wherever it ran."""

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True, slots=True)
class Counted:
    """The counts of one pass."""

    #: The keys, threshold, tp, fp, fn, tn, sorted.
    counts: pl.DataFrame
    #: Rows by the code of their validity.
    rows_by_code: dict[int, int]
    #: The keys of each group.
    groups: pl.DataFrame
    #: The counts at the thresholds that were asked for apart; None if none were.
    also: pl.DataFrame | None = None
