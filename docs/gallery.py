"""Draw every chart from real logs into docs/gallery/*.png, and write docs/gallery.md. Run: make gallery."""

import io
import math
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import altair as alt
import numpy as np
import polars as pl
import vl_convert
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import nci_frames as nf
from nci_frames.demo.real import write_demo_logs

HERE = Path(__file__).parent
GRID = [float(x) for x in np.logspace(-4, math.log10(0.5), 60)]
BETAS = [float(x) for x in np.logspace(-1, 1, 41)]
MODELS = ("decision_tree", "k_nearest_neighbours", "logistic_regression", "random_forest")


def mostly(digit: int) -> dict[int, float]:
    """Return a mix in which four in five are one digit."""
    return {other: 0.8 if other == digit else 0.2 / 9 for other in range(10)}


@dataclass(frozen=True)
class Demo:
    """Frames of held-out predictions on handwritten digits, the 8 against the rest; each is computed once."""

    log: pl.LazyFrame
    segmented: pl.LazyFrame

    @cached_property
    def by_fold(self) -> pl.DataFrame:
        return nf.count_confusion(self.log, thresholds="exact")

    @cached_property
    def counts(self) -> pl.DataFrame:
        return nf.pool_counts(self.by_fold, over="fold")

    @cached_property
    def points(self) -> pl.DataFrame:
        """Return one operating point for each model, with bounds."""
        points = nf.select_operating_points(nf.compute_rates(self.counts), threshold=0.5)
        bare = points.select("model", "threshold", "tp", "fp", "fn", "tn")
        return nf.compute_rates(bare, interval="wilson")

    @cached_property
    def fold_points(self) -> pl.DataFrame:
        return nf.select_operating_points(nf.compute_rates(self.by_fold), threshold=0.5)

    @cached_property
    def projection(self) -> pl.DataFrame:
        return nf.project_rates(
            self.points, metrics=["precision", "f_beta"], prevalence=GRID, beta=[1.0, 2.0], band=True
        )

    @cached_property
    def classes(self) -> pl.DataFrame:
        """Return decisions of two models among all ten digits, each digit held out once."""
        digits = load_digits()
        models = {
            "decision_tree": DecisionTreeClassifier(max_depth=8, random_state=0),
            "naive_bayes": GaussianNB(),
        }
        decided = {
            name: cross_val_predict(model, digits.data, digits.target, cv=5) for name, model in models.items()
        }
        log = pl.DataFrame({"label": digits.target, **decided})
        return nf.count_classes(nf.scan_classes(log, decision={name: name for name in models}))

    @cached_property
    def segments(self) -> pl.DataFrame:
        """Return rates of thin, medium and bold digits; the share of 8s differs between them."""
        counts = nf.count_confusion(self.segmented, thresholds=[0.5])
        return nf.compute_rates(counts)

    @cached_property
    def areas(self) -> pl.DataFrame:
        return nf.compute_areas(self.on_grid, prevalence=GRID)

    @cached_property
    def curves(self) -> pl.DataFrame:
        """Return rates at enough thresholds for a curve."""
        return nf.compute_rates(self.on_grid)

    @cached_property
    def on_grid(self) -> pl.DataFrame:
        log = self.log.select("model", "label", "score")
        return nf.count_confusion(log, thresholds=nf.uniform_thresholds(200))

    @cached_property
    def flagged(self) -> pl.DataFrame:
        """Return the share of rows that two models predict positive, with recall and precision."""
        two = self.curves.filter(pl.col("model").is_in(MODELS[1:3]))
        metrics = ["pos_fraction", "recall", "precision"]
        return nf.project_rates(two, metrics=metrics, prevalence=[0.001, 0.1, 0.5])

    @cached_property
    def data_sets(self) -> pl.DataFrame:
        """Return ranks by PR-AUC, at prevalence 0.1, on each of the data sets of the demonstration."""
        with tempfile.TemporaryDirectory() as logs:
            every = nf.scan_predictions(write_demo_logs(logs), segments=["dataset"])
            counts = nf.count_confusion(every, thresholds="exact", by=["dataset"])
        return nf.rank_models(nf.compute_areas(counts, prevalence=0.1)).filter(metric="pr_auc")

    @property
    def observed(self) -> float:
        return float(self.points["observed_prevalence"][0])


#: File name -> caption, and the function that draws the chart. Add an entry here for a new chart.
PICTURES: dict[str, tuple[str, Callable[[Demo], alt.TopLevelMixin]]] = {
    "f_beta_over_beta": (
        "F-beta over beta at one prevalence, with bounds.",
        lambda d: nf.chart_f_beta_over_beta(
            nf.project_rates(d.points, metrics="f_beta", prevalence=0.01, beta=BETAS, band=True),
            prevalence=0.01,
            observed=d.observed,
        ),
    ),
    "p3": (
        "Precision over prevalence, with Wilson bounds.",
        lambda d: nf.chart_p3(nf.precision_band(d.points, prevalence=GRID), observed=d.observed),
    ),
    "f_beta_over_prevalence": (
        "F2 over prevalence, with bounds.",
        lambda d: nf.chart_f_beta_over_prevalence(d.projection, beta=2, observed=d.observed),
    ),
    "pr_auc_over_prevalence": (
        "PR-AUC over prevalence, with certified bounds from counts on a grid of thresholds.",
        lambda d: nf.chart_pr_auc_over_prevalence(d.areas, observed=d.observed),
    ),
    "roc": ("ROC curves.", lambda d: nf.chart_roc(d.curves)),
    "roc_log": ("ROC curves with a logarithmic FPR axis.", lambda d: nf.chart_roc(d.curves, log_x=True)),
    "pr": (
        "Precision-recall curves at several prevalences.",
        lambda d: nf.chart_pr(
            nf.project_rates(
                d.curves.filter(pl.col("model").is_in(MODELS[1:3])),
                metrics=["precision", "recall"],
                prevalence=[0.001, 0.01, 0.1],
            ),
            models=MODELS,
        ),
    ),
    "precision_uncertainty": (
        "The precision band of each model; its largest width is marked.",
        lambda d: nf.chart_precision_uncertainty(
            nf.precision_band(d.points, prevalence=GRID),
            nf.max_precision_uncertainty(d.points),
            observed=d.observed,
        ),
    ),
    "f_beta_plot": (
        "The F-beta plot: fold means and standard deviations, best models, exact crossovers, and tests.",
        lambda d: nf.chart_f_beta_plot(
            nf.compare_folds(d.fold_points, beta=BETAS, prevalence=0.01),
            nf.winner_ranges(d.points, metric="f_beta", over="beta", prevalence=0.01),
        ),
    ),
    "pos_fraction": (
        "TPR over the share of predicted positives (POSfrac), at several prevalences; TPR 0.8 is marked.",
        lambda d: nf.chart_pos_fraction(d.flagged, models=MODELS),
    ),
    "pos_fraction_log": (
        "The same with a logarithmic POSfrac axis.",
        lambda d: nf.chart_pos_fraction(d.flagged, log_x=True, models=MODELS),
    ),
    "calibration": (
        "How often scores come true at prevalence 0.1, by isotonic blocks; on the diagonal they hold.",
        lambda d: nf.chart_calibration(
            nf.calibration_curve(d.counts, prevalence=0.1).filter(pl.col("model").is_in(MODELS[2:])),
            models=MODELS,
        ),
    ),
    "decision_curve": (
        "The net benefit of acting on scores, moved to prevalence 0.01, from a probability on.",
        lambda d: nf.chart_decision_curve(
            nf.decision_curve(
                d.counts,
                prevalence=0.01,
                threshold_probabilities=[place / 100 for place in range(100)],
                adjusted=True,
            ),
            models=MODELS,
        ),
    ),
    "cost_curve": (
        "What decisions by the scores cost at prevalence 0.01, and what the best thresholds would cost.",
        lambda d: nf.chart_cost_curve(nf.cost_curve(d.counts, prevalence=0.01), models=MODELS),
    ),
    "segments": (
        "F1 over prevalence in each segment; the observed prevalence is marked.",
        lambda d: nf.chart_segments(
            nf.project_rates(d.segments, metrics="f_beta", prevalence=GRID),
            segments="segment",
            observed=d.segments,
        ),
    ),
    "decomposition": (
        "Why precision differs between segments: the class balance, or the rates of the model.",
        lambda d: nf.chart_decomposition(
            nf.decompose_difference(d.segments, metric="precision", over="segment", reference="medium")
        ),
    ),
    "rank_over_prevalence": (
        "Rank of the models over prevalence, by PR-AUC.",
        lambda d: nf.chart_rank_over_prevalence(
            nf.rank_models(d.areas.filter(metric="pr_auc")), observed=d.observed
        ),
    ),
    "decision_map": (
        "The best model and threshold at every prevalence and beta.",
        lambda d: nf.chart_decision_map(nf.decision_map(d.curves), models=MODELS, observed=d.observed),
    ),
    "winner_ranges": (
        "The best model by F-beta over beta, at prevalence 0.01.",
        lambda d: nf.chart_winner_ranges(
            nf.winner_ranges(d.points, metric="f_beta", over="beta", prevalence=0.01), models=MODELS
        ),
    ),
    "probability_best": (
        "Probability that each model is best by PR-AUC, from resampled counts.",
        lambda d: nf.chart_probability_best(
            nf.probability_best(d.on_grid, metric="pr_auc", prevalence=GRID[::5], repeats=200),
            observed=d.observed,
        ),
    ),
    "intervals": (
        "F1 of each model at prevalence 0.01, with its interval.",
        lambda d: nf.chart_intervals(
            nf.project_rates(d.points, metrics="f_beta", prevalence=0.01, band=True), models=MODELS
        ),
    ),
    "critical_difference": (
        "Mean ranks of ten classifiers by PR-AUC over three data sets; overlap: no difference.",
        lambda d: nf.chart_critical_difference(nf.compare_data_sets(d.data_sets, over="dataset")),
    ),
    "class_matrix": (
        "Decisions of a tree among all ten digits, where four in five are a 1.",
        lambda d: nf.chart_class_matrix(d.classes.filter(model="decision_tree"), priors=mostly(1)),
    ),
    "class_simplex": (
        "The best of several models by accuracy at every mix of three digits: a corner is one digit alone.",
        lambda d: nf.chart_class_simplex(
            d.classes.filter(pl.col("label").is_in([1, 8, 9])),
            priors={"even": {1: 1 / 3, 8: 1 / 3, 9: 1 / 3}},
        ),
    ),
    "class_winners": (
        "The best model by macro F1, from mostly 1 to mostly 9.",
        lambda d: nf.chart_class_winners(
            nf.class_winners(d.classes, metric="macro_f_beta", start=mostly(1), end=mostly(9))
        ),
    ),
}


def picture_lines(name: str, line: str) -> list[str]:
    """Return the HTML that shows the light or the dark picture, by the reader's theme."""
    return [
        "<picture>",
        f'<source media="(prefers-color-scheme: dark)" srcset="gallery/{name}-dark.png">',
        f'<img alt="{line}" src="gallery/{name}.png">',
        "</picture>",
    ]


def main(wanted: list[str]) -> None:
    """Write the page, and the named pictures, or all."""
    folder = HERE / "gallery"
    folder.mkdir(exist_ok=True)
    lines = [
        "# Gallery",
        "",
        "Every chart, drawn from held-out predictions on handwritten digits: the 8 against the rest.",
        "With a dark theme, the page shows the dark charts (`dark_chart`). `make gallery` draws all again.",
    ]
    with tempfile.TemporaryDirectory() as logs:
        path = write_demo_logs(logs, datasets=["digits"])
        ours = pl.col("model").is_in(MODELS)
        demo = Demo(
            nf.scan_predictions(path, fold="fold").filter(ours),
            nf.scan_predictions(path, segments=["segment"]).filter(ours),
        )
        for name, (line, draw) in PICTURES.items():
            lines += ["", f"## {name}", "", line, "", *picture_lines(name, line)]
            if wanted and name not in wanted:
                continue
            chart = draw(demo)
            for stem, shade in ((name, chart), (f"{name}-dark", nf.dark_chart(chart))):
                png = vl_convert.vegalite_to_png(shade.to_json(), scale=1)
                # A palette makes the file five times smaller, without a visible difference.
                picture = Image.open(io.BytesIO(png)).convert("RGB").quantize(255, dither=Image.Dither.NONE)
                picture.save(folder / f"{stem}.png", optimize=True)
    (HERE / "gallery.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
