"""What the commands of a job share: its file, and until when its windows count."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nci_frames.base.extras import require_jobs
from nci_frames.base.interrupts import clean_up_when_interrupted
from nci_frames.options.kinds import MOMENT

if TYPE_CHECKING:
    from nci_frames.jobs.job_file.loading import JobFile

until_option = click.option(
    "--until", type=MOMENT, help="Only windows that begin before this day or hour in UTC, e.g. 2026-03-04."
)


def opened(path: Path) -> "JobFile":
    """Read a job file, before anything is run."""
    require_jobs()
    from nci_frames.jobs import run  # noqa: F401 - an interrupt amid an import could not be caught
    from nci_frames.jobs.job_file.loading import read_job

    clean_up_when_interrupted()
    return read_job(path)
