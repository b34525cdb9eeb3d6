"""Each group of keys has what it has alone: in any order of all rows, and at a prevalence of its own."""

import inspect
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
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


ETAS = {None: 0.001, 2: 0.3}
BY_KEY: list[tuple[str, dict[str, Any]]] = [
    *(
        (name, {})
        for name, call in calls().items()
        if call.of_frames
        and "Mapping" in str(inspect.signature(call.function).parameters.get("prevalence"))
        # A difference and a roll-up are of all groups.
        and name not in ("decompose_difference", "roll_up", "select_operating_points")
    ),
    ("bootstrap", {"metric": ["precision", "pr_auc"], "units": None}),
    ("project_rates", {"metrics": ["precision", "recall", nf.expected_cost(c_fn=20)], "beta": [0.5, 2]}),
    ("select_operating_points", {"tpr": None, "metric": "f_beta"}),
    ("select_operating_points", {"tpr": None, "precision": 0.9}),
    ("select_operating_points", {"tpr": None, "alerts": 1, "volume": 50, "interpolate": True}),
]


@pytest.mark.parametrize(("name", "options"), BY_KEY)
def test_a_group_is_judged_at_its_own_prevalence(name, options):
    call = calls()[name]
    asked = {**call.options, **options}
    days = {day: [of_day(frame, day) for frame in call.frames] for day in ETAS}
    alone = [call.function(*days[day], **asked | {"prevalence": eta}) for day, eta in ETAS.items()]
    both = [pl.concat(frames) for frames in zip(*days.values(), strict=True)]
    field = pl.DataFrame({"day": [2, None], "prevalence": [0.3, 0.001]})
    for given in (field, field.lazy(), {"day": ETAS}):
        found = call.function(*both, **asked | {"prevalence": given})
        assert_frame_equal(found, pl.concat(alone), check_row_order=False, rel_tol=1e-12, abs_tol=1e-12)
    with pytest.raises(nf.ParameterError, match="a segment has no prevalence"):
        call.function(*both, **asked | {"prevalence": field.head(1)})
