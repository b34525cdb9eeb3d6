"""Charts are values: every test reads the specification that a chart would draw."""

import functools
import math
from typing import Any

import altair as alt
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.charts import (
    MAX_ROWS,
    chart_f_beta_over_beta,
    chart_f_beta_over_prevalence,
    chart_p3,
    chart_pr_auc_over_prevalence,
)
from nci_frames.charts.parts.theme import DASHES, PALETTE, model_style
from tests.chart_specs import layer, rows_of
from tests.comparisons import MODELS, altered, comparison
from tests.fuzz.calls import calls

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


@pytest.mark.thorough
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


@every_chart
@pytest.mark.parametrize("observed", [-0.1, 1.5, math.nan])
def test_an_impossible_observed_prevalence_is_refused(tables, name, observed):
    with pytest.raises(ParameterError, match="observed must be a prevalence"):
        DRAW[name](tables, observed=observed)


def test_thresholds_that_differ_are_not_named(tables):
    own = tables.projection.with_columns(
        threshold=pl.when(pl.col("model") == "forest").then(0.7).otherwise("threshold")
    )
    assert "each model's own threshold" in chart_p3(own).to_dict()["title"]["subtitle"]


@every_chart
def test_the_values_are_those_of_the_frame(tables, name):
    rows = pl.DataFrame(rows_of(drawn(name)))
    metric, frame = {
        "p3": ("precision", tables.projection),
        "f_prevalence": ("f_beta", tables.projection.filter(pl.col("beta") == 1)),
        "f_beta": ("f_beta", tables.projection.filter(pl.col("prevalence") == ETA)),
        "pr_auc": ("pr_auc", tables.areas),
    }[name]
    wanted = frame.filter(pl.col("metric") == metric)
    # Where the log cannot tell, the value is on the dotted line only.
    assert sorted(rows["value"].drop_nulls()) == sorted(wanted.filter("supported")["value"])


@every_chart
def test_keys_are_not_embedded(tables, name):
    frame = tables.areas if name == "pr_auc" else tables.projection
    keyed = frame.with_columns(pl.lit("<b>secret</b>").alias("<i>key</i>"))
    chart = {
        "p3": lambda: chart_p3(keyed),
        "f_prevalence": lambda: chart_f_beta_over_prevalence(keyed),
        "f_beta": lambda: chart_f_beta_over_beta(keyed, prevalence=ETA),
        "pr_auc": lambda: chart_pr_auc_over_prevalence(keyed),
    }[name]()
    text = chart.to_json()
    assert "secret" not in text
    assert "<i>key</i>" not in text


@every_chart
def test_a_chart_is_a_value(tables, name):
    before = alt.theme.active
    first, second = DRAW[name](tables).to_dict(), DRAW[name](tables).to_dict()
    assert first == second
    assert alt.theme.active == before
    assert first["config"]["legend"]["symbolLimit"] == 0


def test_the_theme_is_offered_but_not_enabled():
    assert "nci_frames" in alt.theme.names()
    assert alt.theme.active != "nci_frames"


def test_lazy_frames_are_accepted(tables):
    assert chart_p3(tables.projection.lazy()).to_dict() == chart_p3(tables.projection).to_dict()


def test_a_frame_without_ranks_is_accepted(tables):
    bare = tables.projection.drop("rank", "gap")
    assert chart_p3(bare).to_dict() == chart_p3(tables.projection).to_dict()


def test_the_order_of_rows_does_not_matter(tables):
    shuffled = tables.areas.sample(fraction=1, shuffle=True, seed=1)
    assert (
        chart_pr_auc_over_prevalence(shuffled).to_dict()
        == chart_pr_auc_over_prevalence(tables.areas).to_dict()
    )


def test_a_null_value_leaves_a_gap(tables):
    holed = tables.projection.with_columns(
        value=pl.when(pl.col("prevalence") == ETA, pl.col("model") == "forest").then(None).otherwise("value")
    )
    row = next(
        r for r in rows_of(chart_p3(holed).to_dict()) if r["model"] == "forest" and r["prevalence"] == ETA
    )
    assert row["value"] is None


@pytest.mark.thorough
def test_limits_of_a_logarithmic_axis_are_not_drawn():
    ends = comparison(prevalence=[0.0, 0.01, 1.0], beta=[0.0, 1.0, math.inf])
    assert {r["prevalence"] for r in rows_of(chart_p3(ends.projection).to_dict())} == {0.01, 1.0}
    spec = chart_f_beta_over_beta(ends.projection, prevalence=0.01).to_dict()
    assert {r["beta"] for r in rows_of(spec)} == {1.0}
    low, high = layer(spec, "lines")["encoding"]["x"]["scale"]["domain"]
    assert low < 1 < high


def test_bounds_that_differ_from_the_value_are_a_band(tables):
    bounded = tables.areas.with_columns(lower=pl.col("value") - 0.01, upper=pl.col("value") + 0.01)
    assert (
        layer(chart_pr_auc_over_prevalence(bounded).to_dict(), "band")["encoding"]["y2"]["field"] == "upper"
    )
    assert "band" not in [
        part["name"] for part in chart_pr_auc_over_prevalence(tables.areas).to_dict()["layer"]
    ]


@pytest.mark.thorough
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


def test_style_goes_by_sorted_name():
    style = model_style(["b", "a", "b"])
    assert style.models == ("a", "b")
    assert style.colours == PALETTE[:2]
    assert style.dashes == (DASHES[0], DASHES[0])


def test_a_model_that_is_not_among_the_others_changes_no_colour():
    style = model_style(["a", "b", "d"], among=["d", "b"])
    assert dict(zip(style.models, style.colours, strict=True)) == dict(zip("bda", PALETTE, strict=False))


@pytest.mark.parametrize(("names", "columns"), [(["a", "b", "c"], 3), (["a" * 90], 1), ([], 1)])
def test_the_legend_has_room_for_the_longest_name(names, columns):
    assert model_style(names).columns == columns


def test_a_grid_value_may_differ_in_its_last_digit(tables):
    assert chart_f_beta_over_beta(tables.projection, prevalence=math.nextafter(ETA, 1))


@every_chart
def test_a_metric_that_the_frame_lacks_is_refused(tables, name):
    without = altered(
        tables,
        projection=tables.projection.filter(metric="recall"),
        areas=tables.areas.filter(metric="roc_auc"),
    )
    with pytest.raises(ParameterError, match="no rows of metric"):
        DRAW[name](without)


def test_two_methods_must_be_chosen_between(tables):
    both = pl.concat([tables.areas, tables.areas.with_columns(method=pl.lit("interpolated"))])
    with pytest.raises(ParameterError, match="several methods"):
        chart_pr_auc_over_prevalence(both)
    subtitle = chart_pr_auc_over_prevalence(both, method="interpolated").to_dict()["title"]["subtitle"]
    assert "Davis and Goadrich" in subtitle
    with pytest.raises(ParameterError, match="no rows of method 'trapezoid'"):
        chart_pr_auc_over_prevalence(both, method="trapezoid")


def test_nothing_to_draw_is_refused():
    with pytest.raises(ParameterError, match=r"no precision to draw\n.*each undefined or at prevalence 0"):
        chart_p3(comparison({"a": (None, 0.1)}).projection)


def test_a_chart_has_at_most_five_thousand_rows():
    def projection(rows):
        return pl.DataFrame(
            {"model": "a", "prevalence": [10 ** (i / rows - 1) for i in range(rows)], "value": 0.5}
        ).with_columns(threshold=pl.lit(0.5), metric=pl.lit("precision"), beta=pl.lit(None, dtype=pl.Float64))

    assert len(rows_of(chart_p3(projection(MAX_ROWS)).to_dict())) == 5_000
    assert len(rows_of(chart_p3(projection(MAX_ROWS + 1)).to_dict())) == 2
    # Teeth of ten pixels, of which none can be left out.
    zigzag = (
        projection(50).drop("model").join(pl.DataFrame({"model": [f"m{i}" for i in range(101)]}), how="cross")
    )
    zigzag = zigzag.with_columns(value=pl.col("prevalence").rank("dense") % 2 * 1.0)
    with pytest.raises(
        ParameterError, match=r"at most 5,000 rows\n.*5,050 rows, models: 101\n.*coarser grid"
    ):
        chart_p3(zigzag)


def test_a_model_without_a_name_is_refused() -> None:
    rates = nf.compute_rates(nf.expected_counts(tpr=0.6, fpr=0.1, ratio=9, size=1000))
    unnamed = rates.with_columns(model=pl.lit(None, pl.String))
    with pytest.raises(nf.SchemaError, match="a model has no name"):
        nf.chart_contingency_space(unnamed)


@pytest.mark.parametrize(
    ("name", "place", "change", "told"),
    [
        ("chart_imbalance_sensitivity", 0, {"ratio": 0.0}, "numbers above 0"),
        ("chart_precision_uncertainty", 1, {"prevalence": 0.0}, "numbers above 0"),
        ("chart_winner_ranges", 0, {"over": "time"}, "over must be one of 'prevalence', 'beta'"),
        ("chart_tpr_ppv", 1, {"threshold": None}, "a winner is not among the points"),
    ],
)
def test_what_cannot_be_drawn_is_named(name: str, place: int, change: dict[str, Any], told: str) -> None:
    call = calls()[name]
    frames = list(call.frames)
    frames[place] = frames[place].with_columns(**{key: pl.lit(value) for key, value in change.items()})
    with pytest.raises(ParameterError, match=told):
        call.function(*frames, **call.options)


@pytest.mark.parametrize(
    ("draw", "error", "told"),
    [
        (lambda t: chart_f_beta_over_prevalence(t.projection, beta=7), ParameterError,
         r"no rows of beta 7\n.*found: +beta 0\.1, 0\.1"),
        (lambda t: chart_f_beta_over_beta(t.projection, prevalence=0.3), ParameterError,
         r"no rows of prevalence 0\.3\n.*found: +prevalence 0\.0001"),
        (lambda t: chart_p3(t.points), SchemaError, "not a projection frame"),
        (lambda t: chart_pr_auc_over_prevalence(t.projection), SchemaError, "areas frame"),
        (lambda t: chart_p3(pl.concat([t.projection, t.projection.with_columns(threshold=pl.lit(0.9))])),
         ParameterError, "2 rows that differ in 'threshold'"),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_chart_is_refused(tables, draw, error, told):
    with pytest.raises(error, match=told):
        draw(tables)


def test_a_precision_band_is_drawn_as_it_is() -> None:
    points = comparison().points.select("model", "threshold", "tp", "fp", "fn", "tn")
    rates = nf.compute_rates(points, interval="wilson")
    band = nf.precision_band(rates, prevalence=[0.001, 0.01, 0.1])
    spec = nf.chart_p3(band).to_dict()
    assert layer(spec, "band")["encoding"]["y"]["field"] == "lower"
    columns = ("model", "prevalence", "lower", "upper")
    assert pl.DataFrame(rows_of(spec)).select(columns).equals(band.select(columns))
    told = {item["title"] for item in layer(spec, "targets")["encoding"]["tooltip"]}
    assert {"lower bound", "upper bound"} <= told
