"""Measure how often the bootstrap interval contains the true PR-AUC, on simulated logs.

    python benchmarks/coverage.py --logs 1000

prints a line for each model and number of positives. The score distributions are those of `synthetic_laws`,
so the true PR-AUC is known. Each log has 999 negatives per positive.
"""

import argparse

import numpy as np
import polars as pl

import nci_frames as nf
from nci_frames.demo import ScoreLaw, synthetic_laws

PREVALENCE = 0.001


def covered(law: ScoreLaw, positives: int, logs: int, repeats: int) -> tuple[float, float, float, float]:
    """Return the shares of intervals that contain, lie below and lie above the true value, and the bias."""
    truth = law.pr_auc(PREVALENCE)
    labels = np.repeat([True, False], [positives, round(positives * (1 - PREVALENCE) / PREVALENCE)])
    found = []
    for log in range(logs):
        scores = law.sample(np.random.default_rng([positives, log]), labels)
        counts = nf.count_confusion(pl.DataFrame({"model": "m", "label": labels, "score": scores}))
        table = nf.bootstrap(counts, metric="pr_auc", prevalence=PREVALENCE, repeats=repeats, seed=log)
        found.append(table.select("value", "lower", "upper").row(0))
    value, lower, upper = np.array(found).T
    above, below = np.mean(upper < truth), np.mean(lower > truth)
    return float(1 - above - below), float(above), float(below), float(value.mean() - truth)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--logs", type=int, default=1000, help="simulated logs for each line")
    parser.add_argument("--repeats", type=int, default=1000, help="bootstrap replicates of each log")
    parser.add_argument("--positives", type=int, nargs="+", default=[100], help="positives of each log")
    parser.add_argument(
        "--models",
        nargs="+",
        default=["model_00", "model_03", "model_07"],
        help="models of synthetic_laws(8)",
    )
    given = parser.parse_args()
    laws = synthetic_laws(8)
    print("model     positives  true PR-AUC  coverage  +/-    truth above  truth below  bias")
    for positives in given.positives:
        for name in given.models:
            share, above, below, bias = covered(laws[name], positives, given.logs, given.repeats)
            error = np.sqrt(share * (1 - share) / given.logs)
            truth = laws[name].pr_auc(PREVALENCE)
            shares = f"{share:8.3f}  {error:.3f}  {above:11.3f}  {below:11.3f}  {bias:+.4f}"
            print(f"{name}  {positives:9}  {truth:11.4f}  {shares}", flush=True)


if __name__ == "__main__":
    main()
