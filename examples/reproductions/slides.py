"""Slides: every worked example, the special classifiers, k-fold, the accuracy interval, AUC as a probability.

Source: apples picked by a machine (5 true and 1 false positive, 2 false and 2 true negatives); perfect,
worst, ultra-liberal and ultra-conservative classifier; the average over the k folds of a cross-validation;
an accuracy of 0.8 in 100 trials; AUC as the probability that a positive is ranked above a negative.

Here: the same numbers, with four corrections. The accuracy of the ultra-liberal classifier is P/(P+N), not
0. The ultra-conservative has TP = FP = 0 (the slide repeats the text of the other one). F1 by counts is 0
where the slides call it not applicable. The accuracy interval has an upper end, 0.8784.
"""

import altair as alt
import numpy as np
import polars as pl

import nci_frames as nf
from examples.reproductions.record import SLIDES, Number, Reproduction, show

METRICS = ["recall", "fpr", "precision", "f_beta", "accuracy"]
P, N = 100, 300


def apples() -> list[Number]:
    """Return the worked example of the F-score."""
    counts = pl.DataFrame(
        {"model": ["machine"], "threshold": [0.5], "tp": [5], "fp": [1], "fn": [2], "tn": [2]}
    )
    values = nf.project_rates(
        nf.compute_rates(counts), metrics=[*METRICS, "specificity", "error_rate"], prevalence="observed"
    )
    found = dict(values.select("metric", "value").iter_rows())
    split = found["recall"] * 7 / 10 + found["specificity"] * 3 / 10
    return [
        Number("apples: precision", "0.83", found["precision"]),
        Number("apples: recall", "0.71", found["recall"]),
        Number("apples: F1", "0.77", found["f_beta"]),
        Number("apples: accuracy", "0.7 by (TP+TN)/(P+N)", found["accuracy"]),
        Number("apples: accuracy from sensitivity and specificity", "0.7 by the slides' formula", split),
        Number("apples: error rate", "0.3 by 1 - accuracy", found["error_rate"]),
    ]


def special_classifiers() -> tuple[list[Number], pl.DataFrame]:
    """Return the four special classifiers, with 100 positives and 300 negatives."""
    points = {"perfect": (1, 0), "worst": (0, 1), "ultra-liberal": (1, 1), "ultra-conservative": (0, 0)}
    slides = {
        "perfect": ("1", "0", "1", "1", "1"),
        "worst": ("0", "1", "0", "not applicable", "0"),
        "ultra-liberal": ("1", "1", "0.25 by P/(P+N)", "0.4 by 2P/(2P+N)", "0"),
        "ultra-conservative": ("0", "0", "not applicable", "not applicable", ""),
    }
    notes = {
        ("worst", "f_beta"): "by counts, 2TP/(2TP+FP+FN) = 0",
        ("ultra-liberal", "accuracy"): "a slip: the slide itself has P/(P+N), which is 0.25",
        ("ultra-conservative", "f_beta"): "by counts, 2TP/(2TP+FP+FN) = 0",
        ("ultra-conservative", "accuracy"): "N/(P+N); the slide does not give it",
    }
    counts = pl.concat(
        nf.expected_counts(tpr=tpr, fpr=fpr, positives=P, negatives=N, model=model)
        for model, (tpr, fpr) in points.items()
    )
    rates = nf.compute_rates(counts)
    table = nf.project_rates(rates, metrics=METRICS, prevalence="observed")
    value = {(model, metric): v for model, metric, v in table.select("model", "metric", "value").iter_rows()}
    numbers = [
        Number(
            f"{model}: {metric}",
            printed,
            "not applicable" if value[model, metric] is None else value[model, metric],
            notes.get((model, metric), ""),
        )
        for model in points
        for metric, printed in zip(METRICS, slides[model], strict=True)
    ]
    return numbers, rates


def cross_validation() -> list[Number]:
    """Return the k-fold estimate of 103 rows in 10 folds, the last of which is smaller."""
    rng = np.random.default_rng(0)
    rows = pl.DataFrame(
        {
            "model": "a",
            "fold": [min(i // 11, 9) for i in range(103)],
            "label": [i % 3 == 0 for i in range(103)],
        }
    )
    log = rows.with_columns(score=0.3 * pl.col("label") + pl.Series(rng.random(103)))
    rates = nf.compute_rates(nf.count_confusion(nf.scan_predictions(log, fold="fold"), thresholds=[0.6]))
    mean = nf.compare_folds(rates, metric="accuracy")["mean"].item()
    right = log.with_columns(right=(pl.col("score") >= 0.6) == pl.col("label"))
    by_hand = right.group_by("fold").agg(pl.col("right").mean()).select(pl.col("right").mean()).item()
    sizes = rows.group_by("fold").len()["len"]
    return [
        Number("k-fold: mean accuracy of 10 folds", f"{by_hand:.6f} by a plain average", mean),
        Number("k-fold: the last fold has fewer rows", "yes", "yes" if sizes.min() < sizes.max() else "no"),  # type: ignore[operator]
    ]


def observed_accuracy() -> list[Number]:
    """Return the interval of an accuracy of 80 in 100."""
    lower, upper = nf.accuracy_interval(80, 100, method="wald")
    wilson = nf.accuracy_interval(80, 100, method="wilson")
    return [
        Number("accuracy of 80 in 100: standard error", "0.04", (upper - lower) / 2 / 1.959964),
        Number("accuracy of 80 in 100: lower end", "0.7216", lower),
        Number(
            "accuracy of 80 in 100: upper end",
            "0.8784 by 0.8 + 1.96·0.04",
            upper,
            "the slide gives only the lower end",
        ),
        Number("accuracy of 80 in 100: lower end (Wilson)", "", wilson[0], "what reports use"),
        Number("accuracy of 80 in 100: upper end (Wilson)", "", wilson[1]),
    ]


def ranking_probability() -> tuple[list[Number], pl.DataFrame]:
    """Return AUC beside the share of pairs that are ranked rightly, ties counting one half."""
    rng = np.random.default_rng(1)
    label = rng.random(400) < 0.3
    scores = {
        "useful": np.round(rng.normal(label * 1.0, 1.0), 1),
        "perfect": label.astype(float),
        "reversed": 1.0 - label,
        "constant": np.full(400, 0.5),
    }
    log = pl.concat(pl.DataFrame({"model": m, "label": label, "score": s}) for m, s in scores.items())
    counts = nf.count_confusion(nf.scan_predictions(log), thresholds="exact")
    areas = nf.compute_areas(counts, prevalence=0.3).filter(metric="roc_auc")
    auc = dict(areas.select("model", "value").iter_rows())
    above = np.subtract.outer(scores["useful"][label], scores["useful"][~label])
    pairs = float(np.mean((above > 0) + 0.5 * (above == 0)))
    numbers = [
        Number("AUC of a useful classifier", f"{pairs:.6f} by all pairs", auc["useful"]),
        Number("AUC of a perfect classifier", "1", auc["perfect"]),
        Number("AUC of the reversed one", "0", auc["reversed"]),
        Number("AUC of a constant", "0.5", auc["constant"]),
    ]
    return numbers, nf.compute_rates(counts)


def reproduce() -> Reproduction:
    """Compute every example of the slides."""
    special, points = special_classifiers()
    ranking, curves = ranking_probability()
    space = points.select("model", "tpr", tnr=1 - pl.col("fpr"))
    charts = {
        "slides_special_classifiers": alt.Chart(space)
        .mark_point(filled=True, size=110)
        .encode(x="tnr:Q", y="tpr:Q", color="model:N"),
        "slides_roc": nf.chart_roc(curves),
    }
    numbers = [*apples(), *special, *cross_validation(), *observed_accuracy(), *ranking]
    return Reproduction(__doc__ or "", SLIDES, numbers, charts)


if __name__ == "__main__":
    show(reproduce())
