"""The command that runs a job on logs of its own: arguments only."""

from pathlib import Path

import click

from nci_frames.base.extras import require_jobs
from nci_frames.base.interrupts import clean_up_when_interrupted
from nci_frames.commands.ending import Command, tell
from nci_frames.options.logs import out_option


@click.command("demo-job", cls=Command)
@out_option("demo-job", "Folder of the job")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the logs.")
def demo_job(out: Path, seed: int) -> None:
    """Run a job on five nights of synthetic logs: late, delivered again, drifting, and a new leader.

    \b
    Example:
      nci-frames demo-job --out demo-job
    """
    require_jobs()
    from nci_frames.jobs.demo import run_demo_nights

    clean_up_when_interrupted()
    for story, outcome in run_demo_nights(out, seed=seed):
        tell(f"{outcome.run}, {story}:\n  {outcome.line}")
    tell(f"report:  {outcome.folder / 'report.html'}")
    tell(f"history: {outcome.folder / 'history.html'}")
