"""F-beta plot, Fig. 3 and 4: means and deviations over 2 x 5 folds, and where the best is significant.

Source: 92 models on nine imbalanced data sets. A black bar marks the betas where the best model is
significantly better than all others, by a paired t-test. For most data sets there is none: only above beta
7.56 on Thyroid and above 2.36 on vehicle1. The best F-beta over beta is a V, with its lowest point near
beta 1.

Here: 35 models on four data sets of scikit-learn, three of them made imbalanced. The standard deviation
has ddof 0 and the test is the paired t-test, as in the source. The corrected resampled t-test with Holm's
correction, which allows for shared training rows and many models, leaves fewer models distinguishable from
the best.
"""

import numpy as np
import polars as pl

import nci_frames as nf
from examples.reproductions.oversampling import DATA, held_out
from examples.reproductions.record import F_BETA_PLOT, Number, Reproduction, show

BETAS = [float(x) for x in np.logspace(-1, 1, 21)]


def compared(rates: pl.DataFrame, *, as_printed: bool) -> pl.DataFrame:
    """Compare the models at every beta, as the source does or as the library does by default."""
    if as_printed:
        return nf.compare_folds(rates, beta=BETAS, ddof=0, test="paired_t", correction="none")
    return nf.compare_folds(rates, beta=BETAS, ddof=0)


def alone(comparison: pl.DataFrame) -> float:
    """Return the share of betas at which the best is significantly better than every other model."""
    others = comparison.filter(pl.col("p_value").is_not_null())
    return float(
        others.group_by("beta").agg(pl.col("distinguishable").all()).get_column("distinguishable").sum()
    ) / len(BETAS)


def reproduce(small: bool = False) -> Reproduction:
    """Cross-validate all models on every data set."""
    numbers: list[Number] = []
    charts = {}
    alone_at: list[float] = []
    lowest_at: list[float] = []
    for name in ["iris", "wine"] if small else DATA:
        log = held_out(name, repeats=1 if small else 2)
        counts = nf.count_confusion(nf.scan_predictions(log, fold="fold"), thresholds=[0.5])
        rates = nf.compute_rates(counts)
        pooled = nf.compute_rates(nf.pool_counts(counts, over="fold"))
        as_printed, by_default = compared(rates, as_printed=True), compared(rates, as_printed=False)
        alone_at.append(alone(as_printed))
        means = as_printed.group_by("beta").agg(pl.col("mean").max()).sort("beta")
        lowest = means.row(int(means["mean"].arg_min() or 0), named=True)
        lowest_at.append(lowest["beta"])
        told = [
            float(frame.select(pl.col("distinguishable").mean()).item()) for frame in (as_printed, by_default)
        ]
        numbers += [
            Number(f"{name}: negatives per positive", "", 1 / pooled["observed_prevalence"][0] - 1),
            Number(
                f"{name}: lowest F-beta of the best, over beta",
                "",
                lowest["mean"],
                f"at beta {lowest['beta']:.2g}",
            ),
            Number(f"{name}: models distinguishable from the best, paired t", "", told[0]),
            Number(f"{name}: models distinguishable from the best, corrected t and Holm", "", told[1]),
        ]
        winners = nf.winner_ranges(
            pooled, metric="f_beta", over="beta", prevalence=pooled["observed_prevalence"][0]
        )
        charts[f"f_beta_plot_fig4_{name}"] = nf.chart_f_beta_plot(
            as_printed, winners, shown=winners["model"].unique(maintain_order=True).to_list()
        )
    some = sum(share > 0 for share in alone_at)
    numbers += [
        Number(
            "data sets where one model is significantly better than all others at some beta",
            "2 of 9",
            f"{some} of {len(alone_at)}",
            "other models and data",
            about=True,
        ),
        Number(
            "for most data sets, such a beta",
            "is not found",
            "is not found" if some < len(alone_at) / 2 else "is found",
        ),
        Number(
            "the best F-beta is lowest at a beta",
            "near 1",
            "near 1" if all(0.5 < beta < 2 for beta in lowest_at) else "far from 1",
        ),
    ]
    numbers.append(Number("models", "92", rates["model"].n_unique(), "other models", about=True))
    return Reproduction(__doc__ or "", F_BETA_PLOT, numbers, charts)


if __name__ == "__main__":
    show(reproduce())
