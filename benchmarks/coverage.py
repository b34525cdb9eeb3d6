"""How often does the bootstrap's interval hold the true PR-AUC? Logs of known laws, simulated and counted.

    python benchmarks/coverage.py --logs 1000

prints a line for each law and number of positives. The scores follow the laws of synthetic_laws, whose PR-AUC
is known; each log has so many positives and the negatives of one positive in a thousand.
"""

import argparse

import numpy as np
import polars as pl

import nci_frames as nf
from nci_frames.demo import ScoreLaw, synthetic_laws

PREVALENCE = 0.001


def covered(law: ScoreLaw, positives: int, logs: int, repeats: int) -> tuple[float, float, float, float]:
    """Return the shares of intervals that hold the truth, miss it above, miss it below, and the bias."""
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
    parser.add_argument("--logs", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--positives", type=int, nargs="+", default=[100])
    parser.add_argument("--models", nargs="+", default=["model_00", "model_03", "model_07"])
    given = parser.parse_args()
    laws = synthetic_laws(8)
    print("law       positives  true PR-AUC  coverage  +/-    truth above  truth below  bias")
    for positives in given.positives:
        for name in given.models:
            share, above, below, bias = covered(laws[name], positives, given.logs, given.repeats)
            error = np.sqrt(share * (1 - share) / given.logs)
            truth = laws[name].pr_auc(PREVALENCE)
            shares = f"{share:8.3f}  {error:.3f}  {above:11.3f}  {below:11.3f}  {bias:+.4f}"
            print(f"{name}  {positives:9}  {truth:11.4f}  {shares}", flush=True)


if __name__ == "__main__":
    main()
