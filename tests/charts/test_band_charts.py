"""The band of precision and its widest place; sub-samples against the adjusted curve."""

import polars as pl

import nci_frames as nf
from tests.chart_specs import panel_layer, panel_rows
from tests.charts.drawn import GRID, rates


def frames():
    points = rates().filter(threshold=0.5)
    return nf.precision_band(points, prevalence=GRID), nf.max_precision_uncertainty(points)


def test_the_widest_place_is_marked_with_delta_and_its_prevalence():
    band, widest = frames()
    spec = nf.chart_precision_uncertainty(band, widest).to_dict()
    marks = [row for row in panel_rows(spec) if row["label"]]
    assert [(m["model"], m["delta"], m["at"]) for m in marks] == widest.select(
        "model", "delta", "prevalence"
    ).rows()
    assert marks[0]["label"] == f"Δ = {marks[0]['delta']:.3g} at η = {marks[0]['at']:.3g}"
    assert panel_layer(spec, "widest")["encoding"]["x"]["field"] == "at"
    curve = pl.DataFrame([row for row in panel_rows(spec) if row["value"] is not None])
    columns = ["model", "prevalence", "value", "lower", "upper"]
    assert curve.select(columns).equals(band.filter(pl.col("prevalence") > 0).select(columns))


def test_an_undefined_width_leaves_the_curve():
    band, widest = frames()
    undefined = widest.with_columns(pl.lit(None, pl.Float64).alias(c) for c in ("delta", "prevalence"))
    spec = nf.chart_precision_uncertainty(band, undefined).to_dict()
    values = [row["value"] for row in panel_rows(spec) if row["value"] is not None]
    assert values == band.filter(pl.col("prevalence") > 0)["value"].to_list()
    assert {row["label"] for row in panel_rows(spec)} == {None, "Δ undefined"}


def test_sub_samples_are_shown_as_the_study_has_them():
    frame = nf.subsample_study(rates(), prevalence=0.05, repeats=5)
    spec = nf.chart_subsamples(frame).to_dict()
    rows = pl.DataFrame(panel_rows(spec))
    assert rows.height == frame["adjusted"].drop_nulls().len()
    columns = ["model", "tpr", "adjusted", "min", "q25", "q75", "max"]
    assert rows.select(columns).sort(columns).equals(frame.select(columns).drop_nulls().sort(columns))
    for name, ends in {"range": ("min", "max"), "quartiles": ("q25", "q75")}.items():
        encoding = panel_layer(spec, name)["encoding"]
        assert (encoding["y"]["field"], encoding["y2"]["field"]) == ends
    assert panel_layer(spec, "lines")["encoding"]["y"]["field"] == "adjusted"
