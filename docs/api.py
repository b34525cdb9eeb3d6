"""Sort the public names of the stub, write api.md, the tables of metrics, the schema of jobs: `make api`."""

import ast
import importlib
import inspect
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import nci_frames as nf
from nci_frames.evaluation.metrics import Metric
from nci_frames.evaluation.metrics.registry import all_metrics
from nci_frames.jobs.job_file.loading import job_schema

PAGE = Path(__file__).with_name("api.md")
METRICS = PAGE.with_name("metrics.md")
STUB = Path(nf.__file__).with_suffix(".pyi")

#: The rooms with public names, in the order in which a log passes through them.
ROOMS = (
    "counting.logs",
    "counting.thresholds",
    "counting",
    "counts",
    "evaluation.metrics",
    "evaluation.rates",
    "evaluation.support",
    "evaluation.projection",
    "evaluation.areas",
    "evaluation.crossovers",
    "evaluation.resampling",
    "evaluation.significance",
    "evaluation.planning",
    "evaluation.imbalance",
    "evaluation.prevalence",
    "evaluation.probabilities",
    "evaluation.classes",
    "questions",
    "tables",
    "charts",
    "files",
    "reporting",
    "jobs",
    "base",
)

#: What most users need, in the order of the work.
FIRST = (
    "scan_predictions",
    "count_confusion",
    "unit_buckets",
    "compute_rates",
    "project_rates",
    "compute_areas",
    "rank_models",
    "winner_ranges",
    "find_crossovers",
    "decision_map",
    "select_operating_points",
    "precision_band",
    "bootstrap",
    "compare_best",
    "estimate_prevalence",
    "compare_models",
    "Question",
    "write_report",
    "save_chart",
    "CountsLedger",
)


def public_names(stub: str) -> dict[str, str]:
    """Return the module of every public name, as the stub says."""
    imports = [node for node in ast.parse(stub).body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in imports for alias in node.names}


def room_of(module: str) -> str:
    """Return the innermost room that a module stands in."""
    found = [room for room in ROOMS if f"{module}.".startswith(f"{room}.")]
    if not found:
        raise LookupError(f"{module} has public names: add its room to ROOMS in docs/api.py")
    return max(found, key=len)


def names_by_room(stub: str) -> dict[str, list[str]]:
    """Return the names of every room, those of one module together."""
    modules = public_names(stub)
    ordered = sorted(modules, key=lambda name: (modules[name], name.lower()))
    return {room: [name for name in ordered if room_of(modules[name]) == room] for room in ROOMS}


def sorted_stub(stub: str) -> str:
    """Write the stub in the order of the rooms, with every metric that is a function."""
    functions = {metric.name: metric.build for metric in all_metrics() if metric.kind == "point"}
    for name in functions.keys() - public_names(stub).keys():
        home = functions[name].__module__.removeprefix("nci_frames")
        stub += f"from {home} import {name} as {name}\n"
    modules = public_names(stub)
    blocks = [
        "\n".join([f"# {room}", *(f"from .{modules[name]} import {name} as {name}" for name in names)])
        for room, names in names_by_room(stub).items()
    ]
    return "\n\n".join(blocks) + "\n"


def summary(thing: object) -> str:
    """Return the first line of a docstring, as it may stand in a cell."""
    return (inspect.getdoc(thing) or "").split("\n", 1)[0].replace("|", "\\|")


def table(names: Iterable[str], stub: str) -> list[str]:
    """Write a row for each name."""
    modules = public_names(stub)
    # Not from the package, which has read its stub before a name was added.
    things = {name: getattr(importlib.import_module(f"nci_frames.{modules[name]}"), name) for name in names}
    rows = [f"| `{name}` | {summary(thing)} |" for name, thing in things.items()]
    return ["", "| name | what it is |", "| --- | --- |", *rows]


def page(stub: str) -> str:
    """Write the page."""
    lines = [
        "# API",
        "",
        "Every public name. `help(nf.name)` and the site that `make docs` builds have the full text.",
        "Written by `make api`.",
        "",
        f"## The {len(FIRST)} that most users need",
        "",
        "In the order of the work.",
        *table(FIRST, stub),
        "",
        "## All, by subpackage",
    ]
    for room, names in names_by_room(stub).items():
        title = summary(importlib.import_module(f"nci_frames.{room}"))
        lines += ["", f"### {room}", "", title, *table(names, stub)]
    return "\n".join(lines) + "\n"


def with_metrics(text: str) -> str:
    """Write the tables of metrics and of areas anew into their page: all but what each means."""
    points, curves = ([known for known in all_metrics() if known.kind == kind] for kind in ("point", "curve"))
    text = _with_rows(text, "metric", {known.name: _aliases_and_formula(known) for known in points})
    computed = {known.name: f"{_aliases_and_formula(known)} | `{known.computed_by}`" for known in curves}
    return _with_rows(text, "area", computed)


def _aliases_and_formula(known: Metric) -> str:
    return f"{', '.join(known.aliases)} | {known.formula}"


def _with_rows(text: str, head: str, middle: Mapping[str, str]) -> str:
    """Write a row for each name; its last cell, what the name means, is written by hand and stays."""
    before, heads, rest = re.split(rf"(?m)^(\| {head} \| aliases .*\n\| ---.*\n)", text)
    rows, _, after = rest.partition("\n\n")
    meanings = {row.split("`")[1]: row.rsplit(" | ", 1)[1] for row in rows.splitlines()}
    table = [f"| `{name}` | {cells} | {meanings.get(name, '|')}" for name, cells in middle.items()]
    return "\n".join([f"{before}{heads}{table[0]}", *table[1:], "", after])


def main() -> None:
    stub = sorted_stub(STUB.read_text(encoding="utf-8"))
    STUB.write_text(stub, encoding="utf-8")
    PAGE.write_text(page(stub), encoding="utf-8")
    METRICS.write_text(with_metrics(METRICS.read_text(encoding="utf-8")), encoding="utf-8")
    PAGE.with_name("job.schema.json").write_text(job_schema(), encoding="utf-8")


if __name__ == "__main__":
    main()
