"""Surfaces of metrics: panels with one scale of colours, and figures that can be turned."""

import json
import math
import sys

import polars as pl
import pytest

import nci_frames as nf
from nci_frames.base.errors import ParameterError
from nci_frames.charts.surface_3d import plot_metric_surface_3d
from tests.chart_specs import panel_rows, without_data
from tests.comparisons import HOSTILE

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
    with pytest.raises(ParameterError, match=r"no rows at ratio 7"):
        nf.chart_metric_surface(both, ratio=7)
    with pytest.raises(ParameterError, match=r"no rows of metric 'mcc'"):
        nf.chart_metric_surface(both, metric="mcc")


def test_what_cannot_be_drawn_says_so():
    with pytest.raises(ParameterError, match=r"at most 5,000 rows\n.*\n.*resolution=40 or lower"):
        nf.chart_metric_surface(surfaces(resolution=42))
    with pytest.raises(ParameterError, match="several rows for one metric, ratio, tpr and tnr"):
        nf.chart_metric_surface(pl.concat([surfaces()] * 2))
    undefined = surfaces().with_columns(value=pl.lit(None, pl.Float64))
    with pytest.raises(ParameterError, match="no surface to draw"):
        nf.chart_metric_surface(undefined)
    assert nf.chart_metric_surface(surfaces(resolution=40)).to_dict()


def test_lazy_frames_are_accepted():
    assert (
        nf.chart_metric_surface(surfaces().lazy()).to_dict() == nf.chart_metric_surface(surfaces()).to_dict()
    )
    assert plot_metric_surface_3d(surfaces().lazy()).to_json() == plot_metric_surface_3d(surfaces()).to_json()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_of_metrics_are_data(name):
    hostile = surfaces(ratios=(9.0,)).with_columns(metric=pl.lit(name))
    spec = nf.chart_metric_surface(hostile).to_dict()
    assert {row["surface"] for row in panel_rows(spec)} == {f"{name} at 9 : 1"}
    assert name not in json.dumps(without_data(spec), ensure_ascii=False)


def test_a_figure_holds_the_values_on_their_axes():
    figure = plot_metric_surface_3d(surfaces(ratios=(9.0, 49.0)))
    assert [trace.type for trace in figure.data] == ["surface", "surface"]
    for trace, ratio in zip(figure.data, (9, 49), strict=True):
        assert trace.z.shape == (11, 11)
        # Row by TPR, column by TNR: precision is eta·tpr / (eta·tpr + (1-eta)·fpr).
        tpr, fpr = trace.y[3], 1 - trace.x[6]
        assert trace.z[3][6] == pytest.approx(tpr / (tpr + ratio * fpr))
    assert {trace.coloraxis for trace in figure.data} == {"coloraxis"}
    assert len({trace.scene for trace in figure.data}) == 2
    assert figure.layout.coloraxis.cmin == 0
    assert figure.layout.coloraxis.cmax == 1


def test_an_undefined_value_is_a_hole_in_the_figure():
    figure = plot_metric_surface_3d(surfaces(ratios=(9.0,)))
    assert math.isnan(figure.data[0].z[0][10])  # nothing is predicted positive


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_do_nothing_in_a_figure(name):
    figure = plot_metric_surface_3d(surfaces(ratios=(9.0,)).with_columns(metric=pl.lit(name)))
    text = figure.layout.annotations[0].text
    # What is left of these signs are character references: no element, no formula.
    assert not set("<>$") & set(text)
    plain = text.replace("&#60;", "<").replace("&#62;", ">").replace("&#36;", "$").replace("&#38;", "&")
    assert plain == f"{name} at 9 : 1"
    figure.layout.annotations = []
    assert name not in json.dumps(figure.to_plotly_json(), ensure_ascii=False, default=str)


def test_a_figure_has_its_limits():
    with pytest.raises(ParameterError, match=r"at most 50,000 points and four surfaces\n.*5 surfaces"):
        plot_metric_surface_3d(surfaces(ratios=(1.0, 2.0, 3.0, 4.0, 5.0)))
    with pytest.raises(ParameterError, match="a full grid of TPR and TNR"):
        plot_metric_surface_3d(surfaces().slice(1))


def test_a_missing_extra_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(nf.NciFramesError, match="need plotly") as error:
        plot_metric_surface_3d(surfaces())
    assert error.value.hint == "pip install 'nci_frames[surface3d]'"
