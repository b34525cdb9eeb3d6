"""The pages of few and many models and segments, measured on both screens and on paper. Run: make pages

The figures are put into docs/report.md. What the pages must be is tested by ``test_page_sizes``.
"""

import itertools
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import NormalDist

import numpy as np
import polars as pl
from playwright.sync_api import Browser, sync_playwright

import nci_frames as nf
from nci_frames.questions.comparison import Comparison
from nci_frames.reporting.write import write_report
from tests.browsing import ARGUMENTS, DESKTOP, PHONE, Visit
from tests.logs import counts_at

PAGE = Path(__file__).parents[1] / "docs" / "report.md"
START, END = "<!-- pages: begin -->\n", "<!-- pages: end -->\n"
MODELS, SEGMENTS = (2, 10, 92), (0, 3, 120, 2000)
#: The prevalences and betas that `nci-frames report` takes by itself, about.
STEPS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
PREVALENCE = [float(f"{m * 10.0**e:.3g}") for e in range(-4, 0) for m in STEPS if m * 10.0**e <= 0.5]
BETA = [2 ** (-2 + step / 8) for step in range(33)]
#: Thresholds by segments: a log of 2,000 segments has few rows in each.
THRESHOLDS = {0: 501, 3: 501, 120: 101, 2000: 11}
HEAD = """\
| models | segments | page | seconds to interactive at 1280 | at 400 \
| CPU seconds until all is drawn | pages of A4 |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""


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
        shop, *sizes = (np.repeat(rows, thresholds) for rows in (np.arange(places), positives, negatives))
        name, at_each = f"gradient_boosting_{model:02d}", np.tile(grid, places)
        frames.append(counts_at(tp.ravel(), fp.ravel(), *sizes, model=name, shop=shop, threshold=at_each))
    shop = pl.format("shop {}", pl.col("shop").cast(pl.String).str.zfill(4))
    frame = pl.concat(frames).with_columns(shop.alias("shop"))
    return frame if segments else frame.drop("shop")


def compared(models: int, segments: int) -> Comparison:
    """Return the comparison that a page of the matrix is of."""
    return nf.compare_models(
        counted(models, segments, THRESHOLDS[segments]), prevalence=PREVALENCE, beta=BETA,
        segments="shop" if segments else (), repeats=50,
    )  # fmt: skip


def measured(browser: Browser, path: Path) -> list[str]:
    """Open a page on both screens, and return the cells of its row of the table."""
    interactive, drawn, sheets = [], 0.0, 0
    for viewport in (PHONE, DESKTOP):
        with Visit(browser, path, viewport=viewport) as visit:
            ready = float(visit.page.evaluate("document.documentElement.dataset.ready"))
            interactive.append(f"{ready / 1000:.2f}")
            drawn = max(drawn, visit.cpu_seconds())
            visit.page.emulate_media(media="print", color_scheme="light")
            sheets = visit.page.pdf(format="A4").count(b"/Type /Page\n")
    size = path.stat().st_size / 1024**2
    return [f"{size:.1f} MB", *reversed(interactive), f"{drawn:.1f}", str(sheets)]


def main() -> None:
    """Measure every page, and write the table into the documentation."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("Chromium is not installed: run `make browser`")
    table = HEAD
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        for models, segments in itertools.product(MODELS, SEGMENTS):
            path = write_report(compared(models, segments), Path(folder) / "report.html")
            table += f"| {' | '.join([str(models), f'{segments:,}', *measured(browser, path)])} |\n"
            sys.stdout.write(table.splitlines()[-1] + "\n")
        browser.close()
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    PAGE.write_text(before + START + table + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
