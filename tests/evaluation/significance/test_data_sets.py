"""Friedman's test against SciPy, and against the example of Demsar (2006)."""

import numpy as np
import polars as pl
import pytest
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import nci_frames as nf
from tests.chart_specs import rows_of

# Demsar (2006), table 6: AUC of four variants of C4.5 on 14 data sets.
DEMSAR = """
0.763 0.768 0.771 0.798
0.599 0.591 0.590 0.569
0.954 0.971 0.968 0.967
0.628 0.661 0.654 0.657
0.882 0.888 0.886 0.898
0.936 0.931 0.916 0.931
0.661 0.668 0.609 0.685
0.583 0.583 0.563 0.625
0.775 0.838 0.866 0.875
1.000 1.000 1.000 1.000
0.940 0.962 0.965 0.962
0.619 0.666 0.614 0.669
0.972 0.981 0.978 0.975
0.957 0.978 0.946 0.970
"""


def ranked(values: np.ndarray) -> pl.DataFrame:
    sets, models = values.shape
    table = pl.DataFrame(
        {
            "model": [f"m{model}" for model in range(models)] * sets,
            "data": np.repeat(np.arange(sets), models),
            "metric": "roc_auc",
            "method": None,
            "prevalence": None,
            "value": values.ravel(),
        },
        schema_overrides={"method": pl.String, "prevalence": pl.Float64},
    )
    return nf.rank_models(table)


VALUES = np.array([[float(x) for x in line.split()] for line in DEMSAR.strip().splitlines()])


def test_models_left_out_of_a_ranking_do_not_count():
    found = nf.compare_data_sets(ranked(VALUES).filter(pl.col("model") != "m0"), over="data")
    alone = nf.compare_data_sets(ranked(VALUES[:, 1:]), over="data")
    assert_frame_equal(found.drop("model"), alone.drop("model"))


def test_the_example_of_demsar():
    values = VALUES
    found = nf.compare_data_sets(ranked(values), over="data").sort("model")
    assert found["mean_rank"].to_list() == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    assert found["critical_difference"][0] == pytest.approx(1.25, abs=0.01)
    # The paper has 9.28, without the correction for ties.
    uncorrected = 12 * 14 / 20 * ((found["mean_rank"] - 2.5) ** 2).sum()
    assert uncorrected == pytest.approx(9.28, abs=0.005)
    # Iman and Davenport's F of it, which the paper compares with 2.85.
    assert 13 * uncorrected / (14 * 3 - uncorrected) == pytest.approx(3.69, abs=0.005)
    assert found["statistic"][0] == pytest.approx(scipy.stats.friedmanchisquare(*values.T)[0], rel=1e-12)
    assert found["distinguishable"].to_list() == [False] * 4
    assert nf.compare_data_sets(ranked(values), over="data", level=0.9)["distinguishable"].any()


@given(st.integers(3, 6), st.integers(2, 12), st.integers(2, 9), st.integers(0, 99))
def test_friedman_is_that_of_scipy_also_with_ties(models, sets, distinct, seed):
    values = np.random.default_rng(seed).integers(0, distinct, (sets, models)) / 10
    assume((values != values[:, :1]).any())
    found = nf.compare_data_sets(ranked(values), over="data")
    expected = scipy.stats.friedmanchisquare(*values.T)
    assert found["statistic"][0] == pytest.approx(expected[0], rel=1e-9, abs=1e-12)
    assert found["p_value"][0] == pytest.approx(expected[1], rel=1e-9)
    ranks = scipy.stats.rankdata(-values, axis=1).mean(axis=0)
    assert found.sort("model")["mean_rank"].to_list() == pytest.approx(ranks.tolist())


def test_bars_of_the_diagram_of_demsar_overlap_where_models_do_not_differ():
    """Section 3.2.2: at 0.10 the first is worse than the second and the fourth; the third may be either."""
    found = nf.compare_data_sets(ranked(VALUES), over="data", level=0.9)
    bars = rows_of(nf.chart_critical_difference(found).to_dict(), "points")
    ends = {bar["model"]: (bar["lower"], bar["upper"]) for bar in bars}
    assert {bar["model"]: bar["value"] for bar in bars} == dict(
        found.select("model", "mean_rank").iter_rows()
    )
    assert ends["m0"][1] - ends["m0"][0] == pytest.approx(1.12, abs=0.005)
    apart = {(a, b) for a in ends for b in ends if ends[a][1] < ends[b][0]}
    assert apart == {("m1", "m0"), ("m3", "m0")}


def test_equal_values_have_no_statistic():
    found = nf.compare_data_sets(ranked(np.full((3, 3), 0.5)), over="data")
    assert found.select("statistic", "p_value").null_count().row(0) == (3, 3)
    assert not found["distinguishable"].any()
