"""Evaluation paper, Fig. 4: ROC curves, PR curves, and PR-AUC over the prevalence.

Source: two ROC curves that cross, on a linear and on a logarithmic axis; their PR curves at prevalence 0.1
and 0.001; and PR-AUC over the prevalence, where the two classifiers change places. A classifier may have
the larger ROC-AUC and the smaller PR-AUC on one test set. No numbers are printed.

Here: two classifiers with normally distributed scores. "broad" has the larger ROC-AUC, and the larger
PR-AUC at prevalence 0.1. At 0.001 "sharp" has the larger PR-AUC: it finds its first positives with fewer
false positives.
"""

import numpy as np
import polars as pl

import nci_frames as nf
from examples.reproductions.binormal import binormal_counts
from examples.reproductions.record import EVALUATION, Number, Reproduction, show


def reproduce() -> Reproduction:
    """Compute the areas of two curves that cross."""
    counts = pl.concat([binormal_counts("broad", 2.3, 0.8), binormal_counts("sharp", 2.6, 1.9)])
    rates = nf.compute_rates(counts)
    grid = [float(x) for x in np.logspace(-5, np.log10(0.5), 60)]
    over_prevalence = nf.compute_areas(counts, prevalence=grid, method="interpolated")
    areas = nf.rank_models(nf.compute_areas(counts, prevalence=[0.001, 0.1], method="interpolated"))
    best = areas.filter(rank=1).select("metric", "prevalence", "model")
    (crossover,) = nf.find_crossovers(counts, metric="pr_auc", over="prevalence")["prevalence"]

    def winner(metric: str, eta: float | None) -> str:
        return str(best.filter(pl.col("prevalence").eq_missing(eta), metric=metric)["model"].item())

    curves = nf.project_rates(
        rates.filter(pl.col("tpr") > 0), metrics=["precision", "recall"], prevalence=[0.001, 0.1]
    )
    swapped = winner("pr_auc", 0.1) != winner("pr_auc", 0.001)
    numbers = [
        Number("larger ROC-AUC", "broad", winner("roc_auc", None)),
        Number("larger PR-AUC at prevalence 0.1", "broad", winner("pr_auc", 0.1)),
        Number("larger PR-AUC at prevalence 0.001", "sharp", winner("pr_auc", 0.001)),
        Number("the order changes between them", "yes", "yes" if swapped else "no"),
        Number("PR-AUC is equal at prevalence", "", crossover),
        *(
            Number(f"{metric} of {model}" + (f" at {eta}" if eta else ""), "", value)
            for metric, model, eta, value in areas.select(
                "metric", "model", "prevalence", "value"
            ).iter_rows()
        ),
    ]
    charts = {
        "evaluation_fig4_roc": nf.chart_roc(rates),
        "evaluation_fig4_roc_log": nf.chart_roc(rates.filter(pl.col("fpr") > 1e-7), log_x=True),
        "evaluation_fig4_pr": nf.chart_pr(curves),
        "evaluation_fig4_pr_auc": nf.chart_pr_auc_over_prevalence(over_prevalence),
    }
    return Reproduction(__doc__ or "", EVALUATION, numbers, charts)


if __name__ == "__main__":
    show(reproduce())
