"""Progress of counting (rows, rows per second, time left) and of later steps. Silent without a terminal."""

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
    """Yield a function that reports a number of newly counted rows; *rows* is the total, if known."""
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
    """Show a step and its duration on a terminal."""
    with _on_terminal(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()) as progress:
        progress.add_task(step)
        yield


def _on_terminal(*columns: ProgressColumn) -> Progress:
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
