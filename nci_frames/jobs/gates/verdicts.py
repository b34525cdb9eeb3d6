"""Verdicts for people and for programs: a table, JSON, and one line."""

import json
from typing import Any

import polars as pl

from nci_frames.jobs.arrivals import count_arrivals
from nci_frames.jobs.gates.judge import overall

__all__ = ["VERDICTS_VERSION", "chat_line", "limit_text", "verdicts_json"]

#: Grows when a field of the JSON changes its meaning or goes away.
VERDICTS_VERSION = 1


def limit_text(row: dict[str, Any]) -> str:
    """Write the limits of a verdict.

    >>> limit_text({"kind": "value_threshold", "limit_lower": 0.8, "limit_upper": None})
    '>= 0.8'
    """
    parts = [
        f"{sign} {row[name]:.4g}"
        for name, sign in (("limit_lower", ">="), ("limit_upper", "<="))
        if row[name] is not None
    ]
    prefix = {"value_threshold": "", "change_threshold": "change ", "champion": "lead "}[row["kind"]]
    return prefix + " and ".join(parts) if parts else ""


def verdicts_json(run: str, verdicts: pl.DataFrame) -> str:
    """Return the verdicts of a run as JSON; ``docs/verdicts.schema.json`` describes it."""
    gates = [
        {**row, "segment": None if row["segment"] is None else json.loads(row["segment"])}
        for row in verdicts.to_dicts()
    ]
    content = {"version": VERDICTS_VERSION, "run": run, "verdict": overall(verdicts), "gates": gates}
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def chat_line(job: str, run: str, verdicts: pl.DataFrame, arrived: pl.DataFrame, link: str) -> str:
    """Return one line fit for a chat message: how many gates passed, which did not, and unusual files.

    Control characters of names are shown as escapes, so that the line stays one.
    """
    numbers = {name: len(verdicts.filter(verdict=name)) for name in ("pass", "fail", "undecided")}
    line = f"{job} {run}: {overall(verdicts).upper()}"
    line += f" ({numbers['pass']} passed, {numbers['fail']} failed, {numbers['undecided']} undecided)"
    failed = verdicts.filter(verdict="fail").to_dicts()
    for row in failed[:3]:
        where = "" if row["segment"] is None else f" {row['segment']}"
        value = (
            "undefined"
            if row["value"] is None
            else f"{row['value']:.4g} [{row['lower']:.4g}, {row['upper']:.4g}]"
        )
        line += f"; {row['gate']}: {row['model']}{where} {row['metric']} {value}, promised {limit_text(row)}"
    if len(failed) > 3:
        line += f"; and {len(failed) - 3} more"
    unusual = {name: number for name, number in count_arrivals(arrived).items() if number and name != "new"}
    if unusual:
        line += f"; files: {', '.join(f'{number} {name}' for name, number in unusual.items())}"
    shown = "".join(c if c.isprintable() and len(line) < 10_000 else ascii(c)[1:-1] for c in line)
    return f"{shown[:600]} {link}"
