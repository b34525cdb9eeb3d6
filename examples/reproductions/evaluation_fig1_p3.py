"""Evaluation paper, Fig. 1: the P3 curve of one operating point.

Source: precision of a classifier with TPR 0.6 and FPR 0.001 rises with the prevalence; on a logarithmic
axis the curve is S-shaped. The figure prints no numbers; formula (8) gives them.

Here: the same curve. Precision is one half where the odds of the prevalence equal FPR/TPR, and below 1 %
at one positive in 60,000.
"""

import numpy as np

import nci_frames as nf
from examples.reproductions.record import EVALUATION, Number, Reproduction, show


def reproduce() -> Reproduction:
    """Project one operating point over the prevalence."""
    rates = nf.compute_rates(nf.expected_counts(tpr=0.6, fpr=0.001, positives=100, negatives=1000))
    grid = [float(x) for x in np.logspace(-5, 0, 121)]
    curve = nf.project_rates(rates, metrics="precision", prevalence=grid)
    printed = [1e-4, 1e-3, 1e-2, 1e-1, 0.001 / 0.601]
    values = nf.project_rates(rates, metrics="precision", prevalence=printed).sort("prevalence")
    by_formula = {eta: 0.6 * eta / (0.6 * eta + 0.001 * (1 - eta)) for eta in printed}
    numbers = [
        Number(f"precision at prevalence {eta:.4g}", f"{by_formula[eta]:.4f} by (8)", value)
        for eta, value in values.select("prevalence", "value").iter_rows()
    ]
    rising = curve.sort("prevalence")["value"].diff().drop_nulls().min()
    numbers.append(Number("with the prevalence, precision", "rises", "rises" if rising > 0 else "does not"))  # type: ignore[operator]
    return Reproduction(__doc__ or "", EVALUATION, numbers, {"evaluation_fig1": nf.chart_p3(curve)})


if __name__ == "__main__":
    show(reproduce())
