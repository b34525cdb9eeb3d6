"""What all commands do: an expected error, or an interrupt, ends with a message and an exit code."""

import io
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import click

from nci_frames.base.errors import NciFramesError, OutputError, ParameterError
from nci_frames.base.interrupts import INTERRUPTED


class Command(click.Command):
    """A command whose expected errors name its options, or the keys of its job file."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            _need_working_directory()
            with warnings.catch_warnings():
                # A user is told what is doubtful, and not on which line of the code that was found.
                warnings.showwarning = lambda message, *_: tell(f"warning: {message}", err=True)
                return super().invoke(ctx)
        except NciFramesError as error:
            options = {param.name for param in self.params if isinstance(param, click.Option)}
            # What a job counts is told by its file, and by no option.
            of_job = any(param.name == "job" for param in self.params)
            told = error.for_job_file() if of_job else error.for_command_line(options)
            for line in f"error: {told}".split("\n"):
                tell(line, err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo(INTERRUPTED, err=True)
            ctx.exit(130)


def tell(line: str, *, err: bool = False) -> None:
    """Print a line; no name in it can steer the terminal."""
    from nci_frames.tables.names import printable

    click.echo(printable(line), err=err)


def _need_working_directory() -> None:
    """Raise ParameterError where the folder is gone from which relative paths start."""
    try:
        Path.cwd()
    except OSError as error:
        msg = "the working directory is gone"
        raise ParameterError(msg, found=error.strerror, hint="change to a folder that exists") from error


class Commands(click.Group):
    """A group of such commands."""

    command_class = Command


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
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper):
        # The first stream stays: others ask it for the width of the terminal.
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(_Output(out.fileno(), "w", closefd=False)),
            encoding=out.encoding,
            # A character that the encoding lacks, as on an old terminal, is written by its code.
            errors="backslashreplace" if out.errors == "strict" else out.errors,
            line_buffering=out.line_buffering,
            write_through=out.write_through,
        )
