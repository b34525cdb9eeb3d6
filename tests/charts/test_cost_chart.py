"""The cost curve: its numbers, the trivial classifiers, and what is cut off."""

import polars as pl
import pytest

import nci_frames as nf
from nci_frames.base.errors import ParameterError
from tests.chart_specs import layer, rows_of

GRID = [0.0, 0.001, 0.01, 0.1, 1.0]


def projection_of(cost, models=("a", "b")):
    frame = pl.DataFrame(
        [
            {"model": m, "threshold": 0.5, "tp": 80 + i, "fp": 10 + i, "fn": 20 - i, "tn": 990 - i}
            for i, m in enumerate(models)
        ]
    )
    return nf.project_rates(nf.compute_rates(frame), metrics=[cost], prevalence=GRID)


def test_costs_are_those_of_the_formula_without_prevalence_0():
    rows = rows_of(nf.chart_cost(projection_of(nf.expected_cost(c_fn=20), ["a"])).to_dict())
    assert [row["prevalence"] for row in rows] == GRID[1:]
    assert [row["value"] for row in rows] == pytest.approx([e * 0.2 * 20 + (1 - e) * 0.01 for e in GRID[1:]])


def test_an_expected_cost_begins_at_0_and_is_cut_nowhere():
    spec = nf.chart_cost(projection_of(nf.expected_cost(c_fn=20))).to_dict()
    assert layer(spec, "lines")["encoding"]["y"]["scale"] == {"zero": True, "domainMin": 0}
    assert layer(spec, "lines")["mark"]["clip"] is False
    assert "trivial" not in [part["name"] for part in spec["layer"]]
    assert spec["title"]["subtitle"] == "expected_cost(c_fn=20) at threshold 0.5"


def test_a_normalised_cost_is_never_above_1_and_has_no_rule():
    spec = nf.chart_cost(projection_of(nf.normalised_cost(c_fn=20))).to_dict()
    values = [row["value"] for row in rows_of(spec)]
    assert 0 <= min(values) <= max(values) <= 1
    assert "trivial" not in [part["name"] for part in spec["layer"]]
    assert spec["title"]["text"] == "Normalised cost over prevalence"
    assert layer(spec, "lines")["encoding"]["y"]["title"] == "normalised cost"


def test_a_relative_cost_is_cut_above_2_and_says_so():
    spec = nf.chart_cost(projection_of(nf.relative_cost())).to_dict()
    assert spec["title"]["text"] == "Relative cost over prevalence"
    assert rows_of(spec, "trivial") == [{"value": 1.0}]
    assert layer(spec, "lines")["encoding"]["y"]["scale"] == {"domain": [0, 2.0]}
    assert layer(spec, "lines")["mark"]["clip"] is True
    assert spec["title"]["subtitle"].endswith("never or always positive; above 2 cut off")
    assert "Infinity" not in nf.chart_cost(projection_of(nf.relative_cost())).to_json()


def test_a_relative_cost_that_stays_low_is_not_cut():
    low = projection_of(nf.relative_cost()).filter(pl.col("value") < 1.5)
    assert "cut off" not in nf.chart_cost(low).to_dict()["title"]["subtitle"]


def test_a_label_that_only_begins_like_a_cost_is_none():
    hostile = projection_of(nf.expected_cost()).with_columns(metric=pl.lit("expected_cost(<script>)"))
    with pytest.raises(ParameterError, match="the frame has no cost"):
        nf.chart_cost(hostile)


def test_several_costs_must_be_chosen_between():
    both = pl.concat([projection_of(nf.expected_cost(c_fn=k)) for k in (2, 20)])
    with pytest.raises(ParameterError, match=r"several costs\n.*expected_cost\(c_fn=2\), expected_cost"):
        nf.chart_cost(both)
    assert "c_fn=20" in nf.chart_cost(both, metric="expected_cost(c_fn=20)").to_dict()["title"]["subtitle"]
    with pytest.raises(ParameterError, match="metric must be one of"):
        nf.chart_cost(both, metric="precision")


def test_two_points_of_a_model_and_undefined_costs_are_refused():
    once = projection_of(nf.expected_cost())
    with pytest.raises(ParameterError, match=r"one model and prevalence\n.*'threshold'"):
        nf.chart_cost(pl.concat([once, once.with_columns(threshold=pl.lit(0.9))]))
    with pytest.raises(ParameterError, match="no cost to draw"):
        nf.chart_cost(once.with_columns(value=pl.lit(None, pl.Float64)))
