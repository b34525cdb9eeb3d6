"""The command ``init``: arguments only."""

from pathlib import Path

import click

from nci_frames.base.extras import require_jobs
from nci_frames.base.interrupts import clean_up_when_interrupted
from nci_frames.commands.ending import Command, tell


@click.command(cls=Command)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--example", is_flag=True, help="Also write five nights of logs, so that the job can run.")
def init(folder: Path, example: bool) -> None:
    """Write a job.toml with comments into FOLDER.

    \b
    Example:
      nci-frames init nightly --example
      nci-frames run nightly/job.toml
    """
    require_jobs()
    from nci_frames.jobs.starting import write_job

    clean_up_when_interrupted()
    file = write_job(folder, example=example)
    tell(f"written: {file}")
    if example:
        tell(f"written: {folder / 'logs'}, five nights of logs")
    tell(f"next:    nci-frames check {file}")
