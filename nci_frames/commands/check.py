"""The command ``check``: arguments only."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nci_frames.base.errors import SourceError
from nci_frames.base.messages import listed, quantity
from nci_frames.commands.ending import Command, tell
from nci_frames.commands.job_file import metrics_file_of, opened, until_option

if TYPE_CHECKING:
    from nci_frames.jobs.counted_files import Planned

#: Maximum number of listed reasons why a run would fail.
_LISTED = 20


@click.command(cls=Command)
@click.argument("job", type=click.Path(path_type=Path))
@until_option
@click.pass_context
def check(ctx: click.Context, job: Path, until: datetime | None) -> None:
    """Show what a run of JOB would do: files, windows, columns, gates. Nothing is written.

    Exit code 3: the run would fail because of a file.

    \b
    Example:
      nci-frames check nightly/job.toml
    """
    file = opened(job)
    from nci_frames.jobs.gates.verdicts import gate_text
    from nci_frames.jobs.run import plan_job, try_store
    from nci_frames.jobs.scenario_values import scenario_facts

    metrics_file_of(file)
    stops = 0
    for label, planned in zip(("files", "traffic"), plan_job(file, until=until), strict=False):
        stops += _tell_files(label, planned)
        settings = planned.feed.settings
        tell(f"columns:  {', '.join(f'{name!r} ({role})' for name, role in settings.roles().items())}")
        if label == "files":
            grid = settings.thresholds
            at = "every score" if grid is None else quantity(len(grid), "threshold")
            tell(f"counted:  at {at}, generation {settings.generation}")
    for label, value in scenario_facts(file.job):
        tell(f"assumed:  {label}: {value}")
    for gate in file.job.gates:
        tell(f"gate:     {gate.name!r}: {gate_text(gate)}")
    output = file.job.output
    try_store(file)
    tell(f"output:   {file.resolve(output.folder)}, ledger {file.resolve(output.ledger)}")
    if stops:
        ctx.exit(SourceError.exit_code)


def _tell_files(label: str, planned: "Planned") -> int:
    """Print what a run would do with the files of a source; return how many would make it fail."""
    from nci_frames.jobs.ledger.appending import by_reason, refused
    from nci_frames.jobs.run_counts import LEFT_OUT

    events = dict(planned.files["event"].value_counts().rows())
    told = ", ".join(f"{number:,} {event}" for event, number in sorted(events.items()))
    tell(f"{label + ':':<9} {len(planned.files):,} ({told})")
    stops = refused(planned.files, planned.feed.source.on_changed)
    reasons = list(by_reason(stops))
    for event, files, reason in reasons[:_LISTED]:
        why = reason or "counted with another content, and on_changed is 'raise'"
        # Further lines of an error are printed below its file.
        first, *rest = f"{event}: {files}: {why}".splitlines()
        for line in (first, *(f"  {line}" for line in rest)):
            tell(f"{'':<9} {line}")
    if len(reasons) > _LISTED:
        tell(f"          and {quantity(len(reasons) - _LISTED, 'other reason')}")
    if planned.windows:
        begin, end = planned.windows[0][0], planned.windows[-1][1]
        tell(f"windows:  {len(planned.windows):,}, from {begin:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC")
    if planned.left_out:
        tell(f"older:    {LEFT_OUT}: {len(planned.left_out):,} ({listed(map(repr, planned.left_out))})")
    return len(stops)
