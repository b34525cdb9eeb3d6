"""The counts for the report and the gates of a run, from one version of the ledger."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

import polars as pl

from nci_frames.base.errors import SourceError
from nci_frames.base.messages import listed
from nci_frames.jobs.counting_units import affordable
from nci_frames.jobs.job_file.model import Feed
from nci_frames.jobs.ledger.files import Window
from nci_frames.jobs.ledger.ledger import CountsLedger
from nci_frames.schemas import BUCKET, REPEAT

LEFT_OUT = "files before the lookback, never counted"
#: All reported rows, those of the newest window, or all rows since the beginning.
Scope = Literal["all", "last", "ever"]


class RunCounts:
    """A consistent view of the ledger for a run, independent of other writers."""

    def __init__(
        self,
        ledger: CountsLedger,
        feed: Feed,
        until: datetime | None,
        files: pl.DataFrame,
        left_out: Sequence[str],
    ) -> None:
        self._left_out = left_out
        #: Result for each file of the run, and the begin of its window.
        self.files = files
        self._settings = feed.settings
        self._until = until
        self.generation = feed.settings.generation
        self._ledger = ledger.view(self.generation)
        sources = self._ledger.sources().filter("active")
        if until is not None:
            sources = sources.filter(pl.col("window_start").is_null() | (pl.col("window_start") < until))
        if sources["counted"].sum() == 0:
            msg = "no prediction has been counted, so there is nothing to report"
            raise SourceError(msg, where=repr(ledger.uri), hint="look at what `nci-frames check` says")
        #: The active sources, including those of windows that are not reported.
        self.sources = sources
        dated = sources.drop_nulls("window_start").select("window_start", "window_end")
        #: The windows with rows, the newest last.
        self.windows: list[Window] = sorted(set(dated.rows()))
        self.last_window = self.windows[-1] if self.windows else None
        ever = (self.windows[0][0], until) if self.windows and until is not None else None
        newest = self.windows[-feed.windows :] if feed.windows else []
        recent = (newest[0][0], newest[-1][1]) if newest else ever
        self._windows: dict[str, Window | None] = {"all": recent, "last": self.last_window, "ever": ever}
        begins = pl.col("window_start")
        #: The sources with reported rows.
        inside = pl.lit(value=True) if recent is None else begins.is_between(*recent, closed="left")
        self.reported = sources.filter(inside)

    def by(self, keys: Sequence[str], scope: Scope | Window) -> pl.DataFrame:
        """Return the counts of a scope, or of one window, by keys."""
        window = self._windows[scope] if isinstance(scope, str) else scope
        return self._ledger.counts(by=list(keys), window=window)

    def by_unit(self, segments: Sequence[str], table: pl.DataFrame) -> pl.DataFrame | None:
        """Return the counts by buckets of units, and by segments, unless there are too many.

        Parameters
        ----------
        segments
            Keys of the segments.
        table
            Counts by at least these keys, and by repeats.

        Returns
        -------
        A counts frame; None without units.
        """
        settings = self._settings
        if settings.unit is None:
            return None
        repeats = [REPEAT] if settings.repeat else []
        thresholds, buckets = len(settings.thresholds or ()), [settings.buckets or 1]
        kept, _ = affordable(table, segments, repeats, thresholds, buckets)
        return self.by([*kept, BUCKET], "all")

    @property
    def failed(self) -> str | None:
        """Text on the files that could not be counted."""
        failed = self.files.filter(event="failed")["path"]
        return f"{len(failed):,}: {', '.join(failed)}" if len(failed) else None

    def facts(self) -> list[tuple[str, str]]:
        """Return pairs of label and value about the rows."""
        sources = self.reported
        counted = self.files.filter(pl.col("event").is_in(["counted", "recounted"]))
        new = counted.join(sources, on="source", how="semi")
        are = "predictions" if self._settings.scores else "rows"
        facts = [
            ("sources", f"{len(sources):,}, of which {len(new):,} new"),
            (f"{are} counted", f"{sources['counted'].sum():,}"),
            (f"{are} dropped", f"{sources['dropped'].sum():,}"),
        ]
        if self.last_window is not None:
            windows = sources["window_start"].drop_nulls().n_unique()
            newest = f"{self.last_window[0]:%Y-%m-%d %H:%M}"
            facts.append(("windows", f"{windows:,}, the newest from {newest} UTC"))
        if self.failed:
            facts.append(("files that could not be counted", self.failed))
        if self._left_out:
            facts.append((LEFT_OUT, f"{len(self._left_out):,}: {listed(self._left_out)}"))
        return facts

    def account(self, *totals: str) -> dict[str, Any]:
        """Return the content of a manifest on rows and files, with the *totals* of each source."""
        numbers = ("rows", "counted", "dropped")
        return {
            "rows": {name: int(self.reported[name].sum()) for name in numbers},
            "sources": self.reported.select("source", "path", *numbers, *totals).to_dicts(),
            "newest_window": self.last_window and self.last_window[0].isoformat(),
            "files_seen": self.files.drop(*numbers, "window_start").to_dicts(),
        }

    def mark(self) -> dict[str, Any]:
        """Return a JSON value from which a later run can determine the shared rows."""
        windows = {name: at and [time.isoformat() for time in at] for name, at in self._windows.items()}
        own = {"table": self._ledger.table_id, "version": self._ledger.snapshot.version}
        return {**own, "generation": self.generation, "windows": windows}

    def continues(self, mark: Mapping[str, Any] | None) -> bool:
        """Return whether an earlier run, by its ``mark``, counted into this ledger with these settings."""
        own = {"table": self._ledger.table_id, "generation": self.generation}
        return mark is not None and all(mark.get(name) == value for name, value in own.items())

    def is_replay_of(self, mark: Mapping[str, Any] | None) -> bool:
        """Return whether ``--until`` ends this run before the newest window of an earlier one."""
        then = mark["windows"]["last"] if mark is not None and self.continues(mark) else None
        return bool(self._until and then and datetime.fromisoformat(then[0]) >= self._until)

    def shared(self, mark: Mapping[str, Any] | None, keys: Sequence[str], scope: Scope) -> pl.DataFrame:
        """Return the counts of the rows that this run and an earlier one have in the same scope.

        Parameters
        ----------
        mark
            The result of ``mark`` in that run; None if unknown.
        keys
            The keys.
        scope
            The scope in both runs.

        Returns
        -------
        A counts frame; a group without such rows is absent.
        """
        if mark is None or not self.continues(mark):
            return self.by(keys, scope).clear()
        then = mark["windows"][scope]
        windows = (then and tuple(datetime.fromisoformat(time) for time in then), self._windows[scope])
        return self._ledger.shared(as_of=int(mark["version"]), by=list(keys), windows=windows)
