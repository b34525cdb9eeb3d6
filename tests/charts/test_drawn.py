"""Every kind of chart draws what it drew before, and names from the data are nothing but data."""

import json

import pytest

from tests.chart_specs import outside_data
from tests.charts.drawn import FILE, draw_all, legible
from tests.comparisons import HOSTILE

KEPT = json.loads(FILE.read_text(encoding="utf-8"))
#: Charts that show the models that win somewhere, or whose cost is not too high; all others show every model.
OF_SOME = ("map", "winners", "best", "cost")
NO_MODELS = ("surface", "imbalance")


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


def test_a_chart_is_a_value():
    first, second = draw_all(), draw_all.__wrapped__()
    assert {name: chart.to_json() for name, chart in first.items()} == {
        name: chart.to_json() for name, chart in second.items()
    }


def test_every_example_is_kept():
    assert list(KEPT) == list(draw_all())


@pytest.mark.parametrize("name", KEPT)
def test_names_of_models_occur_only_as_data(name):
    spec = draw_all(HOSTILE)[name].to_dict()
    assert outside_data(spec, HOSTILE) == []
    shown = models_in(spec["datasets"])
    assert shown <= set(HOSTILE)
    assert name in NO_MODELS or (shown if name in OF_SOME else shown == set(HOSTILE))
    json.dumps(spec, allow_nan=False)
