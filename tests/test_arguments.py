"""Arguments of the wrong kind end in an error that says what to pass."""

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.arguments import beta_values, prevalence_values
from tests.fuzz.calls import Call, calls
from tests.fuzz.oddities import ODD_VALUES

TAKE_FRAMES = [call for call in calls().values() if call.kind in ("counts", "rates")]
NO_FRAMES = {name: value for name, value in ODD_VALUES.items() if not isinstance(value, pl.DataFrame)}


@pytest.mark.parametrize("call", TAKE_FRAMES, ids=lambda call: call.name)
@pytest.mark.parametrize("odd", ODD_VALUES)
def test_what_is_no_frame_is_refused(call: Call, odd: str) -> None:
    with pytest.raises(nf.SchemaError):
        call.function(ODD_VALUES[odd], *call.frames[1:], **call.options)


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ([pl.DataFrame()], "merge_counts"),
        (Path("counts.parquet"), "read_parquet"),
        ("counts.parquet", "read_parquet"),
        (calls()["compute_rates"].frames[0].to_pandas(), "polars.from_pandas"),
        (duckdb.sql("select 1"), "pl()"),
        (3, "count_confusion"),
    ],
)
def test_the_hint_for_what_is_no_frame(value: Any, hint: str) -> None:
    with pytest.raises(nf.SchemaError, match="must be a Polars DataFrame or LazyFrame") as caught:
        nf.compute_rates(value)
    assert hint in str(caught.value.hint)


def test_lists_of_counts_are_to_be_merged() -> None:
    counts = calls()["merge_counts"].frames[0]
    with pytest.raises(nf.SchemaError, match=r"merge_counts\(\*frames\)"):
        nf.merge_counts([counts, counts])  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["prevalence", "beta"])
@pytest.mark.parametrize("odd", ODD_VALUES)
def test_numbers_are_numbers(name: str, odd: str) -> None:
    value = ODD_VALUES[odd]
    values = {"prevalence": prevalence_values, "beta": beta_values}[name]
    right = {"0", "pair", *(("infinity", "1e308", "2**63") if name == "beta" else ())}
    if odd in right:
        assert values(value) == sorted(np.atleast_1d(value).astype(float).tolist())
        return
    with pytest.raises(nf.ParameterError, match=f"{name} must be"):
        values(value)


def test_a_number_as_text_is_suggested_as_a_number() -> None:
    with pytest.raises(nf.ParameterError, match=r"did you mean the number 0\.05"):
        prevalence_values("0.05")  # type: ignore[arg-type]
