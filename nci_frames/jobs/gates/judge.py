"""Values with bounds -> verdicts."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

from nci_frames.base.messages import quantity
from nci_frames.evaluation.metrics import asked_metric
from nci_frames.jobs.gates.champion import champion_rows
from nci_frames.jobs.gates.changes import UNKNOWN, limits
from nci_frames.jobs.gates.measure import measure
from nci_frames.jobs.gates.sequential import log_martingale
from nci_frames.jobs.job_file.gates import Gate
from nci_frames.jobs.job_file.model import Job
from nci_frames.jobs.run_counts import Scope
from nci_frames.schemas import BUCKET, REPEAT, undefined_is_nan
from nci_frames.tables.numbers import format_value, power_of_ten

#: Evidence from this power of ten on is written as one.
_LARGE = 3

Verdict = Literal["pass", "fail", "undecided"]
#: A model, and a segment as JSON.
Place = tuple[str, str | None]
#: Counts by keys in a scope.
Counts = Callable[[Sequence[str], Scope], pl.DataFrame]

VERDICTS: dict[str, Any] = {
    **dict.fromkeys(("gate", "kind", "metric", "model", "segment"), pl.String),
    **dict.fromkeys(("prevalence", "value", "lower", "upper", "limit_lower", "limit_upper"), pl.Float64),
    **dict.fromkeys(("reference", "reference_lower", "reference_upper"), pl.Float64),
    **dict.fromkeys(("difference", "difference_lower", "difference_upper"), pl.Float64),
    "rival": pl.String,
    **dict.fromkeys(("positives", "negatives", "tp", "fp"), pl.Int64),
    **dict.fromkeys(("verdict", "severity", "undecided", "reason"), pl.String),
}


@dataclass(frozen=True, slots=True)
class Reference:
    """The last good run, with which changes are compared."""

    verdicts: pl.DataFrame
    #: Counts of the rows of a scope that both runs have in common.
    shared: Counts
    #: What each gate asked for then, by its name; runs of older versions did not say.
    asked: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@undefined_is_nan()
def judge_gates(job: Job, counts: Counts, reference: Reference | None) -> pl.DataFrame:
    """Judge every gate of a job, for each of its models and segments.

    Parameters
    ----------
    job
        The job.
    counts
        Returns the counts by keys of "all" reported rows, of the "last" window, or of all rows "ever", which
        sequential gates need.
    reference
        The last good run; None if there is none.

    Returns
    -------
    One row per gate, model and segment, with the columns of ``VERDICTS``.
    """
    rows: list[dict[str, Any]] = []
    for gate in job.gates:
        before = _before(job, gate, reference)
        found = [
            row for row in _measured(job, gate, counts) if row["model"] in (gate.models or [row["model"]])
        ]
        rows += [_row(gate, row, before.get((row["model"], row["segment"]))) for row in found]
        wanted = [gate.champion.model] if gate.champion else gate.models
        there = {row["model"] for row in found}
        absent = [None] if not (found or wanted) else [model for model in wanted if model not in there]
        for model in absent:
            why = "there are no rows" if model is None else "the model has no rows"
            rows.append(_row(gate, {"model": model, "segment": None}, None) | {"reason": why})
        rows += _gone(gate, found, absent, reference)
    told = [{name: _told(name, row.get(name)) for name in VERDICTS} for row in rows]
    return pl.DataFrame(told, schema=VERDICTS)


def _gone(
    gate: Gate, found: Sequence[Mapping[str, Any]], absent: Sequence[str | None], reference: Reference | None
) -> Iterator[dict[str, Any]]:
    """Return a row for each model and segment that had rows in the last good run, and has none now."""
    if reference is None or gate.champion is not None or None in absent:
        return
    here = {(row["model"], row["segment"]) for row in found}
    then = reference.verdicts.filter(pl.col("positives") + pl.col("negatives") > 0, gate=gate.name)
    for model, segment in then.select("model", "segment").rows():
        same = sorted(json.loads(segment or "{}")) == sorted(gate.segments) and model not in absent
        if same and (model, segment) not in here and model in (gate.models or [model]):
            reason = "it had rows in the last good run, and has none now"
            # As with nothing to compare with: what was removed on purpose does not end the run.
            row = _row(gate, {"model": model, "segment": segment, "reason": reason}, None)
            yield row | {"undecided": "warn"}


def _told(name: str, value: Any) -> Any:
    """Return the value for a column of the verdicts; sums of weights are rounded."""
    return round(value) if VERDICTS[name] == pl.Int64 and value is not None else value


def asked(job: Job, gate: Gate) -> dict[str, str]:
    """Return what a gate asks for: values of gates that differ in it must not be compared."""
    names = {"metric", "prevalence", "scenario", "beta", "level", "window"}
    told = gate.model_dump(include=names)
    if asked_metric(gate.metric).kind != "curve":
        told["threshold"] = _threshold(job, gate)
    return {name: str(value) for name, value in told.items()}


def overall(verdicts: pl.DataFrame) -> Verdict:
    """Return the overall verdict: "fail" if a blocking gate fails, "undecided" if that ends the run."""
    ended = verdicts.filter(ending())["verdict"]
    return "pass" if ended.is_empty() else "fail" if "fail" in ended else "undecided"


def ending() -> pl.Expr:
    """Return whether a verdict ends the run: a blocking gate fails, or is undecided and must not be."""
    failed = (pl.col("verdict") == "fail") & (pl.col("severity") == "block")
    return failed | ((pl.col("verdict") == "undecided") & (pl.col("undecided") == "fail"))


def _measured(job: Job, gate: Gate, counts: Counts) -> list[dict[str, Any]]:
    """Return the values of a gate, or the leads of a champion."""
    repeat = None if job.columns.repeat is None else REPEAT
    keys = [*gate.segments, *([] if repeat is None else [repeat])]
    keys += [] if job.columns.unit is None else [BUCKET]
    frame = counts(keys, "ever" if gate.sequential else gate.window)
    threshold = _threshold(job, gate)
    if gate.champion is not None:
        return list(champion_rows(frame, gate, gate.champion, threshold=threshold, repeat=repeat))
    asked = gate.prevalence if gate.scenario is None else job.scenarios[gate.scenario]
    return measure(frame, gate, asked, threshold=threshold, repeat=repeat).to_dicts()


def _threshold(job: Job, gate: Gate) -> float:
    return job.report.table_threshold if gate.threshold is None else gate.threshold


def _before(job: Job, gate: Gate, reference: Reference | None) -> dict[Place, dict[str, Any]]:
    """Return the results of the last good run for a gate, by model and segment, with the shared rows."""
    if reference is None or gate.change_threshold is None:
        return {}
    shared = {(row["model"], row["segment"]): row for row in _measured(job, gate, reference.shared)}
    none = UNKNOWN | {"positives": 0, "negatives": 0}
    then = reference.asked.get(gate.name, {})
    another = ", ".join(
        f"{name} {then[name]}" for name, value in asked(job, gate).items() if then.get(name, value) != value
    )
    rows = reference.verdicts.filter(gate=gate.name).to_dicts()
    places = {(row["model"], row["segment"]): row for row in rows}
    return {at: row | {"shared": shared.get(at, none), "another": another} for at, row in places.items()}


def _row(gate: Gate, measured: Mapping[str, Any], before: Mapping[str, Any] | None) -> dict[str, Any]:
    row: dict[str, Any] = {**measured, "gate": gate.name, "kind": gate.kind, "verdict": "undecided"}
    row |= gate.model_dump(include={"metric", "severity", "undecided"}) | limits(gate, measured, before)
    few = [_few(row, of_class, gate.min_positives) for of_class in ("positives", "negatives")]
    # What this run lacks is said first: another good run would not help.
    if own := " and ".join(filter(None, few)) or measured.get("reason"):
        return row | {"reason": own, "undecided": gate.undecided}
    if row.get("reason"):
        return row
    if row.get("lower") is None or row.get("upper") is None:
        return row | {"reason": "the value has no bounds"}
    return row | (_sequential(gate, row) if gate.sequential else {"verdict": _verdict(row)})


def _few(row: Mapping[str, Any], of_class: str, least: int) -> str | None:
    """Return a reason if a class has too few rows (independent ones, with units); None if enough."""
    rows = row.get(of_class)
    if rows is None:
        return None
    worth = row.get(f"{of_class}_worth") or 1.0
    if rows * worth >= least:
        return None
    told = quantity(round(rows), of_class.removesuffix("s"))
    told += f", worth {rows * worth:.3g} independent ones" if worth < 1 else ""
    return f"{told}, fewer than {least:,}"


def _verdict(row: Mapping[str, Any]) -> Verdict:
    """Pass if the bounds meet the condition; fail if they violate it; otherwise undecided."""
    lower, upper = row["judged"]
    least, most = row["limit_lower"], row["limit_upper"]
    if (least is not None and upper < least) or (most is not None and lower > most):
        return "fail"
    if (least is None or lower >= least) and (most is None or upper <= most):
        return "pass"
    return "undecided"


def _sequential(gate: Gate, row: Mapping[str, Any]) -> dict[str, Any]:
    of_class = gate.of_class
    # Rows of a unit are dependent: count the equivalent number of independent rows.
    worth = row.get(f"{of_class}_worth") or 1.0
    hits = row["tp" if of_class == "positives" else "fp"] * worth
    rest = row[of_class] * worth - hits
    least = row["limit_lower"] is not None
    limit = row["limit_lower" if least else "limit_upper"]
    enough = math.log(1 / (1 - gate.level))
    against = float(log_martingale(hits, rest, limit, below=least))
    in_favour = float(log_martingale(hits, rest, limit, below=not least))
    verdict: Verdict = "fail" if against >= enough else "pass" if in_favour >= enough else "undecided"
    told = f"for the promise {_evidence(in_favour)}, against it {_evidence(against)}"
    return {"verdict": verdict, "reason": f"evidence {told}; {_evidence(enough)} is enough"}


def _evidence(log_evidence: float) -> str:
    """Format the likelihood ratio of the counts against the limit; a large one as a power of ten."""
    decades = log_evidence / math.log(10)
    if decades <= 0:
        return "none"
    if math.isinf(decades):
        return format_value(decades)
    return f"{10**decades:.3g}" if decades < _LARGE else power_of_ten(math.floor(decades))
