"""The files of a job: which there are, and what the ledger would say of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from nci_frames.base.errors import NciFramesError
from nci_frames.jobs.job_file.loading import JobFile
from nci_frames.jobs.job_file.logs import Source
from nci_frames.jobs.job_file.windows import find_windows
from nci_frames.jobs.ledger.appending import OnChanged, refused
from nci_frames.jobs.ledger.files import SourceFile, Window
from nci_frames.jobs.ledger.ledger import CountsLedger
from nci_frames.jobs.ledger.settings import CountingSettings


@dataclass(frozen=True, slots=True)
class Planned:
    """What a run would do with the files of a source."""

    #: What ``CountsLedger.append`` would say of each file, with "new" for those that it would count.
    files: pl.DataFrame
    windows: tuple[Window, ...]
    settings: CountingSettings
    #: What becomes of a file that was counted with another content.
    on_changed: OnChanged

    @property
    def stopping(self) -> pl.DataFrame:
        """The files because of which a run would end."""
        return refused(self.files, self.on_changed)


def ledger_of(file: JobFile) -> CountsLedger:
    """Return the ledger of a job."""
    output = file.job.output
    return CountsLedger(file.resolve(output.ledger), storage_options=output.storage_options or None)


def plan_files(
    file: JobFile, source: Source, settings: CountingSettings, *, until: datetime | None
) -> Planned:
    """Say what a run would do with the files of a source, without doing it.

    Raises
    ------
    NciFramesError
        If there is no file, or the ledger is damaged.
    """
    ledger = ledger_of(file)
    files = _found(file, source, ledger, settings, until)
    windows = sorted({found.window for found in files if found.window is not None})
    planned = ledger.plan(files, settings, on_changed=source.on_changed, told=NciFramesError.for_job_file)
    return Planned(planned, tuple(windows), settings, source.on_changed)


def count_files(
    file: JobFile, source: Source, settings: CountingSettings, *, until: datetime | None, **options: Any
) -> pl.DataFrame:
    """Count the files of a source that the ledger does not know, and say what became of each.

    Parameters
    ----------
    file
        The job.
    source, settings
        Which files, and how they are counted.
    until
        Only windows that begin before; None takes all.
    options
        Of ``CountsLedger.append_files``: ``run`` and ``keep_going``.

    Raises
    ------
    NciFramesError
        If there is no file, a file stops the run, or the ledger is damaged.
    """
    ledger = ledger_of(file)
    files = _found(file, source, ledger, settings, until)
    told = NciFramesError.for_job_file
    return ledger.append_files(files, settings, on_changed=source.on_changed, told=told, **options)


def _found(
    file: JobFile, source: Source, ledger: CountsLedger, settings: CountingSettings, until: datetime | None
) -> Sequence[SourceFile]:
    """Return the files of a source; all windows where nothing was counted by these settings."""
    known = ledger.has_counted_by(settings)
    paths = [source.path] if isinstance(source.path, str) else source.path
    resolved = [file.resolve(path) for path in paths]
    return find_windows(resolved, lookback=source.lookback, until=until, everything=not known)
