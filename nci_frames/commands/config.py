"""The option that takes what a report is asked from a job file."""

import dataclasses
from pathlib import Path
from typing import Any

import click

from nci_frames.base.errors import NciFramesError
from nci_frames.base.extras import require_jobs
from nci_frames.commands.ending import end
from nci_frames.options.report import ReportOptions, SegmentOptions

#: What a job file has besides a question, and a file of questions need not.
_LEAST = {"name": "report", "source": {"path": "logs"}}


def _defaults(ctx: click.Context, _param: click.Parameter, path: Path | None) -> None:
    """Let what a file says be the defaults of all other options."""
    if path is None:
        return
    require_jobs()
    from nci_frames.jobs.job_file.loading import read_job

    try:
        file = read_job(path, least=_LEAST)
    except NciFramesError as error:
        end(ctx, error.exit_code, error.for_job_file())
    job = file.job
    given: dict[str, Any] = job.columns.model_dump(include=job.columns.model_fields_set)
    for table, answered in ((ReportOptions, job.report), (SegmentOptions, job.segments)):
        given |= {field.name: getattr(answered, field.name) for field in dataclasses.fields(table)}
    given["segments"] = job.segments.keys
    given["scores"] = [f"{model}={column}" for model, column in job.columns.scores.items()]
    if isinstance(given["prevalence"], Path):
        given["prevalence"] = Path(file.resolve(str(given["prevalence"])))
    if "thresholds" in job.model_fields_set:
        grid = job.counting_settings().thresholds
        given["thresholds"] = "exact" if grid is None else ",".join(map(repr, grid))
    ctx.default_map = given


config_option = click.option(
    "--config",
    type=click.Path(path_type=Path),
    is_eager=True,
    expose_value=False,
    callback=_defaults,
    help="Job file whose columns, thresholds, segments and report are the defaults of these options.",
)
