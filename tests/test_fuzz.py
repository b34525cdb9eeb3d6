"""The campaigns of `make fuzz` in short, and what keeps them honest: each kind of failure is noticed."""

import inspect

import polars as pl
import pytest

import nci_frames as nf
from tests.fuzz import mutated_files, odd_values
from tests.fuzz.calls import calls
from tests.fuzz.campaign import CLASSES, CLEAN, CRASH, RIGHT, SILENT, TRACEBACK, Found, judged
from tests.fuzz.campaigns import CAMPAIGNS
from tests.fuzz.corruptions import CORRUPTIONS, OF_RATES
from tests.fuzz.endings import CAMPAIGNS as ENDINGS
from tests.fuzz.guard import Guard
from tests.fuzz.results import wrong
from tests.fuzz.runner import Outcome, run_cases
from tests.fuzz.table import failing_lines, table
from tests.fuzz.validity import is_valid

SEED = 7


@pytest.mark.thorough
def test_nothing_ends_badly_in_the_short_run() -> None:
    wanted = [(campaign, number) for campaign in CAMPAIGNS for number in range(campaign.few)]
    outcomes = list(run_cases(wanted, SEED, workers=1))
    assert len(outcomes) == len(wanted)
    lines = failing_lines(outcomes, SEED)
    assert not lines, "\n".join([table(outcomes, SEED, 0), *lines])


@pytest.mark.thorough
def test_every_way_to_end_is_noticed() -> None:
    with Guard(SEED, "tests.fuzz.endings") as guard:
        ended = [guard.run(ENDINGS[0], number) for number in range(len(CLASSES))]
    assert [label for label, _ in ended] == list(CLASSES)
    assert [found.kind for _, found in ended] == list(CLASSES)
    assert ended[CLASSES.index(CRASH)][1].detail.startswith("SIGABRT")


def _fails() -> None:
    raise TypeError("level must be a number")


@pytest.mark.parametrize(
    ("run", "kind"),
    [
        (lambda: None, RIGHT),
        (lambda: "2 for 1", SILENT),
        (lambda: nf.compute_rates(pl.DataFrame()), CLEAN),
        (lambda: 1 / 0, TRACEBACK),
        (_fails, TRACEBACK),
    ],
)
def test_an_ending_has_its_class(run, kind: str) -> None:  # type: ignore[no-untyped-def]
    assert judged(run).kind == kind


def test_a_type_error_is_clean_if_it_names_an_argument() -> None:
    assert judged(_fails, ["level"]).kind == CLEAN  # type: ignore[arg-type]


def test_the_brute_force_knows_valid_frames_from_corrupted_ones() -> None:
    for call in calls().values():
        if call.kind in ("counts", "rates"):
            assert is_valid(call.frames[0]), call.name
    for name in ("compute_rates", "project_rates"):
        frame = calls()[name].frames[0]
        corruptions = {**CORRUPTIONS, **(OF_RATES if "tpr" in frame.columns else {})}
        for corruption in corruptions.keys() - {"counts as text", "no counts"}:
            assert not is_valid(corruptions[corruption](frame)), corruption


def test_a_result_that_no_schema_allows_is_wrong() -> None:
    call = calls()["project_rates"]
    projection = call()
    assert wrong("project_rates", projection) is None
    assert wrong("project_rates", projection.with_columns(value=pl.lit(1.5))) is not None
    log = pl.DataFrame({"model": "a", "score": [0.1, 0.9]})
    scanned = nf.scan_predictions(log, label=None).collect()
    assert wrong("scan_predictions", scanned) is None
    assert wrong("scan_predictions", scanned.drop("score")) is not None
    assert wrong("anything", pl.DataFrame({"x": [float("nan")]})) == "NaN in column 'x'"
    assert wrong("anything", {"x": object()}) is not None


def test_a_case_depends_on_the_seed_and_its_number_alone() -> None:
    for campaign in CAMPAIGNS:
        if not campaign.alone:
            labels = [campaign.case(SEED, number).label for number in (3, 1, 3)]
            assert labels[0] == labels[2]
    assert odd_values.SINGLE.case(1, 0).label != odd_values.SINGLE.case(2, 0).label


def test_at_scale_1_every_function_meets_every_odd_value() -> None:
    assert odd_values.SINGLE.size >= len(odd_values.singles(SEED))
    tried = {name for name, _, _ in odd_values.singles(SEED)}
    assert tried == {call.name for call in calls().values() if inspect.signature(call.function).parameters}


def test_failing_cases_are_commands_and_known_limits_do_not_fail() -> None:
    found = Found(SILENT, "other counts")
    odd = Outcome(odd_values.SINGLE, 12, "f(x=<'>)", found, 1.0)
    limit = Outcome(mutated_files.PLAIN, 3, "bit", found, 1.0)
    lines = failing_lines([limit, odd, Outcome(odd_values.SINGLE, 2, "g", Found(CLEAN), 1.0)], 5)
    assert lines == ["make fuzz SEED=5 CASE='odd values/12'  # wrong in silence: f(x=<'>): other counts"]
    shown = table([limit, odd], 5, 0.5).splitlines()
    assert shown[0].startswith("seed 5, scale 0.5")
    assert [line.split("  ")[0] for line in shown[2:]] == ["odd values", mutated_files.PLAIN.name]
