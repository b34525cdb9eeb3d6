"""Measure the time of the bootstrap from counts and of DeLong's test and intervals.

    python benchmarks/resampling.py

prints the seconds for

- 1,000 replicates of PR-AUC at 50 prevalences, for 8 models at 1,024 thresholds: of the rows of logs of 10^4
  and 10^8 rows, and of 256 buckets of units of a log of 10^8 rows;
- DeLong's paired test of two models on 10^6 rows, and his intervals from the exact counts of the same log.
"""

import time
from collections.abc import Callable

import numpy as np
import polars as pl

import nci_frames as nf
from nci_frames.demo import synthetic_laws

PREVALENCES = np.logspace(-4, -0.3, 50).tolist()
THRESHOLDS = np.linspace(0, 1, 1026)[1:-1]


def drawn_counts(rows: int, buckets: int = 1, models: int = 8) -> pl.DataFrame:
    """Draw the counts of a log with known score distributions; a tenth of the rows are positive."""
    rng, tables = np.random.default_rng(0), []
    for model, law in synthetic_laws(models).items():
        for bucket in range(buckets):
            positives = rows // buckets // 10
            sizes = {"p": positives, "n": rows // buckets - positives}
            shares = {"p": law.tpr(THRESHOLDS), "n": law.fpr(THRESHOLDS)}
            reached = {}
            for name, size in sizes.items():
                bins = rng.multinomial(size, -np.diff([1.0, *shares[name], 0.0]))
                reached[name] = size - bins.cumsum()[:-1]
            tp, fp = reached["p"], reached["n"]
            tables.append(
                pl.DataFrame(
                    {"model": model, "bucket": bucket, "threshold": THRESHOLDS, "tp": tp, "fp": fp,
                     "fn": sizes["p"] - tp, "tn": sizes["n"] - fp}
                )
            )  # fmt: skip
    counts = pl.concat(tables)
    return counts if buckets > 1 else counts.drop("bucket")


def timed(what: str, run: Callable[[], object]) -> None:
    start = time.perf_counter()
    run()
    print(f"{time.perf_counter() - start:6.2f} s  {what}", flush=True)


def main() -> None:
    for rows in (10**4, 10**8):
        counts = drawn_counts(rows)
        timed(
            f"1,000 replicates of PR-AUC at 50 prevalences, 8 models, 1,024 thresholds, {rows:,} rows each",
            lambda: nf.bootstrap(counts, metric="pr_auc", prevalence=PREVALENCES),  # noqa: B023
        )
    counts = drawn_counts(10**8, buckets=256)
    timed(
        "the same with 256 buckets, 100,000,000 rows each",
        lambda: nf.bootstrap(counts, metric="pr_auc", prevalence=PREVALENCES, units="bucket"),
    )
    rng, units = np.random.default_rng(0), 500_000
    label = rng.random(units) < 0.3
    log = pl.DataFrame(
        {
            "unit": rng.permutation(units),
            "label": label,
            "a": rng.normal(label),
            "b": rng.normal(label * 0.99),
        }
    )
    scan = nf.scan_predictions(log, scores={"a": "a", "b": "b"}, unit="unit")
    timed("DeLong's paired test of two models, 1,000,000 rows", lambda: nf.compare_auc(scan))
    exact = nf.count_confusion(scan)
    timed("DeLong's intervals from the exact counts of the same log", lambda: nf.auc_interval(exact))


if __name__ == "__main__":
    main()
