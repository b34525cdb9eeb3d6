"""A comparison -> ranked tables for a terminal."""

import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nci_frames.evaluation.comparison.tables import Comparison
from nci_frames.reporting.findings.verdicts import read_assumption
from nci_frames.reporting.tables.great_tables import pick_evenly
from nci_frames.reporting.tables.numbers import UNDEFINED, format_grid

__all__ = ["print_comparison", "print_frame"]


def print_comparison(comparison: Comparison, console: Console, *, title: str = "") -> None:
    """Print PR-AUC and F-beta over prevalence, and F-beta over beta: value and rank of every model.

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
        console.print(Text(title, style="bold"))
    columns = max(2, min(8, (console.width - 26) // 12))
    observed, threshold = comparison.observed_prevalence, comparison.threshold
    if observed is not None:
        console.print(Text(f"observed prevalence {observed:.4g}; value, then rank (1 is best)", style="dim"))
    _print(console, comparison.areas.filter(metric="pr_auc"), "prevalence", "PR-AUC over prevalence", columns)
    beta, eta = comparison.main_beta, comparison.middle_prevalence
    heading = f"F{beta:g} over prevalence, each model at its own best threshold"
    _print(console, comparison.best.filter(beta=beta), "prevalence", heading, columns)
    f_beta = comparison.projection.filter(metric="f_beta")
    heading = f"F{beta:g} over prevalence, at threshold {threshold:g}"
    _print(console, f_beta.filter(beta=beta), "prevalence", heading, columns)
    if len(comparison.beta) > 1:
        heading = f"F-beta over beta, at threshold {threshold:g} and prevalence {eta:.4g}"
        _print(console, f_beta.filter(prevalence=eta), "beta", heading, columns)
    console.print(Text(read_assumption(comparison.shifts), style="dim"))
    for row in comparison.undefined.head(5).iter_rows(named=True):
        group = ", ".join(repr(row[key]) for key in ("model", *comparison.segments))
        console.print(Text(f"undefined for {group}: {row['reason']}", style="yellow"))


def print_frame(frame: pl.DataFrame, console: Console, *, title: str = "") -> None:
    """Print a small frame as it is: whole numbers with separators, others to four digits, null as a dash.

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
        console.print(Text(title, style="bold"))
    table = Table(pad_edge=False)
    for name, dtype in frame.schema.items():
        table.add_column(name, justify="right" if dtype.is_numeric() else "left")
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
            return _plain(str(value))


def _print(console: Console, ranking: pl.DataFrame, over: str, heading: str, columns: int) -> None:
    shown = pick_evenly(ranking[over].drop_nulls().unique().sort().to_list(), columns)
    table = Table(title=heading, title_justify="left", title_style="bold", pad_edge=False)
    table.add_column("model", no_wrap=True, overflow="ellipsis", max_width=28)
    for value in shown:
        table.add_column(format_grid(value), justify="right", no_wrap=True)
    cells = {(row["model"], row[over]): row for row in ranking.iter_rows(named=True)}
    first = ranking.filter(pl.col(over).is_in(shown[:1]))
    for model in first.sort("rank", "model", nulls_last=True)["model"]:
        table.add_row(Text(_plain(model)), *(_cell(cells.get((model, value))) for value in shown))
    console.print(table)


def _cell(row: dict[str, object] | None) -> Text:
    if row is None or row["rank"] is None:
        return Text(UNDEFINED)
    value = row["value"]
    return Text.assemble(
        (_short(value), "bold green" if row["rank"] == 1 else ""),
        (f" {row['rank']:>2}", "dim"),
    )


def _short(value: object) -> str:
    if not isinstance(value, float):
        return UNDEFINED
    return f"{value:.4f}" if value >= 0.001 or value == 0 else f"{value:.0e}"


def _plain(name: str | None) -> str:
    """Show a name from the data without control characters, which could steer the terminal."""
    return "null" if name is None else "".join(c if c.isprintable() else "�" for c in name)
