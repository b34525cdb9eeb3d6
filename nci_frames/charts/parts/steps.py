"""Attained points -> the steps between them; no threshold attains a point above a step."""

from typing import Literal

import polars as pl

from nci_frames.charts.parts import selection

Turn = Literal["step-after", "step-before", "linear"]

#: A page moves curves to other prevalences, so points are only left out if this is invisible at these
#: multiples of the drawn odds.
ODDS = (0.01, 1.0, 100.0)


def stepped(
    rows: pl.DataFrame, *seen: pl.Expr, turn: Turn, recall: str, by: str | list[str], size: tuple[int, int]
) -> tuple[pl.DataFrame, str, Turn]:
    """Thin the rows to the maximum of a chart; also return a note (see ``fitted``) and the interpolation.

    The rows of a curve are ordered by rising *recall*. A step keeps the recall of a point until the other
    coordinate, *seen* as drawn at one or several prevalences, reaches that of the next point. *size* is the
    size of the recall axis, then of the other one.
    """
    if rows.height <= selection.MAX_ROWS:
        return selection.finite(rows), "", turn
    before = pl.col(recall).shift().over(by)
    corners = rows.with_columns(before.fill_null(pl.col(recall)), threshold=pl.lit(None, pl.Float64))
    # Straight lines through the corners draw the steps, and also connect points if small steps are left out.
    numbered = [frame.with_row_index("step") for frame in (corners, rows)]
    others = {f"seen {number}": other for number, other in enumerate(seen)}
    cornered = pl.concat(numbered).sort("step", maintain_order=True).with_columns(**others)
    thin, note = selection.fitted(cornered, recall, list(others), by=by, log_x=False, size=size)
    return thin.select(rows.columns), note, "linear"
