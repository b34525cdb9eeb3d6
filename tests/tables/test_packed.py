"""Data of charts as columns: the page reads back the rows that Python wrote, to seven digits."""

import json

from hypothesis import given
from hypothesis import strategies as st

from nci_frames.tables.packed import packed
from tests.cases import CHARACTERS
from tests.chart_specs import unpacked

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.text(CHARACTERS, max_size=8),
    st.floats(-1e6, 1e6),
)


@given(
    st.lists(st.dictionaries(st.sampled_from(["model", "value", "rank", "constructor"]), VALUES), max_size=30)
)
def test_rows_come_back_to_seven_digits(rows):
    # As JSON, in which 1 is not 1.0 and true is neither.
    found = unpacked(json.loads(json.dumps(packed(rows))))
    fields = list(dict.fromkeys(name for row in rows for name in row))
    assert [list(row) for row in found] == [fields for _ in rows]
    for name in fields:
        for shown, row in zip(found, rows, strict=True):
            value = row.get(name)
            if isinstance(value, float):
                assert f"{shown[name]:.7g}" == f"{value:.7g}"
            else:
                assert repr(shown[name]) == repr(value)


@given(st.floats(1e-6, 1e6), st.integers(3, 6), st.sampled_from([0.0, -1e-9, 1e-9, -1e-12]))
def test_what_is_sent_is_rounded_as_the_number_itself(number, digits, aside):
    """Also next to what lies in the middle of two numbers of a few digits."""
    middle = float(f"{number:.{digits}g}".partition("e")[0] + "5") * (1 + aside)
    (sent,) = unpacked(json.loads(json.dumps(packed([{"value": middle}]))))
    shown = [f"{sent['value']:.{digits}g}" for digits in range(3, 8)]
    assert shown == [f"{middle:.{digits}g}" for digits in range(3, 8)]


def test_what_repeats_is_written_once():
    rows = [{"model": "gradient boosted trees", "prevalence": 0.0003162278} for _ in range(100)]
    assert len(json.dumps(packed(rows))) < 800 < len(json.dumps(rows)) / 5
