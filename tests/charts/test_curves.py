"""Lines over prevalence and beta: every test reads the specification that a chart would draw."""

import functools
import math

import altair as alt
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.charts.parts.selection import MAX_ROWS
from nci_frames.charts.parts.theme import ModelStyle
from tests.cases import first_quick
from tests.chart_specs import layer, rows_of
from tests.comparisons import MODELS, comparison

ETA = 0.01
DRAW = {
    "p3": lambda c, **o: nf.chart_p3(c.projection, **o),
    "f_prevalence": lambda c, **o: nf.chart_f_beta_over_prevalence(c.projection, **o),
    "f_beta": lambda c, **o: nf.chart_f_beta_over_beta(c.projection, prevalence=ETA, **o),
    "pr_auc": lambda c, **o: nf.chart_pr_auc_over_prevalence(c.areas, **o),
}
OVER_PREVALENCE = ["p3", "f_prevalence", "pr_auc"]
every_chart = pytest.mark.parametrize("name", list(DRAW))


@pytest.fixture(scope="module")
def tables():
    return comparison()


@functools.cache
def drawn(name):
    """The specification of a chart, for tests that read it."""
    return DRAW[name](comparison()).to_dict()


@every_chart
def test_an_undefined_model_keeps_its_place_in_the_legend(name):
    spec = DRAW[name](comparison({**MODELS, "aa undefined": (None, 0.1)})).to_dict()
    assert layer(spec, "lines")["encoding"]["color"]["scale"]["domain"][0] == "aa undefined"


@pytest.mark.parametrize("name", first_quick(OVER_PREVALENCE))
@pytest.mark.parametrize("observed", [None, 0.0])
def test_without_a_place_on_the_axis_there_is_no_rule(tables, name, observed):
    spec = DRAW[name](tables, observed=observed).to_dict()
    assert not any(part["name"].startswith("rule") for part in spec["layer"])


def test_the_axis_reaches_an_observed_prevalence_outside_the_grid(tables):
    lines = layer(nf.chart_p3(tables.projection, observed=1e-6).to_dict(), "lines")
    low, high = lines["encoding"]["x"]["scale"]["domain"]
    assert low == 1e-6
    assert high == max(tables.prevalence)


def test_thresholds_that_differ_are_not_named(tables):
    own = tables.projection.with_columns(
        threshold=pl.when(pl.col("model") == "forest").then(0.7).otherwise("threshold")
    )
    assert "each model's own threshold" in nf.chart_p3(own).to_dict()["title"]["subtitle"]


def test_a_null_value_leaves_a_gap(tables):
    holed = tables.projection.with_columns(
        value=pl.when(pl.col("prevalence") == ETA, pl.col("model") == "forest").then(None).otherwise("value")
    )
    row = next(
        r for r in rows_of(nf.chart_p3(holed).to_dict()) if r["model"] == "forest" and r["prevalence"] == ETA
    )
    assert row["value"] is None


def test_limits_of_a_logarithmic_axis_are_not_drawn():
    ends = comparison(prevalence=[0.0, 0.01, 1.0], beta=[0.0, 1.0, math.inf])
    assert {r["prevalence"] for r in rows_of(nf.chart_p3(ends.projection).to_dict())} == {0.01, 1.0}
    spec = nf.chart_f_beta_over_beta(ends.projection, prevalence=0.01).to_dict()
    assert {r["beta"] for r in rows_of(spec)} == {1.0}
    low, high = layer(spec, "lines")["encoding"]["x"]["scale"]["domain"]
    assert low < 1 < high


def test_more_models_than_colours_differ_by_stroke():
    many = comparison(
        {f"m{i:02d}": (0.5, 0.01 + i / 1000) for i in range(20)}, prevalence=[0.01, 0.1], beta=[1.0]
    )
    encoding = layer(nf.chart_p3(many.projection).to_dict(), "lines")["encoding"]
    pairs = list(
        zip(
            encoding["color"]["scale"]["range"],
            map(tuple, encoding["strokeDash"]["scale"]["range"]),
            strict=True,
        )
    )
    assert len(set(pairs)) == 20
    assert encoding["strokeDash"]["scale"]["domain"] == encoding["color"]["scale"]["domain"]
    assert encoding["strokeDash"]["title"] == encoding["color"]["title"]  # or there would be two legends


@pytest.mark.parametrize(("names", "columns"), [(["a", "b", "c"], 3), (["a" * 90], 1), ([], 1)])
def test_the_legend_has_room_for_the_longest_name(names, columns):
    assert ModelStyle(names).columns == columns


def test_a_chart_has_at_most_five_thousand_rows():
    def projection(rows):
        return pl.DataFrame(
            {"model": "a", "prevalence": [10 ** (i / rows - 1) for i in range(rows)], "value": 0.5}
        ).with_columns(threshold=pl.lit(0.5), metric=pl.lit("precision"), beta=pl.lit(None, dtype=pl.Float64))

    assert len(rows_of(nf.chart_p3(projection(MAX_ROWS)).to_dict())) == 5_000
    assert len(rows_of(nf.chart_p3(projection(MAX_ROWS + 1)).to_dict())) == 2


def test_a_precision_band_is_drawn_as_it_is():
    points = comparison().points.select("model", "threshold", "tp", "fp", "fn", "tn")
    rates = nf.compute_rates(points, interval="wilson")
    band = nf.precision_band(rates, prevalence=[0.001, 0.01, 0.1])
    spec = nf.chart_p3(band).to_dict()
    assert layer(spec, "band")["encoding"]["y"]["field"] == "lower"
    columns = ("model", "prevalence", "lower", "upper")
    assert pl.DataFrame(rows_of(spec)).select(columns).equals(band.select(columns))
    told = {item["title"] for item in layer(spec, "targets")["encoding"]["tooltip"]}
    assert {"lower bound", "upper bound"} <= told


@pytest.mark.thorough
def test_rows_may_be_lazy_without_ranks_with_keys_and_in_any_order(tables):
    frame, drawn = tables.projection, nf.chart_p3(tables.projection).to_dict()
    shuffled = frame.sample(fraction=1, shuffle=True, seed=1)
    # Nor are keys embedded.
    keyed = frame.with_columns(pl.lit("<b>secret</b>").alias("<i>key</i>"))
    for other in (frame.lazy(), frame.drop("rank", "gap"), shuffled, keyed):
        assert nf.chart_p3(other).to_dict() == drawn
    # A value of a grid may differ in its last digit.
    assert nf.chart_f_beta_over_beta(frame, prevalence=math.nextafter(ETA, 1))


def test_the_theme_is_offered_but_not_enabled(tables):
    nf.chart_p3(tables.projection)
    assert "nci_frames" in alt.theme.names()
    assert alt.theme.active != "nci_frames"
    assert drawn("p3")["config"]["legend"]["symbolLimit"] == 0
