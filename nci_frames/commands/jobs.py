"""The commands of scheduled jobs: arguments only."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nci_frames.base.errors import SourceError
from nci_frames.base.extras import require_jobs
from nci_frames.base.interrupts import clean_up_when_interrupted
from nci_frames.base.messages import quantity
from nci_frames.commands.ending import Command
from nci_frames.options.command_line import Moment, out_option

if TYPE_CHECKING:
    from nci_frames.jobs.counted_files import Planned
    from nci_frames.jobs.job_file.loading import JobFile

__all__ = ["JOB_COMMANDS"]

#: Reasons why a run would end that ``check`` lists.
_LISTED = 20
_UNTIL = click.option(
    "--until", type=Moment(), help="Only windows that begin before this day or hour in UTC, e.g. 2026-03-04."
)


@click.command(cls=Command)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--example", is_flag=True, help="Also write five nights of logs, so that the job runs at once.")
def init(folder: Path, example: bool) -> None:
    """Write a commented job.toml into FOLDER.

    \b
    Example:
      nci-frames init nightly --example
      nci-frames run nightly/job.toml
    """
    require_jobs()
    from nci_frames.jobs.starting import write_job

    clean_up_when_interrupted()
    file = write_job(folder, example=example)
    click.echo(f"written: {_shown(file)}")
    if example:
        click.echo(f"written: {_shown(folder / 'logs')}, five nights of logs")
    click.echo(f"next:    nci-frames check {_shown(file)}")


@click.command("demo-job", cls=Command, short_help="Run a job on five nights of synthetic logs.")
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
        click.echo(f"{outcome.run}, {story}:\n  {outcome.line}")
    click.echo(f"report:  {_shown(outcome.folder / 'report.html')}")
    click.echo(f"history: {_shown(outcome.folder / 'history.html')}")


@click.command(cls=Command)
@click.argument("job", type=click.Path(path_type=Path))
@_UNTIL
@click.pass_context
def check(ctx: click.Context, job: Path, until: datetime | None) -> None:
    """Say what a run of JOB would do: files, windows, columns, gates. Nothing is written.

    Exit code 3: the run would end because of a file.

    \b
    Example:
      nci-frames check nightly/job.toml
    """
    file = _read(job)
    from nci_frames.jobs.gates.verdicts import gate_text
    from nci_frames.jobs.metrics_file import check_metrics_file
    from nci_frames.jobs.run import plan_job
    from nci_frames.jobs.scenario_values import scenario_facts

    clean_up_when_interrupted()
    metrics = _metrics_file(file)
    if metrics is not None:
        check_metrics_file(metrics)
    plan = plan_job(file, until=until)
    stops = _tell_files("files", plan.labelled)
    settings = plan.labelled.settings
    grid = "every score" if settings.thresholds is None else quantity(len(settings.thresholds), "threshold")
    click.echo(f"columns:  {', '.join(f'{name!r} ({role})' for name, role in settings.roles().items())}")
    click.echo(f"counted:  at {grid}, generation {settings.generation}")
    if plan.traffic is not None:
        stops += _tell_files("traffic", plan.traffic)
        columns = plan.traffic.settings.roles().items()
        click.echo(f"columns:  {', '.join(f'{name!r} ({role})' for name, role in columns)}")
    for label, value in scenario_facts(file.job):
        click.echo(f"assumed:  {_shown(f'{label}: {value}')}")
    for gate in file.job.gates:
        click.echo(f"gate:     {gate.name!r}: {gate_text(gate)}")
    output = file.job.output
    click.echo(
        f"output:   {_shown(file.resolve(output.folder))}, ledger {_shown(file.resolve(output.ledger))}"
    )
    if stops:
        ctx.exit(SourceError.exit_code)


@click.command(cls=Command, short_help="Run a job once: count, report, judge the gates, publish.")
@click.argument("job", type=click.Path(path_type=Path))
@click.option("--run-id", help="Name of the run, published once.  [default: its number and the time]")
@_UNTIL
@click.option("--keep-going", is_flag=True, help="Go on without the files that cannot be counted.")
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Format of the progress messages on standard error.",
)
@click.pass_context
def run(
    ctx: click.Context,
    job: Path,
    run_id: str | None,
    until: datetime | None,
    keep_going: bool,
    log_format: str,
) -> None:
    """Run JOB once: count new files, build the report, judge the gates, publish.

    Prints one line with the verdict. Exit code 10: a gate failed; 11: a gate is undecided, where that fails.

    \b
    Example:
      nci-frames run nightly/job.toml
      nci-frames run nightly/job.toml --log-format json --keep-going
    """
    file = _read(job)
    from nci_frames.jobs.logging import teller
    from nci_frames.jobs.metrics_file import check_metrics_file, write_metrics
    from nci_frames.jobs.run import run_job
    from nci_frames.jobs.tracking import log_to_mlflow, require_mlflow

    clean_up_when_interrupted()
    tell, tracking = teller(log_format), file.job.output.mlflow
    if tracking is not None:
        # Before anything is counted: the run must not end where it would be logged.
        require_mlflow()
    metrics = _metrics_file(file)
    if metrics is not None:
        check_metrics_file(metrics)
    outcome = run_job(file, run=run_id, until=until, keep_going=keep_going, tell=tell)
    # It is published, whatever becomes of its metrics.
    click.echo(outcome.line)
    if metrics is not None:
        write_metrics(metrics, file.job.name, outcome)
    if tracking is not None:
        tell("logged to MLflow", id=log_to_mlflow(tracking, file.job.name, outcome))
    ctx.exit(outcome.exit_code)


JOB_COMMANDS = (init, check, run, demo_job)


def _read(path: Path) -> "JobFile":
    require_jobs()
    from nci_frames.jobs.job_file.loading import read_job

    return read_job(path)


def _metrics_file(file: "JobFile") -> Path | None:
    name = file.job.output.metrics_file
    return None if name is None else Path(file.resolve(name))


def _tell_files(label: str, planned: "Planned") -> int:
    """Print what a run would do with the files of a source; return how many would end it."""
    from nci_frames.jobs.ledger.appending import by_reason

    events = dict(planned.files["event"].value_counts().rows())
    told = ", ".join(f"{number:,} {event}" for event, number in sorted(events.items()))
    click.echo(f"{label + ':':<9} {len(planned.files):,} ({told})")
    stops = planned.stopping
    reasons = by_reason(stops)
    for event, files, reason in reasons[:_LISTED]:
        why = reason or "counted with another content, and on_changed is 'raise'"
        click.echo(f"          {event}: {_indented(f'{files}: {why}')}")
    if len(reasons) > _LISTED:
        click.echo(f"          and {quantity(len(reasons) - _LISTED, 'other reason')}")
    if planned.windows:
        first, last = planned.windows[0][0], planned.windows[-1][1]
        click.echo(
            f"windows:  {len(planned.windows):,}, from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC"
        )
    return len(stops)


def _indented(text: str) -> str:
    """Write an error of several lines under the file that it is about."""
    return "\n            ".join(_shown(line) for line in text.splitlines())


def _shown(path: Path | str) -> str:
    from nci_frames.tables.names import printable

    return printable(str(path))
