"""A comparison -> answer and ranked tables for a terminal."""

import io
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, chain
from typing import Any, cast

import polars as pl
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from nci_frames.questions.answer import Answer
from nci_frames.questions.answer_lines import short_answer
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.ranked import doubt_of, ranked_tables
from nci_frames.questions.report import answered, questions_of
from nci_frames.questions.report_question import AnyComparison, ReportQuestion
from nci_frames.reporting.content import Content
from nci_frames.tables.cells import Cell, RankedCells
from nci_frames.tables.names import printable
from nci_frames.tables.numbers import UNDEFINED, format_cell, format_grid, format_group

#: Minimum width of names and of columns, and maximum number of columns.
_NAME, _CELL, _COLUMNS = 28, 13, 14
#: Head of the column of models, and width of its borders.
_MODEL, _BORDERS = "model", 3

#: Maximum number of rows of a table instead of sentences.
_ROWS = 20

#: Maximum lines of an answer, and of the data behind it: with the line of the report they fit a screen.
_ANSWER, _BASIS = 13, 8


def print_answer(
    comparison: AnyComparison,
    console: Console,
    *,
    most: int | None = _ANSWER,
    questions: Sequence[ReportQuestion] | None = None,
) -> None:
    """Print the answer: model to choose, equally good models, where the order changes, worse segments.

    Parameters
    ----------
    comparison
        The comparison.
    console
        Console to print to.
    most
        Maximum number of lines; None prints all.
    questions
        Questions of the report, without which their parts of the answer are left out; None means all.
    """

    def wanted(one: ReportQuestion) -> bool:
        told = _of_answer(one) and one.draw is None and one.say is not None
        return told and (questions is None or one in questions)

    said = _said(comparison, wanted)
    if said:
        _print_wrapped(console, said[0], indent="", style="bold")
        _print_lines(console, said[1:], most=most)


def print_basis(comparison: AnyComparison, console: Console) -> None:
    """Print the data behind the answer: what intervals resample, and whether projection is valid."""
    lines = _said(comparison, lambda one: one.section == "answer" and not _of_answer(one))
    _print_lines(console, lines, most=_BASIS)


def _said(comparison: AnyComparison, wanted: Callable[[ReportQuestion], bool]) -> list[str]:
    """Return the sentences of the library's questions that are *wanted*."""
    shown = answered(comparison, [question for question in questions_of(comparison) if wanted(question)])
    return [line for each in shown for line in each.sentences or []]


def print_conclusion(answers: Mapping[str, Answer], console: Console) -> None:
    """Print one sentence per log; *answers* maps names of logs to answers."""
    for name, answer in answers.items():
        console.print(Text(printable(name), style="bold"))
        _print_wrapped(console, short_answer(answer))


def print_comparison(
    comparison: AnyComparison,
    console: Console,
    *,
    title: str = "",
    questions: Sequence[ReportQuestion] | None = None,
) -> None:
    """Print the parts of a report besides its answer: sentences, ranked tables, small tables.

    Parameters
    ----------
    comparison
        The comparison.
    console
        Console to print to. A narrow console gets fewer columns.
    title
        Title above the tables.
    questions
        Questions of the report; None means those of the library.

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
    found = [shown for shown in answered(comparison, questions) if not shown.silent]
    told = [question for question in questions_of(comparison) if _of_answer(question)]
    for line in chain.from_iterable(shown.sentences or [] for shown in found if shown.question not in told):
        _print_wrapped(console, line)
    if isinstance(comparison, Comparison):
        _print_ranked(comparison, console)
    for shown in found:
        if shown.sentences is None:
            print_frame(shown.shown_table.head(_ROWS), console, title=shown.title)


def render_text(comparison: AnyComparison, /, **more: Any) -> str:
    """Return the terminal output for 100 columns as a string; *more* are further fields of ``Content``."""
    content, console = Content(comparison, **more), Console(width=100, file=io.StringIO(), highlight=False)
    console.print(Text(printable(content.title)))
    print_answer(comparison, console, most=None, questions=content.questions)
    print_comparison(comparison, console, questions=content.questions)
    for label, value in content.facts:
        _print_wrapped(console, f"{label}: {value}")
    text = cast("io.StringIO", console.file).getvalue()
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def _of_answer(question: ReportQuestion) -> bool:
    """Return whether a question is part of the answer: the answer itself, and its segments."""
    return "answer" in question.live or question.section == "segments"


def _print_ranked(comparison: Comparison, console: Console) -> None:
    observed = comparison.observed_prevalence
    if observed is not None:
        letters = "" if comparison.contenders is None else ", and letter: a may be the best, b of those left"
        said = f"observed prevalence {format_grid(observed)}; value, then rank (1 is best){letters}"
        console.print(Text(said, style="dim"))
    tables = ranked_tables(comparison)
    doubt = doubt_of(tables)
    if doubt is not None:
        console.print(Text(f"?: this log cannot tell the value ({doubt})", style="dim"))
    longest = max(cell_len(printable(model)) for model in comparison.points["model"])
    names = max(len(_MODEL), min(longest, max(_NAME, console.width // 3)))
    columns = max(2, min(_COLUMNS, (console.width - min(names, _NAME) - _BORDERS) // _CELL))
    for table in tables:
        # With a single beta, the tables over prevalence contain everything.
        if table.rows.height and (table.over == "prevalence" or len(comparison.beta) > 1):
            _print(console, table.cells(columns), f"{table.title}, {table.where}", names)


def _print_lines(console: Console, lines: Sequence[str], *, most: int | None) -> None:
    """Print the first lines that fit completely; the first one is cut if necessary."""
    wrapped = [_wrapped(console, line) for line in lines]
    parts = list(chain.from_iterable(wrapped))
    shown = len(parts)
    if most is not None and shown > most:
        ends = accumulate(map(len, wrapped))
        shown = max((end for end in ends if end < most), default=most - 1)
    for part in parts[:shown]:
        console.print(part)
    if shown < len(parts):
        console.print(Text("  ... and more in the report", style="dim"))


def _print_wrapped(console: Console, line: str, *, indent: str = "  ", style: str = "") -> None:
    for part in _wrapped(console, line, indent=indent, style=style):
        console.print(part)


def _wrapped(console: Console, line: str, *, indent: str = "  ", style: str = "") -> list[Text]:
    parts = Text(printable(line), style=style).wrap(console, console.width - len(indent))
    for part in parts:
        part.rstrip()
    return [Text.assemble(indent, part) for part in parts]


def print_frame(frame: pl.DataFrame, console: Console, *, title: str) -> None:
    """Print a small frame: whole numbers with separators, others with four digits, null as a dash.

    Parameters
    ----------
    frame
        Frame to print.
    console
        Console to print to.
    title
        Title above the table.

    Examples
    --------
    >>> import polars as pl
    >>> from rich.console import Console
    >>> console = Console(width=60, record=True, quiet=True)
    >>> print_frame(pl.DataFrame({"rows": [389_091]}), console, title="counted")
    """
    console.print(Text(printable(title), style="bold"))
    table = Table(pad_edge=False)
    for name, dtype in frame.schema.items():
        justify: JustifyMethod = "right" if dtype.is_numeric() else "left"
        # Fold names instead of cutting them.
        table.add_column(Text(printable(name)), justify=justify, overflow="fold")
    for row in frame.iter_rows():
        table.add_row(*(Text(printable(format_cell(value, "{:.4g}".format))) for value in row))
    if console.measure(table, options=console.options.update(width=10_000)).maximum > console.width:
        # Where the names do not fit side by side, break them between words.
        for column, name in zip(table.columns, frame.columns, strict=True):
            column.header = Text(printable(name).replace("_", "_\n"))
    console.print(table)


def _print(console: Console, cells: RankedCells, heading: str, width: int) -> None:
    # The title option of a table would fold it to the width of the table.
    console.print(Text(heading, style="bold"))
    table = Table(pad_edge=False)
    # Fold names instead of cutting them: long names often have the same beginning.
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
