"""Ending of all commands: expected errors and interrupts give a message and an exit code."""

import io
import os
import sys
import warnings
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from nci_frames.base.errors import NciFramesError, OutputError, ParameterError
from nci_frames.base.interrupts import INTERRUPTED, leave_when_interrupted

if TYPE_CHECKING:
    import polars as pl


class Command(click.Command):
    """A command whose errors name its options, or the keys of its job file."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; click alone would drop all but the last value of an option."""
        *_, given = self.make_parser(ctx).parse_args([*args])
        for option, times in Counter(option for option in given if isinstance(option, click.Option)).items():
            if times > 1 and not (option.multiple or option.is_flag or option.count):
                name = option.opts[0]
                raise click.BadOptionUsage(name, f"Option {name!r} takes one value, {times} are given.", ctx)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            _need_environment()
            with warnings.catch_warnings():
                # Print the message of a warning without the line of code.
                warnings.showwarning = lambda message, *_: tell(f"warning: {message}", err=True)
                return super().invoke(ctx)
        except NciFramesError as error:
            options = {param.name for param in self.params if isinstance(param, click.Option)}
            # Settings of a job are in its file, not in options.
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
    """Print a line, without control characters in names."""
    from nci_frames.tables.names import printable

    click.echo(printable(line), err=err)


def show(frame: "pl.DataFrame", title: str) -> None:
    """Print a table."""
    from rich.console import Console

    from nci_frames.reporting.terminal import print_frame

    print_frame(frame, Console(highlight=False), title=title)


def _need_environment() -> None:
    """Raise ParameterError if the environment is unusable: no working directory, or invalid variables."""
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
    """A group of commands."""

    command_class = Command


class _Errors(io.FileIO):
    """Standard error; failed writes do not change the exit code."""

    def write(self, content: Any, /) -> int:
        try:
            return super().write(content)
        except OSError:
            return len(content)


class _Output(io.FileIO):
    """Standard output; a failed write (full disk, closed pipe) ends the process without a traceback."""

    def write(self, content: Any, /) -> int:
        try:
            return super().write(content)
        except OSError as error:
            # Otherwise the write would be tried again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            # A closed pipe, as with "| head", needs no message.
            if not isinstance(error, BrokenPipeError):
                click.echo(f"error: {OutputError.unwritable('standard output', error)}", err=True)
            sys.exit(OutputError.exit_code)


def end_without_output() -> None:
    """From now on, exit with the code of ``OutputError`` if standard output cannot be written."""
    for name, kind in (("stdout", _Output), ("stderr", _Errors)):
        out = getattr(sys, name)
        if isinstance(out, io.TextIOWrapper):
            # Keep the file descriptor of the first stream, which others query for the width of the terminal.
            stream = io.TextIOWrapper(
                io.BufferedWriter(kind(out.fileno(), "w", closefd=False)),
                encoding=out.encoding,
                # Characters that the encoding of the terminal lacks are written by their code.
                errors="backslashreplace" if out.errors == "strict" else out.errors,
                line_buffering=out.line_buffering,
                write_through=out.write_through,
            )
            setattr(sys, name, stream)
