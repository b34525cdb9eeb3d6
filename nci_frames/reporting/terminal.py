"""A comparison -> ranked tables for a terminal."""

from collections.abc import Iterator, Mapping

import polars as pl
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from nci_frames.questions.answer import Answer
from nci_frames.questions.answer_lines import answer_lines, conclusion_lines
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.ranked_tables import doubt_of, ranked_tables
from nci_frames.questions.summary import summarise
from nci_frames.questions.verdicts import name_best, read_assumption, read_independence
from nci_frames.questions.worst_segments import segment_lines
from nci_frames.tables.cells import Cell, RankedCells
from nci_frames.tables.names import printable
from nci_frames.tables.numbers import UNDEFINED, format_grid, format_group

__all__ = ["print_answer", "print_comparison", "print_conclusion", "print_frame"]

#: Characters of a name that every console has room for, and of a column; and columns at most.
_NAME, _CELL, _COLUMNS = 28, 13, 14
#: The head of the column of models, and the characters of its borders.
_MODEL, _BORDERS = "model", 3


def print_answer(answer: Answer, console: Console, comparison: Comparison | None = None) -> None:
    """Print an answer: what to choose, who is as good, where the order changes, which segments are worse.

    Parameters
    ----------
    answer
        What to say.
    console
        Where to.
    comparison
        That of the same log, whose worst segments are named; None names none.
    """
    first, *rest = answer_lines(answer) + ([] if comparison is None else segment_lines(comparison))
    for part in Text(printable(first), style="bold").wrap(console, console.width):
        part.rstrip()
        console.print(part)
    for line in rest:
        _print_indented(console, printable(line))


def print_conclusion(answers: Mapping[str, Answer], console: Console) -> None:
    """Print the answers of several logs, three lines each.

    Parameters
    ----------
    answers
        The answer of each log, by its name.
    console
        Where to. Lines that are too long are cut.
    """
    for name, answer in answers.items():
        first, *rest = map(printable, conclusion_lines(answer))
        lines = [Text(f"{printable(name)}: {first}", style="bold"), *(Text(f"  {line}") for line in rest)]
        for line in lines:
            console.print(line, no_wrap=True, overflow="ellipsis")


def print_comparison(comparison: Comparison, console: Console, *, title: str = "") -> None:
    """Print the ranked tables of a report: value and rank of every model at a few prevalences or betas.

    Parameters
    ----------
    comparison
        What to show.
    console
        Where to. A narrow console gets fewer columns.
    title
        Printed above the tables.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> from rich.console import Console
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> comparison = nf.compare_models(nf.count_confusion(log, thresholds="exact"), prevalence=[0.5])
    >>> console = Console(width=60, record=True, quiet=True)
    >>> print_comparison(comparison, console, title="four rows")
    """
    if title:
        console.print(Text(printable(title), style="bold"))
    observed = comparison.observed_prevalence
    for measure, lines in _best(comparison):
        console.print(Text(f"best by {measure}:"))
        for line in lines:
            _print_indented(console, line)
    independence = read_independence(
        comparison.buckets,
        weighted=comparison.weighted,
        repeats=comparison.repeats,
        unit_rows=comparison.unit_rows,
    )
    for line in (read_assumption(comparison.shifts), independence):
        console.print(Text(line, style="dim"))
    if observed is not None:
        letters = "" if comparison.contenders is None else ", and letter: a may be the best, b of those left"
        said = f"observed prevalence {observed:.4g}; value, then rank (1 is best){letters}"
        console.print(Text(said, style="dim"))
    tables = ranked_tables(comparison)
    doubt = doubt_of(tables)
    if doubt is not None:
        console.print(Text(f"?: this log cannot tell the value ({doubt})", style="dim"))
    longest = max(len(printable(model)) for model in comparison.points["model"])
    names = max(len(_MODEL), min(longest, max(_NAME, console.width // 3)))
    columns = max(2, min(_COLUMNS, (console.width - min(names, _NAME) - _BORDERS) // _CELL))
    for table in tables:
        # With one beta, the tables over prevalence already contain everything.
        if table.rows.height and (table.over == "prevalence" or len(comparison.beta) > 1):
            _print(console, table.cells(columns), f"{table.title}, {table.where}", names)
    if comparison.off_scale is not None:
        console.print(Text(comparison.off_scale, style="yellow"))
    if comparison.uncounted is not None:
        console.print(Text(comparison.uncounted, style="yellow"))
        return
    for row in comparison.undefined.head(5).iter_rows(named=True):
        group = ", ".join(repr(row[key]) for key in ("model", *comparison.segments))
        console.print(Text(f"undefined for {group}: {row['reason']}", style="yellow"))


def _print_indented(console: Console, line: str) -> None:
    indent = "  "
    for part in Text(line).wrap(console, console.width - len(indent)):
        part.rstrip()
        console.print(Text.assemble(indent, part))


def _best(comparison: Comparison) -> Iterator[tuple[str, list[str]]]:
    """Yield each measure, and the best model at a few prevalences with all that are as good."""
    summary = summarise(comparison)
    for measure, name in summary.measures.items():
        told = [(answer.prevalence, answer.verdicts[measure]) for answer in summary.answers]
        if any(verdict.best for _, verdict in told):
            yield name, [f"at {format_grid(eta)}: {printable(name_best(verdict))}" for eta, verdict in told]


def print_frame(frame: pl.DataFrame, console: Console, *, title: str = "") -> None:
    """Print a small frame: whole numbers with separators, others to four digits, null as a dash.

    Parameters
    ----------
    frame
        What to show.
    console
        Where to.
    title
        Printed above the table.

    Examples
    --------
    >>> import polars as pl
    >>> from rich.console import Console
    >>> print_frame(pl.DataFrame({"rows": [389_091]}), Console(width=60, record=True, quiet=True))
    """
    if title:
        console.print(Text(printable(title), style="bold"))
    table = Table(pad_edge=False)
    for name, dtype in frame.schema.items():
        justify: JustifyMethod = "right" if dtype.is_numeric() else "left"
        # Names are folded and not cut: they are needed whole.
        table.add_column(Text(printable(name)), justify=justify, overflow="fold")
    for row in frame.iter_rows():
        table.add_row(*(Text(_shown(value)) for value in row))
    console.print(table)


def _shown(value: object) -> str:
    match value:
        case None:
            return UNDEFINED
        case int():
            return f"{value:,}"
        case float():
            return f"{value:.4g}"
        case _:
            return printable(str(value))


def _print(console: Console, cells: RankedCells, heading: str, width: int) -> None:
    # A table's own title would be folded to the width of the table.
    console.print(Text(heading, style="bold"))
    table = Table(pad_edge=False)
    # Long names are often alike at their beginning, so they are folded and not cut.
    table.add_column(_MODEL, overflow="fold", min_width=len(_MODEL), max_width=width)
    for value in cells.grid:
        table.add_column(format_grid(value), justify="right", no_wrap=True)
    for model, row in cells.rows:
        table.add_row(Text(printable(model)), *map(_cell, row))
    console.print(table)


def _cell(cell: Cell) -> Text:
    if cell.value is None:
        return Text(UNDEFINED)
    rank = "" if cell.rank is None else f" {cell.rank:>2}{format_group(cell.group):<1}"
    if cell.doubtful:
        return Text(f"{_short(cell.value)}  ?", style="dim")
    return Text.assemble((_short(cell.value), "bold green" if cell.rank == 1 else ""), (rank, "dim"))


def _short(value: float) -> str:
    return f"{value:.4f}" if value >= 0.001 or value == 0 else f"{value:.0e}"
