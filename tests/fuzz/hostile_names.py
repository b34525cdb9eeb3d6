"""Hostile names through the command line: models, segments, columns, titles and paths."""

import csv
import io
import json
import random
from collections.abc import Iterator
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import polars as pl
from click.testing import CliRunner

from nci_frames.commands.cli import main
from tests.fuzz.campaign import Campaign, Case, judged
from tests.hostile import NAMES, UNDRAWABLE

#: A script that runs, or an element with this mark, has left the text that it was in.
MARK = "pwned"

HOSTILE = (
    *(name for name in (*NAMES, *UNDRAWABLE) if name),
    f"<script>{MARK}()</script>",
    f"</script></style></textarea><img src=x onerror={MARK}()>",
    f'"><svg onload={MARK}()>',
    "../../outside",
    "..",
    "/etc/passwd",
    "C:\\con\\nul",
    "x" * 4096,
    "\u202eevil\u2066",
    "אבג 123",
    "a\u0300\u0301" * 50,
    "👩‍👩‍👧",
    "[0-9]*?.parquet",
    "{a,b}",
    "'; DROP TABLE x; --",
    "\"'`",
    "%s %(x)s %n",
    "\x7f\x9b31m",
    "\ud7ff\ue000",
    "\ue000option=1\ue001--option 1\ue002",
    "[bold red]x[/]",
    "[link=file:///etc/passwd]x[/link]",
    "$(touch x)",
    "~root",
    "-o",
    "null",
    "None",
    "model",
    "threshold",
    "tp",
    "\u2028\u2029\x85",
    "\ufeffbom",
    "\u200b=1+1",
    "a=b",
    "__HIVE_DEFAULT_PARTITION__",
)

OPTIONS = ("--model", "--segments", "--label", "--score")

#: No cell of a spreadsheet may begin so, also after blanks.
_FORMULA = ("=", "+", "-", "@")


class _Elements(HTMLParser):
    """Collects what a page runs because of a name: scripts and handlers."""

    def __init__(self) -> None:
        super().__init__()
        self.bad: list[str] = []
        self._tag = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._tag = tag
        self.bad += [f"<{tag} {name}>" for name, value in attrs if name[:2] == "on" and MARK in (value or "")]

    def handle_data(self, data: str) -> None:
        if self._tag == "script" and data.strip().startswith(MARK):
            self.bad.append("a script")
        self._tag = ""


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        return [text for part in value for text in _texts(part)]
    return [value] if isinstance(value, str) else []


def _is_formula(cell: str) -> bool:
    with suppress(ValueError):
        float(cell)
        return False
    return cell.strip("\ufeff\u200b \t\r\n\x00").startswith(_FORMULA)


def _bad_letters(text: str) -> list[str]:
    bad = {letter for letter in text if not letter.isprintable()} - {"\n"}
    return [f"the terminal got {sorted(bad)!r}"] if bad else []


def _faults(folder: Path, out: Path, models: list[str], terminal: str) -> Iterator[str]:
    """Tell what is wrong with the files of a report and with what the terminal got."""
    elements = _Elements()
    elements.feed((out / "report.html").read_text(encoding="utf-8"))
    yield from (f"the page runs {bad}" for bad in elements.bad)
    summary = (out / "report.json").read_text(encoding="utf-8")
    told = _texts(json.loads(summary, parse_constant=lambda text: text))
    yield from (f"the summary has the constant {text}" for text in ("NaN", "Infinity") if text in told)
    yield from (f"the summary lacks {model[:40]!r}" for model in models if model not in told)
    if set(pl.read_parquet(out / "tables" / "counts.parquet", glob=False)["model"]) != set(models):
        yield "counts.parquet has other models"
    for file in sorted((out / "tables").glob("*.csv")):
        with file.open(encoding="utf-8", newline="") as text:
            rows = list(csv.reader(text))
        if len({len(row) for row in rows}) > 1:
            yield f"{file.name} has rows of different lengths"
        cells = [cell for row in rows for cell in row if _is_formula(cell)]
        yield from (f"{file.name} has the formula {cell[:40]!r}" for cell in cells)
    charts = list((out / "charts").glob("*.svg"))
    for chart in charts:
        ET.fromstring(chart.read_bytes())  # noqa: S314 - written a moment ago
    if not charts:
        yield "no chart was drawn"
    yield from _bad_letters(terminal)
    there = {path.name for path in folder.iterdir()} - {"logs", "results"}
    yield from (f"there is also {name[:40]!r}" for name in there)


def _write(file: Path, draw: random.Random, models: list[Any], values: list[Any], names: list[str]) -> None:
    label = [draw.random() < 0.4 for _ in range(300)]
    rows = [
        (models[i % 4], values[i // 4 % 2], positive, round(draw.gauss(float(positive), 1), 1))
        for i, positive in enumerate(label)
    ]
    buffer = io.BytesIO()
    pl.DataFrame(rows, schema=names, orient="row").write_parquet(buffer)
    # If no such file can be made, it can still be asked for.
    with suppress(OSError, ValueError):
        file.write_bytes(buffer.getvalue())


def _case(seed: int, number: int) -> Case:
    draw = random.Random(f"{seed} names {number}")
    models: list[Any] = draw.sample(HOSTILE, 4)
    values = draw.sample((*HOSTILE, None, None, None), 2)
    if draw.random() < 0.05:
        models[0] = None
    columns = ["model", draw.choice(HOSTILE), "label", "score"]
    if draw.random() < 0.4:
        columns = draw.sample(HOSTILE, 4)
    # No argument of a command can hold a NUL.
    title, path, out = (draw.choice(HOSTILE).replace("\0", "") for _ in range(3))
    where = draw.choice(["title", "path", "out"])
    shown = {"columns": columns, "models": models, "values": values, where: (title, path, out)}

    def run(folder: Path) -> str | None:
        (folder / "logs").mkdir()
        (folder / "results").mkdir()
        log = folder / "logs" / "log.parquet"
        if where == "path":
            log = folder / "logs" / f"{path.replace('/', '_')}.parquet"
        target = folder / "results" / (out if where == "out" else "report")
        _write(log, draw, models, values, columns)
        arguments = [
            "report", str(log), "--out", str(target), "--title", title if where == "title" else "x",
            "--prevalence", "0.01,0.1", "--beta", "1,2", "--format", "html,md,json", "--charts", "svg",
            "--tables", "parquet,csv,md",
            *(part for name, column in zip(OPTIONS, columns, strict=True) for part in (name, column)),
        ]  # fmt: skip
        done = CliRunner().invoke(main, arguments)
        if done.exit_code in (2, 3, 4, 5):
            return next(iter(_bad_letters(done.output)), None)
        if done.exception is not None:
            raise done.exception
        return judged(lambda: next(_faults(folder, target, models, done.output), None))

    return Case(" ".join(f"{name} {told!r:.120}" for name, told in shown.items()), run)


# The renderer of charts reserves more address space than any machine has.
# The short run leaves them to the tests of the command line, of jobs and of the page, which have such names.
CAMPAIGN = Campaign("hostile names", 60, 0, _case, seconds=180, memory=None)
