"""The command line and its list of commands."""

from importlib import import_module
from typing import Any, cast

import click

from nci_frames.commands.ending import Commands

#: Purpose of each command, which is the function of its name in the module of its name.
_COMMANDS = {
    "check": "Show what a run of a job would do, without writing anything.",
    "compare": "Show whether the prevalence or the model changed between two logs.",
    "count": "Count prediction logs at thresholds, and write the counts to a file.",
    "demo": "Train classifiers on real data and report on their logs.",
    "draw-labels": "Draw the rows to label from a log, by a label plan.",
    "estimate": "Estimate the prevalence of a log without labels.",
    "init": "Write a job.toml with comments into a folder.",
    "ledger": "Inspect, verify and maintain a ledger of counts.",
    "plan": "Compute the required size of a test set, or what a given one supports.",
    "plan-labels": "Plan which rows of a log to label.",
    "report": "Rank the models of prediction logs and write a report.",
    "run": "Run a job once: count, report, check the gates, publish.",
    "sql": "Print a SQL query that counts the predictions in a table.",
}


class _Listed(Commands):
    """The group of all commands."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command when it is first used; return None if there is none of that name."""
        if cmd_name not in _COMMANDS:
            return None
        module = cmd_name.replace("-", "_")
        return cast("click.Command", getattr(import_module(f"nci_frames.commands.{module}"), module))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the purpose of each command, without importing it."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(
    cls=_Listed,
    commands=cast("Any", _COMMANDS),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
    epilog="Exit codes: 0 done, 1 a bug, 2 a wrong argument or setting, 3 bad data (unreadable source, wrong "
    "columns, invalid rows), 4 the output cannot be written, 5 conflict with another run, 10 a gate failed, "
    "11 a gate is undecided and counts as failed, 130 interrupted.",
)
@click.version_option(package_name="nci_frames", prog_name="nci-frames")
def main() -> None:
    """Compare classifiers at other class balances than that of the test set.

    \b
    Example:
      nci-frames demo
      nci-frames report logs/ --prevalence 0.0001,0.001,0.01 --segments country --out report
    """
