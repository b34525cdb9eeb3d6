"""What all commands do: an expected error, or an interrupt, ends with a message and an exit code."""

import io
import os
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from nci_frames.base.errors import NciFramesError, OutputError, ParameterError
from nci_frames.base.interrupts import INTERRUPTED, leave_when_interrupted

if TYPE_CHECKING:
    import polars as pl


class Command(click.Command):
    """A command whose expected errors name its options, or the keys of its job file."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            _need_environment()
            with warnings.catch_warnings():
                # A user is told what is doubtful, and not on which line of the code that was found.
                warnings.showwarning = lambda message, *_: tell(f"warning: {message}", err=True)
                return super().invoke(ctx)
        except NciFramesError as error:
            options = {param.name for param in self.params if isinstance(param, click.Option)}
            # What a job counts is told by its file, and by no option.
            of_job = any(param.name == "job" for param in self.params)
            end(ctx, error.exit_code, error.for_job_file() if of_job else error.for_command_line(options))
        except KeyboardInterrupt:
            click.echo(INTERRUPTED, err=True)
            ctx.exit(130)
        finally:
            leave_when_interrupted()


def end(ctx: click.Context, exit_code: int, message: str) -> NoReturn:
    """End the command with an error."""
    for line in f"error: {message}".split("\n"):
        tell(line, err=True)
    ctx.exit(exit_code)


def tell(line: str, *, err: bool = False) -> None:
    """Print a line; no name in it can steer the terminal."""
    from nci_frames.tables.names import printable

    click.echo(printable(line), err=err)


def show(frame: "pl.DataFrame", title: str) -> None:
    """Print a table."""
    from rich.console import Console

    from nci_frames.reporting.terminal import print_frame

    print_frame(frame, Console(highlight=False), title=title)


def _need_environment() -> None:
    """Raise ParameterError where a process cannot do anything: in no folder, or with odd settings."""
    if sys.flags.optimize > 1:
        msg = "Python runs without docstrings, which Altair needs"
        raise ParameterError(msg, found="PYTHONOPTIMIZE=2 or -OO", hint="unset it, or set it to 1")
    threads = os.environ.get("POLARS_MAX_THREADS", "1")
    if not (threads.isdecimal() and int(threads) > 0):
        msg = "the variable POLARS_MAX_THREADS of the environment must be a whole number above 0"
        raise ParameterError(msg, found=repr(threads))
    if os.environ.get("POLARS_ENGINE_AFFINITY") == "gpu" and find_spec("cudf_polars") is None:
        msg = "the variable POLARS_ENGINE_AFFINITY asks for an engine that is not installed"
        raise ParameterError(msg, found="'gpu', without cudf_polars", hint="unset it")
    try:
        Path.cwd()
    except OSError as error:
        msg = "the working directory is gone"
        raise ParameterError(msg, found=error.strerror, hint="change to a folder that exists") from error


class Commands(click.Group):
    """A group of such commands."""

    command_class = Command


class _Errors(io.FileIO):
    """Standard error: what cannot be written there changes no exit code."""

    def write(self, content: Any, /) -> int:
        try:
            return super().write(content)
        except OSError:
            return len(content)


class _Output(io.FileIO):
    """Standard output, with which the process ends: a full disk is no bug, nor is a reader that has gone."""

    def write(self, content: Any, /) -> int:
        try:
            return super().write(content)
        except OSError as error:
            # What could not be written would be tried again at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            # As of "| head": who has read enough needs no message.
            if not isinstance(error, BrokenPipeError):
                click.echo(f"error: {OutputError.unwritable('standard output', error)}", err=True)
            sys.exit(OutputError.exit_code)


def end_without_output() -> None:
    """From now on, end with the exit code of ``OutputError`` where standard output cannot be written."""
    for name, kind in (("stdout", _Output), ("stderr", _Errors)):
        out = getattr(sys, name)
        if isinstance(out, io.TextIOWrapper):
            # The first stream stays: others ask it for the width of the terminal.
            stream = io.TextIOWrapper(
                io.BufferedWriter(kind(out.fileno(), "w", closefd=False)),
                encoding=out.encoding,
                # A character that the encoding lacks, as on an old terminal, is written by its code.
                errors="backslashreplace" if out.errors == "strict" else out.errors,
                line_buffering=out.line_buffering,
                write_through=out.write_through,
            )
            setattr(sys, name, stream)
