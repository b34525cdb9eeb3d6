"""The command line: which commands there are."""

import click

from nci_frames.commands.counting import COUNTING_COMMANDS
from nci_frames.commands.ending import Commands
from nci_frames.commands.jobs import JOB_COMMANDS
from nci_frames.commands.ledger import ledger
from nci_frames.commands.plan import plan
from nci_frames.commands.report import REPORT_COMMANDS

__all__ = ["main"]


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
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


for _command in (*REPORT_COMMANDS, plan, *COUNTING_COMMANDS, *JOB_COMMANDS, ledger):
    main.add_command(_command)
