"""Charts of maps and contests: what their specifications draw, and that names stay data."""

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given

import nci_frames as nf
from nci_frames.charts.parts.hatching import hatched
from nci_frames.charts.parts.theme import WIDTH
from nci_frames.evaluation.support.reasons import too_few
from tests.chart_specs import layers, rows_of
from tests.charts.drawn import rates
from tests.logs import counts_at, random_log


def ranking(rates: pl.DataFrame) -> pl.DataFrame:
    points = rates.filter(threshold=0.5)
    return nf.rank_models(nf.project_rates(points, metrics="f_beta", prevalence=[0.0, 0.001, 0.1, 0.5]))


def test_the_map_has_straight_borders_at_lambda():
    decisions = nf.decision_map(rates())
    spec = nf.chart_decision_map(decisions).to_dict()
    rows = rows_of(spec, "bands")
    # The map is cut where support ends; the bands of one model are not.
    assert len(rows) == 2 * decisions.select(pl.col("model").rle_id().max() + 1).item()
    (veil,) = decisions.filter(~pl.col("supported")).select("lambda_start").rows()
    assert {row["lambda_start"] for row in rows_of(spec, "untold")} == set(veil)
    for row in rows:
        # On a border odds·beta² is 1/lambda.
        if row["lambda_start"] > 0:
            assert row["odds"] * row["beta_high"] ** 2 == pytest.approx(1 / row["lambda_start"])
    encoding = layers(spec)["bands"]["encoding"]
    assert encoding["x"]["scale"]["type"] == encoding["y"]["scale"]["type"] == "log"


def test_the_order_of_the_rows_does_not_change_the_bar():
    counts = counts_at([60, 61], [1, 20], 100, 1000)
    ranges = nf.winner_ranges(nf.compute_rates(counts), metric="f_beta", over="beta", prevalence=0.01)
    assert ranges["end"][0] > 10
    drawn = nf.chart_winner_ranges(ranges).to_dict()
    assert [row["model"] for row in rows_of(drawn, "bars")] == ["a", "b"]
    assert nf.chart_winner_ranges(ranges.reverse()).to_dict() == drawn


@pytest.mark.parametrize(
    ("over", "ends"), [("prevalence", (1e-9, 1e-7)), ("beta", (1e-3, 1e-2)), ("beta", (20, 50))]
)
def test_ranges_beyond_the_usual_axis_are_drawn(over, ends):
    known = nf.compute_rates(counts_at([60, 61], [1, 20], 100, 1000))
    ranges = nf.winner_ranges(known, metric="f_beta", over=over, start=ends[0], end=ends[1])
    drawn = nf.chart_winner_ranges(ranges).to_dict()
    bars = rows_of(drawn, "bars")
    assert (bars[0]["start"], bars[-1]["end"]) == ends
    low, high = layers(drawn)["bars"]["encoding"]["x"]["scale"]["domain"]
    assert low < ends[0]
    assert ends[1] < high


def test_the_tooltip_of_a_range_names_its_ends_not_those_of_the_axis():
    known = nf.compute_rates(counts_at([60, 61], [1, 20], 100, 1000))
    rows = rows_of(
        nf.chart_winner_ranges(nf.winner_ranges(known, metric="f_beta", over="beta")).to_dict(), "targets"
    )
    assert rows[0]["range"].startswith("0 to ")
    assert rows[-1]["range"].endswith(" to ∞")


def test_a_bar_without_an_upper_end_is_drawn_to_the_edge():
    known = nf.compute_rates(counts_at([70, 80], [1, 200], 100, 1000), interval="hoeffding")
    table = nf.project_rates(known, metrics="lr_plus", prevalence=0.1, band=True)
    assert table["upper"].is_infinite().to_list() == [True, False]
    spec = nf.chart_intervals(table, metric="lr_plus").to_dict()
    assert [(row["model"], row["upper"] is None) for row in rows_of(spec, "open") if row["open"]] == [
        ("a", True)
    ]
    (only,) = layers(spec)["open"]["transform"]
    assert only == {"filter": "datum.open"}
    assert layers(spec)["open"]["encoding"]["x2"] == {"value": "width"}


def test_an_infinite_value_is_the_highest():
    known = nf.compute_rates(counts_at([70, 60], [1, 0], 100, 1000), interval="wilson")
    table = nf.project_rates(known, metrics="lr_plus", prevalence=0.1, band=True)
    spec = nf.chart_intervals(table, metric="lr_plus").to_dict()
    sort = layers(spec)["points"]["encoding"]["y"]["sort"]
    assert (sort["field"], sort["order"]) == ("place", "ascending")
    assert [row["model"] for row in sorted(rows_of(spec, "points"), key=lambda row: row["place"])] == [
        "b",
        "a",
    ]


def test_a_title_tells_of_intervals_only_if_there_are_any():
    known = nf.compute_rates(counts_at([60, 61], [1, 20], 100, 1000))
    alone = nf.project_rates(known, metrics="f_beta", prevalence=0.1)
    title = nf.chart_intervals(alone).to_dict()["title"]
    assert title == {"text": "F1 of each model at prevalence 0.1", "subtitle": "without intervals"}


def test_a_rank_of_a_value_that_the_log_does_not_support_is_dotted():
    frame = ranking(rates()).with_columns(supported=pl.col("prevalence") > 0.001, reason=pl.lit(too_few(900)))
    spec = nf.chart_rank_over_prevalence(frame).to_dict()
    assert spec["title"]["subtitle"].endswith("; dotted: too few negatives")
    # Dots are below the whole line, and the line has gaps where the log cannot tell.
    assert layers(spec)["untold"]["encoding"]["y"]["field"] == "rank"
    line = layers(spec)["lines"]
    (made,) = line["transform"]
    assert made["calculate"] == "datum.supported === false ? null : datum.rank"
    assert line["encoding"]["y"]["field"] == made["as"]
    assert {row["prevalence"] for row in rows_of(spec) if row["supported"] is False} == {0.001}


@pytest.mark.parametrize(("models", "shown"), [(2, [1, 2]), (11, [1, 3, 5, 7, 9, 11])])
def test_an_axis_of_ranks_names_each_once(models, shown):
    rows = [(f"m{i:02d}", eta, i + 1) for i in range(models) for eta in (0.01, 0.1)]
    table = pl.DataFrame(rows, ["model", "prevalence", "rank"], orient="row")
    table = table.with_columns(metric=pl.lit("pr_auc"), value=0.5, gap=0.0)
    y = layers(nf.chart_rank_over_prevalence(table).to_dict())["lines"]["encoding"]["y"]
    assert y["axis"]["values"] == shown


def test_the_name_of_an_area_that_is_as_wide_everywhere_stands_in_the_middle():
    grid = [1e-4, 1e-3, 1e-2, 0.1, 0.5]
    frame = nf.probability_best(rates(("a",)), metric="f_beta", threshold=0.5, prevalence=grid, repeats=20)
    told = frame.with_columns(supported=pl.lit(value=True))
    (name,) = rows_of(nf.chart_probability_best(told).to_dict(), "names")
    assert (name["name"], name["prevalence"]) == ("a", pytest.approx(1e-2))


def test_a_model_without_a_rank_leaves_a_gap():
    frame = ranking(rates()).with_columns(
        rank=pl.when(pl.col("model") == "a", pl.col("prevalence") == 0.1).then(None).otherwise("rank")
    )
    rows = rows_of(nf.chart_rank_over_prevalence(frame).to_dict(), "lines")
    assert [row["rank"] for row in rows if row["model"] == "a" and row["prevalence"] == 0.1] == [None]


def test_an_observed_prevalence_outside_the_map_is_not_marked():
    spec = nf.chart_decision_map(nf.decision_map(rates()), observed=0.75).to_dict()
    assert "rule" not in layers(spec)


@pytest.mark.thorough
def test_areas_of_models_of_one_colour_differ_in_depth():
    names = [f"m{i}" for i in range(10)]
    best = nf.probability_best(rates(tuple(names)), threshold=0.5, prevalence=[0.01, 0.1], repeats=20)
    encoding = layers(nf.chart_probability_best(best).to_dict())["areas"]["encoding"]
    colours, depths = (encoding[channel]["scale"]["range"] for channel in ("color", "opacity"))
    look = dict(zip(names, zip(colours, depths, strict=True), strict=True))
    assert len(set(look.values())) == 10
    assert look["m0"][0] == look["m8"][0]


@pytest.mark.thorough
def test_areas_are_the_probabilities_and_pale_where_the_log_cannot_tell():
    places = [1e-4, 1e-3, 1e-2, 1e-1]
    share = {"a": [1.0, 0.9, 0.3, 0.1], "b": [None, 0.1, 0.7, 0.9]}
    best = pl.concat(
        pl.DataFrame({"metric": "f_beta", "method": None, "prevalence": places, "beta": 1.0, "model": model,
                      "value": 0.5, "probability": shares, "repeats": 100, "reason": too_few(900),
                      "supported": [model == "b", True, True, True]})
        for model, shares in share.items()
    ).cast({"repeats": pl.Int64})  # fmt: skip
    spec = nf.chart_probability_best(best).to_dict()
    # What is pale reaches the next prevalence, as dotted lines do; a name stands where the log can tell.
    assert [row["to"] for row in rows_of(spec, "untold")] == [1.0, 1.0, None, None]
    assert spec["title"]["subtitle"].endswith("; hatched: too few negatives")
    assert {row["name"]: row["middle"] for row in rows_of(spec, "names")} == {
        "a": pytest.approx(0.45),
        "b": pytest.approx(0.55),
    }
    drawn = [edge for row in rows_of(spec, "areas") for edge in (row["from"], row["to"])]
    edges = [*((0.0, p) for p in share["a"]), *((a, 1.0) for a in share["a"])]
    assert drawn == pytest.approx([edge for pair in edges for edge in pair])
    # A model that is never the best is no doubt; where nobody can tell, no name stands.
    never = best.with_columns(supported=pl.col("probability").is_null())
    assert "names" not in layers(nf.chart_probability_best(never).to_dict())
    assert "untold" not in layers(nf.chart_probability_best(best.filter(model="b")).to_dict())


def test_intervals_say_where_the_log_cannot_tell():
    table = nf.project_rates(rates().filter(threshold=0.5), metrics="f_beta", prevalence=0.1, band=True)
    unsupported = table.with_columns(supported=pl.col("model") != "a")
    (rows,) = nf.chart_intervals(unsupported).to_dict()["datasets"].values()
    assert {row["model"]: row["supported"] for row in rows} == {"a": False, "b": True}


@given(
    st.floats(-1, 11),
    st.floats(0.3, 6),
    st.sampled_from([(1.0, 0.0), (6.0, 4.0)]),
    st.sampled_from([44, 380]),
)
def test_hatching_fills_its_region_and_nothing_else(low, width, leaning, height):
    across, up = leaning
    region = (low / 11 * (across + up), (low / 11 + width / 6) * (across + up))
    lines = hatched([region], height=height, across=across, up=up)
    for x, y in (("across", "up"), ("across_end", "up_end")):
        where = across * lines[x] + up * lines[y]
        assert where.is_between(region[0] - 1e-9, region[1] + 1e-9).all()
        assert lines[x].is_between(0, 1).all()
        assert lines[y].is_between(-1e-9, 1 + 1e-9).all()
    # Along the middle, where it is far enough from the ends of the region, there is a line every few pixels.
    ends = sorted(min(max((edge - up / 2) / across, 0.0), 1.0) for edge in region)
    crossing = lines.filter(pl.col("up") <= 0.5, pl.col("up_end") >= 0.5)
    assert abs(len(crossing) - (ends[1] - ends[0]) * WIDTH / 9) <= 2


@pytest.mark.thorough
def test_what_nobody_knows_is_hatched_and_named_by_no_model():
    counts = nf.count_confusion(random_log(600), thresholds="exact", by=[])
    decisions = nf.decision_map(nf.compute_rates(counts))
    certified = nf.certify_decision_map(counts, repeats=200)
    spec = nf.chart_decision_map(decisions, certified=certified).to_dict()
    unknown = certified.filter(verdict="unknown").select("lambda_start", "lambda_end").unique().rows()
    assert unknown
    lines = pl.DataFrame(rows_of(spec, "hatching"))
    for odds, beta in (("across", "up"), ("across_end", "up_end")):
        for place in (1 / (lines[odds] * lines[beta] ** 2)).to_list():
            assert any(start * (1 - 1e-6) <= place <= end * (1 + 1e-6) for start, end in unknown)
    for row in rows_of(spec, "names") if "names" in layers(spec) else []:
        place = 1 / (row["odds"] * row["beta"] ** 2)
        assert not any(start < place < end for start, end in unknown)
        there = decisions.filter(pl.col("lambda_start") <= place, pl.col("lambda_end") > place)
        assert there["model"].to_list() == [row["name"]]
