"""Surfaces of metrics: panels with one scale of colours."""

import polars as pl
import pytest

import nci_frames as nf
from nci_frames.base.errors import ParameterError
from tests.chart_specs import panel_rows

RATIOS = (9.0, 49.0, 1.0)


def surfaces(ratios=RATIOS, metrics=("precision",), resolution=11):
    return pl.concat(
        nf.metric_surface(metric, ratio=ratio, resolution=resolution).with_columns(
            metric=pl.lit(metric), ratio=pl.lit(ratio)
        )
        for metric in metrics
        for ratio in ratios
    )


def test_a_panel_for_each_ratio_in_the_order_of_numbers():
    spec = nf.chart_metric_surface(surfaces()).to_dict()
    rows = pl.DataFrame(panel_rows(spec))
    assert rows.height == 3 * 11 * 11
    assert spec["facet"]["field"] == "surface"
    assert spec["facet"]["sort"] == {"field": "place", "op": "min"}
    assert rows.select("place", "surface").unique().sort("place")["surface"].to_list() == [
        "precision at 1 : 1",
        "precision at 9 : 1",
        "precision at 49 : 1",
    ]


def test_the_values_are_those_of_the_frame():
    rows = pl.DataFrame(panel_rows(nf.chart_metric_surface(surfaces(ratios=(9.0,))).to_dict()))
    here = rows.filter((pl.col("tpr") - 0.5).abs() < 1e-9, (pl.col("tnr") - 0.5).abs() < 1e-9)
    assert here["value"].item() == pytest.approx(0.1)


def test_a_frame_that_does_not_say_is_of_what_is_named():
    plain = nf.metric_surface("precision", ratio=9, resolution=11)
    spec = nf.chart_metric_surface(plain, metric="precision", ratio=9).to_dict()
    assert {row["surface"] for row in panel_rows(spec)} == {"precision at 9 : 1"}
    with pytest.raises(ParameterError, match="metric of the surface is unknown"):
        nf.chart_metric_surface(plain, ratio=9)
    with pytest.raises(ParameterError, match=r"ratio of the surface is unknown\n.*pass ratio="):
        nf.chart_metric_surface(plain, metric="precision")
    with pytest.raises(ParameterError, match="ratio must be negatives per positive"):
        nf.chart_metric_surface(plain, metric="precision", ratio=-1)


def test_one_of_several_can_be_named():
    both = surfaces(metrics=("precision", "f_beta"))
    spec = nf.chart_metric_surface(both, metric="f_beta", ratio=49).to_dict()
    assert {row["surface"] for row in panel_rows(spec)} == {"f_beta at 49 : 1"}
    with pytest.raises(ParameterError, match=r"no rows of ratio 7"):
        nf.chart_metric_surface(both, ratio=7)
    with pytest.raises(ParameterError, match=r"no rows of metric 'mcc'"):
        nf.chart_metric_surface(both, metric="mcc")
