"""The command ``run``: arguments only."""

from pathlib import Path
from typing import Any

import click

from nci_frames.commands.ending import Command
from nci_frames.commands.job_file import metrics_file_of, opened, until_option
from nci_frames.options.logs import choice_option


@click.command(cls=Command)
@click.argument("job", type=click.Path(path_type=Path))
@click.option("--run-id", help="Unique name of the run.  [default: its number and the time]")
@until_option
@click.option("--keep-going", is_flag=True, help="Skip files that cannot be counted.")
@choice_option("--log-format", ["text", "json"], "Format of the progress messages on standard error.")
@click.pass_context
def run(ctx: click.Context, /, job: Path, run_id: str | None, log_format: str, **how: Any) -> None:
    """Run JOB once: count new files, build the report, check the gates, publish.

    Prints one line with the verdict. Exit code 10: a gate failed; 11: a gate with undecided = "fail" is
    undecided.

    \b
    Example:
      nci-frames run nightly/job.toml
      nci-frames run nightly/job.toml --log-format json --keep-going
    """
    file = opened(job)
    from nci_frames.jobs.logging import teller
    from nci_frames.jobs.metrics_file import write_metrics
    from nci_frames.jobs.run import run_job

    metrics = metrics_file_of(file)
    done = run_job(file, run=run_id, tell=teller(log_format), **how)
    # The run is published, even if its metrics cannot be written.
    click.echo(done.line)
    if metrics is not None:
        write_metrics(metrics, done)
    ctx.exit(done.exit_code)
