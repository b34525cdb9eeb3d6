"""The H-measure: a published value, integrals over costs, the parts of the Brier score, rows behind grids."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

import nci_frames as nf
from tests.evaluation.probabilities import logs


def test_the_example_of_the_python_package_hmeasure():
    # Its README: ten rows, H = 0.18889596344769588; the costs are those of its default severity ratio.
    scores = [0.84901876, 0.10282827, 0.43752488, 0.46004468, 0.90878931,
              0.79177719, 0.5297229, 0.13803906, 0.73166264, 0.22959056]  # fmt: skip
    log = logs.log_of(list(zip([1, 1, 0, 1, 1, 0, 1, 1, 1, 0], scores, strict=True)))
    log = log.with_columns(pl.col("label").cast(pl.Boolean))
    found = nf.h_measure(logs.exact(log), prevalence="observed", costs=(2.0, 1 + 3 / 7))
    assert found["value"].item() == pytest.approx(0.18889596344769588, rel=1e-12)


@pytest.mark.parametrize("costs", [(2.0, 2.0), (1.5, 4.0), "prevalence"])
@pytest.mark.parametrize("eta", [0.02, 0.5])
def test_it_is_the_integral_over_costs(costs, eta):
    rng = np.random.default_rng(2)
    log = logs.log_of(
        [(bool(y), float(s)) for y, s in zip(rng.random(40) < 0.4, rng.random(40), strict=True)]
    )
    rates = nf.compute_rates(logs.exact(log))
    tpr, fpr = np.append(rates["tpr"], 0.0), np.append(rates["fpr"], 0.0)
    weight = beta(1 + eta, 2 - eta) if costs == "prevalence" else beta(*costs)

    places = (np.arange(20_000)[:, None] + 0.5) / 20_000
    lowest = (places * (1 - eta) * fpr + (1 - places) * eta * (1 - tpr)).min(axis=1)
    constant = np.minimum(places * (1 - eta), (1 - places) * eta)[:, 0]
    sums = [(cost * weight.pdf(places[:, 0])).sum() for cost in (lowest, constant)]
    found = nf.h_measure(logs.exact(log), prevalence=eta, costs=costs)
    assert found["value"].item() == pytest.approx(1 - sums[0] / sums[1], abs=1e-6)


@given(logs.rows, st.sampled_from([1e-6, 0.03, 0.8]))
def test_with_even_costs_it_is_discrimination_over_uncertainty(rows, eta):
    counts = logs.exact(logs.log_of(rows, 20))
    parts = nf.decompose_scores(counts, prevalence=eta)
    found = nf.h_measure(counts, prevalence=eta, costs=(1.0, 1.0))
    share = (parts["discrimination"] / parts["uncertainty"]).item()
    assert found["value"].item() == pytest.approx(share, rel=1e-9, abs=1e-9)


@given(logs.anywhere, st.sampled_from([0.001, 0.4]))
def test_every_log_behind_a_grid_lies_within_the_bounds(rows, eta):
    log = logs.log_of(rows)
    exact = nf.h_measure(logs.exact(log), prevalence=eta)["value"].item()
    found = nf.h_measure(nf.count_confusion(log, thresholds=[0.2, 0.5, 0.9]), prevalence=eta)
    assert found["lower"].item() - 1e-12 <= exact <= found["upper"].item() + 1e-12
    assert found["lower"].item() == found["value"].item()


def test_only_the_order_of_scores_matters_and_what_is_undefined_is_null():
    log = logs.probability_log(200)
    shifted = log.with_columns(score=(pl.col("score") / (1 - pl.col("score"))).log())
    values = [nf.h_measure(logs.exact(each), prevalence=0.1)["value"].to_list() for each in (log, shifted)]
    assert values[0] == pytest.approx(values[1], rel=1e-12)
    assert nf.h_measure(logs.exact(log), prevalence=[0.0, 1.0])["value"].null_count() == 4
    alone = nf.h_measure(logs.exact(log.filter("label")), prevalence=0.1)
    assert alone["value"].null_count() == 2
    assert alone["reason"].to_list() == ["there are no negatives"] * 2
    for costs in ((0.0, 1.0), (1.0,), (2.0, 1e9)):
        with pytest.raises(nf.ParameterError, match="costs"):
            nf.h_measure(logs.exact(log), prevalence=0.1, costs=costs)


@pytest.mark.parametrize("costs", [[2.0, 2.0], np.array([2, 2]), pl.Series([2.0, 2.0])])
def test_costs_are_two_numbers_of_any_kind(costs):
    counts = logs.exact(logs.log_of([(0, 0.1), (0, 0.4), (1, 0.35), (1, 0.8)]))
    assert nf.h_measure(counts, prevalence=0.5, costs=costs).equals(nf.h_measure(counts, prevalence=0.5))
    with pytest.raises(nf.ParameterError, match="costs"):
        nf.h_measure(counts, prevalence=0.5, costs=costs[:1])
