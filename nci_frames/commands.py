"""What all commands do: an expected error, or an interrupt, ends with a message and an exit code."""

import warnings
from pathlib import Path
from typing import Any

import click

from nci_frames.errors import NciFramesError, ParameterError
from nci_frames.interrupts import INTERRUPTED

__all__ = ["Command", "Commands", "tell_warning"]


class Command(click.Command):
    """A command whose expected errors name its options, or the keys of its job file."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            _need_working_directory()
            with warnings.catch_warnings():
                # A user is told what is doubtful, and not on which line of the code that was found.
                warnings.showwarning = lambda message, *_: tell_warning(str(message))
                return super().invoke(ctx)
        except NciFramesError as error:
            from nci_frames.reporting.tables.names import printable

            options = {param.name for param in self.params if isinstance(param, click.Option)}
            # What a job counts is told by its file, and by no option.
            of_job = any(param.name == "job" for param in self.params)
            told = error.for_job_file() if of_job else error.for_command_line(options)
            for line in f"error: {told}".split("\n"):
                click.echo(printable(line), err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo(INTERRUPTED, err=True)
            ctx.exit(130)


def tell_warning(text: str) -> None:
    """Print a warning as a line on standard error."""
    from nci_frames.reporting.tables.names import printable

    click.echo(f"warning: {printable(text)}", err=True)


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
