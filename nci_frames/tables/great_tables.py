"""Rankings -> Great Tables with models as rows, and some values of the grid as columns.

Formatted cells contain only numbers, which are trusted as HTML; names are in unformatted cells, which Great
Tables escapes.
"""

import html
import warnings
from collections.abc import Mapping

import polars as pl
from great_tables import GT, from_column, loc, style
from great_tables import html as trusted

from nci_frames import schemas
from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import quantity
from nci_frames.base.typing import Frame
from nci_frames.schemas import checked
from nci_frames.tables.cells import Cell, RankedCells, ranked_cells
from nci_frames.tables.latex import latex_signs
from nci_frames.tables.numbers import UNDEFINED, format_grid, format_group, format_value

#: Forms of a doubtful number, of the best one, of its rank and of its group.
_HTML = '<span style="opacity: 0.75">{} ?</span>', "<strong>{}</strong>", "<small>{}</small>", "<sup>{}</sup>"
_LATEX = ("{} ?", r"\textbf{{{}}}", r"\,{{\scriptsize {}}}", r"\textsuperscript{{{}}}")
_SPANNERS = {"prevalence": "prevalence η", "beta": "β"}
_NOTE, _SHADED = "Small number: rank, 1 is best. Bold: best.", " Shading: value from 0 to 1."
_NOTE_GROUPED = "Letter: a may be the best of all, b the best of those that are left, and so on."
_NOTE_DOUBTFUL = "Grey with ?: the log cannot tell this value at this prevalence ({})."
_NOTE_UNDEFINED = f"{UNDEFINED} undefined: the rates behind it, or its own denominator, are empty."
_NOTE_LACKING = f"{UNDEFINED} the ranking has no row of this model there."


class _Table(GT):
    """A table whose LaTeX has no HTML, no shades, and no characters that pdfLaTeX lacks."""

    #: LaTeX of the cells of some columns, and these columns.
    in_latex: tuple[Mapping[str, str], list[str]]

    def as_latex(self, use_longtable: bool = False, tbl_pos: str | None = None) -> str:
        """Return LaTeX for a document with the packages booktabs and caption (and longtable)."""
        texts, columns = self.in_latex
        plain = self.fmt(texts.__getitem__, columns=columns)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Styles are not yet supported")
            text = GT.as_latex(plain, use_longtable, tbl_pos)
        return latex_signs(text.replace(_SHADED, "").replace("Grey with ?", "With ?"))


@checked
def ranked_table(
    ranking: Frame,
    /,
    *,
    metric: str,
    over: str = "prevalence",
    beta: float | None = None,
    prevalence: float | None = None,
    shown: int = 6,
    title: str | None = None,
) -> GT:
    """Build a table of a metric's values and ranks: models as rows, prevalences or betas as columns.

    Parameters
    ----------
    ranking
        A ranking frame without keys, or with one value of each key.
    metric
        Metric to show, for example ``pr_auc`` or ``f_beta``.
    over
        ``"prevalence"`` or ``"beta"``: the variable of the columns.
    beta, prevalence
        Value of the other variable, if the metric depends on it; it must be in the frame.
    shown
        Maximum number of columns, taken from the grid at even steps, including both ends.
    title
        Heading of the table.

    Returns
    -------
    great_tables.GT
        Rows are ordered by rank in the first column; values that are undefined or missing are a dash.

    Examples
    --------
    >>> import polars as pl
    >>> ranking = pl.DataFrame({
    ...     "model": ["forest", "trees"], "metric": ["pr_auc"] * 2, "method": ["interpolated"] * 2,
    ...     "prevalence": [0.01, 0.01], "value": [0.71, 0.0642], "rank": [1, 2], "gap": [0.0, 0.6458],
    ... })
    >>> "0.0642" in ranked_table(ranking, metric="pr_auc").as_raw_html()
    True
    """
    if over not in _SPANNERS:
        raise ParameterError.unknown_choice("over", over, tuple(_SPANNERS))
    frame = schemas.collect(ranking, schemas.RANKING).filter(pl.col("metric") == metric)
    chosen = {name: v for name, v in (("beta", beta), ("prevalence", prevalence)) if v is not None}
    for name, value in chosen.items():
        if name != over:
            near = pl.col(name) == value  # also 0 and infinity, whose quotients are NaN
            frame = frame.filter(near | ((pl.col(name) / value - 1).abs() < 1e-9))
    cells = None if over not in frame.columns else ranked_cells(frame, over=over, shown=shown)
    if cells is None or not cells.grid:
        msg = f"the ranking has no values of {metric!r} over {over} to show"
        found = quantity(frame.height, "row") + "".join(f", {n} {v:g}" for n, v in chosen.items())
        hint = "include this metric, prevalence and beta when computing the frame"
        raise ParameterError(msg, found=found, hint=hint)
    there = frame.filter(pl.col(over).is_in(cells.grid))["value"]
    dashes = {
        _NOTE_UNDEFINED: there.null_count() > 0,
        _NOTE_LACKING: len(there) < len(cells.grid) * len(cells.rows),
    }
    table = _cells_table(cells, dashes, metric=metric, over=over)
    return table if title is None else table.tab_header(trusted(_literal(title)))


def _cells_table(cells: RankedCells, dashes: Mapping[str, bool], *, metric: str, over: str) -> GT:
    grid = cells.grid
    columns, fills = ([f"{kind}{i}" for i in range(len(grid))] for kind in ("c", "fill"))
    rows = [(model, *map(_text, row), *map(_shade, row)) for model, row in cells.rows]
    data = pl.DataFrame(rows, schema=["model", *columns, *fills], orient="row")
    table = (
        _Table(data, rowname_col="model", id=f"nci-{metric.replace('_', '-')}-{over}")
        .tab_stubhead("model")
        .tab_spanner(_SPANNERS[over], columns=columns)
        .cols_label({c: format_grid(at) for c, at in zip(columns, grid, strict=True)})
        .cols_align("right", columns=columns)
        .cols_hide(fills)
        .fmt(str, columns=columns)
    )
    every = [cell for _, row in cells.rows for cell in row]
    table.in_latex = {_text(cell): _latex_cell(cell) for cell in every}, columns
    for column, fill in zip(columns, fills, strict=True):
        table = table.tab_style(style.fill(from_column(fill)), loc.body(columns=column))
    notes = {
        _NOTE + _SHADED: True,
        _NOTE_GROUPED: any(cell.group is not None for cell in every),
        _NOTE_DOUBTFUL.format(cells.doubt): cells.doubt is not None,
        **dashes,
    }
    for note, needed in notes.items():
        if needed:
            table = table.tab_source_note(note)
    return table


def _text(cell: Cell) -> str:
    """Return the text of one cell as HTML."""
    shown = format_value(cell.value)
    # The data of a number are all its digits.
    number = shown if cell.value is None else f'<data value="{cell.value!r}">{shown}</data>'
    return _marked(cell, number, _HTML)


def _shade(cell: Cell) -> str:
    """Return the shade of one cell, which is translucent to suit light and dark pages."""
    if cell.doubtful:
        return "rgba(0, 114, 178, 0)"
    shade = 0.0 if cell.value is None else min(max(cell.value, 0.0), 1.0) * 0.42
    return f"rgba(0, 114, 178, {shade:.3f})"


def _latex_cell(cell: Cell) -> str:
    """Return the text of one cell as LaTeX."""
    return _marked(cell, format_value(cell.value), _LATEX)


def _marked(cell: Cell, number: str, forms: tuple[str, str, str, str]) -> str:
    """Mark the number of a cell as doubtful, or as the best one, and add its rank and group."""
    doubtful, best, rank, group = forms
    if cell.doubtful:
        return doubtful.format(number)
    text = best.format(number) if cell.rank == 1 else number
    text += "" if cell.rank is None else rank.format(cell.rank)
    return text + ("" if cell.group is None else group.format(format_group(cell.group)))


def _literal(text: str) -> str:
    """Escape a heading, including braces, which Great Tables would read as its notation for units."""
    return html.escape(text).replace("{", "&#123;").replace("}", "&#125;")
