"""The commands of scheduled jobs: arguments only."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from nci_frames.jobs.job_file.loading import JobFile
    from nci_frames.jobs.ledger.ledger import CountsLedger

__all__ = ["JOB_COMMANDS"]

_DAY = click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H", "%Y-%m-%dT%H:%M:%S"])


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--example", is_flag=True, help="Also write five nights of logs, so that the job runs at once.")
def init(folder: Path, example: bool) -> None:
    """Write a commented job.toml into FOLDER.

    \b
    Example:
      nci-frames init nightly --example
      nci-frames run nightly/job.toml
    """
    _need_extra()
    from nci_frames.jobs.starting import write_job

    file = write_job(folder, example=example)
    click.echo(f"written: {_shown(file)}")


@click.command("demo-job")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    default="demo-job",
    show_default=True,
    help="Folder of the job; created if missing.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the logs.")
def demo_job(out: Path, seed: int) -> None:
    """Run a job on five nights of synthetic logs: late, delivered again, drifting, and a new leader.

    \b
    Example:
      nci-frames demo-job --out demo-job
    """
    _need_extra()
    from nci_frames.jobs.demo import run_demo_nights

    for story, outcome in run_demo_nights(out, seed=seed):
        click.echo(f"{outcome.run}, {story}:\n  {outcome.line}")
    click.echo(f"history: {_shown(outcome.folder / 'history.html')}")


@click.command()
@click.argument("job", type=click.Path(path_type=Path))
@click.option("--until", type=_DAY, help="Only windows that begin before this day (UTC).")
def check(job: Path, until: datetime | None) -> None:
    """Say what a run of JOB would do: files, windows, columns, gates. Nothing is written.

    \b
    Example:
      nci-frames check nightly/job.toml
    """
    file = _read(job)
    from nci_frames.jobs.run import plan_job

    plan = plan_job(file, until=_utc(until))
    events = dict(plan.files["event"].value_counts().rows())
    told = ", ".join(f"{number:,} {event}" for event, number in sorted(events.items()))
    click.echo(f"files:    {len(plan.files):,} ({told})")
    for row in plan.files.filter(plan.files["event"].is_in(["changed", "failed"])).iter_rows(named=True):
        click.echo(f"          {row['event']}: {row['path']!r} {row['reason'] or ''}".rstrip())
    if plan.windows:
        first, last = plan.windows[0][0], plan.windows[-1][1]
        click.echo(
            f"windows:  {len(plan.windows):,}, from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC"
        )
    settings = plan.settings
    grid = "every score" if settings.thresholds is None else f"{len(settings.thresholds):,} thresholds"
    click.echo(f"columns:  {', '.join(f'{name!r} ({role})' for name, role in settings.roles().items())}")
    click.echo(f"counted:  at {grid}, generation {settings.generation}")
    for gate in file.job.gates:
        click.echo(f"gate:     {gate.name!r}: {gate.metric!r}, {gate.severity}")


@click.command()
@click.argument("job", type=click.Path(path_type=Path))
@click.option("--run-id", help="Name of the run, published once.  [default: its number and the time]")
@click.option("--until", type=_DAY, help="Only windows that begin before this day (UTC).")
@click.option("--keep-going", is_flag=True, help="Go on without the files that cannot be counted.")
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How what happens is told on standard error.",
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
    from nci_frames.jobs.metrics_file import write_metrics
    from nci_frames.jobs.run import run_job

    tell = teller(log_format)
    outcome = run_job(file, run=run_id, until=_utc(until), keep_going=keep_going, tell=tell)
    if file.job.output.metrics_file is not None:
        write_metrics(Path(file.resolve(file.job.output.metrics_file)), file.job.name, outcome)
    click.echo(outcome.line)
    ctx.exit(outcome.exit_code)


@click.group()
def ledger() -> None:
    """Look at, check and tidy a ledger of counts.

    \b
    Example:
      nci-frames ledger sources nightly/ledger
      nci-frames ledger verify nightly/ledger --files
    """


@ledger.command()
@click.argument("path")
@click.option("--generation", help="The settings.  [default: those used last]")
def sources(path: str, generation: str | None) -> None:
    """List the sources that a ledger knows.

    \b
    Example:
      nci-frames ledger sources nightly/ledger
    """
    known = _ledger(path).sources(generation=generation)
    _print(known.select("event", "counted", "dropped", "run", "source", "path"), "sources")


@ledger.command()
@click.argument("path")
@click.option("--files", is_flag=True, help="Also read the source files, and compare their content.")
@click.pass_context
def verify(ctx: click.Context, path: str, files: bool) -> None:
    """Check that a ledger is as it was written. Exit code 3: it is not.

    \b
    Example:
      nci-frames ledger verify nightly/ledger --files
    """
    damage = _ledger(path).verify(files=files)
    if damage.is_empty():
        click.echo("nothing is damaged")
        return
    _print(damage, "damage")
    ctx.exit(3)


@ledger.command()
@click.argument("path")
@click.option("--generation", help="The settings.  [default: those used last]")
def compact(path: str, generation: str | None) -> None:
    """Gather small files and drop counts that count no longer. Run it when nobody reads.

    \b
    Example:
      nci-frames ledger compact nightly/ledger
    """
    gathered = _ledger(path).compact(generation=generation)
    click.echo(f"{gathered:,} files gathered")


@ledger.command()
@click.argument("path")
@click.option("--generation", help="The settings.  [default: those used last]")
def rebuild(path: str, generation: str | None) -> None:
    """Count all files anew; the new counts take the place of the old.

    \b
    Example:
      nci-frames ledger rebuild nightly/ledger
    """
    counted = _ledger(path).rebuild(generation=generation)
    click.echo(f"{len(counted):,} files counted")


@ledger.command()
@click.argument("path")
@click.argument("source", nargs=-1, required=True)
@click.option("--generation", help="The settings.  [default: those used last]")
def retire(path: str, source: tuple[str, ...], generation: str | None) -> None:
    """Let the rows of each SOURCE (a hash, as `sources` lists it) count no longer.

    \b
    Example:
      nci-frames ledger retire nightly/ledger 3f0b...
    """
    _ledger(path).retire(*source, generation=generation)
    click.echo(f"{len(source):,} sources retired")


JOB_COMMANDS = (init, check, run, ledger, demo_job)


def _need_extra() -> None:
    from nci_frames.extras import require

    for package in ("pydantic", "deltalake", "blake3", "structlog", "prometheus_client"):
        require(package, extra="jobs", what=f"jobs and ledgers need the package {package}")


def _read(path: Path) -> "JobFile":
    _need_extra()
    from nci_frames.jobs.job_file.loading import read_job

    return read_job(path)


def _ledger(path: str) -> "CountsLedger":
    _need_extra()
    from nci_frames.jobs.ledger.ledger import CountsLedger

    return CountsLedger(path)


def _print(frame: Any, title: str) -> None:
    from rich.console import Console

    from nci_frames.reporting.pages.terminal import print_frame

    print_frame(frame, Console(highlight=False), title=title)


def _utc(day: datetime | None) -> datetime | None:
    return None if day is None else day.replace(tzinfo=UTC)


def _shown(path: Path) -> str:
    return repr(str(path))[1:-1]
