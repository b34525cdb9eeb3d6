"""Evaluation paper, Fig. 2: one ROC curve, two PR curves.

Source: a single ROC curve corresponds to two different PR curves, at an imbalance ratio of 1:10 (solid)
and 1:100 (dashed). The classifier is not named and no numbers are printed.

Here: a classifier with normally distributed scores, 2 standard deviations apart. Its ROC-AUC, Φ(√2), does
not depend on the balance; its PR-AUC falls to less than half.
"""

from statistics import NormalDist

import nci_frames as nf
from examples.reproductions.binormal import binormal_counts
from examples.reproductions.record import EVALUATION, Number, Reproduction, show


def reproduce() -> Reproduction:
    """Project one ROC curve to two balances."""
    counts = binormal_counts("classifier", mean=2.0, spread=1.0)
    rates = nf.compute_rates(counts)
    # The paper's 1:10 is positives to negatives, so the prevalence is 1/11.
    balances = {"1:10": 1 / 11, "1:100": 1 / 101}
    areas = nf.compute_areas(counts, prevalence=list(balances.values()), method="interpolated")
    roc_auc = areas.filter(metric="roc_auc")["value"].item()
    pr_auc = {
        name: areas.filter(metric="pr_auc", prevalence=eta)["value"].item() for name, eta in balances.items()
    }
    curves = nf.project_rates(
        rates.filter(rates["tpr"] > 0), metrics=["precision", "recall"], prevalence=list(balances.values())
    )
    numbers = [
        Number("ROC-AUC at both balances", f"{NormalDist().cdf(2**0.5):.3f} by Φ(√2)", roc_auc),
        *(Number(f"PR-AUC at {name}", "", value) for name, value in pr_auc.items()),
        Number("the higher PR curve", "1:10", max(pr_auc, key=pr_auc.__getitem__), "solid in the figure"),
    ]
    charts = {"evaluation_fig2_roc": nf.chart_roc(rates), "evaluation_fig2_pr": nf.chart_pr(curves)}
    return Reproduction(__doc__ or "", EVALUATION, numbers, charts)


if __name__ == "__main__":
    show(reproduce())
