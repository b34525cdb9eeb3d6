"""One run of a job: count what is new, build the report, judge the gates, publish."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from nci_frames.evaluation.rates.operating_points import select_operating_points
from nci_frames.evaluation.rates.rates import compute_rates
from nci_frames.files.save_table import save_table
from nci_frames.jobs.apart import check_output_apart
from nci_frames.jobs.arrivals import arrivals
from nci_frames.jobs.counted_files import Planned, count_files, ledger_of, plan_files
from nci_frames.jobs.field_file import read_field
from nci_frames.jobs.gates.judge import Reference, Verdict, judge_gates, overall
from nci_frames.jobs.gates.verdicts import chat_line, verdicts_json
from nci_frames.jobs.history import History, changes_since
from nci_frames.jobs.job_file.loading import JobFile
from nci_frames.jobs.logging import Tell, tell_rows
from nci_frames.jobs.manifest import data_facts, manifest_of
from nci_frames.jobs.publishing import Shelf
from nci_frames.jobs.remote import RemoteShelf
from nci_frames.jobs.repeats import REPEAT
from nci_frames.jobs.report import make_report
from nci_frames.jobs.reported import Reported, Scope
from nci_frames.jobs.scenario_values import scenario_facts, scenario_values
from nci_frames.jobs.traffic import TrafficTables, count_traffic, traffic_tables
from nci_frames.reporting.gates import RunSummary, run_summary
from nci_frames.reporting.history import write_history


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run would do with the files of a job."""

    labelled: Planned
    #: Those without labels; None if the job names none.
    traffic: Planned | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run did."""

    run: str
    shelf: Shelf
    verdict: Verdict
    verdicts: pl.DataFrame
    line: str
    #: What became of each file.
    files: pl.DataFrame
    #: What arrived since the run before.
    arrived: pl.DataFrame

    @property
    def folder(self) -> Path:
        """The files of the run; of one in an object store the copy on this machine."""
        return self.shelf.folder / self.shelf.path_of(self.run)

    @property
    def exit_code(self) -> int:
        """0 if every gate that counts passed, 10 if one failed, 11 if one is undecided where that fails."""
        return {"pass": 0, "fail": 10, "undecided": 11}[self.verdict]


def plan_job(file: JobFile, *, until: datetime | None = None) -> Plan:
    """Say what a run would do, without doing it.

    Raises
    ------
    NciFramesError
        If there is no file, the ledger is damaged, or the output lies among the sources.
    """
    job = file.job
    check_output_apart(file)
    labelled = plan_files(file, job.source, job.counting_settings(), until=until)
    if job.traffic is None:
        return Plan(labelled, None)
    return Plan(labelled, plan_files(file, job.traffic, job.traffic_settings(), until=until))


def run_job(
    file: JobFile,
    *,
    run: str | None = None,
    until: datetime | None = None,
    keep_going: bool = False,
    tell: Tell = lambda *_, **__: None,
) -> Outcome:
    """Run a job once.

    Parameters
    ----------
    file
        The job.
    run
        Name of the run, which is published once; made of its number and the time if absent.
    until
        Only windows that begin before; None takes all that there are.
    keep_going
        Whether to go on without files that cannot be counted.
    tell
        Called with an event and its facts, for logs.

    Raises
    ------
    NciFramesError
        Whatever stops it. The results of earlier runs are then as they were; what the ledger has counted
        stays counted.
    """
    job = file.job
    check_output_apart(file)
    shelf = _shelf(file)
    with shelf.locked():
        pointer = shelf.pointer()
        sequence = int(pointer["sequence"]) + 1 if pointer else 1
        started = datetime.now(UTC)
        name = run or f"{sequence:06d}-{started:%Y%m%dT%H%M%SZ}"
        shelf.check_new(name)
        tell("run started", job=job.name, run=name, sequence=sequence)
        settings = job.counting_settings()
        how: dict[str, Any] = {"until": until, "run": name, "keep_going": keep_going}
        appended = count_files(file, job.source, settings, **how)
        log = count_traffic(file, tell, **how)
        counts = Reported(ledger_of(file), settings, job.report.windows, until)
        history = History.of(shelf.folder, pointer)
        arrived = arrivals(appended, counts.sources, history.manifest)
        tell_rows(tell, "source", arrived)
        traffic = None if log is None else traffic_tables(job, counts, log)
        verdicts = judge_gates(job, counts.by, _reference(counts, history, pointer))
        verdict = overall(verdicts)
        tell_rows(tell, "gate", verdicts)
        manifest: dict[str, Any] = {}
        with shelf.building(name, manifest) as folder:
            facts = data_facts(counts, appended) + scenario_facts(job)
            if log is not None and traffic is not None:
                facts += traffic.facts(log)
                traffic.save(folder)
            history = history.with_run(name, sequence, started, counts.last_window, verdicts, arrived)
            good: dict[str, Any] = {
                "run": name,
                "path": shelf.path_of(name),
                "time": started.isoformat(),
                "ledger": counts.mark(),
            }
            last_good = good if verdict == "pass" else (pointer or {}).get("last_good")
            summary = run_summary(
                history=history.table,
                runs=history.runs,
                verdicts=verdicts,
                last_good=(last_good or {}).get("run"),
            )
            changes = _write(file, counts, traffic, folder, facts, tell, summary)
            scenarios = scenario_values(job, lambda keys: counts.by(keys, "all"))
            (folder / "verdicts.json").write_text(verdicts_json(name, verdicts), encoding="utf-8")
            tables = {
                "verdicts": verdicts,
                "history": history.table,
                "runs": history.runs,
                "arrivals": arrived,
                "unusual": history.unusual,
                "scenarios": scenarios,
            }
            for table, frame in tables.items():
                save_table(frame, folder / f"{table}.parquet")
            write_history(
                folder / "history.html",
                title=job.report.title or job.name,
                history=history.table,
                runs=history.runs,
                unusual=history.unusual,
                summary=summary,
                changes=changes_since(history.good_points, changes),
                scenarios=scenarios,
                traffic=traffic and (traffic.prevalence, traffic.values),
                facts=facts,
            )
            manifest |= manifest_of(file, name, sequence, started, verdict, counts, appended)
            manifest |= {"traffic": log and log.facts(), "last_good": last_good}
        facts_shown = {"sequence": sequence, "verdict": verdict, "time": started.isoformat()}
        shelf.show(name, facts_shown | {"last_good": last_good})
        spare = {name} | ({last_good["run"]} if last_good else set())
        for gone in shelf.retire(job.output.keep, spare):
            tell("run deleted", run=gone)
        link = shelf.link(name, f"report.{job.report.formats[0]}")
        line = chat_line(job.name, name, verdicts, arrived, link)
        tell("run published", run=name, verdict=verdict, path=shelf.link(name, "").rstrip("/"))
        return Outcome(name, shelf, verdict, verdicts, line, appended, arrived)


def _shelf(file: JobFile) -> Shelf:
    folder = file.resolve(file.job.output.folder)
    return RemoteShelf(folder, file.job.output.storage_options) if "://" in folder else Shelf(Path(folder))


def _write(
    file: JobFile,
    counts: Reported,
    traffic: TrafficTables | None,
    folder: Path,
    facts: Sequence[tuple[str, str]],
    tell: Tell,
    summary: RunSummary,
) -> pl.DataFrame:
    """Write the report and its tables; return the operating points of the newest window."""
    job = file.job
    repeat = REPEAT if job.columns.repeat else None
    folds = [*(["fold"] if job.columns.fold else []), *([repeat] if repeat else [])]
    table = counts.by([*folds, *job.segments.keys], "all")
    named = {name: eta for name, eta in job.scenarios.items() if isinstance(eta, float)}
    if traffic is not None and traffic.estimate is not None:
        named.setdefault("traffic", traffic.estimate["prevalence"])
    path = job.report.prevalence
    comparison = make_report(
        table,
        job.report,
        folder,
        segments=job.segments.keys,
        fold="fold" if job.columns.fold else None,
        repeat=repeat,
        by_unit=counts.by_unit(job.segments.keys, table),
        small=job.segments,
        field=read_field(Path(file.resolve(str(path)))) if isinstance(path, Path) else None,
        facts=facts,
        title=job.name,
        scenarios=named,
        gates=summary if summary.verdicts else None,
    )
    if comparison.off_scale is not None:
        tell("doubtful threshold", why=comparison.off_scale)
    scope: Scope = "last" if counts.last_window else "all"
    rates = compute_rates(counts.by(job.segments.keys, scope))
    points = select_operating_points(rates, threshold=job.report.decided_at)
    save_table(points, folder / "points.parquet")
    return points


def _reference(counts: Reported, history: History, pointer: Mapping[str, Any] | None) -> Reference | None:
    """Return what gates compare with: the verdicts of the last good run, and the rows that both count."""
    if history.good_verdicts is None or pointer is None:
        return None
    mark = pointer["last_good"].get("ledger")
    return Reference(history.good_verdicts, lambda keys, scope: counts.shared(mark, keys, scope))
