"""F-beta plot, Fig. 2: many models, judged on a single split.

Source: 92 oversamplers with nearest neighbours on the Thyroid data, 20 % held out. Six of them are the
best in some range of beta, and they bound the cloud of points towards the perfect classifier at (1, 1).

Here: 35 models on the breast cancer data, with 60 of the malignant tumours (other oversamplers and data
of scikit-learn, so the numbers differ). Three models are the best for some beta, and no model beats any of
them in both precision and recall.
"""

import altair as alt
import polars as pl

import nci_frames as nf
from examples.reproductions.oversampling import held_out
from examples.reproductions.record import F_BETA_PLOT, Number, Reproduction, show


def reproduce() -> Reproduction:
    """Find the best models over beta on one split."""
    log = held_out("breast_cancer", repeats=0).drop("fold")
    rates = nf.compute_rates(nf.count_confusion(nf.scan_predictions(log), thresholds=[0.5]))
    eta = rates["observed_prevalence"][0]
    winners = nf.winner_ranges(rates, metric="f_beta", over="beta", prevalence=eta)
    points = nf.project_rates(rates, metrics=["precision", "recall"], prevalence=eta)
    flat = points.pivot(on="metric", index="model", values="value")
    best = flat.filter(pl.col("model").is_in(winners["model"].unique().to_list()))
    beaten = best.join(flat, how="cross", suffix="_other").filter(
        pl.col("precision_other") > pl.col("precision"), pl.col("recall_other") > pl.col("recall")
    )
    by_beta = best.join(winners.select("model", "start"), on="model").sort("start")
    rises = by_beta.select((pl.col("recall").diff().fill_null(0) >= 0).all()).item()
    number = winners["model"].n_unique()
    numbers = [
        Number("models", "92", rates["model"].n_unique(), "other models", about=True),
        Number("models that are the best for some beta", "6", number, "other models and data", about=True),
        Number(
            "models that beat one of these in precision and in recall",
            "0",
            len(beaten),
            "they bound the cloud",
        ),
        Number("recall of the best, as beta rises", "rises", "rises" if rises else "does not"),
    ]
    cloud = alt.Chart(flat).mark_point(filled=True).encode(x="recall:Q", y="precision:Q")
    ringed = cloud.properties(data=best).mark_point(size=120)
    charts = {
        "f_beta_plot_fig2_points": alt.layer(cloud, ringed),
        "f_beta_plot_fig2": nf.chart_winner_ranges(winners),
    }
    return Reproduction(__doc__ or "", F_BETA_PLOT, numbers, charts)


if __name__ == "__main__":
    show(reproduce())
