"""Data of charts as columns: the page reads back the rows that Python wrote, to seven digits."""

import json

from hypothesis import given
from hypothesis import strategies as st

from nci_frames.tables.packed import packed
from tests.chart_specs import unpacked

VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.text(max_size=8), st.floats(-1e6, 1e6)
)


@given(
    st.lists(st.dictionaries(st.sampled_from(["model", "value", "rank", "constructor"]), VALUES), max_size=30)
)
def test_rows_come_back_to_seven_digits(rows):
    # As JSON, in which 1 is not 1.0 and true is neither.
    found = unpacked(json.loads(json.dumps(packed(rows))))
    fields = list(dict.fromkeys(name for row in rows for name in row))
    expected = [
        {
            name: float(f"{row[name]:.7g}") if isinstance(row.get(name), float) else row.get(name)
            for name in fields
        }
        for row in rows
    ]
    assert [list(map(repr, row.values())) for row in found] == [
        list(map(repr, row.values())) for row in expected
    ]
    assert [list(row) for row in found] == [fields for _ in rows]


def test_what_repeats_is_written_once():
    rows = [{"model": "gradient boosted trees", "prevalence": 0.0003162278} for _ in range(100)]
    assert len(json.dumps(packed(rows))) < 800 < len(json.dumps(rows)) / 5
