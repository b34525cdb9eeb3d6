"""Evaluation paper, Fig. 5 and footnote 4: the band of precision, and its largest width Δ.

Source: with TPR 0.6 ± 0.06, an FPR of 0.001 ± 0.0001 has both coefficients of variation 0.1, and Δ = 0.1.
With ± 0.0005 Theorem 1 bounds Δ by 0.5; footnote 4 has Δ ≈ 0.31 at a prevalence of about 0.00145.

Here: the same, by the closed form of Δ and by a search over the band.
"""

import numpy as np
import polars as pl

import nci_frames as nf
from examples.reproductions.record import EVALUATION, Number, Reproduction, show


def reproduce() -> Reproduction:
    """Compute Δ of both examples."""
    counts = nf.expected_counts(tpr=0.6, fpr=0.001, positives=100, negatives=1000)
    narrow = nf.max_precision_uncertainty(nf.compute_rates(counts, half_width=(0.06, 0.0001)))
    rates = nf.compute_rates(counts, half_width=(0.06, 0.0005))
    wide = nf.max_precision_uncertainty(rates)
    band = nf.precision_band(rates, prevalence=[float(x) for x in np.logspace(-5, -0.01, 2001)])
    searched = band.select((pl.col("upper") - pl.col("lower")).max()).item()
    numbers = [
        Number("CV of TPR", "0.1", narrow["cv_tpr"].item()),
        Number("CV of FPR, FPR ± 0.0001", "0.1", narrow["cv_fpr"].item()),
        Number(
            "Δ, FPR ± 0.0001", "0.1", narrow["delta"].item(), "equality in Theorem 1, since both CV are equal"
        ),
        Number("bound of Theorem 1, FPR ± 0.0005", "0.5", wide["theorem_bound"].item()),
        Number(
            "Δ, FPR ± 0.0005", "0.31", wide["delta"].item(), "footnote 4; Δ is the full width of the band"
        ),
        Number("reached at prevalence", "1.45e-3", wide["prevalence"].item(), "footnote 4"),
        Number("Δ by a search over the band", f"{wide['delta'].item():.4f} in closed form", searched),
    ]
    charts = {"evaluation_fig5": nf.chart_precision_uncertainty(band[::10], wide)}
    return Reproduction(__doc__ or "", EVALUATION, numbers, charts)


if __name__ == "__main__":
    show(reproduce())
