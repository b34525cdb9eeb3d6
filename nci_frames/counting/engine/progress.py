"""Progress of a count (rows, rows per second, time left) and of what follows. Silent without a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from nci_frames.base.messages import quantity


@contextmanager
def rows_shown(rows: int | None, files: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that reports a number of further rows as counted, of so many if that is known."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with _on_terminal(*columns) as progress:
        what = f"counting {quantity(files, 'file')}" if files else "counting"
        task = progress.add_task(what, total=rows, speed="")

        def advance(more: int) -> None:
            speed = progress.tasks[0].speed
            progress.update(task, advance=more, speed=f"{speed:,.0f} rows/s" if speed else "")

        yield advance


@contextmanager
def step_shown(step: str) -> Iterator[None]:
    """Show what is done, and for how long, on a terminal."""
    with _on_terminal(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()) as progress:
        progress.add_task(step)
        yield


def _on_terminal(*columns: ProgressColumn) -> Progress:
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
