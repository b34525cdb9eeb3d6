"""Measure the time that a large report takes, and the size of its page.

    python benchmarks/report.py

prints the seconds from counts to the page and the size of the page, for 10 models in 3 segments and for 92
models in 20 segments; each with 1,024 thresholds, 50 prevalences and 33 betas.
"""

import time

import numpy as np
from resampling import drawn_counts

import nci_frames as nf
from nci_frames.reporting.pages.html import render_report

PREVALENCES = np.geomspace(1e-4, 0.5, 50).tolist()
BETAS = np.geomspace(0.25, 4, 33).tolist()


def main() -> None:
    for models, segments in ((10, 3), (92, 20)):
        counts = drawn_counts(20_000 * segments, segments, models).rename({"bucket": "segment"})
        middle = counts["threshold"].unique().sort()[512]
        start = time.perf_counter()
        comparison = nf.compare_models(
            counts,
            prevalence=PREVALENCES,
            beta=BETAS,
            threshold=middle,
            segments="segment",
        )
        compared = time.perf_counter()
        page = render_report(comparison)
        end = time.perf_counter()
        size, charts = len(page.encode()) / 1e6, page.count("data-spec=")
        seconds = f"{compared - start:.1f} s to compare, {end - compared:.1f} s to write"
        print(f"{models} models, {segments} segments: {seconds}; {size:.2f} MB, {charts} charts")


if __name__ == "__main__":
    main()
