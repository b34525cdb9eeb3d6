"""The history of a job -> one page: verdicts, trends with limits, what changed since the last good run."""

import base64
import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import polars as pl

from nci_frames.files import replacing
from nci_frames.reporting.charts.trends import chart_trend
from nci_frames.reporting.files.save_chart import chart_bytes
from nci_frames.reporting.tables.numbers import format_value

__all__ = ["render_history", "write_history"]

#: Trends that are drawn; those that failed last come first.
_DRAWN = 24
#: Runs that a trend shows.
_RUNS = 90
#: Runs that are listed.
_RUNS_LISTED = 14
#: Rows of a table.
_ROWS = 200
#: Values of scenarios that are listed.
_VALUES = 600
_NUMBERS = (
    "value",
    "lower",
    "upper",
    "limit_lower",
    "limit_upper",
    "reference",
    "prevalence",
    "difference",
    "difference_lower",
    "difference_upper",
)
_ORDER = {"fail": 0, "undecided": 1, "pass": 2}


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
    last_good: str | None,
    verdicts: pl.DataFrame,
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
    last_good
        The last run whose gates passed; None if there is none.
    verdicts
        Those of the run itself.
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
    return _template().render(
        title=title,
        css=_own("report.css"),
        facts=facts,
        verdicts=[_verdict(row) for row in _worst_first(verdicts).head(_ROWS).to_dicts()],
        hidden_verdicts=max(0, len(verdicts) - _ROWS),
        number=len(runs),
        this=runs.row(-1, named=True),
        last_good=last_good,
        kinds=_kinds(runs),
        runs=[_run(row, history) for row in listed.reverse().to_dicts()],
        listed=len(listed),
        unusual=[_file(row) for row in shown.head(_ROWS).to_dicts()],
        hidden_files=max(0, len(shown) - _ROWS),
        trends=list(_trends(history, verdicts)),
        hidden_trends=max(0, _groups(verdicts).height - _DRAWN),
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
    gates = [gate if segment is None else f"{gate} ({_segment(segment)})" for gate, segment in failed.rows()]
    return {**row, "window": _time(row["window_start"]), "failed_gates": gates}


def _file(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "window": _time(row["window_start"])}


def _time(time: datetime | None) -> str:
    return "" if time is None else f"{time:%Y-%m-%d %H:%M}"


def _worst_first(verdicts: pl.DataFrame) -> pl.DataFrame:
    return verdicts.sort(pl.col("verdict").replace_strict(_ORDER, return_dtype=pl.Int8), maintain_order=True)


def _groups(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return what each picture is of; a champion is judged at several prevalences, each a picture."""
    apart = pl.when(pl.col("kind") == "champion").then("prevalence").alias("apart")
    return _worst_first(verdicts).select("gate", "segment", apart).unique(maintain_order=True)


def _trends(history: pl.DataFrame, verdicts: pl.DataFrame) -> Any:
    """Yield the picture of each gate and segment, the failed first."""
    recent = history.filter(pl.col("sequence") > pl.col("sequence").max() - _RUNS)
    for gate, segment, apart in _groups(verdicts).head(_DRAWN).iter_rows():
        same = (pl.col("gate") == gate) & pl.col("segment").eq_missing(pl.lit(segment, pl.String))
        rows = recent.filter(same if apart is None else same & (pl.col("prevalence") == apart))
        at = "" if apart is None else f", at prevalence {format_value(apart)}"
        svg = chart_bytes(chart_trend(rows), "svg")
        yield {
            "gate": gate,
            "place": _segment(segment) + at,
            "picture": base64.b64encode(svg).decode(),
            "says": f"{rows['metric'][0]} over {rows['sequence'].n_unique()} runs",
        }


def _verdict(row: dict[str, Any]) -> dict[str, Any]:
    numbers = {name: _number(row[name]) for name in _NUMBERS}
    limits = [
        f"{sign} {numbers[name]}"
        for name, sign in (("limit_lower", "≥"), ("limit_upper", "≤"))
        if numbers[name]
    ]
    kind = {"change_threshold": "change ", "champion": "lead "}.get(row["kind"], "")
    return {
        **row,
        **numbers,
        "segment": _segment(row["segment"]),
        "promise": kind + " and ".join(limits) if limits else "",
    }


def _scenarios(values: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield a row of the table of scenarios: the values of one model in one segment."""
    for rows in values.partition_by("scenario", "segment", "model", maintain_order=True):
        first = rows.row(0, named=True)
        cells = {row["metric"]: _bounded(row, "value") for row in rows.iter_rows(named=True)}
        reasons = rows["reason"].drop_nulls().unique(maintain_order=True)
        yield {
            **first,
            "segment": _segment(first["segment"]),
            "prevalence": _number(first["prevalence"]),
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
        "segment": _segment(row["segment"]),
        "estimate": _bounded(row, "prevalence"),
        "p_value": _number(row["fit_p_value"]),
        "cells": {value["metric"]: _bounded(value, "value") for value in values.to_dicts()},
        "note": "; ".join(dict.fromkeys(filter(None, reasons))),
    }


def _bounded(row: dict[str, Any], name: str) -> str:
    if row[name] is None:
        return ""
    return f"{_number(row[name])} ({_number(row['lower'])} to {_number(row['upper'])})"


def _number(value: float | None) -> str:
    return "" if value is None else format_value(value)


def _change(row: dict[str, Any]) -> dict[str, Any]:
    names = ("value", "reference_value", "difference", "due_to_prevalence", "due_to_rates")
    return {**row, **{name: _number(row[name]) for name in names}}


def _keys(changes: pl.DataFrame) -> list[str]:
    columns = changes.columns
    return columns[1 : columns.index("threshold")]


def _segment(segment: str | None) -> str:
    if segment is None:
        return "all rows"
    return ", ".join(
        f"{key} = {'missing' if value is None else value}" for key, value in json.loads(segment).items()
    )


def _own(name: str) -> str:
    return resources.files("nci_frames.reporting.pages").joinpath(name).read_text(encoding="utf-8")


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_own("history.html.jinja"))
