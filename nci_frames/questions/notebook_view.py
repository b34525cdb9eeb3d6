"""A ranking over prevalence -> a few lines of HTML: what a notebook shows of a comparison."""

import html
from collections.abc import Iterable, Sequence

import polars as pl

from nci_frames.tables.cells import Cell, ranked_cells

#: Maximum number of models in the output of a notebook cell; the frames hold all models.
_MODELS, _COLUMNS, _NAMES = 20, 6, 3
_UNDEFINED = "\N{EN DASH}"
_HEAD = ("prevalence", "best", "PR-AUC", "ahead of", "by")


def overview_html(ranking: pl.DataFrame, /, *, observed: float | None) -> str:
    """Show the best model at a few prevalences, and the value and rank of every model there.

    >>> ranking = pl.DataFrame({
    ...     "model": ["a", "b"], "prevalence": [0.1, 0.1],
    ...     "value": [0.7, 0.9], "rank": [2, 1], "gap": [0.2, 0.0],
    ... })
    >>> "<td>b</td><td>0.9</td><td>a</td><td>0.2</td>" in overview_html(ranking, observed=None)
    True
    """
    table = ranked_cells(ranking, over="prevalence", shown=_COLUMNS)
    rows = ranking.filter(pl.col("prevalence").is_in(table.grid)).sort(
        "prevalence", "rank", "model", nulls_last=True
    )
    models, grid = len(table.rows), ranking["prevalence"].drop_nulls().n_unique()
    told = f"Models: {models:,}; prevalences: {grid:,}; rank 1 is best"
    if observed is not None:
        told = f"{told}; observed prevalence {observed:.4g}"
    more = f"<p>Models not shown: {models - _MODELS:,}.</p>" if models > _MODELS else ""
    if table.doubt is not None:
        told = f"{told}; ?: this log cannot tell the value ({table.doubt})"
    best = _table("Best by PR-AUC", _HEAD, _best(rows))
    head = ["model", *map(_number, table.grid)]
    ranked = _table(
        "PR-AUC and rank over prevalence",
        head,
        ([html.escape(model), *map(_cell, cells)] for model, cells in table.rows[:_MODELS]),
    )
    return f"<div><p>{told}.</p>{best}{ranked}{more}</div>"


def _best(rows: pl.DataFrame) -> list[list[str]]:
    if "supported" in rows.columns:
        rows = rows.with_columns(pl.col("reason").filter(pl.col("rank") == 1).first().over("prevalence"))
    else:
        rows = rows.with_columns(reason=pl.lit(None, pl.String))
    first, second = pl.col("rank") == 1, pl.col("rank") == pl.col("rank").filter(pl.col("rank") > 1).min()
    verdicts = rows.group_by("prevalence", maintain_order=True).agg(
        best=pl.col("model").filter(first),
        value=pl.col("value").filter(first).first(),
        second=pl.col("model").filter(second),
        gap=pl.col("gap").filter(second).first(),
        reason=pl.col("reason").first(),
    )
    return [
        [_number(at), html.escape(why), "", "", ""]
        if why is not None
        else [_number(at), _names(best), _number(value), _names(second), _number(gap)]
        for at, best, value, second, gap, why in verdicts.iter_rows()
    ]


def _cell(cell: Cell) -> str:
    number = _number(cell.value)
    if cell.doubtful:
        return f'<span style="opacity: 0.5">{number} ?</span>'
    if cell.rank is None:
        return number
    return f"<b>{number}</b> (1)" if cell.rank == 1 else f"{number} ({cell.rank})"


def _names(models: Sequence[str]) -> str:
    more = f" and {len(models) - _NAMES:,} more" if len(models) > _NAMES else ""
    return html.escape(", ".join(models[:_NAMES])) + more


def _number(value: float | None) -> str:
    return _UNDEFINED if value is None else f"{value:.4g}"


def _table(caption: str, head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Put cells, which are HTML already, into a table."""
    titles = "".join(f'<th scope="col">{title}</th>' for title in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return (
        f'<table style="overflow-wrap: anywhere"><caption>{caption}</caption>'
        f"<thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"
    )
