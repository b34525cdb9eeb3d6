"""Thinned curves lie within half a pixel of all their points."""

import math
from operator import itemgetter

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import nci_frames as nf
from nci_frames.charts.parts.selection import MAX_ROWS, fitted
from nci_frames.evaluation.arrays.thinning import TOLERANCE, thin_curves
from tests.chart_specs import layer, rows_of
from tests.logs import counts_at

SIZE = {"width": 520, "height": 300, "log_x": False, "tolerance": TOLERANCE}


def distance(p, a, b):
    """From a point to a line between two others, by the angle at its ends."""
    if math.dist(a, b) == 0:
        return math.dist(p, a)
    dot = lambda u, v: u[0] * v[0] + u[1] * v[1]  # noqa: E731
    ab, ap, bp = ((q[0] - o[0], q[1] - o[1]) for q, o in ((b, a), (p, a), (p, b)))
    if dot(ap, ab) <= 0:
        return math.dist(p, a)
    if dot(bp, ab) >= 0:
        return math.dist(p, b)
    return abs(ab[0] * ap[1] - ab[1] * ap[0]) / math.dist(a, b)


def farthest(every, kept, place, pixel):
    """The largest distance of a row from the line between the kept rows around it."""
    return max(
        distance(
            pixel(row),
            pixel(max((k for k in kept if k[place] <= row[place]), key=itemgetter(place))),
            pixel(min((k for k in kept if k[place] >= row[place]), key=itemgetter(place))),
        )
        for row in every
    )


unit = st.floats(0, 1, allow_subnormal=False)


@example([[(0.0, 0.0), (0.0, 2.2250738585072014e-308)]])
@given(st.lists(st.lists(st.tuples(unit, unit), min_size=1, max_size=25), min_size=1, max_size=3))
def test_no_point_left_out_is_farther_than_half_a_pixel(curves):
    rows = pl.DataFrame(
        [(f"m{i}", x, y, i * 100 + k) for i, c in enumerate(curves) for k, (x, y) in enumerate(sorted(c))],
        schema=["model", "x", "y", "place"],
        orient="row",
    )
    thin = thin_curves(rows, "x", "y", by="model", **SIZE)
    low, high = (rows.select(f("x", "y")).row(0) for f in (pl.min, pl.max))
    spans = [h - lo or 1.0 for h, lo in zip(high, low, strict=True)]
    pixel = lambda r: (r["x"] / spans[0] * 520, r["y"] / spans[1] * 300)  # noqa: E731
    for model in rows["model"].unique():
        kept = thin.filter(model=model).to_dicts()
        every = rows.filter(model=model).to_dicts()
        assert (kept[0], kept[-1]) == (every[0], every[-1])
        assert farthest(every, kept, "place", pixel) <= TOLERANCE + 1e-9


def test_corners_stay_and_straight_points_go():
    steps = pl.DataFrame({"model": "a", "x": [0.0, 0, 0, 0.5, 1, 1], "y": [0.0, 0.2, 0.7, 0.7, 0.7, 1]})
    kept = thin_curves(steps, "x", "y", by="model", **SIZE)
    assert kept.select("x", "y").rows() == [(0, 0), (0, 0.7), (1, 0.7), (1, 1)]


def test_a_logarithmic_axis_keeps_what_a_linear_one_hides():
    x = np.geomspace(1e-6, 1, 2001)
    curve = pl.DataFrame({"model": "a", "x": x, "y": np.sin(3 * np.log10(x)) / 2 + 0.5})
    linear, log = (thin_curves(curve, "x", "y", by="model", **SIZE | {"log_x": log}) for log in (False, True))
    assert log.filter(pl.col("x") < 1e-3).height > 20
    assert linear.height < curve.height
    assert log.height < curve.height / 10


def many_rates(n=20_000):
    fpr = np.arange(1, n + 1) / n
    tp = np.round(n * fpr**0.2).astype(np.int64)
    return nf.compute_rates(counts_at(tp, np.arange(1, n + 1), n, n, model="a", threshold=1 - fpr))


@pytest.mark.parametrize("log_x", [False, True])
def test_roc_curves_of_many_points_fit_a_page(log_x):
    spec = nf.chart_roc(many_rates(), log_x=log_x).to_dict()
    assert 10 < len(rows_of(spec)) < MAX_ROWS / 10


@pytest.mark.thorough
def test_thinned_pr_curves_keep_their_area():
    rates = many_rates()
    projection = nf.project_rates(rates, metrics=["precision", "recall"], prevalence=0.01)
    rows = pl.DataFrame(rows_of(nf.chart_pr(projection).to_dict()))
    assert 10 < rows.height < MAX_ROWS / 10
    recall, precision = rows["recall"].to_numpy(), rows["precision"].to_numpy()
    value = projection.pivot("metric", index="threshold", values="value").sort("recall")
    wanted = np.sum(np.diff(value["recall"].to_numpy(), prepend=0) * value["precision"].to_numpy())
    # Half a pixel of 420 on either side is the most that the area can be off.
    assert np.trapezoid(precision, recall) == pytest.approx(wanted, abs=0.5 / 420 + 0.5 / 520)


def test_the_held_point_is_chosen_before_thinning():
    rates = many_rates()
    projection = nf.project_rates(rates, metrics=["pos_fraction", "recall"], prevalence=0.01)
    spec = nf.chart_pos_fraction(projection, tpr=0.8).to_dict()
    assert len(rows_of(spec)) < MAX_ROWS / 10
    (held,) = rows_of(spec, "held")
    assert held["recall"] == rates.filter(pl.col("tpr") >= 0.8)["tpr"].min()


def test_a_curve_without_points_stays_one():
    empty = pl.DataFrame(schema={"model": pl.String, "x": pl.Float64, "y": pl.Float64})
    assert thin_curves(empty, "x", "y", by="model", **SIZE).is_empty()


def test_a_value_and_its_bounds_are_kept_together():
    x = np.linspace(0, 1, 1001)
    bounds = {"lower": 0.2 + 0.1 * np.sin(4 * x), "value": 0.5 + 0 * x, "upper": 0.9 - 0.2 * x**2}
    curve = pl.DataFrame({"model": "a", "x": x, **bounds})
    kept = thin_curves(curve, "x", list(bounds), by="model", **SIZE)
    assert 5 < kept.height < 300
    for name in bounds:
        span = curve[name].max() - curve[name].min() or 1.0
        drawn = np.interp(x, kept["x"].to_numpy(), kept[name].to_numpy())
        assert np.abs(drawn - curve[name].to_numpy()).max() * 300 / span <= 2 * TOLERANCE + 1e-9


def test_nulls_stay_gaps():
    rows = pl.DataFrame({"model": "a", "x": range(12), "y": [0.5] * 4 + [None] * 4 + [0.5] * 4})
    kept = thin_curves(rows, "x", "y", by="model", **SIZE)
    assert kept.select("x", "y").rows() == [(0, 0.5), (3, 0.5), (4, None), (7, None), (8, 0.5), (11, 0.5)]


def noisy_rates(models=92, thresholds=1_000, positives=200):
    """Rates at quantiles of scores of few positives: curves of many small steps."""
    rng = np.random.default_rng(5)
    negatives = 10 * positives
    frames = []
    for model in range(models):
        ours, theirs = rng.normal(0.8 + model / 60, 1, positives), rng.normal(0, 1, negatives)
        cuts = np.quantile(np.r_[ours, theirs], np.linspace(0, 1, thresholds))
        tp = positives - np.searchsorted(np.sort(ours), cuts)
        fp = negatives - np.searchsorted(np.sort(theirs), cuts)
        frames.append(counts_at(tp, fp, positives, negatives, model=f"m{model:02d}", threshold=cuts))
    return nf.compute_rates(pl.concat(frames).unique(["model", "threshold"]))


def median_points():
    """An operating point of each model."""
    rates = noisy_rates(thresholds=3).sort("model", "threshold")
    return rates.group_by("model", maintain_order=True).agg(pl.all().get(1))


@pytest.mark.long
@pytest.mark.parametrize("log_x", [False, True])
def test_many_models_with_many_steps_are_drawn_to_a_stated_error(log_x):
    spec = nf.chart_roc(noisy_rates(), log_x=log_x).to_dict()
    assert len(rows_of(spec)) <= MAX_ROWS
    assert "drawn to within" in spec["title"]["subtitle"]
    assert "drawn to within" not in nf.chart_roc(many_rates(), log_x=log_x).to_dict()["title"]["subtitle"]


@pytest.mark.thorough
@pytest.mark.parametrize(("draw", "steps"), [("p3", 50), ("f_beta_over_prevalence", 50), ("p3", 1_000)])
def test_only_fine_grids_of_prevalences_are_thinned(draw, steps):
    grid = np.geomspace(1e-5, 0.5, steps).tolist()
    projection = nf.project_rates(median_points(), metrics=["f_beta", "precision"], prevalence=grid)
    spec = getattr(nf, f"chart_{draw}")(projection).to_dict()
    drawn = pl.DataFrame(rows_of(spec))
    assert len(drawn) == 92 * 50 if steps == 50 else len(drawn) <= MAX_ROWS
    assert drawn["model"].n_unique() == 92
    assert "drawn to within" not in spec["title"]["subtitle"]


def saw(curves, teeth, height):
    curve = pl.DataFrame({"x": np.linspace(0, 1, teeth)})
    curve = curve.with_columns(y=height * (pl.int_range(pl.len()) % 2))
    return pl.DataFrame({"model": [f"m{i}" for i in range(curves)]}).join(curve, how="cross")


def test_the_tolerance_is_the_least_that_suffices():
    # Teeth of 3 pixels, 4 pixels apart; one curve over the whole plot gives the axis its length.
    tall = pl.DataFrame({"model": "tall", "x": [0.0, 1.0], "y": [0.0, 1.0]})
    rows, note = fitted(pl.concat([saw(50, 131, 0.01), tall]), "x", "y", log_x=False)
    assert note == "; drawn to within 4 px"
    assert rows.height == 51 * 2


def test_a_saw_keeps_its_teeth_and_takes_few_turns():
    rows = saw(1, 4_000, 1.0)
    assert thin_curves(rows, "x", "y", by="model", **SIZE | {"width": 40_000}).equals(rows)


@pytest.mark.thorough
def test_ranks_over_a_fine_grid_keep_their_changes():
    grid = np.geomspace(1e-5, 0.5, 200).tolist()
    # Points at thresholds of their own, cautious or bold, so that the order changes with the prevalence.
    own = 2 + pl.col("model").str.tail(2).cast(pl.Int64) % 6
    points = noisy_rates(thresholds=10).sort("model", "threshold")
    points = points.filter(pl.int_range(pl.len()).over("model") == own)
    ranking = nf.rank_models(nf.project_rates(points, metrics="f_beta", prevalence=grid))
    assert ranking.group_by("model").agg(pl.col("rank").n_unique())["rank"].max() > 20
    spec = nf.chart_rank_over_prevalence(ranking).to_dict()
    assert len(rows_of(spec)) <= MAX_ROWS < len(ranking)
    assert layer(spec, "lines")["mark"]["interpolate"] == "linear"
    drawn = rows_of(spec)
    assert "drawn to within" not in spec["title"]["subtitle"]
    span = math.log(0.5 / 1e-5)
    pixel = lambda r: (math.log(r["prevalence"]) / span * 520, r["rank"] / 91 * 300)  # noqa: E731
    assert len({row["model"] for row in drawn}) == ranking["model"].n_unique() == 92
    for (model,), every in ranking.group_by("model"):
        kept = [row for row in drawn if row["model"] == model]
        assert {row["prevalence"] for row in kept} >= {grid[0], grid[-1]}
        assert farthest(every.to_dicts(), kept, "prevalence", pixel) <= TOLERANCE + 1e-9
