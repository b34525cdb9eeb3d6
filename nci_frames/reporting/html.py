"""A comparison -> one HTML page that needs nothing but itself: no network, no server, no other file."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import groupby
from typing import Any

import jinja2
import polars as pl
from altair.utils.schemapi import debug_mode

from nci_frames.base.errors import ParameterError
from nci_frames.charts.parts.theme import DARK, DASHES, model_style
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.figures import Figure, report_figures, shown_models
from nci_frames.questions.ranked_tables import doubt_of, own_threshold_words
from nci_frames.questions.segment_table import segment_numbers, why_untested
from nci_frames.questions.spread import fold_spread
from nci_frames.questions.summary import TITLE, Summary, summarise
from nci_frames.questions.verdicts import read_assumption, read_independence
from nci_frames.questions.worst_segments import worst_segments
from nci_frames.reporting.bundle import vega_bundle
from nci_frames.reporting.gates import RunSummary
from nci_frames.reporting.live import live_numbers
from nci_frames.tables import great_tables, numbers
from nci_frames.tables.packed import packed

__all__ = ["render_report"]

#: Maximum number of rows of a list on the page; the frames contain all.
_OVERTAKINGS, _SHIFTS_SHOWN, _UNDEFINED = 12, 20, 100

_SCRIPTS = (
    "numbers.js",
    "rows.js",
    "values.js",
    "tables.js",
    "legend.js",
    "charts.js",
    "live_charts.js",
    "ranking.js",
    "answer.js",
    "controls.js",
    "panels.js",
    "segments.js",
    "downloads.js",
    "start.js",
)
#: Charts are at most so high; those that are lower than the second number have a row of their own.
_HIGH, _LOW = 300, 150
_TENS = (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1)

#: What a button says that shows a ranked table.
_LABELS = {
    "own_over_prevalence": "{f} over η, own thresholds",
    "f_beta_over_prevalence": "{f} over η at {threshold:g}",
    "pr_auc": "PR-AUC over η",
    "own_over_beta": "F-beta over β, own thresholds",
    "f_beta_over_beta": "F-beta over β at {threshold:g}",
}


def render_report(
    comparison: Comparison,
    /,
    *,
    title: str = TITLE,
    facts: Sequence[tuple[str, str]] = (),
    scenarios: Mapping[str, float] | None = None,
    gates: RunSummary | None = None,
) -> str:
    """Return the page as text; see ``write_report``. *gates* are those of the job that made it."""
    summary = summarise(comparison)
    scripts = [vega_bundle(), *map(_own, _SCRIPTS)]
    models = sorted(comparison.points["model"].unique())
    drawn = shown_models(comparison)
    segments = segment_numbers(comparison, drawn)
    asked = _covered(comparison, scenarios or {})
    return _template().render(
        title=title,
        policy=_policy(scripts),
        css=_own("report.css"),
        scripts=scripts,
        comparison=comparison,
        summary=summary,
        models=models,
        observed=comparison.observed_prevalence,
        judged_apart="optimistic" in comparison.best.columns,
        scenarios=_scenarios(comparison, asked),
        gates=gates,
        legend=_legend(drawn),
        shown_overtakings=_OVERTAKINGS,
        tables=_tables(comparison, summary),
        doubt=doubt_of(summary.tables),
        grouped=comparison.contenders is not None,
        figures=_filling([_figure(figure) for figure in report_figures(comparison)]),
        drawn=drawn if len(drawn) < len(models) else None,
        live=_script_json(live_numbers(comparison, start=asked[0][1] if asked else None)),
        dark=_script_json(DARK),
        segments=None if segments is None else _script_json(segments),
        segment_model=None if comparison.segment_ranks is None else comparison.segment_ranks["model"].first(),
        untested=why_untested(comparison),
        traffic=_traffic(comparison, summary),
        worst=worst_segments(comparison),
        points=_points(comparison),
        spread=fold_spread(comparison),
        undefined=comparison.undefined.head(_UNDEFINED).to_dicts(),
        more_undefined=max(0, len(comparison.undefined) - _UNDEFINED),
        assumption=read_assumption(comparison.shifts),
        independence=read_independence(
            comparison.buckets,
            weighted=comparison.weighted,
            repeats=comparison.repeats,
            unit_rows=comparison.unit_rows,
        ),
        shifts=_largest_shifts(comparison.shifts),
        facts=[(str(label), str(value)) for label, value in facts],
        methods=sorted(comparison.areas["method"].drop_nulls().unique()),
        folds=comparison.fold_count,
        repeats=None if comparison.certainty is None else comparison.certainty["repeats"].max(),
        f_name=f"F{summary.beta:g}",
    )


def _covered(comparison: Comparison, scenarios: Mapping[str, float]) -> list[tuple[str, float]]:
    """Return the scenarios whose prevalence the page covers."""
    low, high = comparison.prevalence_range
    return [(name, value) for name, value in scenarios.items() if low <= value <= high]


def _scenarios(comparison: Comparison, asked: Sequence[tuple[str, float]]) -> list[dict[str, Any]]:
    """Return the prevalences that the page offers by name: those asked for, powers of ten, the log's own."""
    own = {} if comparison.observed_prevalence is None else {"observed": comparison.observed_prevalence}
    tens = {numbers.format_one_in(eta): eta for eta in _TENS}
    offered = [*asked, *_covered(comparison, tens), *_covered(comparison, own)]
    return [{"name": name, "prevalence": value} for name, value in offered]


def _legend(models: Sequence[str]) -> list[dict[str, str]]:
    """Return the name, colour and stroke of each model that the charts show."""
    style = model_style(models, among=models)
    return [
        {"name": name, "colour": colour, "dash": "" if dash == DASHES[0] else " ".join(map(str, dash))}
        for name, colour, dash in zip(style.models, style.colours, style.dashes, strict=True)
    ]


def _tables(comparison: Comparison, summary: Summary) -> list[dict[str, Any]]:
    """Return the ranked tables, each with what the page needs to recompute it."""
    found = []
    for table in summary.tables:
        if table.rows.is_empty():
            continue
        cells, name = table.cells(great_tables.COLUMNS), f"table-{table.name.replace('_', '-')}"
        metric = "pr_auc" if table.measure == "pr_auc" else "f_beta"
        # The area depends on neither slider, and no column is at an infinite beta.
        follows = table.measure != "pr_auc" and float("inf") not in cells.grid
        label = _LABELS[table.name].format(f=f"F{summary.beta:g}", threshold=comparison.threshold)
        live = {"rows": cells.models, "grid": cells.grid, "over": table.over, "measure": table.measure}
        found.append(
            {
                "name": name,
                "label": label,
                "html": great_tables.table_html(
                    great_tables.cells_table(cells, metric=metric, over=table.over, noted=False),
                    name=name,
                    caption=table.title,
                    rest=f", {table.where}",
                    live=f"{name}-live" if follows else None,
                ),
                "live": _script_json(live) if follows else None,
            }
        )
    if comparison.best.height:
        caption = "The model with the highest F-beta at each prevalence and beta"
        winners = great_tables.winner_table(comparison.best)
        rest = f", {own_threshold_words(comparison)}"
        page = great_tables.table_html(winners, name="table-winners", caption=caption, rest=rest)
        found.append({"name": "table-winners", "label": "winners over η and β", "html": page, "live": None})
    return found


def _figure(figure: Figure) -> dict[str, Any]:
    """Return a chart with its title as text and its specification as harmless JSON."""
    shown = {"name": figure.name, "title": figure.title, "section": figure.section, "wide": False}
    try:
        # The tests of each chart hold it against Vega-Lite's schema, which takes longer than to draw it.
        with debug_mode(False):
            spec = figure.draw().to_dict(validate=False)
    except ParameterError as error:
        # No model has a value, or too many have one: the tables still show the values.
        return {**shown, "missing": error.what}
    spec["datasets"] = {name: packed(rows) for name, rows in spec.get("datasets", {}).items()}
    heading = spec.pop("title")
    panels = "layer" not in spec
    low = figure.section == "charts" and spec.get("height", _HIGH) < _LOW
    if not panels:
        spec["width"] = "container"
        # Two in a row are of one height.
        spec["height"] = min(spec["height"], _HIGH)
    return {
        **shown,
        "subtitle": heading["subtitle"],
        "description": spec["description"],
        "spec": _script_json(spec),
        "live": figure.live,
        # A few bars need a long axis and little height.
        "wide": panels or low,
        "missing": None,
    }


def _filling(figures: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Widen a figure that would stand alone in a row of two."""
    filled: list[dict[str, Any]] = []
    for _, group in groupby(figures, lambda figure: (figure["section"], figure["wide"])):
        row = list(group)
        alone = len(row) % 2 == 1
        filled += [*row[:-1], {**row[-1], "wide": row[-1]["wide"] or alone}]
    return filled


def _points(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the counts of each model, and the error bound of its PR-AUC."""
    errors = comparison.area_errors
    return comparison.points.join(errors, on="model", how="left").sort("model").to_dicts()


def _largest_shifts(shifts: pl.DataFrame | None) -> list[dict[str, Any]]:
    """Return the differences between segments, the largest first."""
    if shifts is None:
        return []
    differing = shifts.filter("distinguishable")
    order = ["effect", "model", "key", "class"]
    return differing.sort(order, descending=[True, *[False] * 3]).head(_SHIFTS_SHOWN).to_dicts()


def _traffic(comparison: Comparison, summary: Summary) -> str | None:
    """Return the models by F-beta of all traffic; None where the shares of the segments are unknown."""
    if summary.traffic is None or summary.traffic.is_empty():
        return None
    name, eta = f"F{summary.beta:g}", summary.traffic["prevalence"][0]
    caption = f"{name} at threshold {numbers.format_threshold(comparison.threshold)}"
    return great_tables.table_html(
        great_tables.ranked_list(summary.traffic.drop("average"), value_title=name),
        name="traffic",
        caption=f"{caption}, η = {numbers.format_grid(eta)}",
    )


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("nci_frames.reporting", package_path=""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "grid": numbers.format_grid,
        "value": numbers.format_value,
        "count": numbers.format_count,
        "one_in": numbers.format_one_in,
        "threshold": numbers.format_threshold,
        "percent": numbers.format_percent,
    }
    return environment.get_template("report.html.jinja")


def _own(name: str) -> str:
    return resources.files("nci_frames.reporting").joinpath(name).read_text(encoding="utf-8")


def _policy(scripts: Sequence[str]) -> str:
    """Allow the scripts of this page by their hashes, and nothing from anywhere else."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _script_json(spec: Mapping[str, Any]) -> str:
    """Write JSON in which no letter can end the script element that holds it."""
    text = json.dumps(spec, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.translate({ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"})
