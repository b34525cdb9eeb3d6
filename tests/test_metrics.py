"""The metrics against the count formulas, their limits, and the numbers of the papers."""

import math
from typing import Any

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given

import nci_frames as nf

INF = float("inf")


def value(metric: pl.Expr, tpr: float | None, fpr: float | None) -> float | None:
    rates = pl.DataFrame({"tpr": [tpr], "fpr": [fpr]}, schema={"tpr": pl.Float64, "fpr": pl.Float64})
    found = rates.select(metric).item()
    assert found is None or not math.isnan(found)
    return found  # type: ignore[no-any-return]


def ratio(above: float, below: float) -> float | None:
    return above / below if below else None


cells = st.integers(0, 50)


@given(tp=cells, fp=cells, fn=cells, tn=cells, beta=st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, 10.0, INF]))
def test_at_the_observed_prevalence_metrics_are_their_count_formulas(
    tp: int, fp: int, fn: int, tn: int, beta: float
) -> None:
    positives, negatives = tp + fn, fp + tn
    if not (positives and negatives):
        return
    eta = positives / (positives + negatives)
    tpr, fpr = tp / positives, fp / negatives
    if math.isinf(beta):
        f_beta = tpr
    else:
        f_beta = ratio((1 + beta**2) * tp, (1 + beta**2) * tp + beta**2 * fn + fp)
    expected = [
        (nf.precision(prevalence=eta), ratio(tp, tp + fp)),
        (nf.recall(), tp / positives),
        (nf.f_beta(beta=beta, prevalence=eta), f_beta),
        (nf.accuracy(prevalence=eta), (tp + tn) / (positives + negatives)),
        (nf.pos_fraction(prevalence=eta), (tp + fp) / (positives + negatives)),
    ]
    for metric, wanted in expected:
        assert value(metric, tpr, fpr) == (
            None if wanted is None else pytest.approx(wanted, rel=1e-12, abs=1e-15)
        )


LIMITS: list[tuple[pl.Expr, float | None, float | None, float | None]] = [
    # eta = 0: every positive decision is false; eta = 1: every one is right
    (nf.precision(prevalence=0), 0.6, 0.1, 0.0),
    (nf.precision(prevalence=0), 0.6, 0.0, None),
    (nf.precision(prevalence=1), 0.6, 0.1, 1.0),
    (nf.precision(prevalence=1), 0.0, 0.1, None),
    (nf.precision(prevalence=0.2), 0.0, 0.0, None),
    (nf.precision(prevalence=1e-300), 0.6, 0.0, 1.0),
    (nf.f_beta(beta=1, prevalence=0), 0.6, 0.1, 0.0),
    (nf.f_beta(beta=1, prevalence=1), 0.5, 0.1, 2 / 3),
    (nf.f_beta(beta=1, prevalence=0.2), 0.0, 0.0, 0.0),  # never positive: 0, not null
    (nf.f_beta(beta=0, prevalence=0.2), 0.0, 0.0, None),  # beta = 0 is precision, null where precision is
    (nf.f_beta(beta=0, prevalence=0.5), 0.6, 0.2, 0.75),
    (nf.f_beta(beta=INF, prevalence=0.5), 0.6, 0.2, 0.6),
    (nf.f_beta(beta=INF, prevalence=0), 0.6, 0.2, 0.6),
    (nf.f_beta(beta=INF, prevalence=0.5), 0.6, None, 0.6),
    (nf.f_beta(beta=1e200, prevalence=0.5), 0.6, 0.2, 0.6),
    (nf.f_beta(beta=1, prevalence=0.3), 0.5, 0.0, 2 / 3),  # FPR = 0: precision 1 at every eta
    (nf.accuracy(prevalence=0), 0.6, 0.1, 0.9),
    (nf.accuracy(prevalence=1), 0.6, 0.1, 0.6),
    (nf.pos_fraction(prevalence=0), 0.6, 0.1, 0.1),
    (nf.pos_fraction(prevalence=1), 0.6, 0.1, 0.6),
    (nf.precision(prevalence=0.5), None, 0.1, None),
    (nf.accuracy(prevalence=0.5), 0.1, None, None),
]


@pytest.mark.parametrize(("metric", "tpr", "fpr", "wanted"), LIMITS, ids=range(len(LIMITS)))
def test_limits(metric: pl.Expr, tpr: float | None, fpr: float | None, wanted: float | None) -> None:
    assert value(metric, tpr, fpr) == (None if wanted is None else pytest.approx(wanted, abs=1e-15))


def test_the_columns_prevalence_and_beta_are_read_unless_given() -> None:
    frame = pl.DataFrame({"tpr": [0.8], "fpr": [0.1], "prevalence": [0.2], "beta": [2.0], "eta": [0.2]})
    open_, fixed, named = frame.select(
        open=nf.f_beta(),
        fixed=nf.f_beta(beta=2, prevalence=0.2),
        named=nf.f_beta(beta=2, prevalence=pl.col("eta")),
    ).row(0)
    assert open_ == fixed == named
    assert nf.f_beta().meta.output_name() == "f_beta"


def test_the_slides() -> None:
    """The four special classifiers, with 30 positives among 100 rows."""
    eta = 0.3
    special = {
        "perfect": ((1.0, 0.0), (1.0, 1.0, 1.0)),
        "worst": ((0.0, 1.0), (0.0, 0.0, 0.0)),
        "ultra-liberal": ((1.0, 1.0), (0.3, 60 / 130, 0.3)),
        "ultra-conservative": ((0.0, 0.0), (None, 0.0, 0.7)),
    }
    for rates, wanted in special.values():
        found = [
            value(metric, *rates)
            for metric in (
                nf.precision(prevalence=eta),
                nf.f_beta(beta=1, prevalence=eta),
                nf.accuracy(prevalence=eta),
            )
        ]
        assert found == [None if w is None else pytest.approx(w) for w in wanted]


@pytest.mark.parametrize("call", [
    lambda: nf.precision(prevalence=1.5),
    lambda: nf.accuracy(prevalence=-0.1),
    lambda: nf.pos_fraction(prevalence=float("nan")),
    lambda: nf.f_beta(beta=-1),
    lambda: nf.f_beta(beta=float("nan")),
])  # fmt: skip
def test_parameters_out_of_range(call: Any) -> None:
    with pytest.raises(
        nf.ParameterError, match=r"(prevalence must be within \[0, 1\]|beta must be a number >= 0)"
    ):
        call()


def test_the_registry_shows_every_metric() -> None:
    frame = nf.metrics()
    assert set(frame["name"]) >= {"accuracy", "f_beta", "pos_fraction", "precision", "recall"}
    assert frame.filter(name="recall")["aliases"].item().to_list() == ["tpr", "sensitivity", "hit_rate"]
    assert frame.null_count().sum_horizontal().item() == 0
    assert all(hasattr(nf, name) for name in frame["name"] if not name.startswith("lift"))


def test_a_metric_of_ones_own_works_everywhere() -> None:
    nf.register_metric(
        "weighted_error",
        (1 - pl.col("tpr")) * pl.col("prevalence") + pl.col("fpr"),
        range=(0, 2),
        direction="minimize",
        aliases=["we"],
    )
    counts = pl.DataFrame(
        {"model": ["a", "b"], "threshold": [0.5, 0.5], "tp": [6, 9], "fp": [1, 5], "fn": [4, 1], "tn": [9, 5]}
    )
    projection = nf.project_rates(nf.compute_rates(counts), metrics=["we"], prevalence=[0.1, 0.5])
    assert projection["metric"].unique().to_list() == ["weighted_error"]
    assert nf.rank_models(projection).select("model", "rank").rows() == [("a", 1), ("b", 2)] * 2
    with pytest.raises(nf.ParameterError, match="the metric name 'we' is taken"):
        nf.register_metric("we", pl.col("tpr"), range=(0, 1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"range": (1, 0)}, r"range must be \(lower, upper\)"),
        ({"range": (0, 1), "direction": "maximise"}, "did you mean 'maximize'"),
        ({"range": (0, 1), "name": "precision"}, "is taken"),
        ({"range": (0, 1), "expression": pl.col("tp")}, "column 'tp' must be one of"),
    ],
)
def test_metrics_that_cannot_be_registered(arguments: dict[str, Any], message: str) -> None:
    defaults = {"name": "own", "expression": pl.col("tpr")}
    name, expression, options = (merged := defaults | arguments).pop("name"), merged.pop("expression"), merged
    with pytest.raises(nf.NciFramesError, match=message):
        nf.register_metric(name, expression, **options)
