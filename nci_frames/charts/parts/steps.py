"""Attained points -> the steps between them: what lies above a step, no threshold attains."""

from collections.abc import Sequence
from typing import Any, Literal

import polars as pl

from nci_frames.charts.parts import selection

Turn = Literal["step-after", "step-before", "linear"]


def stepped(
    rows: pl.DataFrame, x: str, y: str | Sequence[str], *, recall: str, by: str | list[str], **canvas: Any
) -> tuple[pl.DataFrame, str, Turn]:
    """Return at most as many rows as a chart shows, a note as of ``fitted``, and how to connect them.

    The rows of a curve stand in the order of rising recall, *recall*, which is *x* or *y*. A step holds the
    recall of a point until the other coordinate has reached that of the next one. *canvas* is that of
    ``fitted``.
    """
    turn: Turn = "step-before" if recall == x else "step-after"
    if rows.height <= selection.MAX_ROWS:
        return selection.finite(rows), "", turn
    before = pl.col(recall).shift().over(by)
    corners = rows.with_columns(before.fill_null(pl.col(recall)), threshold=pl.lit(None, pl.Float64))
    # Straight lines through the corners are the steps, also where they are too small to be seen and left out.
    numbered = [frame.with_row_index("step") for frame in (corners, rows)]
    cornered = pl.concat(numbered).sort("step", maintain_order=True).drop("step")
    return *selection.fitted(cornered, x, y, by=by, **canvas), "linear"
