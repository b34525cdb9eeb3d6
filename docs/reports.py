"""Make whole reports by the commands in docs/reports.md, and draw their pages and docs/report.png.

Run: make gallery
"""

import io
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from PIL import Image

HERE = Path(__file__).parent
#: The width of the pages as drawn, and of their pictures.
WIDTH, SHOWN = 1120, 760
#: Further down a page repeats its kinds of tables and charts.
LONGEST = 4_200


@dataclass(frozen=True)
class Report:
    """A report of the gallery: the commands that make it, and the page that is drawn."""

    title: str
    says: str
    commands: tuple[str, ...]
    page: str
    #: The section that the picture begins with.
    section: str = "body"


JOB = (
    "nci-frames init nightly --example",
    "nci-frames run nightly/job.toml --run-id first --until 2026-03-04",
    "nci-frames run nightly/job.toml --run-id second",
)
REPORTS = {
    "demo": Report(
        "The demonstration",
        "Ten classifiers of handwritten digits, in three segments.",
        ("nci-frames demo --out demo",),
        "demo/reports/digits/report.html",
    ),
    "models": Report(
        "Ninety-two models",
        "The contenders have colours; the ranked tables have all models.",
        (
            "python docs/reports.py logs",
            "nci-frames report logs/models.parquet --title 'Ninety-two models' --out models",
        ),
        "models/report.html",
    ),
    "segments": Report(
        "A hundred and twenty segments",
        "One table of segments, the worst first; a chart of the worst, or of those that are chosen.",
        (
            "python docs/reports.py logs",
            "nci-frames report logs/shops.parquet --segments shop --title '120 shops' --out shops",
        ),
        "shops/report.html",
        "#segments",
    ),
    "job": Report(
        "A job: its report with the gates",
        "Verdicts of this run beside the comparison, with a link to the history.",
        JOB,
        "nightly/out/runs/second/report.html",
    ),
    "history": Report(
        "A job: its history",
        "The verdict of each gate in each run, which files arrived, and what changed.",
        JOB,
        "nightly/out/runs/second/history.html",
    ),
}


def write_logs(folder: Path) -> None:
    """Write a log of 92 models, and one of two models in 120 shops, of which every 17th differs."""
    rng = np.random.default_rng(0)
    folder.mkdir(exist_ok=True)
    label = rng.random(20_000) < 0.1

    def scored(model: str, label: np.ndarray[Any, Any], strength: Any) -> pl.DataFrame:
        score = 1 / (1 + np.exp(3 - 2 * rng.normal(label * strength)))
        return pl.DataFrame({"model": model, "label": label, "score": score})

    models = [scored(f"classifier_{place:02d}", label, 1 + place / 60) for place in range(92)]
    pl.concat(models).write_parquet(folder / "models.parquet")
    shop = rng.integers(0, 120, 120_000)
    label = rng.random(len(shop)) < 0.02 + 0.1 * rng.random(120)[shop]
    names = pl.Series("shop", [f"shop {place:03d}" for place in shop.tolist()])
    both = [
        scored(model, label, 2.2 + more - (shop % 17 == 3)) for model, more in (("forest", 0), ("trees", 0.2))
    ]
    pl.concat(frame.with_columns(names) for frame in both).write_parquet(folder / "shops.parquet")


def page_lines() -> list[str]:
    """Return docs/reports.md."""
    lines = [
        "# Gallery of reports",
        "",
        "Whole reports, each with the commands that make it; `make gallery` runs them and draws the pages.",
        "The pages have sliders, tables that are sorted and searched, and a legend that highlights models;",
        "[the report](report.md) explains them.",
    ]
    for name, report in REPORTS.items():
        lines += ["", f"## {report.title}", "", report.says, "", "```sh", *report.commands, "```", ""]
        lines += [f"![{report.says}](reports/{name}.png)"]
    return [*lines, ""]


def main() -> None:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - the logs need no browser

    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("Chromium is not installed: run `make browser`")
    (HERE / "reports").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        for command in dict.fromkeys(command for report in REPORTS.values() for command in report.commands):
            _run(command, folder)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": WIDTH, "height": 1000}, color_scheme="light")
        for stem, report in REPORTS.items():
            tab.goto((folder / report.page).as_uri())
            charts = tab.locator("[data-spec]").count()
            if charts:
                tab.locator("[data-drawn]").nth(charts - 1).wait_for(state="attached", timeout=300_000)
            top = tab.locator(report.section).evaluate("box => box.getBoundingClientRect().top + scrollY")
            height = tab.evaluate("document.documentElement.scrollHeight") - top
            _save(_drawn(tab, top, min(LONGEST, height)), HERE / "reports" / f"{stem}.png", width=SHOWN)
            if stem == "demo":
                bottom = tab.locator("#table-live").bounding_box() or {"y": 0, "height": 1000}
                _save(_drawn(tab, 0, bottom["y"] + bottom["height"] + 30), HERE / "report.png", width=WIDTH)
        browser.close()
    (HERE / "reports.md").write_text("\n".join(page_lines()), encoding="utf-8")


def _run(command: str, folder: Path) -> None:
    program, *arguments = shlex.split(command)
    if program == "python":
        write_logs(folder / arguments[-1])
        return
    path = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    subprocess.run(  # noqa: S603 - the commands are those above
        [sys.executable, "-m", "nci_frames", *arguments],
        cwd=folder,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )


def _drawn(tab: Any, top: float, height: float) -> Image.Image:
    tab.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    clip: Any = {"x": 0, "y": top, "width": WIDTH, "height": height}
    return Image.open(io.BytesIO(tab.screenshot(full_page=True, clip=clip))).convert("RGB")


def _save(picture: Image.Image, path: Path, *, width: int) -> None:
    height = round(picture.height * width / picture.width)
    small = picture if width == picture.width else picture.resize((width, height), Image.Resampling.LANCZOS)
    few = small.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        write_logs(Path(sys.argv[1]))
    else:
        main()
