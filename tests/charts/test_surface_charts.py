"""Surfaces of metrics: panels with one scale of colours."""

import polars as pl
import pytest

import nci_frames as nf
from nci_frames.base.errors import ParameterError
from tests.chart_specs import panel_rows
from tests.charts.drawn import surfaces


def test_a_panel_for_each_ratio_in_the_order_of_numbers_with_the_values_of_the_frame():
    spec = nf.chart_metric_surface(surfaces()).to_dict()
    rows = pl.DataFrame(panel_rows(spec))
    assert spec["facet"]["field"] == "surface"
    assert spec["facet"]["sort"] == {"field": "place", "op": "min"}
    names = [f"precision at {ratio} : 1" for ratio in (1, 9, 49)]
    assert rows.select("place", "surface").unique().sort("place")["surface"].to_list() == names
    columns = ["tpr", "tnr", "value"]
    for name, ratio in zip(names, (1, 9, 49), strict=True):
        wanted = nf.metric_surface("precision", ratio=ratio, resolution=11)
        assert rows.filter(surface=name).select(columns).equals(wanted.select(columns).sort("tpr", "tnr"))


def test_one_of_several_is_named_or_what_a_frame_without_names_is_of():
    both = pl.concat([surfaces(), surfaces().with_columns(metric=pl.lit("f_beta"))])
    spec = nf.chart_metric_surface(both, metric="f_beta", ratio=49).to_dict()
    assert {row["surface"] for row in panel_rows(spec)} == {"f_beta at 49 : 1"}
    plain = nf.metric_surface("precision", ratio=9, resolution=11)
    spec = nf.chart_metric_surface(plain, metric="precision", ratio=9).to_dict()
    assert {row["surface"] for row in panel_rows(spec)} == {"precision at 9 : 1"}
    with pytest.raises(ParameterError, match="metric of the surface is unknown"):
        nf.chart_metric_surface(plain, ratio=9)
    with pytest.raises(ParameterError, match=r"ratio of the surface is unknown\n.*pass ratio="):
        nf.chart_metric_surface(plain, metric="precision")
