"""The campaigns: a few cases of each, and all with `make fuzz`; pytest-xdist notices crashes."""

import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fuzz import (
    corrupted_frames,
    drifting_types,
    environments,
    mutated_files,
    odd_values,
    other_writers,
    sizes,
)
from tests.fuzz.campaign import Campaign

pytestmark = pytest.mark.thorough

CAMPAIGNS = (
    odd_values.SINGLE,
    odd_values.PAIR,
    corrupted_frames.CAMPAIGN,
    mutated_files.PLAIN,
    mutated_files.CHECKSUMS,
    drifting_types.CAMPAIGN,
    other_writers.CAMPAIGN,
    environments.CAMPAIGN,
    sizes.CAMPAIGN,
)
SEED = int(os.environ.get("FUZZ_SEED", "7"))
#: The share of the cases; without it, the short run.
SCALE = float(os.environ.get("FUZZ_SCALE", "0"))
CASES = [
    pytest.param(campaign, number, id=f"{campaign.name}/{number}")
    for campaign in CAMPAIGNS
    for number in range(round(campaign.size * SCALE) if SCALE else campaign.few)
]


@pytest.fixture
def limits(campaign: Campaign) -> Iterator[None]:
    """End a process that hangs, and give it no more memory than the campaign says."""
    soft, most = resource.getrlimit(resource.RLIMIT_AS)
    # In the short run, other tests have taken address space; in the long one, thousands of cases have.
    if SCALE and campaign.memory:
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + campaign.memory, most))
    before = signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(campaign.seconds)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
    resource.setrlimit(resource.RLIMIT_AS, (soft, most))


@pytest.mark.usefixtures("limits")
@pytest.mark.parametrize(("campaign", "number"), CASES)
def test_a_case(campaign: Campaign, number: int, tmp_path: Path) -> None:
    case = campaign.case(SEED, number)
    found = case.run(tmp_path)
    if found and campaign.silent:
        pytest.xfail(campaign.silent)
    assert not found, f"{case.label}: {found}"


def test_a_case_depends_on_the_seed_and_its_number_alone() -> None:
    for campaign in CAMPAIGNS[:-1]:
        labels = [campaign.case(SEED, number).label for number in (3, 1, 3)]
        assert labels[0] == labels[2]
    assert odd_values.SINGLE.case(1, 0).label != odd_values.SINGLE.case(2, 0).label
