"""Every kind of chart draws what it drew before, and names from the data are nothing but data."""

import json

import pytest

import nci_frames as nf
from tests.chart_specs import outside_data, panel_rows
from tests.charts.drawn import FILE, GRID, apart, draw_all, legible
from tests.comparisons import HOSTILE
from tests.fuzz.calls import calls

CHARTS = [call for call in calls().values() if call.name.startswith("chart_")]
KEPT = json.loads(FILE.read_text(encoding="utf-8"))
#: Charts that show the models that win somewhere, or whose cost is not too high; all others show every model.
OF_SOME = ("class_simplex", "map", "winners", "best", "cost", "class_winners")


def models_in(node):
    """The models in the rows of a specification."""
    if isinstance(node, dict):
        mine = {node["model"]} if isinstance(node.get("model"), str) else set()
        return mine.union(*map(models_in, node.values()))
    return set().union(*map(models_in, node)) if isinstance(node, list) else set()


@pytest.mark.parametrize("name", KEPT)
def test_a_specification_is_the_one_that_is_kept(name):
    drawn = legible(draw_all()[name])
    assert drawn == KEPT[name], "if this is what it should draw, run `make snapshots` and look at the picture"


@pytest.mark.thorough
@pytest.mark.parametrize("call", CHARTS, ids=lambda call: call.name)
def test_a_chart_is_a_value(call):
    """Altair numbers what has no name, so that a second chart would be another one."""
    assert call().to_dict(validate=False) == call().to_dict(validate=False)


def test_every_example_is_kept():
    assert list(KEPT) == list(draw_all()), "run `make snapshots`"


@pytest.mark.thorough
@pytest.mark.parametrize("name", KEPT)
def test_names_of_models_occur_only_as_data(name):
    spec = draw_all(HOSTILE)[name].to_dict(validate=False)
    assert outside_data(spec, HOSTILE) == []
    shown = models_in(spec["datasets"])
    assert shown <= set(HOSTILE)
    assert shown if name in OF_SOME else shown == set(HOSTILE)
    json.dumps(spec, allow_nan=False)


@pytest.mark.thorough
def test_names_of_segments_keys_and_metrics_occur_only_as_data():
    key = HOSTILE[0]
    rates = apart(HOSTILE, key, HOSTILE)
    values = nf.project_rates(rates, metrics="precision", prevalence=GRID)
    parts = nf.decompose_difference(rates, metric="precision", over=key)
    for chart, shown in (
        (nf.chart_segments(values, segments=key, observed=rates), "segment"),
        (nf.chart_decomposition(parts), "segment"),
    ):
        spec = chart.to_dict()
        assert outside_data(spec, HOSTILE) == []
        names = {row[shown] for row in panel_rows(spec)}
        assert names == set(HOSTILE)
