"""Verdicts of a run and the history of its gates -> content of the report and the history page."""

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt
import polars as pl

from nci_frames.base.messages import quantity
from nci_frames.charts.trends import chart_trend
from nci_frames.files.save_chart import chart_bytes
from nci_frames.files.save_table import csv_text
from nci_frames.tables.numbers import format_grid, format_limit, format_value

#: Maximum number of trends; the latest failures come first.
_DRAWN = 24
#: Maximum number of runs in a trend.
_RUNS = 90
#: Maximum number of listed verdicts.
_ROWS = 200
#: Maximum numbers of verdicts and trends in a report; the history has more.
_VERDICTS_REPORTED, _TRENDS_REPORTED = 12, 4
_BOUNDS = ("value", "lower", "upper", "limit_lower", "limit_upper")
#: Columns of the data of a trend.
_DRAWN_COLUMNS = ("run", "sequence", "model", "metric", "prevalence", *_BOUNDS, "verdict")
_NUMBERS = (*_BOUNDS, "reference", "difference", "difference_lower", "difference_upper")
_ORDER = {"fail": 0, "undecided": 1, "pass": 2}


class RunSummary:
    """Summary of a run in its report and in the history.

    Parameters
    ----------
    history
        One row per run, gate, model and segment.
    runs
        One row per run; the last row is the run to summarise.
    verdicts
        Verdicts of that run.
    last_good
        Last run whose gates passed; None if there is none.
    """

    def __init__(
        self, *, history: pl.DataFrame, runs: pl.DataFrame, verdicts: pl.DataFrame, last_good: str | None
    ) -> None:
        self.run, self.verdict = runs.select("run", "verdict").row(-1)
        #: Number of runs so far, and the last run whose gates passed.
        self.number, self.last_good = len(runs), last_good
        #: The verdicts, failures first; those in a report; the number that is not listed; and that of each.
        self.verdicts = [_verdict(row) for row in _worst_first(verdicts).head(_ROWS).to_dicts()]
        self.reported = self.verdicts[:_VERDICTS_REPORTED]
        self.hidden_verdicts = len(verdicts) - len(self.verdicts)
        found = verdicts["verdict"].to_list()
        self.counted = {verdict: found.count(verdict) for verdict in _ORDER if verdict in found}
        #: A chart of each gate over the runs with its data; those in a report, none for a single run; and the
        #: number of gates without one.
        self.trends = list(_trends(history, verdicts))
        self.reported_trends = self.trends[:_TRENDS_REPORTED] if self.number > 1 else []
        self.hidden_trends = max(0, _groups(verdicts).height - _DRAWN)


def picture_of(chart: alt.LayerChart) -> str:
    """Return a chart as the base64 text of an SVG."""
    return base64.b64encode(chart_bytes(chart, "svg")).decode()


def written(value: float | None) -> str:
    """Format a number; empty for null."""
    return "" if value is None else format_value(value)


def segment_name(segment: str | None) -> str:
    """Format a segment, given as JSON, in words."""
    if segment is None:
        return "all rows"
    names = json.loads(segment).items()
    return ", ".join(f"{key} = {'missing' if value is None else value}" for key, value in names)


def promised(row: Mapping[str, Any]) -> str:
    """Format the limits of a verdict; empty if there are none.

    >>> promised({"kind": "champion", "limit_lower": 0.0, "limit_upper": None})
    'lead ≥ 0'
    >>> promised({"kind": "change_threshold", "limit_lower": -0.123456, "limit_upper": None})
    'change ≥ −0.1235'
    >>> promised({"kind": "value_threshold", "limit_lower": 0.99996, "limit_upper": None})
    '≥ 0.99996'
    """
    limits = (("≥", row["limit_lower"]), ("≤", row["limit_upper"]))
    parts = [f"{sign} {format_limit(limit)}" for sign, limit in limits if limit is not None]
    kind = {"change_threshold": "change ", "champion": "lead "}.get(row["kind"], "")
    return kind + " and ".join(parts) if parts else ""


def _worst_first(verdicts: pl.DataFrame) -> pl.DataFrame:
    return verdicts.sort(pl.col("verdict").replace_strict(_ORDER, return_dtype=pl.Int8), maintain_order=True)


def _groups(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return the columns that define a chart; a champion has one chart per prevalence."""
    apart = pl.when(pl.col("kind") == "champion").then("prevalence").alias("apart")
    names = ("gate", "segment", "metric", "kind")
    return _worst_first(verdicts).select(*names, apart).unique(maintain_order=True)


def _trends(history: pl.DataFrame, verdicts: pl.DataFrame) -> Iterator[dict[str, str]]:
    """Yield the chart of each gate and segment, failures first."""
    recent = history.filter(pl.col("sequence") > pl.col("sequence").max() - _RUNS)
    for gate, segment, metric, kind, apart in _groups(verdicts).head(_DRAWN).iter_rows():
        same = (pl.col("gate") == gate) & pl.col("segment").eq_missing(pl.lit(segment, pl.String))
        # What a gate of that name judged before its metric was edited is no trend of this one.
        same &= (pl.col("metric") == metric) & (pl.col("kind") == kind)
        rows = recent.filter(same if apart is None else same & (pl.col("prevalence") == apart))
        at = "" if apart is None else f", at prevalence {format_grid(apart)}"
        yield {
            "gate": gate,
            "place": segment_name(segment) + at,
            "picture": picture_of(chart_trend(rows)),
            "data": base64.b64encode(csv_text(rows.select(_DRAWN_COLUMNS)).encode()).decode(),
            "says": f"{rows['metric'][0]} over {quantity(rows['sequence'].n_unique(), 'run')}",
        }


def _verdict(row: dict[str, Any]) -> dict[str, Any]:
    numbers = {name: written(row[name]) for name in _NUMBERS}
    return {
        **row,
        **numbers,
        "prevalence": "" if row["prevalence"] is None else format_grid(row["prevalence"]),
        "segment": segment_name(row["segment"]),
        "promise": promised(row),
        "bounded": bounded(row),
        "note": "; ".join(_notes(row, numbers)),
    }


def bounded(row: Mapping[str, Any], name: str = "value") -> str:
    """Format a value with its bounds, if it has bounds."""
    bounds = "" if row["lower"] is None else f" ({written(row['lower'])} to {written(row['upper'])})"
    return written(row[name]) + bounds


def why_undecided(row: Mapping[str, Any]) -> str:
    """Return the reason of a verdict; without one, the bounds contain the limit."""
    return row["reason"] or "the bounds contain the limit"


def _notes(row: Mapping[str, Any], numbers: Mapping[str, str]) -> Iterator[str]:
    """Yield the reference of the value, and the reason of the verdict."""
    if numbers["reference"]:
        bounds = f"({numbers['difference_lower']} to {numbers['difference_upper']})"
        change = f": a change of {numbers['difference']} {bounds}" if numbers["difference"] else ""
        yield f"was {numbers['reference']}{change}"
    if row["rival"] is not None:
        yield f"the value is the lead over {row['rival']}"
    if row["reason"] is not None or row["verdict"] == "undecided":
        yield why_undecided(row)
