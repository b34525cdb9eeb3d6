"""What keeps the campaigns of `make fuzz` honest: each kind of failure is noticed."""

import inspect

import polars as pl
import pytest

import nci_frames as nf
from tests.fuzz import odd_values
from tests.fuzz.calls import calls
from tests.fuzz.campaign import judged
from tests.fuzz.corruptions import CORRUPTIONS, OF_RATES, is_valid
from tests.fuzz.results import wrong


def _fails() -> None:
    raise TypeError("level must be a number")


def test_an_error_that_says_what_is_wrong_is_no_failure() -> None:
    assert judged(lambda: None) is None
    assert judged(lambda: "2 for 1") == "2 for 1"
    assert judged(lambda: nf.compute_rates(pl.DataFrame())) is None  # type: ignore[arg-type, return-value]
    assert judged(_fails, ["level"]) is None
    with pytest.raises(TypeError):
        judged(_fails)


def test_the_brute_force_knows_valid_frames_from_corrupted_ones() -> None:
    for call in calls().values():
        if call.takes in ("counts", "rates"):
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


def test_at_scale_1_every_function_meets_every_odd_value() -> None:
    assert odd_values.SINGLE.size >= len(odd_values.singles(7))
    tried = {name for name, _, _ in odd_values.singles(7)}
    assert tried == {call.name for call in calls().values() if inspect.signature(call.function).parameters}
