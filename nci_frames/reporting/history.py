"""The history of a job -> one page: verdicts, trends with limits, changes since the last good run."""

import base64
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from nci_frames.base.files import replacing
from nci_frames.charts.trends import chart_by_date
from nci_frames.files.save_chart import chart_bytes
from nci_frames.reporting.gates import RunSummary, bounded, segment_name, written
from nci_frames.reporting.templates import own, template

#: Maximum number of listed runs.
_RUNS_LISTED = 14
#: Maximum number of rows of a table.
_ROWS = 200
#: Maximum number of listed values of scenarios.
_VALUES = 600


def write_history(path: Path, **content: Any) -> Path:
    """Write the page of ``render_history``."""
    with replacing(path, what="page") as file:
        file.write_text(render_history(**content), encoding="utf-8", newline="")
    return path


def render_history(
    *,
    title: str,
    history: pl.DataFrame,
    runs: pl.DataFrame,
    unusual: pl.DataFrame,
    summary: RunSummary,
    changes: pl.DataFrame | None,
    scenarios: pl.DataFrame,
    dated: pl.DataFrame,
    traffic: tuple[pl.DataFrame, pl.DataFrame] | None = None,
    facts: Sequence[tuple[str, str]] = (),
) -> str:
    """Return the page as a string.

    Parameters
    ----------
    title
        Title of the job.
    history
        One row per run, gate, model and segment.
    runs
        One row per run.
    unusual
        One row per file of the last runs that was late, delivered again, changed or unreadable.
    summary
        Summary of the run.
    changes
        Changes since the last good run, split by ``decompose_difference``; None if there is no such run.
    scenarios
        One row per scenario, segment, model and metric.
    dated
        One row per window and model.
    traffic
        Prevalence of logs without labels, one row per segment and model; and the values there, one row per
        segment, model and metric. None if the job has no such logs.
    facts
        Pairs of label and value about the data.
    """
    listed = runs.tail(_RUNS_LISTED)
    shown = unusual.filter(pl.col("run").is_in(listed["run"].implode())).reverse()
    page = template("history.html.jinja", written=written, bounded=bounded, segment=segment_name, time=_time)
    return page.render(
        title=title,
        css=own("report.css"),
        facts=facts,
        summary=summary,
        runs=listed,
        failed=_failed(history),
        unusual=shown,
        changes=changes,
        dated=_dated(dated),
        scenarios=scenarios,
        traffic=traffic,
        grouped=_grouped,
        rows=_ROWS,
        values=_VALUES,
    )


def _dated(dated: pl.DataFrame) -> list[dict[str, str]]:
    """Return the charts of the windows by date; none for a single window."""
    if dated["window_start"].n_unique() < 2:
        return []
    return [
        {
            "name": name,
            "picture": base64.b64encode(chart_bytes(chart_by_date(dated, rate=rate), "svg")).decode(),
        }
        for rate, name in (("tpr", "recall"), ("fpr", "FPR"))
    ]


def _failed(history: pl.DataFrame) -> dict[str, list[str]]:
    """Return the gates that failed in each run."""
    failed: dict[str, list[str]] = {}
    rows = history.filter(verdict="fail").select("run", "gate", "segment").unique(maintain_order=True)
    for run, gate, segment in rows.rows():
        place = "" if segment is None else f" ({segment_name(segment)})"
        failed.setdefault(run, []).append(gate + place)
    return failed


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
