"""Projections are what scikit-learn computes with weighted rows; two classes are the binary case."""

import math

import numpy as np
import polars as pl
import pytest
from sklearn import metrics as sk

import nci_frames as nf
from tests.cases import first_quick

ALL = ["accuracy", "balanced_accuracy", "macro_precision", "macro_recall", "macro_f_beta", "weighted_f_beta",
       "kappa", "mcc", "expected_cost", "precision", "recall", "f_beta", "pos_fraction"]  # fmt: skip


def decided_log(classes, rows=400, seed=0, right=0.6):
    """Labels of every class, and decisions of which some are right."""
    rng = np.random.default_rng(seed)
    label = np.append(np.arange(classes), rng.integers(0, classes, rows))
    decision = np.where(rng.random(len(label)) < right, label, rng.integers(0, classes, len(label)))
    return label, decision


def counts_of(label, decision):
    return nf.count_classes(pl.DataFrame({"model": "m", "label": label, "decision": decision}))


def by_sklearn(label, decision, weight, beta, cost):
    """Every metric by scikit-learn, with a weight for each row."""
    names = sorted(set(label) | set(decision))
    options = {"sample_weight": weight, "labels": names, "zero_division": np.nan}
    each = sk.precision_recall_fscore_support(label, decision, beta=beta, **options)
    means = sk.precision_recall_fscore_support(label, decision, beta=beta, average="macro", **options)
    share = [float(weight[decision == name].sum() / weight.sum()) for name in names]
    paid = np.array([cost.get(pair, 0.0) for pair in zip(label.tolist(), decision.tolist(), strict=True)])
    found = {
        "accuracy": sk.accuracy_score(label, decision, sample_weight=weight),
        "balanced_accuracy": sk.balanced_accuracy_score(label, decision, sample_weight=weight),
        "macro_precision": means[0],
        "macro_recall": means[1],
        "macro_f_beta": means[2],
        "weighted_f_beta": sk.fbeta_score(label, decision, beta=beta, average="weighted", **options),
        "kappa": sk.cohen_kappa_score(label, decision, sample_weight=weight),
        "mcc": sk.matthews_corrcoef(label, decision, sample_weight=weight),
        "expected_cost": float((paid * weight).sum() / weight.sum()),
    }
    rows = {(metric, None): value for metric, value in found.items()}
    for metric, values in zip(
        ("precision", "recall", "f_beta", "pos_fraction"), (*each[:3], share), strict=True
    ):
        rows |= {(metric, name): value for name, value in zip(names, values, strict=True)}
    return rows


#: Classes, and how many mixes: scikit-learn takes its time.
SIZES = first_quick([(3, 6), (2, 6), (5, 6), (10, 3), (4, 40), (20, 10), (40, 4)], 2)


@pytest.mark.parametrize(("classes", "compared"), SIZES)
def test_random_mixes_are_those_of_weighted_rows(classes, compared):
    rng = np.random.default_rng(classes)
    label, decision = decided_log(classes, seed=classes)
    with_cost = rng.integers(0, classes, (20, 2))
    cost = {(int(a), int(b)): float(rng.integers(-2, 9)) for a, b in with_cost}
    mixes = {f"{n:03}": dict(enumerate(rng.dirichlet(np.full(classes, 0.5)))) for n in range(compared)}
    beta = 2.0
    table = nf.project_classes(counts_of(label, decision), priors=mixes, metrics=ALL, beta=beta, cost=cost)
    known = {row[:3]: row[3] for row in table.select("scenario", "metric", "class", "value").rows()}
    rows = np.bincount(label, minlength=classes)
    worst = 0.0
    for scenario, priors in mixes.items():
        weight = np.array([priors[name] for name in range(classes)])[label] / rows[label]
        for (metric, name), value in by_sklearn(label, decision, weight, beta, cost).items():
            found = known.pop((scenario, metric, name))
            if math.isnan(value):
                assert found is None, (metric, name)
            else:
                worst = max(worst, abs(found - value) / max(1, abs(value)))
    assert worst < 1e-12


def test_two_classes_are_the_binary_case():
    label, decision = decided_log(2, seed=4)
    counts = counts_of(label, decision)
    binary = pl.DataFrame({"model": "m", "label": label, "score": decision.astype(float)})
    rates = nf.compute_rates(nf.count_confusion(binary, thresholds=[1.0]))
    etas = [0.0, 0.001, 0.3, 1.0]
    overall = ["accuracy", "balanced_accuracy", "mcc", "kappa"]
    of_one = ["precision", "recall", "f_beta", "pos_fraction"]
    same = dict.fromkeys(overall) | dict.fromkeys(of_one, 1)
    expected = nf.project_rates(
        rates, metrics=["hss" if metric == "kappa" else metric for metric in same], prevalence=etas, beta=0.5
    )
    mixes = {str(eta): {0: 1 - eta, 1: eta} for eta in etas}
    table = nf.project_classes(counts, priors=mixes, metrics=list(same), beta=0.5)
    for metric, name in same.items():
        one = table.filter(pl.col("metric") == metric, pl.col("class").eq_missing(name)).sort("scenario")
        other = expected.filter(metric="hss" if metric == "kappa" else metric).sort("prevalence")
        for found, wanted in zip(one["value"], other["value"], strict=True):
            assert found == (None if wanted is None else pytest.approx(wanted, abs=1e-14)), metric
    costs = nf.project_rates(rates, metrics=nf.expected_cost(c_fp=2, c_fn=7), prevalence=etas)["value"]
    paid = nf.project_classes(counts, priors=mixes, metrics="expected_cost", cost={(0, 1): 2, (1, 0): 7})
    assert paid["value"].to_list() == pytest.approx(costs.to_list(), abs=1e-14)


@pytest.mark.parametrize("eta", [1e-12, 1e-40])
@pytest.mark.parametrize("right", [[70, 30], [100, 99]])
def test_agreement_keeps_its_digits_if_a_class_is_rare(eta, right):
    label = np.repeat([0, 1], 100)
    decision = np.concatenate([np.arange(100) >= right[0], np.arange(100) < right[1]])
    binary = pl.DataFrame({"model": "m", "label": label, "score": decision.astype(float)})
    rates = nf.compute_rates(nf.count_confusion(binary, thresholds=[1.0]))
    wanted = nf.project_rates(rates, metrics=["hss", "mcc"], prevalence=eta)["value"].to_list()
    counts = counts_of(label, decision.astype(int))
    found = nf.project_classes(counts, priors={0: 1 - eta, 1: eta}, metrics=["kappa", "mcc"])
    assert found["value"].to_list() == pytest.approx(wanted, rel=1e-12, abs=0)


def test_observed_and_uniform_and_weights():
    label, decision = decided_log(3, seed=7)
    asked = {"priors": "uniform", "metrics": ["accuracy", "macro_recall"]}
    recall = nf.project_classes(counts_of(label, decision), **asked)["value"]
    assert recall[0] == pytest.approx(recall[1], abs=1e-15)
    weight = np.where(label == 1, 2.5, 1.0)
    log = pl.DataFrame({"model": "m", "label": label, "decision": decision, "weight": weight})
    weighted = nf.project_classes(nf.count_classes(log), priors="observed", metrics="mcc")["value"].item()
    assert weighted == pytest.approx(sk.matthews_corrcoef(label, decision, sample_weight=weight), abs=1e-14)


def test_a_further_decision_has_a_cost_and_is_no_class():
    label = np.array(["a"] * 50 + ["b"] * 50)
    decision = np.array(["a"] * 30 + ["abstain"] * 20 + ["b"] * 40 + ["a"] * 10)
    metrics = ["expected_cost", "pos_fraction", "macro_recall"]
    cost = {("a", "abstain"): 1, ("b", "a"): 10}
    table = nf.project_classes(
        counts_of(label, decision), priors={"a": 0.2, "b": 0.8}, metrics=metrics, cost=cost
    )
    assert table["value"].to_list() == pytest.approx([0.2 * 0.4 + 0.8 * 0.2 * 10, 0.7, 0.28, 0.08, 0.64])
    assert table["class"].to_list() == [None, None, "a", "abstain", "b"]
    assert table["metric"].to_list() == ["expected_cost", "macro_recall", *["pos_fraction"] * 3]
    uniform = nf.project_classes(counts_of(label, decision), priors="uniform", metrics="accuracy")
    assert uniform["value"].item() == pytest.approx((0.6 + 0.8) / 2)


def test_what_is_undefined_is_null_and_says_why():
    counts = counts_of(["a"] * 30 + ["b"] * 30 + ["c"] * 12, ["a"] * 60 + ["c"] * 12)
    mix = {"a": 0.5, "b": 0.3, "c": 0.2}
    table = nf.project_classes(counts, priors=mix, metrics=["precision", "macro_precision", "macro_f_beta"])
    told = {
        row[:2]: row[2:] for row in table.select("metric", "class", "value", "supported", "reason").rows()
    }
    assert told["precision", "b"] == (None, False, "'b' is never decided")
    assert told["macro_precision", None] == (
        pytest.approx((0.5 / 0.8 + 1) / 2), True, "mean without 'b', whose value is undefined",
    )  # fmt: skip
    assert told["macro_f_beta", None][1:] == (True, None)
    empty = nf.project_classes(
        counts, priors={"new": {**mix, "a": 0.4, "d": 0.1}}, metrics=ALL, cost={("a", "b"): 1}
    )
    known = empty.filter(pl.col("value").is_not_null())
    assert set(known["metric"]) == {"recall"}
    assert set(empty.filter(pl.col("value").is_null())["reason"]) == {"no row of 'd'"}
    assert not empty.filter(pl.col("value").is_null())["supported"].any()
    alone = nf.project_classes(counts, priors={"a": 0, "b": 0, "c": 0, "d": 1}, metrics=["kappa", "mcc"])
    assert alone.select("value", "reason").unique().rows() == [(None, "no row of 'd'")]
    one = nf.project_classes(
        counts, priors={"a": 1.0, "b": 0.0, "c": 0.0}, metrics=["kappa", "mcc", "accuracy"]
    )
    assert one["value"].to_list() == [1.0, None, None]
    assert one["reason"].to_list() == [None, *["all rows have one decision"] * 2]
    for interval in ("delta", "bootstrap"):
        bounded = nf.project_classes(counts, priors=mix, metrics="precision", interval=interval, repeats=20)
        for column in ("value", "lower", "upper"):
            assert bounded[column].is_null().to_list() == [False, True, False]


@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_the_weighted_mean_skips_what_is_undefined_as_scikit_learn_does(beta):
    """F0 is the precision: undefined of a class that is never decided."""
    label, decision = ["a"] * 30 + ["b"] * 40 + ["c"] * 50, ["a"] * 50 + ["b"] * 70
    table = nf.project_classes(
        counts_of(label, decision), priors="observed", metrics=["weighted_f_beta", "macro_f_beta"], beta=beta
    )
    for average, value in zip(("macro", "weighted"), table["value"], strict=True):
        peer = sk.fbeta_score(label, decision, beta=beta, average=average, zero_division=np.nan)
        assert value == pytest.approx(peer, rel=1e-12)
    skips = "mean without 'c', whose value is undefined" if beta == 0 else None
    assert table["reason"].to_list() == [skips] * 2
    nothing = nf.project_classes(
        counts_of(label, ["wait"] * 120),
        priors="observed",
        metrics=["macro_precision", "weighted_f_beta"],
        beta=0,
    )
    assert nothing["value"].to_list() == [None, None]
    assert nothing["reason"].to_list() == ["no class is ever decided"] * 2


def test_a_class_of_few_rows_is_not_supported():
    label, decision = ["a"] * 40 + ["b"] * 9, ["a"] * 38 + ["b"] * 11
    table = nf.project_classes(counts_of(label, decision), priors="observed", metrics=["recall", "accuracy"])
    told = table.select("metric", "class", "supported", "reason").rows()
    few = (False, "fewer than 10 independent rows of 'b'")
    assert told == [("accuracy", None, *few), ("recall", "a", True, None), ("recall", "b", *few)]


def test_scenarios_of_the_counts_meet_the_mixes_of_their_names():
    rng = np.random.default_rng(0)
    scores = rng.dirichlet(np.ones(2), 60)
    log = pl.DataFrame({"model": "m", "label": rng.integers(0, 2, 60), "p": scores[:, 0], "q": scores[:, 1]})
    mixes = {"rare": {0: 0.9, 1: 0.1}, "even": {0: 0.5, 1: 0.5}}
    counts = nf.count_classes(nf.scan_classes(log, scores={0: "p", 1: "q"}), priors=mixes)
    table = nf.project_classes(counts, priors=mixes, metrics="accuracy")
    for name, mix in mixes.items():
        alone = counts.filter(scenario=name).drop("scenario")
        expected = nf.project_classes(alone, priors=mix, metrics="accuracy")["value"].item()
        assert table.filter(scenario=name)["value"].item() == expected
        both = nf.project_classes(counts, priors=mix, metrics="accuracy")
        assert both.filter(scenario=name)["value"].item() == expected


def test_models_are_ranked_within_each_mix_metric_and_class():
    label, good = decided_log(3, seed=1, right=0.8)
    _, poor = decided_log(3, seed=1, right=0.4)
    log = pl.DataFrame({"label": label, "good": good, "poor": poor, "same": good})
    scan = nf.scan_classes(log, decision={name: name for name in ("good", "poor", "same")})
    options = {"priors": "uniform", "metrics": ["mcc", "expected_cost", "recall", "pos_fraction"]}
    table = nf.project_classes(nf.count_classes(scan), **options, cost={(0, 1): 1, (1, 2): 1})
    ranked = nf.rank_models(table)
    assert ranked.filter(metric="mcc").select("model", "rank").rows() == [
        ("good", 1),
        ("same", 1),
        ("poor", 3),
    ]
    assert ranked.filter(metric="expected_cost")["model"].to_list() == ["good", "same", "poor"]
    assert ranked.filter(metric="recall").group_by("class").len()["len"].to_list() == [3] * 3
    assert ranked.filter(metric="pos_fraction")["rank"].null_count() == 9


def test_a_scenario_may_be_a_word():
    counts = counts_of([0] * 10 + [1] * 30 + [2] * 60, [0] * 100)
    mixes = {"log": "observed", "even": "uniform", "field": {0: 0.7, 1: 0.2, 2: 0.1}}
    values = nf.project_classes(counts, priors=mixes, metrics="accuracy")
    assert values.select("scenario", "value").rows() == [
        ("even", pytest.approx(1 / 3)), ("field", pytest.approx(0.7)), ("log", pytest.approx(0.1)),
    ]  # fmt: skip


def test_the_share_of_one_class_varies_and_the_others_keep_their_proportions():
    counts = counts_of([0] * 10 + [1] * 30 + [2] * 60, [0] * 100)
    mixes = nf.vary_class_share(counts, of=1, shares=[0.0, 0.3, 1.0])
    assert mixes["scenario"].to_list() == ["0"] * 3 + ["0.3"] * 3 + ["1"] * 3
    expected = [1 / 7, 0, 6 / 7, 0.1, 0.3, 0.6, 0, 1, 0]
    assert mixes["prior"].to_list() == pytest.approx(expected)
    for given in (mixes, mixes.lazy()):
        values = nf.project_classes(counts, priors=given, metrics="accuracy")["value"]
        assert values.to_list() == pytest.approx([1 / 7, 0.1, 0])
