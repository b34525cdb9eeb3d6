"""Hostile names through the command line: models, segments, columns, titles and paths."""

import csv
import io
import json
import random
from collections.abc import Callable
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import polars as pl
from click.testing import CliRunner

from nci_frames.commands.cli import main
from tests.fuzz.campaign import CLEAN, RIGHT, SILENT, TRACEBACK, Campaign, Case, Found
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

#: No cell of a spreadsheet may begin so, also after blanks.
_FORMULA = ("=", "+", "-", "@")


class _Elements(HTMLParser):
    """Collects what a page runs or draws: names of elements, and handlers."""

    def __init__(self) -> None:
        super().__init__()
        self.bad: list[str] = []
        self._script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._script = tag == "script"
        self.bad += [
            f"<{tag} {name}>" for name, value in attrs if name.startswith("on") and MARK in (value or "")
        ]

    def handle_data(self, data: str) -> None:
        if self._script and data.strip().startswith(MARK):
            self.bad.append("a script")
        self._script = False


def _wrong(folder: Path, out: Path, models: list[str], terminal: str) -> str | None:
    """Return what is wrong with the files of a report and with what the terminal got."""
    checks: list[Callable[[], str | None]] = [
        lambda: _wrong_page(out / "report.html"),
        lambda: _wrong_summary(out / "report.json", models),
        lambda: _wrong_tables(out / "tables", models),
        lambda: _wrong_charts(out / "charts"),
        lambda: _wrong_text(terminal),
        lambda: _wrong_places(folder),
    ]
    return next((found for check in checks if (found := check())), None)


def _wrong_page(page: Path) -> str | None:
    elements = _Elements()
    elements.feed(page.read_text(encoding="utf-8"))
    return f"the page runs {elements.bad[0]}" if elements.bad else None


def _wrong_summary(summary: Path, models: list[str]) -> str | None:
    def constant(text: str) -> Any:
        raise ValueError(text)

    try:
        told = json.loads(summary.read_text(encoding="utf-8"), parse_constant=constant)
    except ValueError as error:
        return f"the summary is no JSON: {error}"
    texts = set(_texts(told))
    return next((f"the summary lacks {model[:40]!r}" for model in models if model not in texts), None)


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = (
        [*value.keys(), *value.values()]
        if isinstance(value, dict)
        else value
        if isinstance(value, list)
        else []
    )
    return [text for part in parts for text in _texts(part)]


def _wrong_tables(tables: Path, models: list[str]) -> str | None:
    counts = pl.read_parquet(tables / "counts.parquet", glob=False)
    if set(counts["model"]) != set(models):
        return "counts.parquet has other models"
    for file in sorted(tables.glob("*.csv")):
        with file.open(encoding="utf-8", newline="") as text:
            rows = list(csv.reader(text))
        if len({len(row) for row in rows}) > 1:
            return f"{file.name} has rows of different lengths"
        for cell in (cell for row in rows for cell in row):
            if cell.strip("\ufeff\u200b \t\r\n\x00").startswith(_FORMULA) and not _is_number(cell):
                return f"{file.name} has the formula {cell[:40]!r}"
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _wrong_charts(charts: Path) -> str | None:
    files = list(charts.glob("*.svg"))
    for file in files:
        try:
            ET.fromstring(file.read_bytes())  # noqa: S314 - written a moment ago
        except ET.ParseError as error:
            return f"{file.name} is no XML: {error}"
    return None if files else "no chart was drawn"


def _wrong_text(text: str) -> str | None:
    bad = {letter for letter in text if not letter.isprintable()} - {"\n"}
    return f"the terminal got {sorted(bad)!r}" if bad else None


def _wrong_places(folder: Path) -> str | None:
    there = [path.name for path in folder.iterdir() if path.name not in ("logs", "results")]
    return f"there is also {min(there)[:40]!r}" if there else None


def _log(
    draw: random.Random, models: list[str | None], values: list[str | None], columns: dict[str, str]
) -> pl.DataFrame:
    rows = 300
    label = [draw.random() < 0.4 for _ in range(rows)]
    return pl.DataFrame(
        {
            columns["model"]: [models[i % len(models)] for i in range(rows)],
            columns["segments"]: [values[i // len(models) % len(values)] for i in range(rows)],
            columns["label"]: label,
            columns["score"]: [round(draw.gauss(float(y), 1), 1) for y in label],
        }
    )


def _written(log: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    log.write_parquet(buffer)
    return buffer.getvalue()


def _case(seed: int, number: int) -> Case:
    draw = random.Random(f"{seed} names {number}")
    models: list[Any] = draw.sample(HOSTILE, 4)
    values = draw.sample((*HOSTILE, None, None, None), 2)
    if draw.random() < 0.05:
        models[0] = None
    hostile = draw.random() < 0.4
    columns = dict(zip(("model", "segments", "label", "score"), draw.sample(HOSTILE, 4), strict=True))
    if not hostile:
        columns = {"model": "model", "segments": draw.choice(HOSTILE), "label": "label", "score": "score"}
    # No argument of a command can hold a NUL.
    title, path, out = (draw.choice(HOSTILE).replace("\0", "") for _ in range(3))
    where = draw.choice(["title", "path", "out"])
    shown = {"columns": list(columns.values()), "models": models, "values": values, where: (title, path, out)}

    def run(folder: Path) -> Found:
        (folder / "logs").mkdir()
        (folder / "results").mkdir()
        log = folder / "logs" / "log.parquet"
        if where == "path":
            log = folder / "logs" / f"{path.replace('/', '_')}.parquet"
        target = folder / "results" / (out if where == "out" else "report")
        # If no such file can be made, it can still be asked for.
        with suppress(OSError, ValueError):
            log.write_bytes(_written(_log(draw, models, values, columns)))
        arguments = [
            "report", str(log), "--out", str(target), "--title", title if where == "title" else "x",
            "--prevalence", "0.01,0.1", "--beta", "1,2", "--format", "html,md,json", "--charts", "svg",
            "--tables", "parquet,csv,md", "--segments", columns["segments"],
            *(part for name in ("model", "label", "score") for part in (f"--{name}", columns[name])),
        ]  # fmt: skip
        done = CliRunner().invoke(main, arguments)
        if done.exit_code in (2, 3, 4, 5):
            told = next((line for line in done.output.splitlines() if line.lower().startswith("error")), "")
            bad = _wrong_text(done.output)
            return Found(SILENT, bad) if bad else Found(CLEAN, told[:200])
        if done.exit_code:
            return Found(TRACEBACK, f"{type(done.exception).__name__}: {done.exception}"[:200])
        wrong = _wrong(folder, target, models, done.output)
        return Found(RIGHT) if wrong is None else Found(SILENT, wrong)

    return Case(" ".join(f"{name} {told!r:.120}" for name, told in shown.items()), run)


# The renderer of charts reserves more address space than any machine has.
# The short run leaves them to the tests of the command line, of jobs and of the page, which have such names.
CAMPAIGN = Campaign("hostile names", 60, 0, _case, seconds=180, memory=None)
