"""Attained points -> the steps between them: what lies above a step, no threshold attains."""

from typing import Literal

import polars as pl

from nci_frames.charts.parts import selection

Turn = Literal["step-after", "step-before", "linear"]

#: A page moves curves to other prevalences, so that points are left out only where this cannot be seen with
#: odds that are so many times those drawn.
ODDS = (0.01, 1.0, 100.0)


def stepped(
    rows: pl.DataFrame, *seen: pl.Expr, turn: Turn, recall: str, by: str | list[str], size: tuple[int, int]
) -> tuple[pl.DataFrame, str, Turn]:
    """Return at most as many rows as a chart shows, a note as of ``fitted``, and how to connect them.

    The rows of a curve stand in the order of rising *recall*. A step holds the recall of a point until the
    other coordinate, *seen* as it is drawn at one or several prevalences, has reached that of the next one.
    *size* is that of the axis of recall, then of the other.
    """
    if rows.height <= selection.MAX_ROWS:
        return selection.finite(rows), "", turn
    before = pl.col(recall).shift().over(by)
    corners = rows.with_columns(before.fill_null(pl.col(recall)), threshold=pl.lit(None, pl.Float64))
    # Straight lines through the corners are the steps, also where they are too small to be seen and left out.
    numbered = [frame.with_row_index("step") for frame in (corners, rows)]
    others = {f"seen {number}": other for number, other in enumerate(seen)}
    cornered = pl.concat(numbered).sort("step", maintain_order=True).with_columns(**others)
    thin, note = selection.fitted(cornered, recall, list(others), by=by, log_x=False, size=size)
    return thin.select(rows.columns), note, "linear"
