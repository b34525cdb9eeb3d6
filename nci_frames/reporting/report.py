"""A comparison -> one HTML page that needs nothing but itself: no network, no server, no other file."""

import base64
import hashlib
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import altair as alt
import jinja2
import polars as pl
import vl_convert

from nci_frames.errors import ParameterError
from nci_frames.evaluation.comparison import Comparison
from nci_frames.reporting import charts, tables
from nci_frames.reporting.answers import read_assumption, read_order, read_verdict

__all__ = ["render_report", "write_report"]

_TITLE = "How the models compare as the class balance changes"

#: A page with a table for each of a thousand segments helps nobody; the frames hold them all.
_SEGMENTS, _OVERTAKINGS, _SHIFTS_SHOWN = 24, 12, 20


def write_report(
    comparison: Comparison,
    /,
    path: str | Path,
    *,
    title: str = _TITLE,
    facts: Sequence[tuple[str, str]] = (),
) -> Path:
    """Write a comparison as one self-contained HTML page.

    The page is written beside its target and then moved over it: a reader sees the old page or the new
    one, and a failure leaves the old one as it was. Equal arguments give equal bytes.

    Parameters
    ----------
    comparison
        The tables to show.
    path
        The file to write; folders above it are made.
    title
        Title of the page.
    facts
        Pairs of label and value about the data, e.g. files read and rows dropped.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    ParameterError
        The path is a folder.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> comparison = nf.compare_models(nf.count_confusion(log, thresholds="exact"), prevalence=[0.01, 0.5])
    >>> folder = getfixture("tmp_path")
    >>> nf.write_report(comparison, folder / "report.html", facts=[("rows", "4")]).name
    'report.html'
    """
    target = Path(path)
    if target.is_dir():
        raise ParameterError(
            "the path of a report must be a file", found=f"the folder {str(target)!r}", hint="add a file name"
        )
    page = render_report(comparison, title=title, facts=facts)
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        beside.write_bytes(page.encode("utf-8"))
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
    return target


def render_report(
    comparison: Comparison, /, *, title: str = _TITLE, facts: Sequence[tuple[str, str]] = ()
) -> str:
    """Return the page as text; see ``write_report``."""
    beta = comparison.main_beta
    grid = comparison.prevalence
    observed = comparison.observed_prevalence
    middle = comparison.middle_prevalence
    f_name = f"F{beta:g}"
    pr_auc = comparison.areas.filter(pl.col("metric") == "pr_auc")
    f_beta = comparison.projection.filter(pl.col("metric") == "f_beta", pl.col("beta") == beta)
    measures = {"PR-AUC": pr_auc, f"{f_name} at threshold {comparison.threshold:g}": f_beta}
    scripts = [_bundle(), _own("report.js")]
    template = _environment().get_template("report.html.jinja")
    return template.render(
        title=title,
        policy=_policy(scripts),
        css=_own("report.css"),
        scripts=scripts,
        comparison=comparison,
        models=sorted(comparison.points["model"].unique()),
        observed=observed,
        middle=middle,
        answers=_answers(measures, grid, middle, observed),
        orders={name: read_order(rows) for name, rows in measures.items()},
        shown_overtakings=_OVERTAKINGS,
        tables=_tables(comparison, beta, middle),
        figures=_figures(comparison, beta, middle),
        segments=_segments(comparison, middle),
        shown_segments=_SEGMENTS,
        points=comparison.points.sort("model").to_dicts(),
        undefined=comparison.undefined.to_dicts(),
        assumption=read_assumption(comparison.shifts),
        shifts=_largest_shifts(comparison.shifts),
        facts=[(str(label), str(value)) for label, value in facts],
        methods=sorted(pr_auc["method"].drop_nulls().unique()),
        f_name=f_name,
    )


def _answers(
    measures: Mapping[str, pl.DataFrame], grid: Sequence[float], middle: float, observed: float | None
) -> list[dict[str, Any]]:
    """Read the verdicts at the lowest, a middle and the highest prevalence."""
    near = "the middle of those compared" if observed is None else f"nearest to the log's {observed:.3g}"
    roles: dict[float, list[str]] = {}
    for prevalence, role in (
        (min(grid), "the lowest compared"),
        (middle, near),
        (max(grid), "the highest compared"),
    ):
        roles.setdefault(prevalence, []).append(role)
    return [
        {
            "prevalence": prevalence,
            "role": ", ".join(words),
            "verdicts": {
                name: read_verdict(rows.filter(pl.col("prevalence") == prevalence))
                for name, rows in measures.items()
            },
        }
        for prevalence, words in sorted(roles.items())
    ]


def _tables(comparison: Comparison, beta: float, prevalence: float) -> list[str]:
    at = f"at threshold {comparison.threshold:g}"
    wanted: list[tuple[str, str, pl.DataFrame, dict[str, Any]]] = [
        ("table-pr-auc", "PR-AUC over prevalence", comparison.areas, {"metric": "pr_auc"}),
        (
            "table-f-prevalence",
            f"F{beta:g} over prevalence, {at}",
            comparison.projection,
            {"metric": "f_beta", "beta": beta},
        ),
        (
            "table-f-beta",
            f"F-beta over beta at prevalence η = {tables.format_grid(prevalence)}, {at}",
            comparison.projection,
            {"metric": "f_beta", "over": "beta", "prevalence": prevalence},
        ),
    ]
    return [
        tables.table_html(tables.ranked_table(frame, **options), name=name, caption=caption)
        for name, caption, frame, options in wanted
    ]


def _figures(comparison: Comparison, beta: float, prevalence: float) -> list[dict[str, Any]]:
    """Return the four charts, each with its title as text and its specification as harmless JSON."""
    projection, observed = comparison.projection, comparison.observed_prevalence
    wanted: dict[str, tuple[str, Callable[[], alt.LayerChart]]] = {
        "p3": ("Precision over prevalence", lambda: charts.chart_p3(projection, observed=observed)),
        "f-prevalence": (
            f"F{beta:g} over prevalence",
            lambda: charts.chart_f_beta_over_prevalence(projection, beta=beta, observed=observed),
        ),
        "f-beta": (
            "F-beta over beta",
            lambda: charts.chart_f_beta_over_beta(projection, prevalence=prevalence, observed=observed),
        ),
        "pr-auc": (
            "PR-AUC over prevalence",
            lambda: charts.chart_pr_auc_over_prevalence(comparison.areas, observed=observed),
        ),
    }
    return [_figure(name, title, draw) for name, (title, draw) in wanted.items()]


def _figure(name: str, title: str, draw: Callable[[], alt.LayerChart]) -> dict[str, Any]:
    try:
        spec = draw().to_dict()
    except ParameterError as error:
        # Too many models for a chart, or none with a value: the tables still say what there is.
        return {"name": name, "title": title, "missing": error.what}
    heading = spec.pop("title")
    spec["width"] = "container"
    return {
        "name": name,
        "title": heading["text"],
        "subtitle": heading["subtitle"],
        "description": spec["description"],
        "spec": _script_json(spec),
        "missing": None,
    }


def _largest_shifts(shifts: pl.DataFrame | None) -> list[dict[str, Any]]:
    """Return the differences between segments, the largest first."""
    if shifts is None:
        return []
    differing = shifts.filter(pl.col("verdict") == "differs", pl.col("test") == "ks")
    order = ["statistic", "model", "segment", "value", "class"]
    return differing.sort(order, descending=[True, *[False] * 4]).head(_SHIFTS_SHOWN).to_dicts()


def _segments(comparison: Comparison, prevalence: float) -> list[dict[str, Any]]:
    """Return the models by PR-AUC for each segment at one prevalence, so that segments can be compared."""
    if not comparison.segment or comparison.segment_areas is None:
        return []
    keys = list(comparison.segment)
    rows = comparison.segment_areas.filter(
        pl.col("metric") == "pr_auc", pl.col("prevalence") == prevalence
    ).sort(*keys, "rank", "model", nulls_last=True)
    return [
        {
            "names": list(zip(keys, values, strict=True)),
            "table": tables.table_html(
                tables.ranked_list(group, value_title="PR-AUC"),
                name=f"segment-{number}",
                caption=f"PR-AUC at η = {tables.format_grid(prevalence)}",
            )
            if number < _SEGMENTS
            else None,
        }
        for number, (values, group) in enumerate(
            rows.partition_by(keys, as_dict=True, maintain_order=True).items()
        )
    ]


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("nci_frames.reporting", package_path=""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "grid": tables.format_grid,
        "value": tables.format_value,
        "count": lambda n: "" if n is None else f"{n:,}" if isinstance(n, int) else f"{n:,.6g}",
        "one_in": _one_in,
    }
    return environment


def _one_in(eta: float) -> str:
    """Say a prevalence as "1 in 5,000"; two digits are all that the ear keeps."""
    return f"1 in {float(f'{1 / eta:.2g}'):,.0f}"


def _own(name: str) -> str:
    return resources.files("nci_frames.reporting").joinpath(name).read_text(encoding="utf-8")


@cache
def _bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script that cannot close its own element."""
    # The stub of vl-convert forgets that the snippet is optional.
    bundle = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")


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
