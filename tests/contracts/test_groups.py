"""Each group of keys has what it has alone, whatever the order of the rows of all."""

from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.fuzz.calls import calls

#: What these functions return is not of each group by itself.
TOGETHER = {
    "check_projection",  # its p-values are adjusted over all groups
    "compare_data_sets",  # another key is another data set
    "rank_segments",  # other keys are pooled
    *("expected_half_widths", "plan_labels", "vary_class_share"),  # of one log or mix
}

APART: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name, call in calls().items() if call.of_frames and name not in TOGETHER),
    ("bootstrap", {"metric": ["pr_auc", "precision"], "units": None}),
    ("compare_best", {"units": None}),
    ("compute_areas", {"interval": "simultaneous"}),
    ("compute_areas", {"prevalence": "observed"}),
    ("cross_fit", {"units": None}),
    ("find_crossovers", {"metric": "accuracy"}),
]


def of_day(frame: pl.DataFrame, day: int | None) -> pl.DataFrame:
    """A group of the frame's rows; on a day that is known the models have changed places."""
    if day is not None and "model" in frame.columns:
        frame = frame.with_columns(pl.col("model").replace({"forest": "linear", "linear": "forest"}))
    return frame.with_columns(day=pl.lit(day, pl.Int64))


@pytest.mark.parametrize(("name", "options"), APART)
def test_a_group_has_what_it_has_alone_whatever_the_order_of_rows(name, options):
    call = calls()[name]
    asked = {**call.options, **options}
    days = {day: [of_day(frame, day) for frame in call.frames] for day in (None, 2)}
    both = [pl.concat(frames) for frames in zip(*days.values(), strict=True)]
    found = call.function(*both, **asked)
    for day, frames in days.items():
        mine = found.filter(pl.col("day").eq_missing(day))
        assert_frame_equal(mine, call.function(*frames, **asked), check_exact=True)
    mixed = [frame.sample(fraction=1, shuffle=True, seed=1).lazy() for frame in both]
    assert_frame_equal(call.function(*mixed, **asked), found, check_exact=True)
