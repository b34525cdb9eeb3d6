"""Every metric against counts, other libraries, high precision, and the worked examples of the sources."""

import math
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import mpmath
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from sklearn import metrics as sklearn

import nci_frames as nf
from nci_frames.evaluation.metrics import find_metric
from tests.logs import counts_at

Formula = Callable[[Any, Any, Any, Any], Any]

#: Each metric by its definition on counts; ZeroDivisionError where it is undefined.
BY_COUNTS: dict[str, Formula] = {
    "precision": lambda tp, fp, fn, tn: tp / (tp + fp),
    "recall": lambda tp, fp, fn, tn: tp / (tp + fn),
    "specificity": lambda tp, fp, fn, tn: tn / (tn + fp),
    "fpr": lambda tp, fp, fn, tn: fp / (tn + fp),
    "fnr": lambda tp, fp, fn, tn: fn / (tp + fn),
    "npv": lambda tp, fp, fn, tn: tn / (tn + fn),
    "f_beta": lambda tp, fp, fn, tn: 5 * tp / (5 * tp + 4 * fn + fp),
    "accuracy": lambda tp, fp, fn, tn: (tp + tn) / (tp + fp + fn + tn),
    "error_rate": lambda tp, fp, fn, tn: (fp + fn) / (tp + fp + fn + tn),
    "pos_fraction": lambda tp, fp, fn, tn: (tp + fp) / (tp + fp + fn + tn),
    "youden_j": lambda tp, fp, fn, tn: tp / (tp + fn) - fp / (tn + fp),
    "hss": lambda tp, fp, fn, tn: 2 * (tp * tn - fn * fp) / ((tp + fn) * (fn + tn) + (tp + fp) * (fp + tn)),
    "gilbert": lambda *cells: _gilbert(*map(mpmath.mpf, cells)),
    "mcc": lambda tp, fp, fn, tn: (
        (tp * tn - fp * fn) / (mpmath.sqrt((tp + fp) * (fn + tn)) * mpmath.sqrt((tp + fn) * (fp + tn)))
    ),
    "doolittle": lambda tp, fp, fn, tn: (
        (tp * tn - fp * fn) ** 2 / ((tp + fp) * (fn + tn) * (tp + fn) * (fp + tn))
    ),
    "balanced_accuracy": lambda tp, fp, fn, tn: (tp / (tp + fn) + tn / (tn + fp)) / 2,
    "g_mean": lambda tp, fp, fn, tn: mpmath.sqrt(tp / (tp + fn) * (tn / (tn + fp))),
    "index_of_balanced_accuracy": lambda tp, fp, fn, tn: (
        (1 + mpmath.mpf("0.1") * (tp / (tp + fn) - tn / (tn + fp))) * tp / (tp + fn) * tn / (tn + fp)
    ),
    "jaccard": lambda tp, fp, fn, tn: tp / (tp + fp + fn),
    "fowlkes_mallows": lambda tp, fp, fn, tn: mpmath.sqrt(tp / (tp + fp) * tp / (tp + fn)),
    "markedness": lambda tp, fp, fn, tn: tp / (tp + fp) + tn / (fn + tn) - 1,
    "lr_plus": lambda tp, fp, fn, tn: (tp / (tp + fn)) / (fp / (fp + tn)),
    "lr_minus": lambda tp, fp, fn, tn: (fn / (tp + fn)) / (tn / (fp + tn)),
    "diagnostic_odds_ratio": lambda tp, fp, fn, tn: tp * tn / (fp * fn),
    "calibrated_precision": lambda tp, fp, fn, tn: (tp / (tp + fn)) / (tp / (tp + fn) + fp / (fp + tn)),
    "precision_gain": lambda tp, fp, fn, tn: _gain(tp / (tp + fp), (tp + fn) / (tp + fp + fn + tn)),
    "recall_gain": lambda tp, fp, fn, tn: _gain(tp / (tp + fn), (tp + fn) / (tp + fp + fn + tn)),
    "expected_cost": lambda tp, fp, fn, tn: (fp + fn) / (tp + fp + fn + tn),
    "normalised_cost": lambda tp, fp, fn, tn: (fp + fn) / (tp + fp + fn + tn),
    "relative_cost": lambda tp, fp, fn, tn: (fp + fn) / min(tp + fn, fp + tn),
    "net_benefit": lambda tp, fp, fn, tn: (tp - fp) / (tp + fp + fn + tn),
}


#: Shares of all rows, which are defined in a log of one class at its own prevalence.
OF_ALL_ROWS = ("accuracy", "error_rate", "pos_fraction", "expected_cost", "normalised_cost", "net_benefit")


def _gain(value: Any, eta: Any) -> Any:
    return (value - eta) / ((1 - eta) * value)


def _gilbert(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    by_chance = (tp + fp) * (tp + fn) / (tp + fp + fn + tn)
    return (tp - by_chance) / (tp + fp + fn - by_chance)


def values_of(tp: float, fp: float, fn: float, tn: float) -> dict[str, float | None]:
    """All metrics of four counts, at their own prevalence and beta 2."""
    rates = nf.compute_rates(counts_at(tp, fp, tp + fn, fp + tn))
    table = nf.project_rates(rates, metrics=list(BY_COUNTS), prevalence="observed", beta=2)
    return dict(table.select("metric", "value").iter_rows())


def test_every_metric_is_checked_here():
    known = set(nf.metrics().filter(kind="point")["name"])
    assert known == set(BY_COUNTS), "write its definition on counts into BY_COUNTS"


@pytest.mark.long
@given(cells=st.tuples(*[st.integers(0, 40)] * 4))
def test_metrics_equal_their_definition_on_counts(cells):
    tp, fp, fn, tn = cells
    found = values_of(*map(float, cells))
    ranges = {row["name"]: (row["lower"], row["upper"]) for row in nf.metrics().iter_rows(named=True)}
    for name, formula in BY_COUNTS.items():
        value = found[name]
        if value is None and (tp + fn == 0 or fp + tn == 0):
            # Without both rates most are undefined; of shares of all rows no row is of the other class.
            assert name not in OF_ALL_ROWS or sum(cells) == 0, name
            continue
        try:
            expected = float(formula(*map(mpmath.mpf, cells)))
        except ZeroDivisionError:
            # Analytic limits: x/0 is infinite, 0/0 undefined.
            assert value is None or math.isinf(value), name
            continue
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-12), name
        lower, upper = ranges[name]
        assert lower - 1e-12 <= value <= upper + 1e-12, name


@given(tpr=st.floats(1e-6, 1), fpr=st.floats(1e-9, 1), exponent=st.floats(-9, -0.01), flip=st.booleans())
def test_metrics_are_accurate_at_extreme_prevalence(tpr, fpr, exponent, flip):
    eta = 1 - 10**exponent if flip else 10**exponent
    rates = pl.DataFrame({"tpr": [tpr], "fpr": [fpr], "prevalence": [eta], "beta": [2.0]})
    with mpmath.workdps(50):
        e, t, f = mpmath.mpf(eta), mpmath.mpf(tpr), mpmath.mpf(fpr)
        cells = (e * t, (1 - e) * f, e * (1 - t), (1 - e) * (1 - f))
        for name, formula in BY_COUNTS.items():
            try:
                expected = formula(*cells)
            except ZeroDivisionError:
                continue
            value = rates.select(getattr(nf, name)().alias("value"))["value"].item()
            lost = 1e-15 / (1 - e) if name == "recall_gain" else 0
            # Where rates nearly cancel, as TPR - FPR may, the size of the parts counts.
            assert abs(value - expected) <= 1e-10 * max(abs(expected), 1e-6) + lost, name


def test_metrics_equal_scikit_learn():
    rng = np.random.default_rng(0)
    label = rng.random(300) < 0.4
    said = np.where(rng.random(300) < 0.7, label, ~label)
    for eta in (0.001, 0.3, 0.9):
        weight = np.where(label, eta / label.sum(), (1 - eta) / (~label).sum())
        tp, fp = weight[label & said].sum(), weight[~label & said].sum()
        found = values_of(tp, fp, weight[label & ~said].sum(), weight[~label & ~said].sum())
        positive_lr, negative_lr = sklearn.class_likelihood_ratios(label, said, sample_weight=weight)
        expected = {
            "precision": sklearn.precision_score(label, said, sample_weight=weight),
            "recall": sklearn.recall_score(label, said, sample_weight=weight),
            "f_beta": sklearn.fbeta_score(label, said, beta=2, sample_weight=weight),
            "accuracy": sklearn.accuracy_score(label, said, sample_weight=weight),
            "balanced_accuracy": sklearn.balanced_accuracy_score(label, said, sample_weight=weight),
            "hss": sklearn.cohen_kappa_score(label, said, sample_weight=weight),
            "mcc": sklearn.matthews_corrcoef(label, said, sample_weight=weight),
            "jaccard": sklearn.jaccard_score(label, said, sample_weight=weight),
            "lr_plus": positive_lr,
            "lr_minus": negative_lr,
        }
        assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-10)


LIMITS: list[tuple[str | pl.Expr, float | None, float | None, float, Any]] = [
    ("lr_plus", 0.5, 0.0, 0.1, math.inf),
    ("lr_plus", 0.0, 0.0, 0.1, None),
    ("lr_minus", 0.5, 1.0, 0.1, math.inf),
    ("lr_minus", 1.0, 1.0, 0.1, None),
    ("diagnostic_odds_ratio", 0.5, 0.0, 0.1, math.inf),
    ("diagnostic_odds_ratio", 1.0, 1.0, 0.1, None),
    ("precision_gain", 0.0, 0.1, 0.1, -math.inf),
    ("precision_gain", 0.0, 0.0, 0.1, None),
    ("recall_gain", 0.5, 0.1, 0.0, 1.0),
    ("recall_gain", 0.5, 0.1, 1.0, -math.inf),
    ("recall_gain", 1.0, 0.1, 1.0, None),
    ("recall_gain", 0.0, 0.1, 0.0, None),
    ("npv", 0.5, 0.1, 0.0, 1.0),
    ("npv", 0.5, 0.1, 1.0, 0.0),
    ("npv", 1.0, 0.1, 1.0, None),
    ("mcc", 0.5, 0.1, 0.0, 0.0),
    ("mcc", 0.0, 0.0, 0.1, None),
    ("hss", 0.5, 0.1, 0.0, 0.0),
    ("hss", 0.5, 0.0, 0.0, None),
    ("markedness", 1.0, 1.0, 0.1, None),
    ("jaccard", 0.5, 0.0, 0.0, None),
    ("normalised_cost", 0.5, 0.1, 0.0, 0.1),
    ("normalised_cost", 0.5, 0.1, 1.0, 0.5),
    ("relative_cost", 0.5, 0.1, 0.0, math.inf),
    ("relative_cost", 0.5, 0.0, 0.0, None),
    ("gilbert", 0.5, 0.1, 0.0, 0.0),
    ("fowlkes_mallows", 0.0, 0.0, 0.5, None),
    # eta = 0: every positive decision is false; eta = 1: every one is right
    ("precision", 0.6, 0.1, 0, 0.0),
    ("precision", 0.6, 0.0, 0, None),
    ("precision", 0.6, 0.1, 1, 1.0),
    ("precision", 0.0, 0.1, 1, None),
    ("precision", 0.0, 0.0, 0.2, None),
    ("precision", 0.6, 0.0, 1e-300, 1.0),
    (nf.f_beta(beta=1), 0.6, 0.1, 0, 0.0),
    (nf.f_beta(beta=1), 0.5, 0.1, 1, 2 / 3),
    (nf.f_beta(beta=1), 0.0, 0.0, 0.2, 0.0),  # never positive: 0, not null
    (nf.f_beta(beta=0), 0.0, 0.0, 0.2, None),  # beta = 0 is precision, null where precision is
    (nf.f_beta(beta=0), 0.6, 0.2, 0.5, pytest.approx(0.75, abs=1e-15)),
    (nf.f_beta(beta=math.inf), 0.6, 0.2, 0.5, 0.6),
    (nf.f_beta(beta=math.inf), 0.6, 0.2, 0, 0.6),
    (nf.f_beta(beta=math.inf), 0.6, None, 0.5, 0.6),
    (nf.f_beta(beta=1e200), 0.6, 0.2, 0.5, 0.6),
    (nf.f_beta(beta=1), 0.5, 0.0, 0.3, pytest.approx(2 / 3, abs=1e-15)),  # FPR = 0: precision 1 at every eta
    ("accuracy", 0.6, 0.1, 0, 0.9),
    ("accuracy", 0.6, 0.1, 1, 0.6),
    ("pos_fraction", 0.6, 0.1, 0, 0.1),
    ("pos_fraction", 0.6, 0.1, 1, 0.6),
    ("precision", None, 0.1, 0.5, None),
    ("accuracy", 0.1, None, 0.5, None),
]


@pytest.mark.parametrize(("metric", "tpr", "fpr", "eta", "expected"), LIMITS)
def test_limits_are_analytic(metric, tpr, fpr, eta, expected):
    rates = pl.DataFrame(
        {"tpr": [tpr], "fpr": [fpr], "prevalence": [eta]}, schema_overrides={"tpr": float, "fpr": float}
    )
    assert rates.select(getattr(nf, metric)() if isinstance(metric, str) else metric).item() == expected


def test_undefined_is_null_and_never_nan():
    corners = [0.0, 0.5, 1.0]
    grid = pl.DataFrame({"tpr": corners}).join(pl.DataFrame({"fpr": corners}), how="cross")
    grid = grid.join(pl.DataFrame({"prevalence": corners}), how="cross").with_columns(beta=pl.lit(1.0))
    grid = pl.concat([grid, grid[:1].with_columns(tpr=pl.lit(None, pl.Float64))])
    table = grid.select(getattr(nf, name)().alias(name) for name in BY_COUNTS)
    assert not table.select(pl.all().is_nan().any()).row(0).count(True)


@pytest.mark.parametrize("name", BY_COUNTS)
def test_no_metric_that_false_positives_decide_says_that_they_do_not(name):
    rates = pl.DataFrame({"tpr": [0.6] * 2, "fpr": [1e-9, 3e-9], "prevalence": [1e-9] * 2, "beta": [1.0] * 2})
    few, many = rates.select(getattr(nf, name)().alias("value"))["value"]
    assert find_metric(name).needs_fpr or many == pytest.approx(few, rel=1e-6)


@pytest.mark.parametrize("name", ["accuracy", "error_rate", "pos_fraction", "expected_cost", "net_benefit"])
@given(tpr=st.floats(0, 1), fpr=st.floats(0, 1), eta=st.floats(0, 1))
def test_linear_metrics_are_linear(name, tpr, fpr, eta):
    assert find_metric(name).linear_in_prevalence
    rates = pl.DataFrame({"tpr": [tpr] * 3, "fpr": [fpr] * 3, "prevalence": [0.0, 1.0, eta]})
    at_0, at_1, between = rates.select(getattr(nf, name)().alias("value"))["value"]
    assert between == pytest.approx((1 - eta) * at_0 + eta * at_1, abs=1e-14)


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("ppv", "precision"), ("purity", "precision"), ("sensitivity", "recall"), ("tnr", "specificity"),
        ("hit_rate", "recall"), ("false_alarm_rate", "fpr"), ("posfrac", "pos_fraction"), ("tss", "youden_j"),
        ("informedness", "youden_j"), ("cohen_kappa", "hss"), ("gilbert_skill_score", "gilbert"),
        ("iba", "index_of_balanced_accuracy"), ("csi", "jaccard"), ("threat_score", "jaccard"),
    ],
)  # fmt: skip
def test_aliases(alias, name):
    counts = counts_at(6, 1, 10, 10)
    table = nf.project_rates(nf.compute_rates(counts), metrics=alias, prevalence=0.1)
    assert table["metric"].item() == name


@given(
    tpr=st.floats(0, 1),
    fpr=st.floats(0, 1),
    eta=st.just(0.0) | st.floats(1e-200, 1),  # with the least cost, a smaller product has fewer digits
    c_fp=st.just(0.0) | st.floats(1e-100, 1e100),
    c_fn=st.just(0.0) | st.floats(1e-100, 1e100),
)
def test_normalised_cost_is_the_y_of_a_cost_curve(tpr, fpr, eta, c_fp, c_fn):
    """Drummond and Holte (2006): FNR·PC(+) + FPR·(1-PC(+)), with the probability-cost number PC(+)."""
    rates = pl.DataFrame({"tpr": [tpr], "fpr": [fpr]})
    costs = {"c_fp": c_fp, "c_fn": c_fn, "prevalence": eta}
    value = rates.select(nf.normalised_cost(**costs)).item()
    most = eta * c_fn + (1 - eta) * c_fp
    if most == 0:
        assert value is None
        return
    assert -1e-12 <= value <= 1 + 1e-12
    x = eta * c_fn / most
    assert value == pytest.approx((1 - tpr) * x + fpr * (1 - x), abs=1e-9)
    # The trivial classifiers, of which the better one has relative cost 1.
    for trivial, expected in ((0.0, x), (1.0, 1 - x)):
        never_or_always = pl.DataFrame({"tpr": [trivial], "fpr": [trivial]})
        assert never_or_always.select(nf.normalised_cost(**costs)).item() == pytest.approx(expected, abs=1e-9)
    relative = rates.select(nf.relative_cost(**costs)).item()
    if min(x, 1 - x) > 1e-6:
        assert relative == pytest.approx(value / min(x, 1 - x), rel=1e-6, abs=1e-9)


def test_parameters_show_in_the_label():
    counts = counts_at(6, 1, 10, 10)
    rates = nf.compute_rates(counts)
    called = [nf.expected_cost(c_fp=1, c_fn=20), nf.net_benefit(threshold_probability=0.1), "expected_cost"]
    table = nf.project_rates(rates, metrics=called, prevalence=0.5)
    assert table["metric"].to_list() == [
        "expected_cost", "expected_cost(c_fp=1, c_fn=20)", "net_benefit(threshold_probability=0.1)"
    ]  # fmt: skip
    assert table["value"].to_list() == pytest.approx([0.25, 0.5 * 0.4 * 20 + 0.05, 0.3 - 0.05 / 9])
    assert nf.rank_models(table)["rank"].to_list() == [1, 1, 1]


@pytest.mark.parametrize("name", OF_ALL_ROWS)
def test_shares_of_all_rows_are_defined_for_logs_of_one_class(name):
    cells = [(0, 3, 0, 7), (6, 0, 4, 0), (0, 0, 0, 0)]
    tp, fp, fn, tn = np.transpose(cells)
    rates = nf.compute_rates(counts_at(tp, fp, tp + fn, fp + tn))
    metric = nf.net_benefit(threshold_probability=0.5) if name == "net_benefit" else name
    found = nf.project_rates(rates, metrics=metric, prevalence="observed")
    by_counts = [BY_COUNTS[name](*cell) for cell in cells[:2]]
    assert found["value"].to_list() == [pytest.approx(value) for value in by_counts] + [None]
    # At another prevalence the class that is not there counts, and nothing is known of it.
    elsewhere = nf.project_rates(rates, metrics=metric, prevalence=0.5)
    assert elsewhere["value"].null_count() == 3
