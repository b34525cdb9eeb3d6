"""Each group has what it has alone: in any order, at its own prevalence, beside one without a class."""

import inspect
from typing import Any

import polars as pl
import polars.selectors as cs
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from tests.fuzz.calls import Call, calls
from tests.fuzz.corruptions import CELLS

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
    ("project_classes", {"priors": "observed"}),
]


def frames_of(call: Call, asked: dict[str, Any]) -> tuple[pl.DataFrame, ...]:
    """The frames of a call; the last four buckets where these are groups, as they are not the units."""
    if asked.get("units", "bucket") is not None:
        return call.frames
    return tuple(frame.filter(pl.col("bucket") >= 20) for frame in call.frames)


def of_day(frame: pl.DataFrame, day: int | None) -> pl.DataFrame:
    """A group of the frame's rows; on a day that is known the models have changed places."""
    if day is not None and "model" in frame.columns:
        frame = frame.with_columns(pl.col("model").replace({"forest": "linear", "linear": "forest"}))
    return frame.with_columns(day=pl.lit(day, pl.Int64))


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "options"), APART)
def test_a_group_has_what_it_has_alone_whatever_the_order_of_rows(name, options):
    call = calls()[name]
    asked = {**call.options, **options}
    days = {day: [of_day(frame, day) for frame in frames_of(call, asked)] for day in (None, 2)}
    both = [pl.concat(frames) for frames in zip(*days.values(), strict=True)]
    found = call.function(*both, **asked)
    for day, frames in days.items():
        mine = found.filter(pl.col("day").eq_missing(day))
        assert_frame_equal(mine, call.function(*frames, **asked), check_exact=True)
    mixed = [frame.sample(fraction=1, shuffle=True, seed=1).lazy() for frame in both]
    assert_frame_equal(call.function(*mixed, **asked), found, check_exact=True)


ETAS = {None: 0.001, 2: 0.3}
BY_KEY: list[Any] = [
    *(
        pytest.param(name, {}, marks=pytest.mark.thorough if name == "bootstrap" else ())
        for name, call in calls().items()
        if call.of_frames
        and "Mapping" in str(inspect.signature(call.function).parameters.get("prevalence"))
        # A difference and a roll-up are of all groups.
        and name not in ("decompose_difference", "roll_up", "select_operating_points")
    ),
    pytest.param("bootstrap", {"metric": ["precision", "pr_auc"], "units": None}, marks=pytest.mark.thorough),
    ("project_rates", {"metrics": ["precision", "recall", nf.expected_cost(c_fn=20)], "beta": [0.5, 2]}),
    ("select_operating_points", {"tpr": None, "metric": "f_beta"}),
    ("select_operating_points", {"tpr": None, "precision": 0.9}),
    ("select_operating_points", {"tpr": None, "alerts": 1, "volume": 50, "interpolate": True}),
]


@pytest.mark.parametrize(("name", "options"), BY_KEY)
def test_a_group_is_judged_at_its_own_prevalence(name, options):
    call = calls()[name]
    asked = {**call.options, **options}
    days = {day: [of_day(frame, day) for frame in frames_of(call, asked)] for day in ETAS}
    alone = [call.function(*days[day], **asked | {"prevalence": eta}) for day, eta in ETAS.items()]
    both = [pl.concat(frames) for frames in zip(*days.values(), strict=True)]
    field = pl.DataFrame({"day": [2, None], "prevalence": [0.3, 0.001]})
    for given in (field.lazy(), {"day": ETAS})[: 2 if options else 1]:
        found = call.function(*both, **asked | {"prevalence": given})
        assert_frame_equal(found, pl.concat(alone), check_row_order=False, rel_tol=1e-12, abs_tol=1e-12)
    with pytest.raises(nf.ParameterError, match="a segment has no prevalence"):
        call.function(*both, **asked | {"prevalence": field.head(1)})


#: These functions tell something of either class by itself.
OF_ONE_CLASS = {
    *("check_projection", "compute_rates", "correct_partial_labels", "max_precision_uncertainty"),
    *("merge_counts", "pool_counts", "rank_segments", "select_operating_points", "subsample_study"),
}
KEYS = ("model", "fold", "bucket", "threshold", "resolution")
PLACES = (
    *("threshold", "prevalence", "beta", "reference_prevalence"),
    *("probability_cost", "threshold_probability"),
)
IN_OTHER_WORDS = {
    "compare_best": "undefined",
    "compare_folds": "undefined",
    "compute_areas": "there are no|the value is undefined",
    "cross_fit": "a class has fewer than two rows",
    "decompose_difference": "undefined in the segment",
}
OF_BOTH: list[Any] = [
    *(
        pytest.param(name, {}, marks=pytest.mark.thorough)
        for name, call in calls().items()
        if call.takes in ("counts", "rates") and call.of_frames and name not in OF_ONE_CLASS
    ),
    ("calibration_curve", {"bins": 4}),
    ("compute_areas", {"interval": "simultaneous"}),
    ("decompose_scores", {"metric": "log_loss"}),
    ("proper_scores", {"adjusted": True, "prevalence": [0.0, 0.1]}),
]


#: The day of a log without a class, which class that is, and its cells.
LACKING = {2: ("no positives", ("tp", "fn")), 3: ("no negatives", ("fp", "tn"))}


@pytest.mark.parametrize(("name", "options"), OF_BOTH)
def test_a_group_without_a_class_has_no_value_and_says_why(name, options):
    call = calls()[name]
    asked = {**call.options, **options}
    counts = of_day(call.frames[0].select(cs.by_name(*KEYS, *CELLS, require_all=False)), None)
    without = [
        counts.with_columns(*[pl.lit(0, pl.Int64).alias(cell) for cell in cells], day=pl.lit(day, pl.Int64))
        for day, (_, cells) in LACKING.items()
    ]
    frames = (counts, pl.concat([counts, *without]))
    if call.takes == "rates":
        frames = tuple(nf.compute_rates(frame, interval="wilson") for frame in frames)
    expected, found = (call.function(frame, *call.frames[1:], **asked) for frame in frames)
    assert_frame_equal(found.filter(pl.col("day").is_null()), expected)
    for day, (lacks, _) in LACKING.items():
        mine = found.filter(day=day)
        values = mine.select(cs.float() - cs.by_name(*PLACES, require_all=False))
        assert values.null_count().row(0) == (len(mine),) * values.width
        if "reason" in mine.columns:
            words = IN_OTHER_WORDS.get(name, lacks)
            assert mine["reason"].str.contains(words).all(ignore_nulls=False)
