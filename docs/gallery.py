"""Draw every chart of the gallery on a synthetic log, and list them in docs/gallery.md: ``make gallery``."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import altair as alt
import polars as pl

import nci_frames as nf
from nci_frames.demo import write_synthetic_logs

HERE = Path(__file__).parent
ETAS = [10 ** (place / 8 - 5) for place in range(38)]
BETAS = [2 ** (place / 4 - 4) for place in range(33)]
MODELS = ["model_00", "model_02", "model_04", "model_06"]


class Tables:
    """What the charts are drawn from."""

    def __init__(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            write_synthetic_logs(folder, rows=400_000)
            scan = nf.scan_predictions(folder, fold="fold", segments="segment")
            counts = nf.count_confusion(scan, thresholds=nf.logit_thresholds(400, smallest=1e-4))
        counts = counts.filter(pl.col("model").is_in(MODELS))
        self.pooled = nf.pool_counts(counts, over=["fold", "segment"])
        self.rates = nf.compute_rates(self.pooled, interval="wilson")
        self.points = nf.select_operating_points(self.rates, fpr=0.01)
        self.observed = float(self.points["observed_prevalence"].mean())  # type: ignore[arg-type]
        self.areas = nf.compute_areas(self.pooled, prevalence=ETAS)
        self.f_beta = nf.project_rates(self.points, metrics="f_beta", prevalence=ETAS, band=True)
        self.precision = nf.project_rates(self.points, metrics="precision", prevalence=ETAS, band=True)


CHARTS: dict[str, tuple[str, Callable[[Tables], alt.TopLevelMixin]]] = {
    "p3": (
        "Precision over prevalence, with the band of its rates' intervals.",
        lambda t: nf.chart_p3(t.precision, observed=t.observed),
    ),
    "f_beta_over_prevalence": (
        "F1 over prevalence, with bands.",
        lambda t: nf.chart_f_beta_over_prevalence(t.f_beta, observed=t.observed),
    ),
    "f_beta_over_beta": (
        "F-beta over beta at one prevalence.",
        lambda t: nf.chart_f_beta_over_beta(
            nf.project_rates(t.points, metrics="f_beta", prevalence=0.001, beta=BETAS), prevalence=0.001
        ),
    ),
    "pr_auc_over_prevalence": (
        "PR-AUC over prevalence.",
        lambda t: nf.chart_pr_auc_over_prevalence(t.areas, observed=t.observed),
    ),
    "roc": ("ROC curves.", lambda t: nf.chart_roc(nf.roc_convex_hull(t.rates))),
    "roc_log": (
        "ROC curves where it matters if positives are rare.",
        lambda t: nf.chart_roc(t.rates, log_x=True),
    ),
    "rank_over_prevalence": (
        "Who is first at which prevalence, by PR-AUC.",
        lambda t: nf.chart_rank_over_prevalence(nf.rank_models(t.areas.filter(metric="pr_auc"))),
    ),
    "decision_map": (
        "The best model and threshold for every prevalence and beta.",
        lambda t: nf.chart_decision_map(nf.decision_map(t.rates)),
    ),
    "winner_ranges": (
        "Who is best in F-beta over beta at prevalence 0.1, each where its F1 is best for balanced classes.",
        lambda t: nf.chart_winner_ranges(
            nf.winner_ranges(
                nf.select_operating_points(t.rates, metric="f_beta", prevalence=0.5).drop("prevalence"),
                metric="f_beta",
                over="beta",
                prevalence=0.1,
            )
        ),
    ),
    "probability_best": (
        "How sure that is, by resampling the counts.",
        lambda t: nf.chart_probability_best(
            nf.probability_best(t.pooled, statistic="pr_auc", prevalence=ETAS[::3], repeats=200)
        ),
    ),
    "contingency_space": (
        "Models in base contingency space.",
        lambda t: nf.chart_contingency_space(t.points),
    ),
    "surface": (
        "The surface of F1 at 49 negatives per positive.",
        lambda _: nf.chart_metric_surface(
            nf.metric_surface("f_beta", ratio=49, resolution=61), metric="f_beta", ratio=49
        ),
    ),
    "imbalance_sensitivity": (
        "How far the surfaces of metrics move with the ratio of the classes.",
        lambda _: nf.chart_imbalance_sensitivity(
            nf.imbalance_sensitivity(
                ["precision", "f_beta", "mcc", "accuracy", "hss", "youden_j"],
                ratios=[10 ** (place / 4) for place in range(1, 13)],
            )
        ),
    ),
}


def main() -> None:
    """Write the pictures and the page."""
    tables = Tables()
    folder = HERE / "gallery"
    folder.mkdir(exist_ok=True)
    lines = ["# Gallery", "", "Every chart on a synthetic log; `make gallery` draws them anew.", ""]
    for name, (caption, draw) in CHARTS.items():
        draw(tables).save(str(folder / f"{name}.png"), scale_factor=1)  # type: ignore[attr-defined]
        lines += [f"**{caption}**", "", f"![{caption}](gallery/{name}.png)", ""]
    (HERE / "gallery.md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
