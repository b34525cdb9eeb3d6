"""One valid call of every public function: what corrupted frames and odd values are put into."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import polars as pl

import nci_frames as nf

#: Public functions that write files, or change the registry of metrics for good.
NOT_CALLED = {
    "register_metric",
    "report_questions",
    "class_report_questions",
    "save_chart",
    "save_table",
    "sink_exact_counts",
    "write_report",
}


#: Functions for users that are not at the top level: few need them.
IN_MODULES = {"roc_convex_hull": "nci_frames.evaluation.rates.hull"}


def function_of(name: str) -> Callable[..., Any]:
    """Return a function for users by its name."""
    home = import_module(IN_MODULES[name]) if name in IN_MODULES else nf
    return getattr(home, name)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Call:
    """A public function with arguments that it takes."""

    name: str
    frames: tuple[pl.DataFrame, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def function(self) -> Callable[..., Any]:
        return function_of(self.name)

    @property
    def takes(self) -> str:
        """The name of the first argument, which tells what kind of frame it is."""
        return next(iter(inspect.signature(self.function).parameters), "")

    @property
    def of_frames(self) -> bool:
        """Whether it makes a frame of frames."""
        made = inspect.signature(self.function).return_annotation
        return bool(self.frames) and made is pl.DataFrame

    def __call__(self) -> Any:
        return self.function(*self.frames, **self.options)


@cache
def log() -> pl.DataFrame:
    """Two models that score the same 240 units, in 24 buckets and 2 folds."""
    rng = np.random.default_rng(0)
    units = np.arange(240)
    label = rng.random(240) < 0.4
    parts = [
        pl.DataFrame(
            {
                "model": model,
                "fold": np.where(units % 2, "1", "2"),
                "unit": units,
                "label": label,
                "score": np.round(rng.normal(label * skill, 1), 1),
            }
        )
        for model, skill in (("forest", 1.5), ("linear", 0.8))
    ]
    return pl.concat(parts)


@cache
def class_log() -> pl.DataFrame:
    """Two models that decide among three classes."""
    rng = np.random.default_rng(1)
    label = rng.choice(["ant", "bee", "cat"], 120, p=[0.5, 0.3, 0.2])
    parts = [
        pl.DataFrame({"model": m, "label": label, "decision": np.where(rng.random(120) < p, label, "ant")})
        for m, p in (("forest", 0.8), ("linear", 0.6))
    ]
    return pl.concat(parts)


@cache
def calls() -> dict[str, Call]:
    """Return a valid call of every public function, by its name."""
    rows = log()
    scan = nf.scan_predictions(rows, fold="fold", unit="unit")
    grid = [-0.5, 0.2, 0.5, 1.1]
    independent = scan.drop("unit")
    counts = nf.count_confusion(independent, thresholds=grid, by=[])
    folds = nf.count_confusion(independent, thresholds=grid, by="fold")
    buckets = nf.count_confusion(nf.unit_buckets(scan, buckets=24), thresholds=grid, by="bucket")
    rates = nf.compute_rates(counts, interval="wilson")
    fold_rates = nf.compute_rates(folds)
    points = rates.filter(pl.col("threshold") == 0.5)
    fold_points = fold_rates.filter(pl.col("threshold") == 0.5)
    etas = [0.01, 0.4]
    projection = nf.project_rates(
        points, metrics=["f_beta", "precision", "pos_fraction", "recall"], prevalence=etas
    )
    fold_values = nf.project_rates(fold_points, metrics=["f_beta", "recall"], prevalence=etas)
    fold_ranks = nf.rank_models(fold_values.filter(pl.col("prevalence") == etas[0], metric="f_beta"))
    winners = nf.winner_ranges(rates, metric="f_beta", over="prevalence")
    over_beta = nf.winner_ranges(points, metric="f_beta", over="beta", prevalence=0.4)
    summary = nf.compare_folds(fold_points, beta=[0.5, 1.0, 2.0], prevalence=0.4)
    band = nf.precision_band(points, prevalence=etas)
    decomposition = nf.decompose_difference(fold_points, metric="precision", over="fold")
    decisions = nf.decision_map(rates)
    areas = nf.compute_areas(counts, prevalence=etas)
    few: dict[str, Any] = {"repeats": 20}
    increments = pl.DataFrame(
        {"model": "a", "threshold": [None, 0.0, 0.5], "positives": [1, 2, 3], "negatives": [4, 5, 6]}
    )
    scores = nf.count_scores(rows.drop("unit", "fold"), thresholds=grid)
    estimated = nf.estimate_prevalence(counts, scores)
    classes = nf.count_classes(class_log())
    decided = nf.count_classes(class_log().drop("label"))
    place = pl.int_range(pl.len()) % 7 / 10
    ants = class_log().select("model", score=place, true_class="label", label=pl.col("label") == "ant")
    units = class_log().with_columns(unit=pl.int_range(pl.len()) % 120)
    in_buckets = nf.count_classes(nf.unit_buckets(units, buckets=24))
    ends: dict[str, Any] = {"start": "uniform", "end": "observed"}
    logistic = rows.drop("unit", "fold").with_columns(score=1 / (1 + (-pl.col("score")).exp()))
    chances = nf.count_confusion(logistic, thresholds=[0.1, 0.3, 0.5, 0.9])
    labels: dict[str, Any] = {"budget": 40, "metric": "recall", "threshold": 0.5, "model": "forest"}
    by_fold = {"segments": "fold", "prevalence": 0.2}
    found = [
        Call("count_confusion", (rows.drop("unit"),), {"thresholds": grid}),
        Call("scan_predictions", (rows,)),
        Call("unit_buckets", (rows,), {"buckets": 24}),
        Call("compare_auc", (rows,)),
        Call("count_pairs", (rows,), {"thresholds": 0.5}),
        Call("compare_pairs", (nf.count_pairs(rows, thresholds=0.5),), {"repeats": 100}),
        Call("scan_classes", (class_log(),)),
        Call("count_classes", (class_log(),)),
        Call("merge_class_counts", (classes, classes)),
        Call("project_classes", (classes,), {"priors": "uniform", "metrics": "mcc"}),
        Call("class_winners", (classes,), {"metric": "mcc", **ends}),
        Call("estimate_class_priors", (classes, decided)),
        Call("counts_at_mix", (nf.count_confusion(ants),), {"priors": "uniform"}),
        Call("compare_class_models", (in_buckets,), {"metric": "mcc", "priors": "uniform"}),
        Call("vary_class_share", (classes,), {"of": "ant", "shares": [0.1, 0.5]}),
        Call("auto_thresholds"),
        Call("logit_thresholds", (), {"n": 5}),
        Call("uniform_thresholds", (), {"n": 5}),
        Call("merge_counts", (counts, counts)),
        Call("count_scores", (rows.drop("unit", "label"),), {"thresholds": grid}),
        Call("plan_labels", (scores,), {**labels, "pilot": counts}),
        Call("draw_labels", (rows, nf.plan_labels(scores, pilot=counts, **labels)), {"model": "forest"}),
        Call("expected_half_widths", (scores,), {**labels, "pilot": counts}),
        Call("estimate_prevalence", (counts, scores)),
        Call("correct_partial_labels", (counts, scores)),
        Call("project_traffic", (points, estimated), {"metrics": "f_beta"}),
        Call("counting_sql", (), {"table": "log", "thresholds": [0.5], "dialect": "duckdb"}),
        Call("read_counts", (increments,), {"thresholds": [0.0, 0.5]}),
        Call("pool_counts", (folds,), {"over": "fold"}),
        Call("compute_areas", (counts,), {"prevalence": etas}),
        Call("adjust_scores", (), {"score": "score", "prevalence": 0.1, "logged_prevalence": 0.4}),
        Call("calibration_curve", (chances,), {"prevalence": 0.1}),
        Call("calibration_measures", (chances,), {"prevalence": 0.1}),
        Call("cost_curve", (chances,), {"prevalence": 0.1, "probability_costs": [0.2, 0.6]}),
        Call("decision_curve", (chances,), {"prevalence": 0.1, "threshold_probabilities": [0.2]}),
        Call("chart_calibration", (nf.calibration_curve(chances, prevalence=0.1),)),
        Call("chart_cost_curve", (nf.cost_curve(chances, prevalence=0.1),)),
        Call(
            "chart_decision_curve",
            (nf.decision_curve(chances, prevalence=0.1, threshold_probabilities=[0.2, 0.4]),),
        ),
        Call("decompose_scores", (chances,), {"prevalence": 0.1}),
        Call("h_measure", (counts,), {"prevalence": 0.1}),
        Call("proper_scores", (chances,), {"prevalence": 0.1}),
        Call("compare_classes", (classes,), {"priors": "uniform", "metric": "mcc"}),
        Call("compare_models", (counts,), {"prevalence": etas, "threshold": 0.0, **few}),
        Call("find_crossovers", (rates,), {"metric": "f_beta", "over": "prevalence"}),
        Call("decision_map", (rates,)),
        Call("winner_ranges", (rates,), {"metric": "f_beta", "over": "prevalence"}),
        Call("imbalance_sensitivity", (), {"metrics": "recall", "ratios": [2, 9]}),
        Call("metric_surface", (), {"metric": "precision", "resolution": 5}),
        Call("expected_counts", (), {"tpr": 0.6, "fpr": 0.1, "positives": 20, "negatives": 30}),
        Call("required_samples", (), {"half_width": 0.05}),
        Call("lowest_supported_prevalence", (counts,), {"metric": "pr_auc"}),
        Call("max_precision_uncertainty", (rates,)),
        Call("precision_band", (rates,), {"prevalence": etas}),
        Call("predictive_value_interval", (rates,), {"prevalence": etas}),
        Call("project_rates", (rates,), {"metrics": "f_beta", "prevalence": etas}),
        Call("ranked_table", (nf.rank_models(projection),), {"metric": "f_beta"}),
        Call("rank_models", (projection,)),
        Call("compare_data_sets", (fold_ranks,), {"over": "fold"}),
        Call("average_over", (fold_values,), {"over": "fold"}),
        Call("decompose_difference", (fold_rates,), {"metric": "precision", "over": "fold"}),
        Call("roll_up", (fold_rates,), {"over": "fold", "metrics": "precision"}),
        Call("roc_convex_hull", (rates,)),
        Call("accuracy_interval", (), {"correct": 80, "total": 100}),
        Call("select_operating_points", (rates,), {"tpr": 0.5}),
        Call("compute_rates", (counts,), {"interval": "wilson"}),
        Call("bootstrap", (buckets,), {"metric": "f_beta", "units": "bucket", **few}),
        Call("crossover_intervals", (counts,), {"threshold": 0.5, **few}),
        Call("probability_best", (counts,), {"threshold": 0.5, **few}),
        Call("cross_fit", (buckets,), {"units": "bucket", "repeats": 2}),
        Call("subsample_study", (counts,), {"prevalence": 0.3, "repeats": 5}),
        Call("auc_interval", (counts,)),
        Call("compare_best", (buckets,), {"threshold": 0.5, "units": "bucket", "repeats": 100}),
        Call("certify_decision_map", (buckets,), {"units": "bucket", "repeats": 100}),
        Call("compare_folds", (fold_points,), {"repeats": 100}),
        Call("rank_segments", (folds,), {**by_fold, "threshold": 0.5, "min_positives": 5}),
        Call("check_projection", (folds,), {"over": "fold"}),
        Call("chart_critical_difference", (nf.compare_data_sets(fold_ranks, over="fold"),)),
        Call("chart_decision_map", (decisions,)),
        Call("chart_decomposition", (decomposition,), {"over": "fold"}),
        Call("chart_f_beta_over_beta", (projection,), {"prevalence": 0.01}),
        Call("chart_f_beta_over_prevalence", (projection,)),
        Call("chart_f_beta_plot", (summary, over_beta)),
        Call("chart_p3", (projection,)),
        Call("chart_pos_fraction", (projection,), {"tpr": None}),
        Call("chart_pr", (nf.project_rates(rates, metrics=["precision", "recall"], prevalence=0.1),)),
        Call("chart_pr_auc_over_prevalence", (areas,)),
        Call("chart_precision_uncertainty", (band, nf.max_precision_uncertainty(points))),
        Call("chart_probability_best", (nf.probability_best(counts, threshold=0.5, prevalence=etas, **few),)),
        Call("chart_intervals", (nf.project_rates(points, metrics="f_beta", prevalence=0.1),)),
        Call("chart_rank_over_prevalence", (nf.rank_models(projection.filter(metric="f_beta")),)),
        Call("chart_roc", (rates,)),
        Call("chart_segments", (nf.project_rates(fold_points, metrics="precision", prevalence=0.1),),
             {"segments": "fold"}),
        Call("chart_winner_ranges", (winners,)),
        Call("chart_class_matrix", (classes,), {"priors": "uniform"}),
        Call("chart_class_simplex", (classes,), {"metric": "mcc"}),
        Call("chart_class_winners", (nf.class_winners(classes, metric="mcc", **ends),)),
        Call("dark_chart", (nf.chart_roc(rates),)),  # type: ignore[arg-type]
        Call("metrics"),
        Call("report_questions"),
        Call("class_report_questions"),
        # A metric is a function without a frame: its options are numbers or expressions.
        *(Call(name) for name in nf.metrics().filter(kind="point")["name"]),
        Call("net_benefit", (), {"threshold_probability": 0.1}),
        Call("expected_cost", (), {"c_fp": 1, "c_fn": 20}),
        Call("normalised_cost", (), {"c_fp": 1, "c_fn": 20}),
        Call("relative_cost", (), {"c_fp": 1, "c_fn": 20}),
        Call("calibrated_precision", ()),
    ]  # fmt: skip
    return {call.name: call for call in found}


@cache
def result(name: str) -> Any:
    """Return what the valid call of a function returns, computed once."""
    return calls()[name]()


def public_functions() -> list[str]:
    """Return the names of the functions for users."""
    return [*(name for name in nf.__all__ if not inspect.isclass(getattr(nf, name))), *IN_MODULES]
