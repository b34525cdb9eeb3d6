"""Shared parts of the job commands: the job file, and ``--until``."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nci_frames.base.extras import require_jobs
from nci_frames.base.interrupts import clean_up_when_interrupted
from nci_frames.options.kinds import MOMENT

if TYPE_CHECKING:
    from nci_frames.jobs.job_file.loading import JobFile

until_option = click.option(
    "--until", type=MOMENT, help="Only windows that begin before this day or hour (UTC), e.g. 2026-03-04."
)


def opened(path: Path) -> "JobFile":
    """Read a job file, after importing what a run needs."""
    require_jobs()
    from nci_frames.jobs import run  # noqa: F401 - an interrupt amid an import could not be caught
    from nci_frames.jobs.job_file.loading import read_job

    clean_up_when_interrupted()
    return read_job(path)


def metrics_file_of(file: "JobFile") -> Path | None:
    """Return the checked path of the metrics file of a job; None if it has none."""
    from nci_frames.jobs.metrics_file import check_metrics_file

    name = file.job.output.metrics_file
    path = None if name is None else Path(file.resolve(name))
    if path is not None:
        check_metrics_file(path)
    return path
