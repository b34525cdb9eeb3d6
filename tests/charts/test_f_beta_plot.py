"""The F-beta plot: its means, its winners with exact switches, and its tests."""

import math

import polars as pl
import pytest

import nci_frames as nf
from tests.chart_specs import layer, rows_of
from tests.charts.drawn import apart

BETAS = [0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, math.inf]
ETA = 0.01


def frames(models=("a", "b")):
    rates = apart(tuple(models), "fold", ("1", "2", "3", "4"))
    pooled = nf.compute_rates(nf.pool_counts(rates, over="fold"))
    comparisons = nf.compare_folds(rates, beta=BETAS, prevalence=ETA)
    return comparisons, nf.winner_ranges(pooled, metric="f_beta", over="beta", prevalence=ETA)


def test_of_close_switches_the_first_has_a_label():
    comparisons, winners = frames()
    three = pl.concat([winners.head(1)] * 4).with_columns(
        model=pl.Series(["a", "b", "a", "b"]),
        start=pl.Series([0.0, 1.0, 1.1, 6.0]),
        end=pl.Series([1.0, 1.1, 6.0, math.inf]),
    )
    spec = nf.chart_f_beta_plot(comparisons, three).to_dict()
    assert [row["label"] for row in rows_of(spec, "switches")] == ["β = 1", None, "β = 6"]


@pytest.mark.thorough
def test_a_winner_that_the_log_cannot_tell_is_pale():
    comparisons, winners = frames()
    told, untold = (
        nf.chart_f_beta_plot(
            comparisons, winners.with_columns(supported=pl.lit(known), reason=pl.lit(None, pl.String))
        ).to_dict()
        for known in (True, False)
    )
    assert "opacity" not in layer(told, "winners")["encoding"]
    assert layer(untold, "winners")["encoding"]["opacity"]["value"] == 0.3
    assert "; pale: this log cannot tell" in untold["title"]["subtitle"]
    assert not any(row["supported"] for row in rows_of(untold, "winners"))


def test_a_change_of_threshold_alone_is_no_switch():
    comparisons, winners = frames()
    same = winners.with_columns(model=pl.lit("a"))
    names = [part["name"] for part in nf.chart_f_beta_plot(comparisons, same).to_dict()["layer"]]
    assert "winners" in names
    assert "switches" not in names


@pytest.mark.thorough
@pytest.mark.parametrize("told", [True, False])
def test_the_significance_bar_says_where_all_others_are_told_from_the_best(told):
    comparisons, winners = frames()
    comparisons = comparisons.with_columns(pl.col("distinguishable") & told)
    rows = rows_of(nf.chart_f_beta_plot(comparisons, winners).to_dict(), "significance")
    for row in rows:
        there = comparisons.filter(pl.col("beta") == row["beta"])
        best = there.filter(pl.col("mean") == pl.col("mean").max())["model"][0]
        assert row["model"] == best
        assert row["told"] == there.filter(pl.col("model") != best)["distinguishable"].all()
        assert row["told"] is told
    assert len(rows) == 6


def test_the_best_is_not_said_to_be_significantly_better_than_a_model_without_a_test():
    comparisons, winners = frames()
    untested = comparisons.with_columns(
        p_value=pl.lit(None, pl.Float64),
        distinguishable=pl.when(pl.col("mean") == pl.col("mean").max().over("beta")).then(
            pl.lit(value=False)
        ),
    )
    assert untested["distinguishable"].null_count() == len(BETAS)
    rows = rows_of(nf.chart_f_beta_plot(untested, winners).to_dict(), "significance")
    assert {(row["told"], row["others"]) for row in rows} == {(False, 1)}
    alone = comparisons.filter(model="a").with_columns(distinguishable=pl.lit(value=False), p_value=None)
    rows = rows_of(nf.chart_f_beta_plot(alone, winners).to_dict(), "significance")
    assert not any(row["told"] for row in rows)


@pytest.mark.thorough
def test_curves_can_be_of_few_models_and_the_bars_are_of_all():
    comparisons, winners = frames("abcd")
    every = nf.chart_f_beta_plot(comparisons, winners).to_dict()
    few = nf.chart_f_beta_plot(comparisons, winners.head(1), models=list("abcd"), shown=["c"]).to_dict()
    assert {row["model"] for row in rows_of(few)} == {"c"}
    assert rows_of(few, "significance") == rows_of(every, "significance")
    colours = [layer(spec, "lines")["encoding"]["color"]["scale"] for spec in (every, few)]
    named = [dict(zip(scale["domain"], scale["range"], strict=True)) for scale in colours]
    assert named[1].items() < named[0].items()
