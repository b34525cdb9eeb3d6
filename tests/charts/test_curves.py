"""Lines over prevalence and beta: every test reads the specification that a chart would draw."""

import functools
import math

import altair as alt
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.charts.curves import (
    chart_f_beta_over_beta,
    chart_f_beta_over_prevalence,
    chart_p3,
    chart_pr_auc_over_prevalence,
)
from nci_frames.charts.parts.selection import MAX_ROWS
from nci_frames.charts.parts.theme import PALETTE, model_style
from tests.chart_specs import layer, rows_of
from tests.comparisons import MODELS, comparison

ETA = 0.01
DRAW = {
    "p3": lambda c, **o: chart_p3(c.projection, **o),
    "f_prevalence": lambda c, **o: chart_f_beta_over_prevalence(c.projection, **o),
    "f_beta": lambda c, **o: chart_f_beta_over_beta(c.projection, prevalence=ETA, **o),
    "pr_auc": lambda c, **o: chart_pr_auc_over_prevalence(c.areas, **o),
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


@pytest.mark.parametrize("name", OVER_PREVALENCE)
@pytest.mark.parametrize("observed", [None, 0.0])
def test_without_a_place_on_the_axis_there_is_no_rule(tables, name, observed):
    spec = DRAW[name](tables, observed=observed).to_dict()
    assert not any(part["name"].startswith("rule") for part in spec["layer"])


def test_the_axis_reaches_an_observed_prevalence_outside_the_grid(tables):
    low, high = layer(chart_p3(tables.projection, observed=1e-6).to_dict(), "lines")["encoding"]["x"][
        "scale"
    ]["domain"]
    assert low == 1e-6
    assert high == max(tables.prevalence)


def test_thresholds_that_differ_are_not_named(tables):
    own = tables.projection.with_columns(
        threshold=pl.when(pl.col("model") == "forest").then(0.7).otherwise("threshold")
    )
    assert "each model's own threshold" in chart_p3(own).to_dict()["title"]["subtitle"]


def test_a_null_value_leaves_a_gap(tables):
    holed = tables.projection.with_columns(
        value=pl.when(pl.col("prevalence") == ETA, pl.col("model") == "forest").then(None).otherwise("value")
    )
    row = next(
        r for r in rows_of(chart_p3(holed).to_dict()) if r["model"] == "forest" and r["prevalence"] == ETA
    )
    assert row["value"] is None


def test_limits_of_a_logarithmic_axis_are_not_drawn():
    ends = comparison(prevalence=[0.0, 0.01, 1.0], beta=[0.0, 1.0, math.inf])
    assert {r["prevalence"] for r in rows_of(chart_p3(ends.projection).to_dict())} == {0.01, 1.0}
    spec = chart_f_beta_over_beta(ends.projection, prevalence=0.01).to_dict()
    assert {r["beta"] for r in rows_of(spec)} == {1.0}
    low, high = layer(spec, "lines")["encoding"]["x"]["scale"]["domain"]
    assert low < 1 < high


def test_more_models_than_colours_differ_by_stroke():
    many = comparison(
        {f"m{i:02d}": (0.5, 0.01 + i / 1000) for i in range(20)}, prevalence=[0.01, 0.1], beta=[1.0]
    )
    encoding = layer(chart_p3(many.projection).to_dict(), "lines")["encoding"]
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


def test_a_model_that_is_not_among_the_others_changes_no_colour():
    style = model_style(["a", "b", "d"], among=["d", "b"])
    assert dict(zip(style.models, style.colours, strict=True)) == dict(zip("bda", PALETTE, strict=False))


@pytest.mark.parametrize(("names", "columns"), [(["a", "b", "c"], 3), (["a" * 90], 1), ([], 1)])
def test_the_legend_has_room_for_the_longest_name(names, columns):
    assert model_style(names).columns == columns


def test_a_chart_has_at_most_five_thousand_rows():
    def projection(rows):
        return pl.DataFrame(
            {"model": "a", "prevalence": [10 ** (i / rows - 1) for i in range(rows)], "value": 0.5}
        ).with_columns(threshold=pl.lit(0.5), metric=pl.lit("precision"), beta=pl.lit(None, dtype=pl.Float64))

    assert len(rows_of(chart_p3(projection(MAX_ROWS)).to_dict())) == 5_000
    assert len(rows_of(chart_p3(projection(MAX_ROWS + 1)).to_dict())) == 2


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
    frame, drawn = tables.projection, chart_p3(tables.projection).to_dict()
    shuffled = frame.sample(fraction=1, shuffle=True, seed=1)
    # Nor are keys embedded.
    keyed = frame.with_columns(pl.lit("<b>secret</b>").alias("<i>key</i>"))
    for other in (frame.lazy(), frame.drop("rank", "gap"), shuffled, keyed):
        assert chart_p3(other).to_dict() == drawn
    # A value of a grid may differ in its last digit.
    assert chart_f_beta_over_beta(frame, prevalence=math.nextafter(ETA, 1))


def test_the_theme_is_offered_but_not_enabled(tables):
    chart_p3(tables.projection)
    assert "nci_frames" in alt.theme.names()
    assert alt.theme.active != "nci_frames"
    assert drawn("p3")["config"]["legend"]["symbolLimit"] == 0


GRID = [0.0, 0.001, 0.01, 0.1, 1.0]


def projection_of(cost):
    cells = {"tp": [80, 81], "fp": [10, 11], "fn": [20, 19], "tn": [990, 989]}
    frame = pl.DataFrame({"model": ["a", "b"], "threshold": 0.5, **cells})
    return nf.project_rates(nf.compute_rates(frame), metrics=[cost], prevalence=GRID)


def test_costs_are_those_of_the_formula_and_dotted_where_negatives_are_too_few():
    projection = projection_of(nf.expected_cost(c_fn=20)).filter(model="a")
    spec = nf.chart_cost(projection).to_dict()
    drawn = pl.DataFrame(rows_of(spec, "untold"))
    assert drawn["prevalence"].to_list() == GRID[1:]
    assert drawn["value"].to_list() == pytest.approx([e * 0.2 * 20 + (1 - e) * 0.01 for e in GRID[1:]])
    supported = projection.filter(pl.col("prevalence") > 0)["supported"]
    assert drawn["supported"].to_list() == supported.to_list()
    # The line covers the dots where the log can tell.
    (told,) = layer(spec, "lines")["transform"]
    assert told == {"calculate": "datum.supported === false ? null : datum.value", "as": "told"}
    assert spec["title"]["subtitle"].startswith("expected_cost(c_fn=20) at threshold 0.5; dotted: ")


@pytest.mark.parametrize(
    ("cost", "title", "scale", "subtitle"),
    [
        (nf.expected_cost, "Expected cost", {"zero": True, "domainMin": 0}, "0.5; dotted"),
        (nf.normalised_cost, "Normalised cost", {"zero": True, "domainMin": 0}, "0.5; dotted"),
        (nf.relative_cost, "Relative cost", {"domain": [0, 2.0]}, "0.5; dashed: never or always positive"),
    ],
)
def test_only_relative_costs_have_a_rule_and_are_cut(cost, title, scale, subtitle):
    chart = nf.chart_cost(projection_of(cost()))
    spec, cut = chart.to_dict(), cost is nf.relative_cost
    line = layer(spec, "lines")
    assert (line["encoding"]["y"]["scale"], line["mark"]["clip"]) == (scale, cut)
    assert ("trivial" in [part["name"] for part in spec["layer"]]) == cut
    assert spec["title"]["text"] == f"{title} over prevalence"
    assert subtitle in spec["title"]["subtitle"]
    assert "Infinity" not in chart.to_json()
    # Of the points above 2, the first is kept; the model has a place in the legend whatever its costs.
    above = [row for row in rows_of(spec, "points") if cut and row["value"] > 2]
    assert len(above) <= 2
    assert line["encoding"]["color"]["scale"]["domain"] == ["a", "b"]


def test_a_relative_cost_that_stays_low_is_not_cut():
    low = projection_of(nf.relative_cost()).filter(pl.col("value") < 1.5)
    y = layer(nf.chart_cost(low).to_dict(), "lines")["encoding"]["y"]
    assert (y["title"], y["scale"]) == ("relative cost", {"zero": True, "domainMin": 0})
