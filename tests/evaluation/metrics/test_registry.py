"""Names of metrics: those of the registry, those of a user, and what is refused."""

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given

import nci_frames as nf
from nci_frames.evaluation.metrics import Direction, called_metric, find_metric, registry
from tests.logs import counts_at


def test_the_registry_shows_every_metric():
    frame = nf.metrics()
    assert set(frame["name"]) >= {"accuracy", "f_beta", "pos_fraction", "precision", "recall"}
    areas = {"brier", "log_loss", "partial_roc_auc", "pr_auc", "roc_auc"}
    assert set(frame.filter(kind="curve")["name"]) >= areas
    assert frame.filter(name="recall")["aliases"].item().to_list() == ["tpr", "sensitivity", "hit_rate"]
    assert frame.null_count().sum_horizontal().item() == 0
    built_in = [known for known in registry.all_metrics() if not known.own]
    assert {known.name for known in built_in if known.kind == "point"} <= set(dir(nf))
    assert {known.computed_by.split("(")[0] for known in built_in if known.kind == "curve"} <= set(dir(nf))


def test_a_name_may_have_brackets():
    counts = counts_at([6, 9], [1, 5], 10, 10)
    nf.register_metric("f(x)", 1 - pl.col("tpr"), range=(0, 1), direction="minimize")
    nf.register_metric("recall(c=1)", pl.col("tpr"), range=(0, 1))
    table = nf.project_rates(nf.compute_rates(counts), metrics=["f(x)", "recall(c=1)"], prevalence=0.5)
    assert nf.rank_models(table).select("metric", "model", "rank").rows() == [
        ("f(x)", "b", 1), ("f(x)", "a", 2), ("recall(c=1)", "b", 1), ("recall(c=1)", "a", 2)
    ]  # fmt: skip


def test_a_metric_registered_again_is_replaced():
    rates = pl.DataFrame({"tpr": [0.6, 0.9], "fpr": [0.1, 0.2]})
    directions: tuple[Direction, ...] = ("maximize", "minimize")
    for sign, direction in zip((1, -1), directions, strict=True):
        alias = f"alias {direction}"
        nf.register_metric("own", sign * pl.col("tpr"), range=(-1, 1), direction=direction, aliases=[alias])
        assert find_metric("own").direction == find_metric(alias).direction == direction
        assert rates.select(find_metric("own").build())["own"].to_list() == [sign * 0.6, sign * 0.9]
    assert nf.metrics().filter(name="own").height == 1
    with pytest.raises(nf.UnknownMetricError, match="unknown metric 'alias maximize'"):
        find_metric("alias maximize")
    nf.register_metric("other", pl.col("fpr"), range=(0, 1))
    for taken in ("precision", "ppv", "own", "alias minimize"):
        for name in ("other", "third"):
            with pytest.raises(nf.ParameterError, match=f"the metric name '{taken}' is taken"):
                nf.register_metric(name, pl.col("fpr"), range=(0, 1), aliases=[taken])


def test_a_metric_registered_from_a_call_keeps_what_the_call_fixed():
    nf.register_metric("f2 in the field", nf.f_beta(beta=2, prevalence=0.01), range=(0, 1))
    counts = counts_at(6, 1, 10, 10)
    table = nf.project_rates(nf.compute_rates(counts), metrics="f2 in the field", prevalence=[0.1, 0.5])
    assert table.select("prevalence", "beta").rows() == [(0.01, 2.0)]


@given(first=st.floats(1e-100, 1e100), second=st.floats(1e-100, 1e100))
def test_a_label_tells_the_metric_and_its_settings(first, second):
    one, other = nf.expected_cost(c_fn=first), nf.expected_cost(c_fn=second)
    assert (one.label == other.label) == (first == second)
    rates = pl.DataFrame({"tpr": [0.25], "fpr": [0.5], "prevalence": [0.5]})
    again = called_metric(one.label)
    assert again.label == one.label
    assert again.metric is one.metric is find_metric(one.label)
    assert rates.select(again).item() == rates.select(one).item()


def test_an_expression_that_was_registered_is_known_as_such():
    expression = (1 - pl.col("tpr")).alias("missed")
    nf.register_metric("missed", expression, range=(0, 1), direction="minimize")
    assert called_metric(expression).metric.direction == "minimize"
    with pytest.raises(nf.UnknownMetricError, match="unknown metric 'missed'"):
        called_metric((2 - pl.col("tpr")).alias("missed"))


def test_the_columns_prevalence_and_beta_are_read_unless_given():
    frame = pl.DataFrame({"tpr": [0.8], "fpr": [0.1], "prevalence": [0.2], "beta": [2.0], "eta": [0.5]})
    found = frame.select(
        read=nf.f_beta(),
        given=nf.f_beta(beta=1, prevalence=0.5),
        named=nf.f_beta(beta=1, prevalence=pl.col("eta")),
    ).row(0)
    # (1 + beta²)·eta·TPR / (beta²·eta + eta·TPR + (1 - eta)·FPR)
    assert found == pytest.approx((0.8 / 1.04, 0.8 / 0.95, 0.8 / 0.95))
    assert nf.f_beta().meta.output_name() == "f_beta"
