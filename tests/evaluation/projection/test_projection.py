import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given

import nci_frames as nf
from tests.logs import counts_at, random_log

RATES = nf.compute_rates(
    counts_at(
        [60, 50, 0],
        [1, 2, 0],
        [100, 100, 3],
        [1000, 1000, 4],
        model=["a", "a", "b"],
        threshold=[0.5, 0.5, 0.7],
        fold=["1", "2", None],
    )
)
NAMES = ["precision", "recall", "f_beta", "accuracy", "pos_fraction"]


def test_the_grid_of_a_metric_has_betas_where_it_depends_on_them():
    table = nf.project_rates(RATES, metrics=NAMES, prevalence=[0.5, 0.001], beta=[2, 1])
    assert len(table) == 3 * 2 * (4 + 2)
    assert table.equals(table.sort(table.columns[:-3]))
    betas = dict(table.group_by("metric").agg(pl.col("beta").unique().sort()).rows())
    assert betas["f_beta"] == [1.0, 2.0]
    assert betas["precision"] == [None]


def test_called_metrics_carry_what_they_fix():
    table = nf.project_rates(
        RATES.filter(model="a", fold="1"),
        metrics=[nf.f_beta(beta=2), nf.precision(prevalence=0.01), nf.recall().alias("found")],
        prevalence=[0.1, 0.2],
    )
    assert table.select("metric", "prevalence", "beta").rows() == [
        ("f_beta", 0.1, 2.0),
        ("f_beta", 0.2, 2.0),
        ("found", None, None),
        ("precision", 0.01, None),
    ]
    assert table.filter(metric="found")["value"].item() == 0.6
    own = RATES.with_columns(eta=0.2)
    named = nf.project_rates(own, metrics=[nf.precision(prevalence=pl.col("eta"))], prevalence=0.5)
    assert named["prevalence"].to_list() == [None] * 3


@pytest.mark.long
def test_a_projection_that_would_not_fit_in_memory_is_refused(monkeypatch):
    rates = nf.compute_rates(nf.count_confusion(random_log(), thresholds="exact"), interval="wilson")
    many = np.linspace(1e-6, 0.9, 100_000).tolist()
    monkeypatch.setattr("nci_frames.base.memory.machine_memory", lambda: 1e9)
    for project in (
        lambda: nf.project_rates(rates, metrics="precision", prevalence=many),
        lambda: nf.precision_band(rates, prevalence=many),
    ):
        with pytest.raises(nf.ParameterError, match=r"the limit is 0.5 GB\n.*100,000 combinations") as caught:
            project()
        assert "rates.iter_slices(...)" in str(caught.value)
    part = next(rates.iter_slices(10))
    assert nf.project_rates(part, metrics="precision", prevalence=many).height == 1_000_000


@pytest.mark.thorough
@given(tp=st.integers(0, 3), fp=st.integers(0, 3), positives=st.integers(0, 3), negatives=st.integers(0, 3))
def test_undefined_values_have_a_reason(tp, fp, positives, negatives):
    counts = counts_at(min(tp, positives), min(fp, negatives), positives, negatives)
    names = nf.metrics().filter(kind="point")["name"].to_list()
    rates, etas = nf.compute_rates(counts), [0.0, 1e-3, 0.5, 1.0]
    for table in (
        nf.project_rates(rates, metrics=names, prevalence=etas),
        nf.compute_areas(counts, prevalence=etas),
        nf.predictive_value_interval(rates, prevalence=etas),
    ):
        undefined = table.filter(pl.col("value").is_null())
        assert undefined["reason"].null_count() == 0
        assert not undefined["supported"].any()
