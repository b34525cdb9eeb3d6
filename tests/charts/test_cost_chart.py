"""The cost curve: its numbers, the trivial classifiers, and what is cut off."""

import polars as pl
import pytest

import nci_frames as nf
from tests.chart_specs import layer, rows_of

GRID = [0.0, 0.001, 0.01, 0.1, 1.0]


def projection_of(cost):
    cells = {"tp": [80, 81], "fp": [10, 11], "fn": [20, 19], "tn": [990, 989]}
    frame = pl.DataFrame({"model": ["a", "b"], "threshold": 0.5, **cells})
    return nf.project_rates(nf.compute_rates(frame), metrics=[cost], prevalence=GRID)


def test_costs_are_those_of_the_formula_and_dotted_where_negatives_are_too_few():
    projection = projection_of(nf.expected_cost(c_fn=20)).filter(model="a")
    spec = nf.chart_cost(projection).to_dict()
    told, untold = pl.DataFrame(rows_of(spec)), pl.DataFrame(rows_of(spec, "untold"))
    assert told["prevalence"].to_list() == GRID[1:]
    values = told.select(pl.coalesce("value", untold["value"]))["value"].to_list()
    assert values == pytest.approx([e * 0.2 * 20 + (1 - e) * 0.01 for e in GRID[1:]])
    supported = projection.filter(pl.col("prevalence") > 0)["supported"]
    assert told["value"].is_not_null().to_list() == supported.to_list()
    assert spec["title"]["subtitle"].startswith("expected_cost(c_fn=20) at threshold 0.5; dotted: ")


@pytest.mark.parametrize(
    ("cost", "title", "scale", "subtitle"),
    [
        (nf.expected_cost, "Expected cost", {"zero": True, "domainMin": 0}, "0.5; dotted"),
        (nf.normalised_cost, "Normalised cost", {"zero": True, "domainMin": 0}, "0.5; dotted"),
        (
            nf.relative_cost,
            "Relative cost",
            {"domain": [0, 2.0]},
            "0.5; dashed: never or always positive; above 2",
        ),
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
    assert "cut off" not in nf.chart_cost(low).to_dict()["title"]["subtitle"]
