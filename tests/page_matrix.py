"""The pages of few and many models and segments, looked at on every screen and on paper. Run: make pages

    python -m tests.page_matrix [--models N] [--segments N] [--keep FOLDER] [--write]

Each page is opened in Chromium at 1280 and at 400 pixels, light and dark, and printed. What axe finds, what
the console says, what scrolls sideways, charts without data, and questions that the first screen does not
answer are defects: they end the program with 1. With ``--write`` the figures are put into docs/report.md.
"""

import argparse
import itertools
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

import nci_frames as nf
from nci_frames.questions.comparison import Comparison
from nci_frames.reporting.write import write_report
from nci_frames.tables.numbers import format_value
from tests.browsing import ARGUMENTS, DESKTOP, PHONE, Visit, settled

PAGE = Path(__file__).parents[1] / "docs" / "report.md"
START, END = "<!-- pages: begin -->\n", "<!-- pages: end -->\n"
MODELS, SEGMENTS = (2, 10, 92), (0, 3, 120, 2000)
MEGABYTE = 1024 * 1024
#: The prevalences and betas that `nci-frames report` takes by itself, about.
STEPS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
PREVALENCE = [float(f"{m * 10.0**e:.3g}") for e in range(-4, 0) for m in STEPS if m * 10.0**e <= 0.5]
BETA = [2 ** (-2 + step / 8) for step in range(33)]
#: A4 within margins of a centimetre.
SHEET = {"width": 718, "height": 1046}
#: Thresholds by segments: a log of 2,000 segments has few rows in each.
THRESHOLDS = {0: 501, 3: 501, 120: 101, 2000: 11}


def counted(models: int, segments: int, thresholds: int = 5) -> pl.DataFrame:
    """Return counts of models that get better, in segments of which every 17th is worse."""
    rng, places = np.random.default_rng(0), max(segments, 1)
    positives = rng.integers(10, 400, places) if segments > 3 else np.full(places, 1000)
    negatives = (positives * rng.uniform(2, 30, places)).astype(int)
    shift = rng.normal(0, 0.2, places) - (np.arange(places) % 17 == 3)
    grid = np.round(np.linspace(0.2, 0.8, thresholds), 6)
    below = np.vectorize(NormalDist(0, 2**0.5).cdf)
    at = 4 * (grid - 0.5)
    fp = np.round(np.outer(negatives, 1 - below(at + 1.5))).astype(int)
    frames = []
    for model in range(models):
        hit = 1 - below(at[None, :] - 0.2 - 0.8 * model / models - shift[:, None])
        tp = np.round(positives[:, None] * hit).astype(int)
        cells = {
            "shop": np.repeat(np.arange(places), thresholds),
            "threshold": np.tile(grid, places),
            "tp": tp.ravel(),
            "fp": fp.ravel(),
            "fn": (positives[:, None] - tp).ravel(),
            "tn": (negatives[:, None] - fp).ravel(),
        }
        name = pl.lit(f"gradient_boosting_{model:02d}").alias("model")
        frames.append(pl.DataFrame(cells).select(name, pl.all()))
    shop = pl.format("shop {}", pl.col("shop").cast(pl.String).str.zfill(4))
    frame = pl.concat(frames).with_columns(shop.alias("shop"))
    return frame if segments else frame.drop("shop")


def findings(page: Page) -> list[tuple[str, list[str]]]:
    """Return what axe finds on a page, each with where."""
    return [
        (found["id"], [node["html"][:200] for node in found["nodes"][:3]])
        for found in Axe().run(page).response["violations"]
    ]


def first_screen(page: Page) -> Any:
    """Return what of the answer a reader sees without scrolling."""
    return page.evaluate(
        """() => {
             scrollTo({ top: 0, behavior: "instant" });
             const seen = box => {
               const { top, bottom, width } = box.getBoundingClientRect();
               return top >= 0 && bottom <= innerHeight && width > 0;
             };
             const said = [...document.querySelectorAll("#live-answer, #live-answer *")];
             return said.filter(seen).map(box => box.innerText).join("\\n");
           }"""
    )


def sideways(page: Page) -> Any:
    """Return by how many pixels a page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


def broken_names(page: Page) -> Any:
    """Return the names of models that a ranked table breaks into lines."""
    return page.locator(".ranked tbody th").evaluate_all(
        """heads => heads.filter(head => {
             const range = document.createRange();
             range.selectNodeContents(head);
             return new Set([...range.getClientRects()].map(box => box.top)).size > 1;
           }).map(head => head.innerText)"""
    )


def unsaved(page: Page) -> Any:
    """Return the charts whose button saves no row of a model."""
    return page.evaluate(
        """[...document.querySelectorAll("[data-spec]")].filter(box => {
             const [head, ...rows] = nci.chartCsv(box).split("\\n");
             return !head.split(",").includes("model") || rows.length < 1;
           }).map(box => box.dataset.spec)"""
    )


def unanswered(page: Page, tables: Comparison) -> list[str]:
    """Return which of three questions the first screen does not answer after one click on "1 in 10".

    Which model is the best there, how sure is that, and from where on is another one better?
    """
    page.locator(".chip", has_text="1 in 10").last.click()
    settled(page)
    text = first_screen(page)
    best = tables.asking(prevalence=0.1).answer.row(0, named=True)
    low, high = (format_value(best[side]) for side in ("lower", "upper"))
    answers = {
        "which": [f"choose {best['model']}, threshold {best['threshold']:g}"],
        "how sure": [f"F1 {format_value(best['value'])} (95 %: {low} to {high})"],
        "from where": ["the order changes with the prevalence", "leads in this log at every prevalence"],
    }
    return [question for question, words in answers.items() if not any(word in text for word in words)]


@dataclass
class Seen:
    """What was measured of one page, and its defects."""

    megabytes: float
    interactive: list[float] = field(default_factory=list)
    drawn: list[float] = field(default_factory=list)
    found: int = 0
    messages: int = 0
    sheets: int = 0
    answered: bool = True
    defects: list[str] = field(default_factory=list)

    def cells(self) -> list[str]:
        """Return the cells of its row of the table, without models and segments."""
        wide, narrow = (f"{seconds:.2f}" for seconds in self.interactive)
        scrolls = "0 and 1" if self.answered else "more"
        times = (f"{self.megabytes:.1f} MB", wide, narrow, f"{max(self.drawn):.1f}")
        return [*times, str(self.found), str(self.messages), scrolls, str(self.sheets)]


HEAD = (
    "| models | segments | page | seconds to interactive at 1280 | at 400 | CPU seconds until all is drawn "
    "| axe findings | console messages | scrolls and clicks to the answers | pages of A4 |",
    "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
)


def look(browser: Browser, path: Path, tables: Comparison, seen: Seen) -> None:
    """Open a page on both screens, in both colours and on paper."""
    for viewport in (DESKTOP, PHONE):
        with Visit(browser, path, viewport=viewport) as visit:
            page = visit.page
            seen.interactive.append(float(page.evaluate("document.documentElement.dataset.ready")) / 1000)
            seen.drawn.append(visit.cpu_seconds())
            for scheme in ("light", "dark"):
                if scheme == "dark":
                    visit.turn(viewport, scheme)
                where = f"{viewport['width']} {scheme}"
                found = findings(page)
                seen.found += len(found)
                seen.defects += [f"{where}: axe finds {rule} at {nodes}" for rule, nodes in found]
                questions = unanswered(page, tables)
                seen.answered &= not questions
                checks = {
                    "scrolls sideways by": sideways(page) or None,
                    "broken names": broken_names(page),
                    "charts without data": unsaved(page),
                    "not answered without a scroll and by one click": questions,
                }
                seen.defects += [f"{where}: {what}: {value}" for what, value in checks.items() if value]
            page.emulate_media(media="print", color_scheme="light")
            page.set_viewport_size(SHEET)
            if sideways(page) > 0:
                seen.defects.append(f"on paper: {sideways(page)} pixels wider than a sheet")
            for place in ("nav", "#segment-search", ".csv"):
                if page.locator(place).first.is_visible():
                    seen.defects.append(f"on paper: {place} is visible")
            if viewport is DESKTOP:
                seen.sheets = page.pdf(format="A4").count(b"/Type /Page\n")
            said = [*visit.messages, *visit.errors, *visit.dialogs, *visit.requests[1:]]
            seen.messages += len(said)
            seen.defects += said


def compared(models: int, segments: int) -> Comparison:
    """Return the comparison that a page of the matrix is of."""
    return nf.compare_models(
        counted(models, segments, THRESHOLDS[segments]), prevalence=PREVALENCE, beta=BETA,
        segments="shop" if segments else (), repeats=50,
    )  # fmt: skip


def tell(*lines: str) -> None:
    """Print lines at once, as the next ones take minutes."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def main() -> int:
    """Look at every page, print the table, and return 1 if anything is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", type=int, choices=MODELS)
    parser.add_argument("--segments", type=int, choices=SEGMENTS, nargs=1)
    parser.add_argument("--keep", type=Path, help="a folder for the pages")
    parser.add_argument("--write", action="store_true", help="put the table into docs/report.md")
    asked = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("Chromium is not installed: run `make browser`")
    pages = itertools.product([asked.models] if asked.models else MODELS, asked.segments or SEGMENTS)
    rows, defects = [], 0
    tell(*HEAD)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        for models, segments in pages:
            tables = compared(models, segments)
            folder = Path(name) if asked.keep is None else asked.keep
            path = write_report(tables, folder / f"{models}-{segments}.html")
            seen = Seen(path.stat().st_size / MEGABYTE)
            if seen.megabytes > 4:
                seen.defects.append("the page has more than 4 MB")
            look(browser, path, tables, seen)
            rows.append(f"| {' | '.join([str(models), f'{segments:,}', *seen.cells()])} |")
            tell(rows[-1], *(f"    {defect}" for defect in seen.defects))
            defects += len(seen.defects)
        browser.close()
    if asked.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
        after = rest.partition(END)[2]
        PAGE.write_text(before + START + "\n".join([*HEAD, *rows]) + "\n" + END + after, encoding="utf-8")
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main())
