"""An example of every kind of chart, and its specification as ``tests/snapshots/charts.json`` keeps it.

``make snapshots`` writes the file anew; look at the difference, and at the pictures, before it is committed.
"""

import functools
import json
from pathlib import Path
from typing import Any

import polars as pl

import nci_frames as nf

FILE = Path(__file__).parents[1] / "snapshots" / "charts.json"
GRID = [0.0, 0.001, 0.01, 0.1]
MODELS = ("a", "b")


@functools.cache
def rates(models: tuple[str, ...] = MODELS) -> pl.DataFrame:
    """Four operating points of each model, with bounds."""
    rows = [
        {"model": model, "threshold": t, "tp": 100 - 10 * i + k, "fp": round(400 / 4**i) + 5 * k}
        for k, model in enumerate(models)
        for i, t in enumerate((0.1, 0.3, 0.5, 0.7))
    ]
    cells = pl.DataFrame(rows).with_columns(fn=120 - pl.col("tp"), tn=1000 - pl.col("fp"))
    return nf.compute_rates(cells, interval="wilson")


@functools.cache
def apart(models: tuple[str, ...], key: str, values: tuple[str | None, ...]) -> pl.DataFrame:
    """One operating point of each model in each fold or segment; the prevalence differs between them."""
    rows = [
        {"model": m, key: v, "threshold": 0.5, "tp": 60 + 20 * k % 50 + 3 * i, "fp": 1 + 20 * k, "fn": 40 + i}
        for k, m in enumerate(models)
        for i, v in enumerate(values)
    ]
    frame = pl.DataFrame(rows, schema_overrides={key: pl.Series(list(values)).dtype})
    return nf.compute_rates(frame.with_columns(tn=1000 - pl.col("fp")))


def class_counts(models: tuple[str, ...], *more: str) -> pl.DataFrame:
    """Decisions of each model between two classes and more, or none; each is good at another class."""
    rights = [(name, 60 + 7 * place) for place, name in enumerate(more)]
    rows = [
        (model, label, decision, rows)
        for k, model in enumerate(models)
        for label, right in (("x", 50 + 40 * k // len(models)), ("y", 90 - 30 * k // len(models)), *rights)
        for decision, rows in ((label, right), ("none", 100 - right))
    ]
    return nf.merge_class_counts(
        pl.DataFrame(rows, schema=["model", "label", "decision", "rows"], orient="row")
    )


@functools.cache
def draw_all(models: tuple[str, ...] = MODELS, among: tuple[str, ...] = ()) -> dict[str, Any]:
    """Draw every chart of *models*; those in *among* keep their colours."""
    options = {"models": among} if among else {}
    every, grid = rates(models), GRID[1:]
    points = every.filter(threshold=0.5)
    countries = apart(models, "country", ("us", "de", None))
    folds = apart(models, "fold", ("1", "2", "3", "4"))
    values = nf.project_rates(
        points, metrics=["precision", "f_beta"], prevalence=GRID, beta=[0.5, 1.0, 2.0], band=True
    )
    ranks = nf.rank_models(values.filter(metric="f_beta", beta=1.0))
    curves = nf.project_rates(every, metrics=["precision", "recall", "pos_fraction"], prevalence=[0.01, 0.1])
    one = curves.filter(prevalence=0.01)
    areas = nf.compute_areas(every, prevalence=GRID)
    decisions = nf.decision_map(every)
    pooled = nf.compute_rates(nf.pool_counts(folds, over="fold"))
    fold_ranks = nf.rank_models(nf.project_rates(folds, metrics="precision", prevalence=0.01))
    in_countries = nf.project_rates(countries, metrics="precision", prevalence=GRID)
    # Draws may differ between versions of NumPy.
    best = nf.probability_best(every, threshold=0.5, prevalence=grid, repeats=2)
    place = pl.col("model").rank("dense").cast(pl.Float64)
    best = best.with_columns(probability=(place / place.sum()).over("prevalence"))
    classes = class_counts(models)
    ends = {"start": {"x": 0.9, "y": 0.1}, "end": {"x": 0.1, "y": 0.9}}
    return {
        "p3": nf.chart_p3(values, observed=0.02, **options),
        "f_beta": nf.chart_f_beta_over_beta(values, prevalence=0.01, observed=0.02, **options),
        "f_beta_eta": nf.chart_f_beta_over_prevalence(values, beta=2, **options),
        "f_beta_plot": nf.chart_f_beta_plot(
            nf.compare_folds(folds, beta=[0.0, 0.5, 1.0, 2.0, 4.0], prevalence=0.01),
            nf.winner_ranges(pooled, metric="f_beta", over="beta", prevalence=0.01),
            **options,
        ),
        "pr_auc": nf.chart_pr_auc_over_prevalence(areas, observed=0.02, **options),
        "roc": nf.chart_roc(every, **options),
        "roc_log": nf.chart_roc(every, log_x=True, **options),
        "pr": nf.chart_pr(curves, **options),
        "pos_fraction": nf.chart_pos_fraction(one, tpr=0.7, log_x=True, **options),
        "calibration": nf.chart_calibration(nf.calibration_curve(every, prevalence=0.01), **options),
        "decision_curve": nf.chart_decision_curve(
            nf.decision_curve(every, prevalence=0.1, threshold_probabilities=[0.0, 0.1, 0.2, 0.6]), **options
        ),
        "cost_curve": nf.chart_cost_curve(
            nf.cost_curve(every, prevalence=0.01, probability_costs=[0.1, 0.5, 0.9]), **options
        ),
        "uncertainty": nf.chart_precision_uncertainty(
            nf.precision_band(points, prevalence=GRID),
            nf.max_precision_uncertainty(points),
            observed=0.02,
            **options,
        ),
        "intervals": nf.chart_intervals(values.filter(prevalence=0.01, beta=1.0), **options),
        "best": nf.chart_probability_best(best, observed=0.02, **options),
        "map": nf.chart_decision_map(decisions, observed=0.02, **options),
        "winners": nf.chart_winner_ranges(
            nf.winner_ranges(every, metric="f_beta", over="prevalence"), observed=0.02, **options
        ),
        "rank": nf.chart_rank_over_prevalence(ranks, observed=0.02, **options),
        "segments": nf.chart_segments(in_countries, segments="country", observed=countries, **options),
        "decomposition": nf.chart_decomposition(
            nf.decompose_difference(countries, metric="precision", over="country")
        ),
        "mean_ranks": nf.chart_critical_difference(nf.compare_data_sets(fold_ranks, over="fold"), **options),
        "class_matrix": nf.chart_class_matrix(classes, priors={"x": 0.2, "y": 0.8}),
        "class_simplex": nf.chart_class_simplex(
            class_counts(models, "z"), priors={"day": {"x": 0.2, "y": 0.7, "z": 0.1}}, **options
        ),
        "class_winners": nf.chart_class_winners(
            nf.class_winners(classes, metric="accuracy", **ends), **options
        ),
    }


def legible(chart: Any) -> dict[str, Any]:
    """Return a specification without what all charts share, with nine digits, and a line for each row."""
    spec = chart.to_dict()
    rows = {
        name: [json.dumps(_short(row), ensure_ascii=False) for row in rows]
        for name, rows in spec.pop("datasets").items()
    }

    def walk(node: Any) -> Any:
        if isinstance(node, dict):
            return (
                rows[node["name"]]
                if node.get("name") in rows
                else {key: walk(part) for key, part in node.items()}
            )
        return [walk(part) for part in node] if isinstance(node, list) else _short(node)

    shared = ("$schema", "config")
    return walk({key: part for key, part in spec.items() if key not in shared})


def _short(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _short(part) for key, part in node.items()}
    return float(f"{node:.9g}") if isinstance(node, float) else node


def main() -> None:
    """Write the specification of every chart."""
    kept = {name: legible(chart) for name, chart in draw_all().items()}
    FILE.write_text(json.dumps(kept, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
