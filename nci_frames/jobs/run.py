"""One run of a job: count new files, build the report, judge the gates, publish."""

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import polars as pl

from nci_frames.base.errors import OutputError
from nci_frames.base.files import nearest_folder
from nci_frames.base.folders import publishing
from nci_frames.base.urls import is_url
from nci_frames.evaluation.projection.operating_points import select_operating_points
from nci_frames.evaluation.rates.rates import compute_rates
from nci_frames.files.save_table import save_table
from nci_frames.jobs.by_date import by_date
from nci_frames.jobs.counted_files import Planned, check_output_apart, count_files, plan_files
from nci_frames.jobs.field_file import read_field
from nci_frames.jobs.gates.judge import Reference, asked, judge_gates, overall
from nci_frames.jobs.gates.verdicts import chat_line, verdicts_json
from nci_frames.jobs.history import History, arrivals, changes_since
from nci_frames.jobs.incidents import incidents, summary_json, summary_text
from nci_frames.jobs.job_file.loading import JobFile
from nci_frames.jobs.ledger.storage import content_hash
from nci_frames.jobs.logging import Tell, tell_rows
from nci_frames.jobs.object_store import ObjectStore
from nci_frames.jobs.publishing import Shelf, published_before
from nci_frames.jobs.remote import RemoteShelf
from nci_frames.jobs.report import make_report
from nci_frames.jobs.run_counts import Scope
from nci_frames.jobs.scenario_values import scenario_facts, scenario_values
from nci_frames.jobs.traffic import traffic_tables
from nci_frames.reporting.gates import RunSummary
from nci_frames.reporting.history import write_history
from nci_frames.schemas import REPEAT


def plan_job(file: JobFile, *, until: datetime | None = None) -> list[Planned]:
    """Return the plan of a run, without executing it, for the files with labels and those without.

    Raises
    ------
    NciFramesError
        If there is no file, the ledger is damaged, or the output lies among the sources.
    """
    check_output_apart(file)
    return [plan_files(file, feed, until=until) for feed in file.job.feeds]


def try_store(file: JobFile) -> None:
    """Test the access to the output: list the runs in an object store; nothing is written.

    Raises
    ------
    OutputError
        If a store cannot be read: a wrong address, bucket or key; or a folder cannot be written.
    """
    output = file.job.output
    folder, ledger = file.resolve(output.folder), file.resolve(output.ledger)
    if is_url(folder):
        ObjectStore(folder, output.storage_options).names("runs/")
    for place in (place for place in (folder, ledger) if not is_url(place)):
        if not os.access(near := nearest_folder(Path(place) / "x"), os.W_OK | os.X_OK):
            found = f"no right to write into the folder {near!r}"
            raise OutputError("the output cannot be written", where=repr(place), found=found)


def run_job(
    file: JobFile, *, run: str | None = None, tell: Tell = lambda *_, **__: None, **options: Any
) -> "Run":
    """Run a job once, and return the run.

    Parameters
    ----------
    file
        The job.
    run
        Unique name of the run; by default its number and the time.
    tell
        Called with an event and its facts, for logging.
    options
        Options of ``count_files``: ``until`` and ``keep_going``.

    Raises
    ------
    NciFramesError
        If the run cannot be completed. The results of earlier runs are then unchanged; counted files remain
        in the ledger.
    """
    check_output_apart(file)
    shelf = _shelf(file)
    with shelf.locked():
        going = Run(file, shelf, run, tell)
        going.count(**options)
        going.judge()
        manifest: dict[str, Any] = {}
        with publishing(going.folder, manifest) as folder:
            going.write(folder)
            manifest |= going.manifest()
        going.publish()
    return going


def _shelf(file: JobFile) -> Shelf:
    folder = file.resolve(file.job.output.folder)
    return RemoteShelf(folder, file.job.output.storage_options) if is_url(folder) else Shelf(Path(folder))


class Run:
    """A run under the lock of its shelf; each step stores the results for the next steps."""

    def __init__(self, file: JobFile, shelf: Shelf, run: str | None, tell: Tell) -> None:
        self.file = file
        self.job = file.job
        self.shelf = shelf
        self.tell = tell
        self.pointer = shelf.pointer()
        self.sequence: int = self.pointer["sequence"] + 1 if self.pointer else 1
        self.started = datetime.now(UTC)
        numbered = f"{self.sequence:06d}-{self.started:%Y%m%dT%H%M%SZ}"
        self.name = numbered if run is None else run
        shelf.check_new(self.name)
        self.before = History.of(shelf.folder, self.pointer)
        if self.name in self.before.tables["runs"]["run"]:
            raise published_before(self.name, self.file.resolve(self.job.output.folder))
        #: Local folder of the run; for an object store, the local copy.
        self.folder = shelf.folder / shelf.path_of(self.name)
        tell("run started", job=self.job.name, run=self.name, sequence=self.sequence)

    @property
    def exit_code(self) -> int:
        """0 if the run passed, 10 if a blocking gate failed, 11 if a gate is undecided that must not be."""
        return {"pass": 0, "fail": 10, "undecided": 11}[self.verdict]

    def count(self, **options: Any) -> None:
        """Count new files; later changes of the ledger by other writers belong to a later run."""
        feeds = (count_files(self.file, feed, run=self.name, **options) for feed in self.job.feeds)
        self.counts, *seen = feeds
        self.seen = next(iter(seen), None)
        if self.seen is not None:
            told = self.seen.files.filter(pl.col("event") != "known").drop("source")
            tell_rows(self.tell, "traffic", told.rename({"event": "became"}))
        # With other settings all files are counted again, and none of them is late.
        before = self.before.manifest or {}
        previous = before if self.counts.continues(before.get("ledger")) else None
        published = set(self.before.tables["runs"]["run"])
        self.arrived = arrivals(self.counts.files, self.counts.sources, previous, published)
        tell_rows(self.tell, "source", self.arrived)

    def judge(self) -> None:
        """Judge the gates; a run that passes becomes the last good run, unless it replays earlier windows."""
        self.traffic = None
        if self.job.traffic is not None and self.seen is not None:
            self.traffic = traffic_tables(self.job, self.job.traffic, self.counts, self.seen)
        before: dict[str, Any] = (self.pointer or {}).get("last_good") or {}
        reference = None
        if self.before.good is not None:
            shared = partial(self.counts.shared, before.get("ledger"))
            reference = Reference(self.before.good["verdicts"], shared, before.get("gates", {}))
        self.verdicts = judge_gates(self.job, self.counts.by, reference)
        self.verdict = overall(self.verdicts)
        self.link = self.shelf.link(self.name, f"report.{self.job.report.formats[0]}")
        self.line = chat_line(self.job.name, self.name, self.verdicts, self.arrived, self.link)
        tell_rows(self.tell, "gate", self.verdicts)
        own = {"run": self.name, "path": self.shelf.path_of(self.name), "time": self.started.isoformat()}
        gates = {gate.name: asked(self.job, gate) for gate in self.job.gates if gate.change_threshold}
        good: dict[str, Any] = {**own, "ledger": self.counts.mark(), "gates": gates}
        passed = self.verdict == "pass" and not self.counts.is_replay_of(before.get("ledger"))
        self.last_good: dict[str, Any] | None = good if passed else before or None

    def write(self, folder: Path) -> None:
        """Write the report, the verdicts and the history into the folder of the run."""
        job, name, verdicts, traffic = self.job, self.name, self.verdicts, self.traffic
        facts = [*self.counts.facts(), *scenario_facts(job), *([] if traffic is None else traffic.facts())]
        own = {"run": name, "sequence": self.sequence, "time": self.started}
        own["window_start"] = self.counts.last_window and self.counts.last_window[0]
        history = self.before.with_run(own, verdicts, self.arrived)
        last_good = (self.last_good or {}).get("run")
        summary = RunSummary(
            history=history["history"], runs=history["runs"], verdicts=verdicts, last_good=last_good
        )
        self._report(folder, facts, summary)
        points = self._points()
        found = incidents(history["history"], name, job.gates)
        told = {"job": job.name, "run": name, "verdict": self.verdict, "report": self.link}
        texts = {
            "verdicts.json": verdicts_json(name, verdicts),
            "summary.json": summary_json(self.line, told, found),
            "summary.txt": summary_text(self.line, found),
        }
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8")
        tables = {
            **history,
            "points": points,
            "incidents": found,
            "by_date": by_date(job, self.counts, history["unusual"]),
            "verdicts": verdicts,
            "arrivals": self.arrived,
            "scenarios": scenario_values(job, lambda keys: self.counts.by(keys, "all")),
        }
        if traffic is not None:
            tables |= {"traffic_prevalence": traffic.prevalence, "traffic_values": traffic.values}
        for file, table in tables.items():
            save_table(table, folder / f"{file}.parquet")
        title, page = job.report.title or job.name, folder / "history.html"
        changes = changes_since((self.before.good or {}).get("points"), points)
        content = {"title": title, "summary": summary, "changes": changes, "facts": facts}
        write_history(page, tables, threshold=job.report.table_threshold, **content)

    def _report(self, folder: Path, facts: Sequence[tuple[str, str]], summary: RunSummary) -> None:
        """Write the report and its tables."""
        job, path = self.job, self.job.report.prevalence
        apart = [name for name in ("fold", REPEAT) if getattr(job.columns, name)]
        table = self.counts.by([*apart, *job.segments.keys], "all")
        named = {name: eta for name, eta in job.scenarios.items() if isinstance(eta, float)}
        if self.traffic is not None and self.traffic.estimate is not None:
            named.setdefault("traffic", self.traffic.estimate["prevalence"])
        comparison = make_report(
            table,
            job.report,
            folder,
            segments=job.segments.keys,
            by_unit=self.counts.by_unit(job.segments.keys, table),
            small=job.segments,
            field=read_field(Path(self.file.resolve(str(path)))) if isinstance(path, Path) else None,
            facts=facts,
            title=job.name,
            scenarios=named,
            gates=summary if summary.verdicts else None,
        )
        if comparison.off_scale is not None:
            self.tell("doubtful threshold", why=comparison.off_scale)

    def _points(self) -> pl.DataFrame:
        """Return the operating points of the newest window."""
        scope: Scope = "last" if self.counts.last_window else "all"
        rates = compute_rates(self.counts.by(self.job.segments.keys, scope))
        return select_operating_points(rates, threshold=self.job.report.table_threshold)

    def manifest(self) -> dict[str, Any]:
        """Return the content of the manifest, except the hashes of the files."""
        text, packages = self.file.text, ("nci_frames", "polars", "deltalake", "pydantic")
        versions = {name: metadata.version(name) for name in packages}
        return {
            "version": 1,
            "job": self.job.name,
            "run": self.name,
            "sequence": self.sequence,
            "started": self.started.isoformat(),
            "verdict": self.verdict,
            "ledger": self.counts.mark(),
            # The literal text of the file, without values of environment variables.
            "settings": text,
            # With the prevalences of scenario tables, which are not in the text.
            "scenarios": self.job.model_dump(include={"scenarios"})["scenarios"],
            "settings_blake3": content_hash(text.encode()),
            **self.counts.account("positives", "negatives"),
            "versions": {"python": platform.python_version(), **versions},
            "traffic": self.seen and self.seen.account(),
            "last_good": self.last_good,
        }

    def publish(self) -> None:
        """Point to the built run, and delete old runs."""
        facts = {"sequence": self.sequence, "verdict": self.verdict, "time": self.started.isoformat()}
        self.shelf.show(self.name, facts | {"last_good": self.last_good})
        spare = {self.name} | ({self.last_good["run"]} if self.last_good else set())
        for gone in self.shelf.retire(self.job.output.keep, spare):
            self.tell("run deleted", run=gone)
        place = self.shelf.link(self.name, "").rstrip("/")
        self.tell("run published", run=self.name, verdict=self.verdict, path=place)
