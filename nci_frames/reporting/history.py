"""The history of a job -> one page: verdicts, trends with limits, what changed since the last good run."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from nci_frames.base.files import replacing
from nci_frames.reporting.gates import RunSummary, bounded, segment_name, written
from nci_frames.reporting.templates import own, template

#: Runs that are listed.
_RUNS_LISTED = 14
#: Rows of a table.
_ROWS = 200
#: Values of scenarios that are listed.
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
    traffic: tuple[pl.DataFrame, pl.DataFrame] | None = None,
    facts: Sequence[tuple[str, str]] = (),
) -> str:
    """Return the page as text.

    Parameters
    ----------
    title
        The title of the job.
    history
        A row for each run, gate, model and segment.
    runs
        A row for each run.
    unusual
        A row for each file of the last runs that was late, delivered again, changed or unreadable.
    summary
        What is said of the run itself.
    changes
        What changed since the last good run, as ``decompose_difference`` splits it; None if there is none.
    scenarios
        A row for each scenario, segment, model and metric.
    traffic
        The prevalence of logs without labels, a row for each segment and model; and the values there, a row
        for each segment, model and metric. None if the job has no such logs.
    facts
        Pairs of label and value about the data.
    """
    listed = runs.tail(_RUNS_LISTED)
    shown = unusual.filter(pl.col("run").is_in(listed["run"].implode())).reverse()
    return template("history.html.jinja", {}).render(
        title=title,
        css=own("report.css"),
        facts=facts,
        summary=summary,
        kinds=_kinds(runs),
        runs=[_run(row, history) for row in listed.reverse().to_dicts()],
        listed=len(listed),
        unusual=[_file(row) for row in shown.head(_ROWS).to_dicts()],
        hidden_files=max(0, len(shown) - _ROWS),
        keys=[] if changes is None else _keys(changes),
        changes=[] if changes is None else [_change(row) for row in changes.head(_ROWS).to_dicts()],
        compared=changes is not None,
        scenarios=list(_scenarios(scenarios.head(_VALUES))),
        scenario_metrics=scenarios["metric"].unique(maintain_order=True).to_list(),
        hidden_values=max(0, len(scenarios) - _VALUES),
        traffic=None if traffic is None else [_estimate(*rows) for rows in _by_group(*traffic)],
        traffic_metrics=[] if traffic is None else traffic[1]["metric"].unique(maintain_order=True).to_list(),
        hidden_traffic=max(0, len(traffic[0]) - _ROWS) if traffic else 0,
    )


def _kinds(runs: pl.DataFrame) -> list[str]:
    """Return the columns of a run that say how many files arrived."""
    return runs.columns[runs.columns.index("rows") + 1 :]


def _run(row: dict[str, Any], history: pl.DataFrame) -> dict[str, Any]:
    failed = (
        history.filter(run=row["run"], verdict="fail").select("gate", "segment").unique(maintain_order=True)
    )
    gates = [
        gate if segment is None else f"{gate} ({segment_name(segment)})" for gate, segment in failed.rows()
    ]
    return {**row, "window": _time(row["window_start"]), "failed_gates": gates}


def _file(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "window": _time(row["window_start"])}


def _time(time: datetime | None) -> str:
    return "" if time is None else f"{time:%Y-%m-%d %H:%M}"


def _scenarios(values: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield a row of the table of scenarios: the values of one model in one segment."""
    for rows in values.partition_by("scenario", "segment", "model", maintain_order=True):
        first = rows.row(0, named=True)
        cells = {row["metric"]: bounded(row, "value") for row in rows.iter_rows(named=True)}
        reasons = rows["reason"].drop_nulls().unique(maintain_order=True)
        yield {
            **first,
            "segment": segment_name(first["segment"]),
            "prevalence": written(first["prevalence"]),
            "cells": cells,
            "note": "; ".join(reasons),
        }


def _by_group(
    prevalence: pl.DataFrame, values: pl.DataFrame
) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    """Yield the estimate of each segment and model with the values there."""
    for row in prevalence.head(_ROWS).iter_rows(named=True):
        same = pl.col("segment").eq_missing(pl.lit(row["segment"], pl.String))
        yield row, values.filter(same, pl.col("model").eq_missing(pl.lit(row["model"], pl.String)))


def _estimate(row: dict[str, Any], values: pl.DataFrame) -> dict[str, Any]:
    """Return a row of the table of the traffic."""
    reasons = [row["reason"], *values["reason"].to_list()] if row["supported"] else [row["reason"]]
    return {
        **row,
        "segment": segment_name(row["segment"]),
        "estimate": bounded(row, "prevalence"),
        "p_value": written(row["fit_p_value"]),
        "cells": {value["metric"]: bounded(value, "value") for value in values.to_dicts()},
        "note": "; ".join(dict.fromkeys(filter(None, reasons))),
    }


def _change(row: dict[str, Any]) -> dict[str, Any]:
    names = ("value", "reference_value", "difference", "due_to_prevalence", "due_to_rates")
    return {**row, **{name: written(row[name]) for name in names}}


def _keys(changes: pl.DataFrame) -> list[str]:
    columns = changes.columns
    return columns[1 : columns.index("threshold")]
