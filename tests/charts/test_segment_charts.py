"""Segments side by side, and why they differ; the band of precision and its widest place; sub-samples."""

import datetime as dt
import math

import polars as pl
import pytest

import nci_frames as nf
from tests.chart_specs import panel_layer, panel_rows
from tests.charts.drawn import GRID, apart, rates


def rates_of(segments=("us", "de", None), models=("a", "b")):
    return apart(models, "country", segments)


def precision(rates):
    return nf.project_rates(rates, metrics="precision", prevalence=GRID)


def lines_of(spec):
    return [row for row in panel_rows(spec) if row["model"] is not None]


@pytest.mark.parametrize(
    ("segments", "names"),
    [
        (("us", "de", None), ["de", "us", "missing"]),
        (("missing", None), ["missing", "missing (null)"]),
        ((10, 9, None), ["9", "10", "missing"]),
        ((True, False), ["false", "true"]),
        ((dt.date(2024, 2, 1), dt.date(2023, 12, 1)), ["2023-12-01", "2024-02-01"]),
    ],
)
def test_segments_are_sorted_by_their_values(segments, names):
    rates = rates_of(segments)
    spec = nf.chart_segments(precision(rates), segments="country", observed=rates).to_dict()
    rows = pl.DataFrame(panel_rows(spec), infer_schema_length=None)
    assert rows.select("place", "segment").unique().sort("place")["segment"].to_list() == names


def test_areas_have_panels_and_values_outside_0_and_1_an_axis_of_their_own():
    areas = nf.rank_models(nf.compute_areas(rates_of(), prevalence=GRID))
    spec = nf.chart_segments(areas, segments="country", metric="pr_auc").to_dict()
    assert spec["title"]["text"] == "PR-AUC by segment"
    assert "observed" not in [part["name"] for part in spec["spec"]["layer"]]
    assert "scale" in panel_layer(spec, "lines")["encoding"]["y"]
    spread = areas.with_columns(value=3 * pl.col("value") - 1)
    spec = nf.chart_segments(spread, segments="country", metric="pr_auc").to_dict()
    assert "scale" not in panel_layer(spec, "lines")["encoding"]["y"]


def test_what_a_segment_cannot_tell_is_dotted():
    projection = precision(rates_of())
    told = nf.chart_segments(projection.drop("supported", "reason"), segments="country").to_dict()
    spec = nf.chart_segments(projection, segments="country").to_dict()
    assert "untold" not in str(told)
    assert spec["title"]["subtitle"].endswith("; dotted: too few negatives")
    assert panel_layer(spec, "untold")["mark"]["strokeDash"] == [1, 4]
    told = projection.filter(pl.col("prevalence") > 0).sort("country", "model", "prevalence", nulls_last=True)
    assert [row["supported"] for row in lines_of(spec)] == told["supported"].to_list()


@pytest.mark.thorough
def test_many_models_in_many_segments_are_thinned_to_the_size_of_a_panel():
    many = rates_of(tuple(f"s{i:02d}" for i in range(12)), tuple(f"m{i:02d}" for i in range(45)))
    grid = [10 ** (-4 + k / 14) for k in range(50)]
    projection = nf.project_rates(many, metrics="precision", prevalence=grid)
    spec = nf.chart_segments(projection, segments="country", observed=many).to_dict()
    rows = lines_of(spec)
    assert len(rows) <= 5_000 < projection.height
    assert len({(row["segment"], row["model"]) for row in rows}) == 12 * 45
    assert "drawn to within" in spec["title"]["subtitle"]


def parts_of(rates, **options):
    return nf.decompose_difference(rates, metric="precision", over="country", **options)


def bars(spec):
    return [row for row in panel_rows(spec) if row["part"] is not None]


def totals(spec):
    return [row for row in panel_rows(spec) if row["part"] is None and row["place"] > 0]


def test_the_parts_of_a_bar_sum_to_its_diamond():
    spec = nf.chart_decomposition(parts_of(rates_of(), reference="de")).to_dict()
    for total in totals(spec):
        place = (total["model"], total["segment"])
        ours = [row["amount"] for row in bars(spec) if (row["model"], row["segment"]) == place]
        assert len(ours) == 2
        assert math.fsum(ours) == pytest.approx(total["difference"], abs=1e-12)
        assert total["difference"] == pytest.approx(total["value"] - total["reference_value"])
    assert {row["segment"] for row in totals(spec)} == {"us", "missing"}
    x = panel_layer(spec, "parts")["encoding"]["x"]
    assert (x["field"], x["stack"]) == ("amount", "zero")
    assert panel_layer(spec, "total")["encoding"]["x"]["field"] == "difference"


def test_the_reference_stands_above_the_others():
    spec = nf.chart_decomposition(parts_of(rates_of(), reference="us")).to_dict()
    (name,) = {row["segment"] for row in panel_rows(spec) if row["place"] == 0}
    assert name == "us"
    nameless = nf.chart_decomposition(parts_of(rates_of((None, "missing")))).to_dict()
    assert {row["segment"]: row["place"] for row in panel_rows(nameless)} == {
        "missing (null)": 0,
        "missing": 1,
    }


def test_what_has_no_decomposition_says_so():
    rates = rates_of(("at", "de"))
    missed = {"tp": 0, "fp": 0, "fn": pl.col("positives"), "tn": pl.col("negatives")}
    in_de = pl.col("country") == "de"
    nothing = nf.compute_rates(
        rates.with_columns(
            pl.when(in_de).then(cell).otherwise(name).alias(name) for name, cell in missed.items()
        )
    )
    spec = nf.chart_decomposition(parts_of(nothing)).to_dict()
    assert bars(spec) == []
    assert {(row["note"], row["reason"]) for row in totals(spec)} == {
        ("no decomposition", "the metric is undefined in the segment")
    }


def bands():
    points = rates().filter(threshold=0.5)
    return nf.precision_band(points, prevalence=GRID), nf.max_precision_uncertainty(points)


def test_an_undefined_width_leaves_the_curve():
    band, widest = bands()
    undefined = widest.with_columns(pl.lit(None, pl.Float64).alias(c) for c in ("delta", "prevalence"))
    spec = nf.chart_precision_uncertainty(band, undefined).to_dict()
    values = [row["value"] for row in panel_rows(spec) if row["value"] is not None]
    assert values == band.filter(pl.col("prevalence") > 0)["value"].to_list()
    assert {row["label"] for row in panel_rows(spec)} == {None, "Δ undefined"}
