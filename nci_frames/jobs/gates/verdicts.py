"""Verdicts as a table, as JSON, and as one line."""

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from nci_frames.base.json_text import json_text
from nci_frames.jobs.gates.judge import ending, overall
from nci_frames.jobs.history import count_arrivals
from nci_frames.jobs.job_file.gates import Gate
from nci_frames.reporting.gates import bounded, promised, segment_name, why_undecided

#: Maximum length of the line for a chat, without the link.
_LINE = 600
#: Incremented if a field of the JSON changes its meaning or is removed.
VERDICTS_VERSION = 1


def gate_text(gate: Gate) -> str:
    """Describe the condition of a gate, and the effect of a failure.

    >>> from nci_frames.jobs.job_file.gates import Gate
    >>> gate = {"name": "x", "metric": "recall", "models": ["forest"], "segments": ["country"]}
    >>> gate_text(Gate.model_validate(gate | {"value_threshold": {"lower": 0.5}}))
    "'recall' of 'forest' by 'country' ≥ 0.5; a failure is exit code 10"
    >>> change = {"name": "x", "metric": "precision", "scenario": "EU", "severity": "warn"}
    >>> gate_text(Gate.model_validate(change | {"change_threshold": {"relative": 0.2}}))
    "'precision' of every model in scenario 'EU' at most 20 % below the last good run; a failure is a warning"
    >>> gate_text(Gate.model_validate({"name": "x", "champion": {"model": "a", "prevalence": [0.01]}}))
    "'pr_auc': 'a' leads at prevalence 0.01; a failure is exit code 10"
    """
    models = ", ".join(map(repr, gate.models)) or "every model"
    where = f" by {', '.join(map(repr, gate.segments))}" if gate.segments else ""
    if gate.scenario is not None:
        where += f" in scenario {gate.scenario!r}"
    elif gate.prevalence != "observed":
        where += f" at prevalence {gate.prevalence:g}"
    if gate.champion is not None:
        etas = ", ".join(f"{eta:g}" for eta in gate.champion.prevalence)
        text = f"{gate.metric!r}: {gate.champion.model!r} leads at prevalence {etas}{where}"
    else:
        text = f"{gate.metric!r} of {models}{where} {_promised(gate)}"
    if gate.window == "last":
        text += ", in the newest window"
    if gate.sequential:
        text += ", whenever looked at"
    ends = "a failure is exit code 10" if gate.severity == "block" else "a failure is a warning"
    return f"{text}; {ends}" + (", undecided is exit code 11" if gate.undecided == "fail" else "")


def _promised(gate: Gate) -> str:
    change, value = gate.change_threshold, gate.value_threshold
    if change is None:
        limits = {"limit_lower": value and value.lower, "limit_upper": value and value.upper}
        return promised({"kind": "value_threshold", **limits})
    allowed = f"{change.absolute:g}" if change.relative is None else f"{100 * change.relative:g} %"
    return f"at most {allowed} {'above' if gate.worse_above else 'below'} the last good run"


def verdicts_json(run: str, verdicts: pl.DataFrame) -> str:
    """Return the verdicts of a run as JSON, described by ``docs/verdicts.schema.json``."""
    facts = {"version": VERDICTS_VERSION, "run": run, "verdict": overall(verdicts)}
    return as_json(facts, "gates", verdicts)


def as_json(facts: Mapping[str, Any], name: str, table: pl.DataFrame) -> str:
    """Return facts of a run as JSON, with the rows of a table as *name*; their segments are already JSON."""
    segments = [None if text is None else json.loads(text) for text in table["segment"]]
    rows = [row | {"segment": told} for row, told in zip(table.to_dicts(), segments, strict=True)]
    return json_text({**facts, name: rows}, indent=2, ensure_ascii=False) + "\n"


def chat_line(job: str, run: str, verdicts: pl.DataFrame, arrived: pl.DataFrame, link: str) -> str:
    """Return one line for a chat message: number of gates, those that fail or end the run, and unusual files.

    Control characters in names are escaped, so that the result is a single line.
    """
    numbers = {name: len(verdicts.filter(verdict=name)) for name in ("pass", "fail", "undecided")}
    line = f"{job} {run}: {overall(verdicts).upper()}"
    line += f" ({numbers['pass']} passed, {numbers['fail']} failed, {numbers['undecided']} undecided)"
    # Only three are named: first those that end the run.
    failed, ends = pl.col("verdict") == "fail", ending()
    named = verdicts.filter(failed | ends).sort(~ends, ~failed, maintain_order=True).to_dicts()
    for row in named[:3]:
        where = "any model" if row["model"] is None else row["model"]
        where += "" if row["segment"] is None else f", {segment_name(row['segment'])}:"
        line += f"; {row['gate']}: {where} {row['metric']} {bounded(row)}, promised {promised(row)}"
        line += "" if row["verdict"] == "fail" else f", undecided: {why_undecided(row)}"
    if len(named) > 3:
        line += f"; and {len(named) - 3} more"
    unusual = {name: number for name, number in count_arrivals(arrived).items() if number and name != "new"}
    if unusual:
        line += f"; files: {', '.join(f'{number} {name}' for name, number in unusual.items())}"
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line[:_LINE])
    return f"{shown}{'...' if len(line) > _LINE else ''}; report: {link}"
