"""The files of a job, their state in the ledger, and the check that no output is among them."""

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from nci_frames.base.errors import NciFramesError, ParameterError
from nci_frames.base.folders import found_again
from nci_frames.base.urls import is_url
from nci_frames.jobs.job_file.loading import JobFile
from nci_frames.jobs.job_file.model import Feed
from nci_frames.jobs.job_file.windows import find_windows, glob_of
from nci_frames.jobs.ledger.appending import Item
from nci_frames.jobs.ledger.files import IN_LEDGER, SourceFile, Window
from nci_frames.jobs.ledger.ledger import CountsLedger
from nci_frames.jobs.ledger.view import shown_path
from nci_frames.jobs.run_counts import RunCounts

#: Paths that a run writes, to the depth that a glob may match.
_RUNS = ("x", "x/points.parquet", "x/tables", "x/tables/counts.parquet")


class Planned(NamedTuple):
    """The plan of a run for the files of a feed."""

    feed: Feed
    #: The result that ``CountsLedger.append`` would return, with "new" for files to count.
    files: pl.DataFrame
    windows: Sequence[Window]
    #: Paths before the lookback of which nothing was ever counted.
    left_out: Sequence[str]


def ledger_of(file: JobFile) -> CountsLedger:
    """Return the ledger of a job."""
    output = file.job.output
    return CountsLedger(file.resolve(output.ledger), storage_options=output.storage_options or None)


def plan_files(file: JobFile, feed: Feed, *, until: datetime | None) -> Planned:
    """Return what a run would do with the files of a feed, without doing it.

    Raises
    ------
    NciFramesError
        If there is no file, or the ledger is damaged.
    """
    files, left_out = _found(file, feed, until)
    windows = sorted({found.window for found in files if found.window is not None})
    return Planned(feed, ledger_of(file).plan(files, feed.settings, **_how(feed)), windows, left_out)


def count_files(file: JobFile, feed: Feed, *, until: datetime | None = None, **options: Any) -> RunCounts:
    """Count the files of a feed that are new to the ledger, and return its counts.

    Parameters
    ----------
    file, feed
        The job, and one of its feeds.
    until
        Only windows that begin before this time; None means all.
    options
        Options of ``CountsLedger.append_files``: ``run`` and ``keep_going``.

    Raises
    ------
    NciFramesError
        If there is no file, a file cannot be counted, the ledger is damaged, or nothing was ever counted.
    """
    (files, left_out), ledger = _found(file, feed, until), ledger_of(file)
    appended = ledger.append_files(files, feed.settings, **_how(feed), **options)
    starts = [item.window and item.window[0] for item in files]
    begins = pl.Series("window_start", starts, pl.Datetime("us", "UTC"))
    return RunCounts(ledger, feed, until, appended.with_columns(begins), left_out)


def _how(feed: Feed) -> dict[str, Any]:
    return {"on_changed": feed.source.on_changed, "told": NciFramesError.for_job_file}


def _found(file: JobFile, feed: Feed, until: datetime | None) -> tuple[list[SourceFile], list[str]]:
    """Return the files of a feed, and the paths before its lookback of which nothing was ever counted.

    If nothing was counted with these settings, all windows are searched.
    """
    states = ledger_of(file).states(feed.settings)
    counted = max((state.window[0] for state in states.values() if state.window), default=None)
    lookback = feed.source.lookback if states else None
    paths = [file.resolve_source(path) for path in feed.source.paths]
    files, older = find_windows(paths, lookback=lookback, until=until, counted=counted)
    paths_counted = {state.path for state in states.values()}
    unseen = [Item(found, feed.settings) for found in older if found.path not in paths_counted]
    # A file that was delivered again is no file whose rows are missing.
    return files, [shown_path(item.file.path) for item in unseen if item.identity not in states]


def check_output_apart(file: JobFile) -> None:
    """Refuse an output folder or ledger among the sources, or inside each other.

    Raises
    ------
    ParameterError
        If a source would match one of them, or one contains the other.
    """
    job = file.job
    runs, ledger = os.path.join(job.output.folder, "runs"), job.output.ledger  # noqa: PTH118  # may be a URL
    hint = "name another folder for the output, or one for the logs"
    paths = [path for source in (job.source, job.traffic) if source is not None for path in source.paths]
    for key, output, below in (("folder", runs, _RUNS), ("ledger", ledger, IN_LEDGER)):
        for path in paths:
            if found_again(glob_of(file.resolve_source(path)), file.resolve(output), below):
                msg = f"output.{key} lies among the sources, which would find it as a log"
                raise ParameterError(msg, found=f"source {path!r}, output {output!r}", hint=hint)
    if not (is_url(runs) or is_url(ledger)):
        places = [Path(os.path.realpath(file.resolve(place))) for place in (runs, ledger)]
        if places[0].is_relative_to(places[1]) or places[1].is_relative_to(places[0]):
            msg = "output.folder and output.ledger lie one within the other"
            hint = "name folders side by side, such as out and ledger"
            raise ParameterError(msg, found=f"folder {job.output.folder!r}, ledger {ledger!r}", hint=hint)
