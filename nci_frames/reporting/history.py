"""The history of a job -> one page: verdicts, trends with limits, changes since the last good run."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from nci_frames.base.files import replacing
from nci_frames.charts.trends import chart_by_date
from nci_frames.reporting.gates import bounded, picture_of, segment_name, written
from nci_frames.reporting.templates import NUMBERS, own, template

#: Maximum number of listed runs.
_RUNS_LISTED = 14
#: Maximum number of rows of a table.
_ROWS = 200
#: Maximum number of listed values of scenarios.
_VALUES = 600


def write_history(path: Path, tables: Mapping[str, pl.DataFrame], **content: Any) -> None:
    """Write the page.

    Parameters
    ----------
    path
        File to write.
    tables
        The tables of the run, by name: "history", one row per run, gate, model and segment; "runs";
        "unusual", one row per file of the last runs that was late, delivered again, changed or unreadable;
        "by_date", one row per window and model; "scenarios", one row per scenario, segment, model and metric;
        and, of a job with logs without labels, "traffic_prevalence" and "traffic_values".
    content
        What the page shows as it is: the *title* of the job; the ``RunSummary``, *summary*; *changes* since
        the last good run, split by ``decompose_difference``, or None if there is no such run; the *threshold*
        of tables without a gate; *facts*, pairs of label and value about the data.
    """
    listed = tables["runs"].tail(_RUNS_LISTED)
    shown = tables["unusual"].filter(pl.col("run").is_in(listed["run"].implode())).reverse()
    traffic = [tables[name] for name in ("traffic_prevalence", "traffic_values") if name in tables]
    filters = {"written": written, "bounded": bounded, "segment": segment_name, "time": _time}
    page = template("history.html.jinja", folded=_folded, **filters, **NUMBERS)
    text = page.render(
        css=own("report.css"),
        runs=listed,
        failed=_failed(tables["history"]),
        unusual=shown,
        dated=_dated(tables["by_date"]),
        scenarios=tables["scenarios"],
        traffic=traffic or None,
        grouped=_grouped,
        rows=_ROWS,
        values=_VALUES,
        **content,
    )
    with replacing(path, what="page") as file:
        file.write_text(text, encoding="utf-8", newline="")


def _dated(dated: pl.DataFrame) -> list[dict[str, str]]:
    """Return the charts of the windows by date; none for a single window."""
    if dated["window_start"].n_unique() < 2:
        return []
    rates = {"recall": "tpr", "FPR": "fpr"}
    charts = {name: chart_by_date(dated, rate=rate) for name, rate in rates.items()}
    return [{"name": name, "picture": picture_of(chart)} for name, chart in charts.items()]


def _failed(history: pl.DataFrame) -> dict[str, list[str]]:
    """Return the gates that failed in each run."""
    failed: dict[str, list[str]] = {}
    rows = history.filter(verdict="fail").select("run", "gate", "segment").unique(maintain_order=True)
    for run, gate, segment in rows.rows():
        place = "" if segment is None else f" ({segment_name(segment)})"
        failed.setdefault(run, []).append(gate + place)
    return failed


def _folded(cell: str) -> str:
    """Put the bounds of a value below it."""
    return cell.replace(" (", "\n(")


def _time(time: datetime | None) -> str:
    return "" if time is None else f"{time:%Y-%m-%d %H:%M}"


def _grouped(values: pl.DataFrame, *by: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return for each group its values by metric, its prevalence, and the reason for missing values."""
    return {
        group: {
            "cells": {row["metric"]: bounded(row) for row in rows.to_dicts()},
            "prevalence": rows["prevalence"][0],
            "reasons": rows["reason"].drop_nulls().unique(maintain_order=True).to_list(),
        }
        for group, rows in values.partition_by(by, as_dict=True, maintain_order=True).items()
    }
