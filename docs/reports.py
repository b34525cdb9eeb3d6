"""Draw docs/report.png: the top of the demo report, as shown by Chromium. Run: make gallery."""

import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import nci_frames as nf
from nci_frames.arguments import grid_numbers
from nci_frames.demo.real import write_demo_logs
from nci_frames.reporting.pages.write import write_report

PREVALENCES = grid_numbers("1e-4:0.5:round")
BETAS = [2 ** (-2 + i / 8) for i in range(33)]


def main() -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("Chromium is not installed: run `make browser`")
    with tempfile.TemporaryDirectory() as folder:
        logs = write_demo_logs(Path(folder)) / "dataset=digits"
        counts = nf.count_confusion(nf.scan_predictions(str(logs), segments="segment"), thresholds="exact")
        comparison = nf.compare_models(counts, prevalence=PREVALENCES, beta=BETAS, segments="segment")
        page = write_report(comparison, Path(folder, "report.html"), title="Ten classifiers of digits")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            tab = browser.new_page(viewport={"width": 1120, "height": 1000}, color_scheme="light")
            tab.goto(page.as_uri())
            tab.locator("[data-drawn]").nth(tab.locator("[data-spec]").count() - 1).wait_for(state="attached")
            bottom = tab.locator("#table-live").bounding_box()
            clip = {"x": 0, "y": 0, "width": 1120, "height": bottom["y"] + bottom["height"] + 30}
            png = tab.screenshot(full_page=True, clip=clip)
            browser.close()
    picture = (
        Image.open(io.BytesIO(png))
        .convert("RGB")
        .quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    )
    picture.save(Path(__file__).with_name("report.png"), optimize=True)


if __name__ == "__main__":
    main()
