"""The command line: which commands there are."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, cast

import click

from nci_frames.commands.ending import Commands

#: What each is for; it is the function of its name in the module of its name.
_COMMANDS = {
    "check": "Say what a run of JOB would do: files, windows, columns, gates.",
    "compare": "Say what changed between two logs: class balance or model.",
    "demo": "Train classifiers on real data and report on their logs.",
    "draw-labels": "Draw the rows of a log that a plan says to label.",
    "estimate": "Estimate the prevalence of a log without labels.",
    "init": "Write a commented job.toml into FOLDER.",
    "ledger": "Look at, check and tidy a ledger of counts.",
    "plan": "Show how large a test set must be, or what one can support.",
    "plan-labels": "Plan which rows of a log to label.",
    "report": "Rank the models of prediction logs and write a report.",
    "run": "Run a job once: count, report, judge the gates, publish.",
    "sql": "Print a query that counts the predictions of a table.",
}


class _Imported(Mapping[str, click.Command]):
    """The commands by name, each imported when it is asked for."""

    def __getitem__(self, name: str) -> click.Command:
        if name not in _COMMANDS:
            raise KeyError(name)
        module = name.replace("-", "_")
        return cast("click.Command", getattr(import_module(f"nci_frames.commands.{module}"), module))

    def __iter__(self) -> Iterator[str]:
        return iter(_COMMANDS)

    def __len__(self) -> int:
        return len(_COMMANDS)


class _Listed(Commands):
    """The group of these commands."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write what each is for, without importing it."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(
    cls=_Listed,
    commands=cast("Any", _Imported()),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
    epilog="Exit codes: 0 done, 1 a bug, 2 a wrong argument or setting, 3 bad data (unreadable source, wrong "
    "columns, invalid rows), 4 the output cannot be written, 5 conflict with another run, 10 a gate failed, "
    "11 a gate is undecided, where that fails, 130 interrupted.",
)
@click.version_option(package_name="nci_frames", prog_name="nci-frames")
def main() -> None:
    """Compare binary classifiers at class balances other than that of the test set.

    \b
    Example:
      nci-frames demo
      nci-frames report logs/ --prevalence 0.0001,0.001,0.01 --segments country --out report
    """
