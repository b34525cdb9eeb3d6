"""A test that may be looked at every night."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats
from statsmodels.stats.proportion import proportion_confint

from nci_frames.jobs.gates.sequential import log_martingale


@pytest.mark.parametrize(("hits", "rest", "limit"), [(0, 0, 0.8), (7, 5, 0.8), (60, 40, 0.8), (3, 997, 0.01)])
def test_the_martingale_is_the_mixture_that_it_says(hits, rest, limit):
    """Against quadrature of the likelihood ratio over Jeffreys' prior below the limit."""

    def weighed(share):
        ratio = hits * math.log(share / limit) + rest * math.log((1 - share) / (1 - limit))
        return math.exp(ratio) * stats.beta.pdf(share, 0.5, 0.5)

    mixture = integrate.quad(weighed, 0, limit, limit=200, points=[limit / 2])[0]
    expected = mixture / stats.beta.cdf(limit, 0.5, 0.5)
    assert float(log_martingale(hits, rest, limit, below=True)) == pytest.approx(math.log(expected), abs=1e-6)
    other = float(log_martingale(rest, hits, 1 - limit, below=False))
    assert other == pytest.approx(math.log(expected), abs=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize("logs", [300, pytest.param(4000, marks=pytest.mark.slow)])
def test_looking_every_night_raises_false_alarms_of_the_ordinary_test_alone(logs):
    """The promise is just kept: recall 0.8, 50 positives a night, 200 nights, at confidence 0.95."""
    rng = np.random.default_rng(0)
    hits = rng.binomial(50, 0.8, (logs, 200)).cumsum(axis=1)
    rows = 50 * np.arange(1, 201)
    lower, upper = proportion_confint(hits, rows, method="wilson")
    outside = ((upper < 0.8) | (lower > 0.8)).any(axis=1).mean()
    alarms = (log_martingale(hits, rows - hits, 0.8, below=True) >= math.log(20)).any(axis=1).mean()
    assert outside > 0.35
    assert alarms <= 0.05
    broken = (upper < 0.8).any(axis=1).mean()
    exact = (stats.binom.cdf(hits, rows, 0.8) <= 0.05).any(axis=1).mean()
    print(  # noqa: T201
        f"{logs:,} logs of 200 nights: either side {outside:.1%}, the broken side {broken:.1%}, "
        f"exact {exact:.1%}, sequential {alarms:.1%}"
    )
    if logs == 4000:
        page = (Path(__file__).parents[3] / "docs" / "jobs.md").read_text(encoding="utf-8")
        table = page[page.index("| logs with a false alarm") :]
        told = [float(number) for number in re.findall(r"\| ([\d.]+) % \|", table)]
        found = [100 * share for share in (outside, broken, exact, alarms)]
        assert told == pytest.approx(found, abs=0.5)
    # It is no test that never speaks: where recall fell to 0.7, it does so within days.
    fallen = rng.binomial(50, 0.7, (300, 200)).cumsum(axis=1)
    found = log_martingale(fallen, rows - fallen, 0.8, below=True) >= math.log(20)
    assert np.median(found.argmax(axis=1)) < 10
    assert found.any(axis=1).all()
