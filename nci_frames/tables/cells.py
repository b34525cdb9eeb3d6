"""A ranking -> the cells of a table with models as rows, and some values of the grid as columns."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from nci_frames.base.arguments import check_allowed
from nci_frames.base.errors import ParameterError
from nci_frames.evaluation.support.reasons import why_doubtful


class Cell(NamedTuple):
    """Value and rank of a model at one value of the grid; both are None if there is no row."""

    value: float | None = None
    rank: int | None = None
    #: Whether the log supports the value; true if the ranking does not say.
    supported: bool = True
    #: 1: may be the best model; 2: may be the best without the models of group 1; and so on; None if unknown.
    group: int | None = None

    @property
    def doubtful(self) -> bool:
        """Whether there is a value, but the log does not support it."""
        return self.value is not None and not self.supported


class RankedCells(NamedTuple):
    """The content of a ranked table, in every format of a report."""

    #: The values of the grid with a column, ascending.
    grid: tuple[float, ...]
    #: The models and their cells, by rank in the first column; models without a rank there come last.
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    #: Short reason why the log does not support some values; None if it supports all.
    doubt: str | None = None


def ranked_cells(
    ranking: pl.DataFrame, /, *, over: str, shown: int, asked: float | None = None
) -> RankedCells:
    """Return the cells of one metric over "prevalence" or "beta".

    Parameters
    ----------
    ranking
        Rows of a ranking frame, exactly one per model and value of *over*.
    over
        Column whose values become columns.
    shown
        Maximum number of columns, taken from the grid at even steps, including both ends.
    asked
        Value that gets a column if it is in the grid.

    Examples
    --------
    >>> ranking = pl.DataFrame({
    ...     "model": ["a", "b"], "prevalence": [0.1, 0.1], "value": [0.7, 0.9], "rank": [2, 1],
    ... })
    >>> ranked_cells(ranking, over="prevalence", shown=6).rows
    (('b', (Cell(value=0.9, rank=1, supported=True, group=None),)),
    ('a', (Cell(value=0.7, rank=2, supported=True, group=None),)))
    """
    grid = pick_evenly(ranking[over].drop_nulls().unique().sort().to_list(), shown, asked)
    said = "supported" if "supported" in ranking.columns else pl.lit(value=True).alias("supported")
    group = "group" if "group" in ranking.columns else pl.lit(None).alias("group")
    rows = ranking.filter(pl.col(over).is_in(grid)).select("model", over, "value", "rank", said, group)
    if rows.select(pl.struct("model", over).is_duplicated().any()).item():
        msg = f"the ranking has several rows for one model and {over}"
        hint = "select one operating point, method, beta and value of each key before making the table"
        raise ParameterError(msg, hint=hint)
    cells = {
        (model, at): Cell(value, rank, supported is not False, group)
        for model, at, value, rank, supported, group in rows.iter_rows()
    }
    first = rows.filter(pl.col(over).is_in(grid[:1])).select("model", "rank")
    names = rows.select(pl.col("model").unique()).join(first, on="model", how="left")
    models = names.sort("rank", "model", nulls_last=True)["model"]
    table = tuple((name, tuple(cells.get((name, at), Cell()) for at in grid)) for name in models)
    doubt = why_doubtful(ranking.filter(pl.col(over).is_in(grid)).drop_nulls("value"))
    return RankedCells(tuple(grid), table, doubt)


def pick_evenly(values: Sequence[float], shown: int, asked: float | None = None) -> list[float]:
    """Select at most *shown* values at even steps, including both ends and the value *asked*.

    >>> pick_evenly([1, 2, 3, 4, 5, 6, 7], 3)
    [1, 4, 7]
    >>> pick_evenly([1, 2, 3, 4, 5, 6, 7], 3, 6)
    [1, 6, 7]
    """
    if len(values) <= shown:
        return list(values)
    check_allowed(shown >= 2, "shown", shown, "2 or more, to hold both ends of the grid")
    places = [round(i * (len(values) - 1) / (shown - 1)) for i in range(shown)]
    if asked in values and (place := values.index(asked)) not in places:
        # It replaces the nearest column, if possible one between the ends.
        inner = range(1, shown - 1) if shown > 2 else range(shown)
        places[min(inner, key=lambda i: abs(places[i] - place))] = place
    return [values[place] for place in places]
