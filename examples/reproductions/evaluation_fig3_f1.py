"""Evaluation paper, Fig. 3: F1 of two classifiers over the prevalence.

Source: not only the value of F1 but the order of two classifiers depends on the prevalence. The figure
prints no numbers.

Here: one classifier with TPR 0.9 and FPR 0.01 ("finds many"), and one with TPR 0.6 and FPR 0.001
("careful"). The careful one is better below the crossover, which has a closed form.
"""

import numpy as np
import polars as pl

import nci_frames as nf
from examples.reproductions.record import EVALUATION, Number, Reproduction, show


def reproduce() -> Reproduction:
    """Find where two classifiers change places in F1."""
    points = {"finds many": (0.9, 0.01), "careful": (0.6, 0.001)}
    counts = pl.concat(
        nf.expected_counts(tpr=tpr, fpr=fpr, positives=10_000, negatives=1_000_000, model=model)
        for model, (tpr, fpr) in points.items()
    )
    rates = nf.compute_rates(counts)
    grid = [float(x) for x in np.logspace(-5, 0, 121)]
    f_1 = nf.project_rates(rates, metrics="f_beta", prevalence=grid)
    (crossover,) = nf.find_crossovers(rates, metric="f_beta", over="prevalence")["prevalence"]
    winners = nf.winner_ranges(rates, metric="f_beta", over="prevalence")
    # 2·eta·TPR / (eta + eta·TPR + (1-eta)·FPR) is equal for both where (1-eta)/eta is this:
    (t, f), (u, g) = points.values()
    odds = (t - u) / (u * f - t * g)
    numbers = [
        Number("F1 is equal at prevalence", f"{1 / (1 + odds):.5f} in closed form", crossover),
        Number("best below it", "careful", winners["model"][0], "fewer false alarms"),
        Number("best above it", "finds many", winners["model"][-1]),
        Number("the order depends on the prevalence", "yes", "yes" if len(winners) == 2 else "no"),
    ]
    charts = {"evaluation_fig3": nf.chart_f_beta_over_prevalence(f_1)}
    return Reproduction(__doc__ or "", EVALUATION, numbers, charts)


if __name__ == "__main__":
    show(reproduce())
