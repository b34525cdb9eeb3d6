"""The commands ``ledger``: arguments only."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nci_frames.base.errors import ParameterError, SourceError
from nci_frames.base.extras import require_jobs
from nci_frames.base.interrupts import clean_up_when_interrupted
from nci_frames.base.messages import SHOWN_FILES, Option, listed, quantity
from nci_frames.base.urls import is_url, local_path
from nci_frames.commands.ending import Commands, show, tell
from nci_frames.options.kinds import MOMENT, ROWS
from nci_frames.options.logs import choice_option, column_options, segments_option, thresholds_option

if TYPE_CHECKING:
    from nci_frames.jobs.ledger.ledger import CountsLedger

#: Maximum number of thresholds to list.
_MANY = 5
#: Digits of a source's name to show, enough to identify it.
_DIGITS = 12
_generation = click.option(
    "--generation",
    help="Name of the settings, as listed by `generations`.  [default: those last used for labelled logs]",
)


@click.group(cls=Commands)
def ledger() -> None:
    """Inspect, verify and maintain a ledger of counts.

    \b
    Example:
      nci-frames ledger sources nightly/ledger
      nci-frames ledger verify nightly/ledger --files
    """


@ledger.command(short_help="Count files that are new to the ledger.")
@click.argument("path")
@click.argument("source", nargs=-1, required=True)
@thresholds_option("logit:501")
@segments_option("Column to count by; may be repeated.")
@column_options("model", "label", "score", "scores", "fold", "unit", "weight", "positive", "on_invalid")
@click.option("--buckets", type=ROWS, help="Number of buckets of units, 20 or more.  [default: 256]")
@click.option("--run", help="Name of the run, for read --as-of.  [default: the time]")
@choice_option(
    "--on-changed", ["raise", "keep", "recount"], "How to treat a counted file whose content has changed."
)
@click.option(
    "--keep-going", is_flag=True, help="Skip files that cannot be counted; the exit code is then 3."
)
@click.pass_context
def append(
    ctx: click.Context, /, path: str, source: tuple[str, ...], thresholds: str, **settings: Any
) -> None:
    """Count the files of each SOURCE (file, folder, glob) that are new to the ledger.

    \b
    Example:
      nci-frames ledger append counts.ledger logs/ --segments country
    """
    known = _ledger(path)
    from nci_frames.counting.thresholds.grids import named_thresholds
    from nci_frames.jobs.ledger.appending import refused
    from nci_frames.jobs.ledger.files import find_logs
    from nci_frames.jobs.ledger.settings import CountingSettings

    options = {param.name for param in ctx.command.params}
    how = {name: settings.pop(name) for name in ("run", "on_changed", "keep_going")}
    how["told"] = lambda error: error.for_command_line(options)
    counted = CountingSettings.of(thresholds=named_thresholds(thresholds), **settings)
    appended = known.append_files(find_logs(source, ledger=known.uri), counted, **how)
    show(appended.select("event", "rows", "counted", "dropped", "path"), "files")
    _warn(appended)
    bad = refused(appended, how["on_changed"])
    if len(bad):
        events = bad.group_by("event").len().sort("event", descending=True).rows()
        hint = "append again when these files are good: the others are known then"
        if set(bad["event"]) == {"changed"}:
            hint = f"{Option('on_changed', 'recount')} counts the new content in place of the old"
        msg = f"not counted: {len(bad):,} of {quantity(len(appended), 'file')}"
        found = ", ".join(f"{number:,} {event}" for event, number in events)
        raise SourceError(msg, where=listed(map(repr, bad["path"]), SHOWN_FILES), found=found, hint=hint)


@ledger.command()
@click.argument("path")
@click.option("--by", multiple=True, help="Key to keep besides the model; may be repeated.  [default: all]")
@click.option("--since", type=MOMENT, help="Only files of a job whose window begins then (UTC) or later.")
@click.option("--until", type=MOMENT, help="Only files of a job whose window begins before then (UTC).")
@click.option("--as-of", metavar="RUN", help="Read the ledger as it was after this run.")
@click.option("--version", type=ROWS, help="Read the ledger at this version of its Delta table.")
@_generation
@click.option(
    "--out", "-o", type=click.Path(path_type=Path), required=True, help="File: .parquet, .csv or .md."
)
def read(path: str, by: tuple[str, ...], generation: str | None, out: Path, **at: Any) -> None:
    """Write the counts of a ledger to a file.

    \b
    Example:
      nci-frames ledger read nightly/ledger --by country --as-of monday --out counts.parquet
    """
    known = _ledger(path)
    from nci_frames.files.save_table import save_table

    since, until, as_of, version = (at[name] for name in ("since", "until", "as_of", "version"))
    window = None
    if since is not None or until is not None:
        window = since or datetime.min.replace(tzinfo=UTC), until or datetime.max.replace(tzinfo=UTC)
        if not window[0] < window[1]:
            raise click.UsageError("--since must be before --until.")
    if as_of is not None and version is not None:
        raise click.UsageError("Give either --as-of or --version, not both.")
    _need_other_file(known, path, out)
    state = version if as_of is None else as_of
    counts = known.read(generation=generation, by=by or None, window=window, as_of=state)
    save_table(counts, out)
    none = ": no source of the ledger has a window then" if window and counts.is_empty() else ""
    tell(f"written: {out} ({quantity(len(counts), 'row')}{none})")


@ledger.command()
@click.argument("path")
def generations(path: str) -> None:
    """List the settings of the counts in a ledger.

    \b
    Example:
      nci-frames ledger generations nightly/ledger
    """
    known = _ledger(path).generations()
    settings = known["settings"].map_elements(_settings, known["settings"].dtype)
    show(known.with_columns(settings), "generations")


@ledger.command()
@click.argument("path")
@_generation
def sources(path: str, generation: str | None) -> None:
    """List the sources of a ledger.

    \b
    Example:
      nci-frames ledger sources nightly/ledger
    """
    known = _ledger(path).sources(generation=generation)
    shown = known.with_columns(known["source"].str.head(_DIGITS))
    show(shown.select("source", "event", "counted", "dropped", "run", "path"), "sources")


@ledger.command()
@click.argument("path")
@click.option("--files", is_flag=True, help="Also read the source files and compare their content.")
@click.pass_context
def verify(ctx: click.Context, path: str, files: bool) -> None:
    """Verify that a ledger is undamaged. Exit code 3: it is damaged.

    \b
    Example:
      nci-frames ledger verify nightly/ledger --files
    """
    damage = _ledger(path).verify(files=files)
    if damage.is_empty():
        tell("nothing is damaged")
        return
    show(damage, "damage")
    ctx.exit(3)


@ledger.command()
@click.argument("path")
@_generation
def compact(path: str, generation: str | None) -> None:
    """Merge small files and delete unused counts. Run it while nothing reads the ledger.

    \b
    Example:
      nci-frames ledger compact nightly/ledger
    """
    gathered = _ledger(path).compact(generation=generation)
    tell(f"files merged: {gathered:,}")


@ledger.command(short_help="Count all files again, and replace the old counts.")
@click.argument("path")
@_generation
def rebuild(path: str, generation: str | None) -> None:
    """Count all files again, and replace the old counts.

    \b
    Example:
      nci-frames ledger rebuild nightly/ledger
    """
    counted = _ledger(path).rebuild(generation=generation)
    tell(f"files counted: {len(counted):,}")
    _warn(counted)


@ledger.command(short_help="Exclude the rows of sources from now on.")
@click.argument("path")
@click.argument("source", nargs=-1, required=True)
@_generation
def retire(path: str, source: tuple[str, ...], generation: str | None) -> None:
    """Exclude the rows of each SOURCE (a name listed by `sources`) from now on.

    \b
    Example:
      nci-frames ledger retire nightly/ledger 3f0b5c1d9a72
    """
    _ledger(path).retire(*source, generation=generation)
    tell(f"sources retired: {len(source):,}")


def _settings(text: str) -> str:
    """Format settings for people: many thresholds by their number; unset options are left out."""
    facts = json.loads(text)
    grid = [float.fromhex(number) for number in facts.pop("thresholds") or ()]
    few = len(grid) <= _MANY
    facts["thresholds"] = (grid or "exact") if few else f"{len(grid):,} from {grid[0]:.6g} to {grid[-1]:.6g}"
    return ", ".join(f"{name} {value}" for name, value in facts.items() if value not in (None, []))


def _ledger(path: str) -> "CountsLedger":
    require_jobs()
    from nci_frames.jobs.ledger.ledger import CountsLedger

    clean_up_when_interrupted()
    return CountsLedger(path)


def _need_other_file(known: "CountsLedger", path: str, out: Path) -> None:
    """Raise ParameterError if the output is a file counted with any settings, or lies in the ledger."""
    target = os.path.realpath(out)
    place = local_path(path)
    inside = not is_url(place) and Path(target).is_relative_to(os.path.realpath(place))
    generations = known.generations()["generation"]
    paths = (path for name in generations for path in known.sources(generation=name)["path"])
    if inside or any(os.path.realpath(source) == target for source in paths):
        what = "lies in the ledger" if inside else "would replace a file that the ledger counts"
        raise ParameterError(f"the output {what}", found=repr(str(out)), hint="name another file")


def _warn(appended: Any) -> None:
    from nci_frames.jobs.ledger.appending import by_reason

    for event, files, reason in by_reason(appended.filter(event="failed")):
        tell(f"{event}: {files}", err=True)
        for line in (reason or "").splitlines():
            tell(f"  {line}", err=True)
    for told in appended["warning"].drop_nulls():
        tell(f"warning: {told}", err=True)
