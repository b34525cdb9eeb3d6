"""Charts of operating points: ROC and precision-recall curves, and recall over the share called positive."""

import math

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from sklearn.metrics import average_precision_score

import nci_frames as nf
from nci_frames.charts.parts.theme import HEIGHT, WIDTH
from tests.chart_specs import layer, rows_of
from tests.charts.drawn import rates as rates_of
from tests.logs import counts_at, labels_and_scores


def log(models=("a", "b"), rows=60, seed=3):
    labels = [i % 3 == 0 for i in range(rows)]
    return pl.concat(
        pl.DataFrame({"model": name, "label": labels}).with_columns(
            score=pl.Series([(i * 37 + k * 11 + seed) % 29 / 29 + 0.3 * y for i, y in enumerate(labels)])
        )
        for k, name in enumerate(models)
    )


def exact_rates(models=("a", "b")):
    return nf.compute_rates(nf.count_confusion(log(models), thresholds="exact"))


def pr_of(models=("a", "b"), prevalence=(0.01, 1 / 3)):
    return nf.project_rates(exact_rates(models), metrics=["precision", "recall"], prevalence=list(prevalence))


def test_roc_runs_from_the_origin_to_the_corner_without_turning_back():
    rows = pl.DataFrame(rows_of(nf.chart_roc(exact_rates()).to_dict()))
    for (_,), curve in rows.group_by("model"):
        assert curve.select("fpr", "tpr").row(0) == (0, 0)
        assert curve.select("fpr", "tpr").row(-1) == (1, 1)
        assert curve["fpr"].is_sorted()
        assert curve["tpr"].is_sorted()
    assert rows["threshold"].drop_nulls().len() >= exact_rates().height - 2  # an infinite one is null in JSON


def drawn_at(rows, x, y, places, how):
    """What a line over a logarithmic axis shows at some places, the highest where it rises."""
    across, up = rows[x].to_numpy(), rows[y].to_numpy()
    inside = places[(places >= across[0]) & (places <= across[-1])]
    last = np.searchsorted(across, inside, side="right") - 1
    if how == "step-after":
        return inside, up[last]
    before, after = last, np.minimum(last + 1, len(up) - 1)
    width = np.log(across[after] / across[before])
    along = np.divide(np.log(inside / across[before]), width, out=np.zeros_like(width), where=width > 0)
    return inside, up[before] + along * (up[after] - up[before])


def most_attained(share, recall, places):
    """The highest recall that a threshold attains with at most so large a share, point by point."""
    return np.array([recall[share <= place].max(initial=0.0) for place in places])


def log_charts(rates, eta):
    """Both charts on a logarithmic axis, with its fields and its share of every threshold."""
    table = nf.project_rates(rates, metrics=["pos_fraction", "recall"], prevalence=eta)
    n1, n0, tp, fp = (rates[name].to_numpy() for name in ("positives", "negatives", "tp", "fp"))
    flagged = eta * tp / n1 + (1 - eta) * fp / n0
    return (
        (nf.chart_roc(rates, log_x=True), "place", "tpr", fp / n0),
        (nf.chart_pos_fraction(table, log_x=True), "pos_fraction", "recall", flagged),
    )


def check_attained(rates, eta, within=0.0):
    """Nothing is drawn that no threshold attains, but for some pixels of the logarithmic axis."""
    for chart, x, y, share in log_charts(rates, eta):
        spec = chart.to_dict()
        lines = layer(spec, "lines")
        low, high = lines["encoding"]["x"]["scale"]["domain"]
        pixel = (high / low) ** (within / WIDTH)
        rows, how = pl.DataFrame(rows_of(spec)), lines["mark"]["interpolate"]
        places, drawn = drawn_at(rows, x, y, np.geomspace(low, high, 800), how)
        recall = (rates["tp"] / rates["positives"]).to_numpy()
        assert len(places)
        most = most_attained(share, recall, places * pixel * (1 + 1e-9))
        assert (drawn <= most + within / HEIGHT + 1e-12).all()


@pytest.mark.long
@given(labels_and_scores, st.sampled_from([0.001, 0.097, 0.5]))
def test_a_logarithmic_axis_shows_no_recall_that_no_threshold_attains(rows, eta):
    labels, scores = zip(*rows, strict=True)
    log = pl.DataFrame({"model": "a", "label": labels, "score": [float(score) for score in scores]})
    check_attained(nf.compute_rates(nf.count_confusion(log, thresholds="exact")), eta)


def test_few_scores_far_apart_are_steps():
    """A tree with three leaves, as in the demo: at a share of 0.01 no more than 0.01 / eta can be found."""
    few = counts_at([60, 97], [3, 120], 100, 900, model="a", threshold=[0.9, 0.2])
    rates, eta = nf.compute_rates(few), 0.097
    for chart, x, y, _ in log_charts(rates, eta):
        spec = chart.to_dict()
        rows, how = pl.DataFrame(rows_of(spec)), layer(spec, "lines")["mark"]["interpolate"]
        assert how == "step-after"
        places, drawn = drawn_at(rows, x, y, np.geomspace(1e-3, 0.99, 300), how)
        assert set(drawn) <= {0.6, 0.97}
        if y == "recall":
            assert (drawn <= places / eta).all()


@pytest.mark.thorough
def test_many_points_are_thinned_without_promising_more():
    positives = np.round(2_000 * (np.arange(1, 12_001) / 12_000) ** 0.3).astype(np.int64)
    down = np.arange(12_000, 0, -1.0)
    many = counts_at(positives, np.arange(1, 12_001), 2_000, 12_000, model="a", threshold=down)
    check_attained(nf.compute_rates(many), 0.02, within=1.0)


def test_a_logarithmic_roc_begins_with_what_is_found_without_a_false_alarm():
    rates = exact_rates()
    spec = nf.chart_roc(rates, log_x=True).to_dict()
    x = layer(spec, "lines")["encoding"]["x"]
    left = rates.filter(pl.col("fpr") > 0)["fpr"].min() / 2
    assert x["scale"] == {"type": "log", "domain": [left, 1.0], "nice": False}
    for (model,), curve in pl.DataFrame(rows_of(spec)).group_by("model"):
        free = rates.filter(pl.col("model") == model, fpr=0)["tpr"].max()
        first = curve.select("place", "fpr", "tpr").row(0)
        assert first == (left, 0, free) if free else first[0] > left
        assert curve.filter(fpr=0).height <= 1
    chance = rows_of(spec, "chance")
    assert len(chance) > 2
    assert all(row["place"] == row["tpr"] for row in chance)


def test_the_area_below_the_pr_steps_is_the_average_precision():
    rows = pl.DataFrame(rows_of(nf.chart_pr(pr_of(["a"], [1 / 3])).to_dict()))
    width = rows["recall"].diff().fill_null(0)
    truth = log(["a"])
    assert (width * rows["precision"]).sum() == pytest.approx(
        average_precision_score(truth["label"], truth["score"]), abs=1e-12
    )


ETA = 0.01


def projection_of(rates, metrics=("precision", "recall"), prevalence=(ETA,)):
    return nf.project_rates(rates, metrics=list(metrics), prevalence=list(prevalence))


def test_infinite_thresholds_leave_valid_json():
    rates = rates_of().with_columns(
        threshold=pl.when(pl.col("threshold") == 0.1).then(-math.inf).otherwise("threshold")
    )
    assert "Infinity" not in nf.chart_pr(projection_of(rates)).to_json()


def draw_pos_fraction(rates, prevalence=(0.01, 0.1), **options):
    return nf.chart_pos_fraction(projection_of(rates, ["pos_fraction", "recall"], prevalence), **options)


def test_each_curve_is_held_to_the_recall_with_the_fewest_positives():
    rates = rates_of()
    spec = draw_pos_fraction(rates, tpr=0.8).to_dict()
    assert rows_of(spec, "fixed") == [{"recall": 0.8}]
    held = pl.DataFrame(rows_of(spec, "held"))
    rows = pl.DataFrame(rows_of(spec)).filter(pl.col("recall") >= 0.8)
    least = rows.group_by("model", "prevalence").agg(pl.col("pos_fraction").min())
    columns = ["model", "prevalence", "pos_fraction"]
    assert held.select(columns).sort(columns).equals(least.select(columns).sort(columns))
    assert held.height == 4


def test_without_a_recall_to_hold_nothing_is_marked():
    names = [part["name"] for part in draw_pos_fraction(rates_of(), tpr=None).to_dict()["layer"]]
    assert names == ["untold", "lines", "points", "targets"]


def test_a_logarithmic_share_leaves_0_out():
    nobody = counts_at(0, 0, 120, 1000, threshold=9.0)
    rates = pl.concat([rates_of(("a",)), nf.compute_rates(nobody)], how="diagonal_relaxed")
    spec = draw_pos_fraction(rates, log_x=True).to_dict()
    scale = layer(spec, "lines")["encoding"]["x"]["scale"]
    assert scale["type"] == "log"
    assert scale["domain"] == [min(row["pos_fraction"] for row in rows_of(spec)), 1.0]
    assert len(rows_of(draw_pos_fraction(rates).to_dict())) == len(rows_of(spec)) + 2
