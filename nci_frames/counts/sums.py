"""Range check for sums of counts, since Int64 overflows silently."""

from collections.abc import Sequence

import polars as pl

from nci_frames.base.errors import SchemaError
from nci_frames.base.messages import named_values
from nci_frames.schemas import MOST_ROWS, MOST_WEIGHT


def check_sums(frame: pl.DataFrame, columns: Sequence[str], by: Sequence[str]) -> None:
    """Raise SchemaError if a sum of *columns* by the columns *by* exceeds the range of a count.

    The limits are 2^53 for rows and 1e150 for weights. The largest values show that most frames are far from
    them; only the others are summed, in a type that does not overflow.

    Parameters
    ----------
    frame
        Counts or increments, all >= 0.
    columns
        Columns to sum.
    by
        Columns that define a group.
    """
    for column in columns:
        rows = frame.schema[column].is_integer()
        limit = MOST_ROWS if rows else MOST_WEIGHT
        largest = frame[column].max()
        if largest is None or float(largest) * len(frame) <= limit:  # type: ignore[arg-type]
            continue
        sums = frame.group_by(by).agg(pl.col(column).cast(pl.Int128 if rows else pl.Float64).sum())
        worst = sums.sort(column, *by, descending=True, nulls_last=True).row(0, named=True)
        if worst[column] > limit:
            most, hint = "1e150, the most that a count can hold", "divide all weights by one number"
            if rows:
                most, hint = "2^53, the most rows that a count can hold", "check where these counts come from"
            msg = f"the sum of column {column!r} is more than {most}"
            where = named_values({name: worst[name] for name in by})
            raise SchemaError(msg, where=where, found=f"{worst[column]:,}", hint=hint)
