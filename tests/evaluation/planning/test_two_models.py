"""Rows that tell two models apart: published numbers, and the power of simulated tests."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal
from scipy.stats import norm

import nci_frames as nf
from nci_frames.schemas import COMPARISON_SAMPLES
from tests.logs import pairs_of


def joint_law(a, b, phi):
    both = a * b + phi * math.sqrt(a * (1 - a) * b * (1 - b))
    return [both, a - both, b - both, 1 - a - b + both]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("metric", "tpr", "fpr", "phi", "prevalence"),
    [
        ("recall", (0.8, 0.7), (0.05, 0.05), (0.5, 0.5), 0.3),
        ("precision", (0.7, 0.72), (0.02, 0.04), (0.6, 0.5), 0.1),
        ("f_beta", (0.85, 0.7), (0.03, 0.05), (0.4, 0.3), 0.2),
        ("fpr", (0.8, 0.8), (0.03, 0.05), (0.5, 0.6), 0.2),
    ],
)
def test_so_many_rows_have_the_power(metric, tpr, fpr, phi, prevalence):
    asked = {"compare": metric, "tpr": tpr, "fpr": fpr, "prevalence": prevalence, "correlation": phi}
    found = nf.required_samples(**asked, power=0.8).row(0, named=True)
    assert found["negatives"] == pytest.approx(found["positives"] * (1 - prevalence) / prevalence, abs=1)
    assert 0.8 <= found["power"] < 0.83
    rng = np.random.default_rng(1)
    joint = [joint_law(*rates, shared) for rates, shared in zip((tpr, fpr), phi, strict=True)]
    sizes = found["positives"], found["negatives"]
    pairs = pairs_of(*np.hstack([rng.multinomial(n, law, 100) for n, law in zip(sizes, joint, strict=True)]))
    tested = nf.compare_pairs(pairs, metric=metric, prevalence=prevalence, repeats=100)
    # Three standard errors of a share of 0.8 in 100 studies.
    assert (tested["p_value"] < 0.05).mean() == pytest.approx(found["power"], abs=0.12)


@pytest.mark.parametrize(("a", "b"), [(0.8, 0.7), (0.1, 0.2)])
def test_unpaired_rows_have_the_power(a, b):
    found = nf.required_samples(compare="recall", tpr=(a, b), power=0.8).row(0, named=True)
    n = found["positives"]
    rng = np.random.default_rng(2)
    hits = rng.binomial(n, [[a], [b]], (2, 20_000)) / n
    pooled = hits.mean(axis=0)
    z = (hits[0] - hits[1]) / np.sqrt(2 * pooled * (1 - pooled) / n)
    assert (np.abs(z) > 1.96).mean() == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize(
    ("prevalence", "tpr", "fpr"),
    [(0.1, (0.8, 0.7), (0.05, 0.05)), (1e-10, (0.8, 0.7), (0.05, 0.05)), (1e-6, (0.8, 0.8), (1e-6, 2e-6))],
)
def test_slopes_are_those_of_rare_positives_and_low_rates(prevalence, tpr, fpr):
    ratio, variance, values = (1 - prevalence) / prevalence, 0.0, []
    for t, f in zip(tpr, fpr, strict=True):
        hits, alerts = prevalence * t, prevalence * t + (1 - prevalence) * f
        by_tpr, by_fpr = prevalence * (alerts - hits) / alerts**2, (1 - prevalence) * hits / alerts**2
        variance += by_tpr**2 * t * (1 - t) + by_fpr**2 * f * (1 - f) / ratio
        values.append(hits / alerts)
    needed = (norm.ppf(0.975) + norm.ppf(0.8)) ** 2 * variance / (values[0] - values[1]) ** 2
    found = nf.required_samples(compare="precision", tpr=tpr, fpr=fpr, prevalence=prevalence)
    assert found["positives"].item() == math.ceil(needed)


def test_published_numbers():
    # pROC 1.19, power.roc.test(ncases=41, ncontrols=72, auc=0.73): 0.9897453 (its data set aSAH).
    found = nf.required_samples(compare="roc_auc", auc=0.73, ratio=72 / 41, power=0.9897).row(0, named=True)
    assert (found["positives"], found["negatives"]) == (41, 72)
    assert found["power"] == pytest.approx(0.9897453, abs=1e-6)
    # Fleiss, Levin and Paik (2003), table A.4 without the correction for continuity: 80 % against 70 %.
    assert nf.required_samples(compare="recall", tpr=(0.8, 0.7))["positives"].item() == 294


def test_areas_of_two_models():
    def variance(area, kappa):
        a = 1.414 * norm.ppf(area)
        return 0.0099 * math.exp(-(a**2) / 2) * (5 * a**2 + 8 + (a**2 + 8) / kappa)

    shared = nf.required_samples(compare="roc_auc", auc=(0.85, 0.8), correlation=0.6, ratio=4)
    alone = nf.required_samples(compare="roc_auc", auc=(0.85, 0.8), prevalence=0.2)
    assert shared["method"].item() == "paired"
    assert alone["method"].item() == "unpaired"
    assert alone["positives"].item() > 2 * shared["positives"].item()
    v = [variance(area, 4) for area in (0.85, 0.8, 0.825)]
    roots = math.sqrt(2 * v[2] * 0.4), math.sqrt(v[0] + v[1] - 1.2 * math.sqrt(v[0] * v[1]))
    rows = ((norm.ppf(0.975) * roots[0] + norm.ppf(0.8) * roots[1]) / 0.05) ** 2
    assert shared["positives"].item() == math.ceil(rows)
    assert shared["negatives"].item() == 4 * math.ceil(rows)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"auc": (0.9, 0.8), "tpr": (0.8, 0.7)}, "follow from areas"),
        (
            {"auc": (0.9, 0.8), "pairs": pairs_of((60, 20, 10, 10, 5, 10, 15, 970)).drop("log")},
            "follow from areas",
        ),
        ({"auc": 0.8, "correlation": 0.5}, "of two areas"),
        ({"auc": (0.9, 0.8), "correlation": (0.5, 0.2)}, "of two areas"),
    ],
)
def test_what_areas_do_not_use_is_refused(options, said):
    with pytest.raises(nf.ParameterError, match=said):
        nf.required_samples(compare="roc_auc", ratio=1, **options)


def test_joint_counts_say_what_to_expect():
    pairs = pairs_of((60, 20, 10, 10, 5, 10, 15, 970)).drop("log")
    phi = (0.6 - 0.56) / math.sqrt(0.16 * 0.21)
    of_pairs = nf.required_samples(compare="recall", pairs=pairs, ratio=10)
    COMPARISON_SAMPLES.check(of_pairs)
    by_hand = nf.required_samples(compare="recall", tpr=(0.8, 0.7), correlation=phi, ratio=10)
    columns = ["positives", "negatives", "discordant_positives", "power"]
    assert_frame_equal(of_pairs.select(columns), by_hand.select(columns))
    assert of_pairs["discordant_positives"].item() == pytest.approx(0.3 * of_pairs["positives"].item())


@given(
    a=st.floats(0.05, 0.95), b=st.floats(0.05, 0.95), level=st.sampled_from([0.9, 0.99]),
    power=st.sampled_from([0.3, 0.5, 0.9]),
)  # fmt: skip
def test_one_row_less_has_less_power(a, b, level, power):
    if abs(a - b) < 1e-3:
        return
    found = nf.required_samples(compare="recall", tpr=(a, b), correlation=0.0, level=level, power=power)
    rows = found["positives"].item()
    assert found["power"].item() >= power - 1e-9
    psi, delta = a + b - 2 * a * b, abs(a - b)
    if rows > 1:
        z = norm.ppf((1 + level) / 2)
        less = norm.cdf((delta * math.sqrt(rows - 1) - z * math.sqrt(psi)) / math.sqrt(psi - delta**2))
        assert less < power
