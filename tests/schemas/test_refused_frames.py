"""Counts and rates that no log has are refused by every function that takes them."""

import contextlib
import inspect
import re
import runpy
from datetime import date
from functools import partial
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.schemas import consistency, runs
from nci_frames.schemas.frame import unflagged
from tests.cases import first_quick
from tests.fuzz.calls import NOT_CALLED, calls, public_functions, result
from tests.fuzz.corruptions import CELLS, CORRUPTIONS, OF_RATES
from tests.fuzz.results import schema_of
from tests.logs import counts_at
from tests.processes import in_python

TAKE_COUNTS = [call for call in calls().values() if call.takes == "counts"]
TAKE_RATES = [call for call in calls().values() if call.takes == "rates"]


def test_every_public_function_has_a_call():
    assert set(calls()) | NOT_CALLED == set(public_functions())


@pytest.mark.parametrize("call", calls().values(), ids=lambda call: call.name)
def test_the_calls_are_valid(call):
    """What they give is what the schema says, with values, too: ranges, and no null where there is none."""
    found, schema = result(call.name), schema_of(call.name)
    if schema is None or call.name == "counting_sql":  # a database gives the frame
        return
    frame = found.collect() if isinstance(found, pl.LazyFrame) else found
    schema.check(frame)
    columns = [column for column in schema.columns if column.name in schema.fixed and column.name in frame]
    assert all(frame.schema[column.name] in column.dtypes for column in columns)


#: Without the model, the class or the places that they are asked about they have nothing to do.
NEED_ROWS = {
    *("compare_data_sets", "count_pairs", "estimate_class_priors", "expected_half_widths", "plan_labels"),
    "vary_class_share",
}


@pytest.mark.parametrize(
    "name", [name for name, call in calls().items() if call.of_frames and name not in NEED_ROWS]
)
def test_an_empty_frame_has_the_columns_and_types_of_a_full_one(name):
    call = calls()[name]
    empty = call.function(*(frame.clear() for frame in call.frames), **call.options)
    assert empty.is_empty()
    assert empty.schema == result(name).schema


def is_refused(call, frame) -> bool:
    with contextlib.suppress(nf.SchemaError):
        call.function(frame, *call.frames[1:], **call.options)
        return False
    return True


@pytest.mark.parametrize("kind", ["counts", "rates"])
def test_corrupted_frames_are_refused(kind):
    """All corruptions of one function, an eighth of those of each other. Every second frame is lazy.

    The schema refuses all of them; the campaign of frames that are changed at random takes every function.
    """
    functions = TAKE_COUNTS if kind == "counts" else TAKE_RATES
    changes = CORRUPTIONS if kind == "counts" else CORRUPTIONS | OF_RATES
    taken = []
    for row, call in enumerate(functions):
        for place, (name, change) in enumerate(changes.items(), start=row):
            if row == 0 or place % 8 == 0:
                frame = change(call.frames[0])
                if not is_refused(call, frame.lazy() if place // 8 % 2 else frame):
                    taken.append((call.name, name))
    assert taken == []


#: Functions of frames; of a log the columns are read that are named.
TAKE_FRAMES = [
    call
    for call in calls().values()
    if call.frames and isinstance(call.frames[0], pl.DataFrame) and call.takes != "source"
]


@pytest.mark.parametrize("call", TAKE_FRAMES, ids=lambda call: call.name)
def test_a_column_of_objects_is_refused(call):
    """Polars can neither sort nor compare it."""
    opaque = pl.Series("opaque", [object()] * len(call.frames[0]), pl.Object)
    with pytest.raises(nf.NciFramesError, match="opaque"):
        call.function(call.frames[0].with_columns(opaque), *call.frames[1:], **call.options)


@pytest.mark.thorough
@pytest.mark.parametrize("call", TAKE_COUNTS, ids=lambda call: call.name)
def test_a_false_claim_to_be_sorted_changes_nothing(call):
    """Polars believes the flag, which Parquet files may bring, and groups wrongly."""
    frame = call.frames[0].sort(pl.all(), descending=True)
    flagged = frame.with_columns(pl.col("model", "threshold").set_sorted())
    found, expected = (call.function(one, *call.frames[1:], **call.options) for one in (flagged, frame))
    if isinstance(expected, pl.DataFrame):
        assert_frame_equal(found, expected)


@pytest.mark.thorough
@pytest.mark.parametrize("call", TAKE_COUNTS, ids=lambda call: call.name)
def test_rates_are_counts_too(call):
    """What rates add to counts must not be taken for keys, which would part every point from the others."""
    rates = nf.compute_rates(call.frames[0], interval="wilson").with_columns(reason=pl.lit(None, pl.String))
    found, expected = call.function(rates, *call.frames[1:], **call.options), result(call.name)
    if not isinstance(expected, pl.DataFrame):
        found, expected = found.areas, expected.areas
    assert_frame_equal(found.select(expected.columns), expected)


def test_a_false_claim_of_the_resolution_to_be_sorted_is_taken_back():
    """Polars takes the last text for the highest where the claim stands."""
    words = pl.DataFrame({"key": [0, 0, 1, 1], "resolution": ["grid", "exact", None, "grid"]})
    claimed = words.with_columns(pl.col("resolution").set_sorted())
    for frame in (claimed, pl.concat([claimed, claimed], rechunk=False)):
        checked = unflagged(frame, ["resolution"])
        assert_frame_equal(checked, frame)
        highest = checked.group_by("key").agg(pl.col("resolution").max()).sort("key")
        assert highest["resolution"].to_list() == ["grid", "grid"]


REPEATED = """
import polars as pl
from nci_frames.schemas.frame import unflagged
def peak():
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) / 1024
frame = pl.select(tp=pl.int_range(4_000_000)).with_columns(resolution=pl.lit("exact"))
before = peak()
unflagged(frame, ["resolution"])
mine = peak() - before
frame["resolution"]
print(mine, peak() - before)
"""


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc, which Linux has")
def test_a_text_that_stands_for_all_rows_is_not_repeated():
    """A column of 4,000,000 texts takes 61 MiB, which the last two lines see."""
    done = in_python(REPEATED)
    assert not done.returncode, done.stderr
    mine, repeated = map(float, done.stdout.split())
    assert mine < 8
    assert repeated > 50


def test_operating_points_may_lack_counts():
    rates = calls()["decision_map"].frames[0]
    points = pl.concat(
        [
            nf.select_operating_points(rates, tpr=0.5),
            nf.select_operating_points(rates, threshold=0.7),
            nf.select_operating_points(rates, tpr=0.5, interpolate=True).select([*rates.columns, "reason"]),
        ]
    )
    assert points["tp"].null_count() == 4
    assert len(nf.project_rates(points, metrics="recall", prevalence=0.1)) == 6


def test_points_selected_for_several_prevalences_are_groups_of_their_own():
    rates = calls()["decision_map"].frames[0]
    points = nf.select_operating_points(rates, metric="f_beta", prevalence=[0.3, 0.4, 0.5])
    assert points.select("model", "threshold").is_duplicated().any()
    assert len(nf.project_rates(points, metrics="f_beta", prevalence="selected")) == 6


@pytest.mark.parametrize(
    "change",
    [
        lambda rates: rates.drop("positives"),
        lambda rates: rates.drop("negatives", "fpr"),
        lambda rates: rates.with_columns(pl.col("tpr", "observed_prevalence").cast(pl.String)),
        lambda rates: rates.with_columns(tpr=pl.lit(None, pl.Float64), positives=0),
    ],
)  # fmt: skip
def test_counts_may_have_rates_of_their_own(change):
    rates = calls()["decision_map"].frames[0]
    for function in (nf.auc_interval, nf.compute_rates, partial(nf.compute_areas, prevalence=0.1)):
        assert function(change(rates)).equals(function(rates))


@pytest.fixture(scope="module")
def long_rates() -> pl.DataFrame:
    """Two models of 20,000 thresholds: a part of the check begins at row 16,384, a group at row 20,000."""
    tp = np.arange(20_000)[::-1] // 3
    at, names = np.tile(np.arange(len(tp)) / len(tp), 2), np.repeat(["a", "b"], len(tp))
    positives = np.repeat([6_666, 6_673], len(tp))
    counts = counts_at(np.tile(tp, 2), np.tile(9 * tp, 2), positives, 59_994, model=names, threshold=at)
    return nf.compute_rates(counts, interval="wilson")


def test_sums_of_weights_may_differ_by_rounding():
    counts = calls()["compute_rates"].frames[0].with_columns(pl.col(CELLS) * 0.1)
    rough = counts.with_columns(fn=pl.col("fn") * (1 + 1e-13))
    assert nf.compute_areas(rough, prevalence=0.1)["value"].to_list() == pytest.approx(
        nf.compute_areas(counts, prevalence=0.1)["value"].to_list()
    )


def test_the_pages_are_those_of_the_schemas():
    docs = Path(__file__).parents[2] / "docs"
    page = runpy.run_path(str(docs / "columns.py"))["page"]
    assert (docs / "columns.md").read_text(encoding="utf-8") == page()
    overview = (docs / "frames.md").read_text(encoding="utf-8")
    for frame in nf.schemas.FRAMES:
        assert f"| {frame.name} | `{frame.maker.split('(')[0]}` |" in overview, frame.name


def test_every_column_is_named_by_the_function_that_makes_it():
    for frame in nf.schemas.FRAMES:
        if maker := calls().get(frame.maker.split("(")[0]):
            told = re.findall(r"\w+", inspect.getdoc(maker.function) or "")
            assert {column.name for column in frame.columns if column.required} <= set(told), frame.name


def test_every_frame_is_given_by_a_function():
    given = {schema.name for name in calls() if name != "counting_sql" and (schema := schema_of(name))}
    # Some functions give frames of two kinds, or with more columns; that one is tested with them.
    second = {"comparison samples", "class ranking"}
    assert given == {frame.name for frame in nf.schemas.FRAMES} - {"increments", "field", *second}


_TEXTS = ["", "a", "b", "a text that is longer than twelve bytes", "a text that is longer than twelve bytes!"]
_KEYS = {
    "text": (pl.String, _TEXTS),
    "number": (pl.Int64, [0, 1, -1, 2**40]),
    "fraction": (pl.Float64, [0.0, -0.0, 1.5, float("nan")]),
    "truth": (pl.Boolean, [True, False]),
    "list": (pl.List(pl.Int64), [[1], [1, 2], []]),
    "day": (pl.Date, [date(2026, 1, 1), date(2026, 1, 2)]),
}


@given(st.data())
def test_runs_of_equal_keys_are_those_of_a_loop(data):
    """Whatever the keys are; nulls may be left out."""
    names = data.draw(st.lists(st.sampled_from(list(_KEYS)), min_size=1, max_size=2, unique=True))
    nulls = [None] if data.draw(st.booleans()) else []
    values = [st.sampled_from([*_KEYS[name][1], *nulls]) for name in names]
    rows = data.draw(st.lists(st.tuples(*values), min_size=1, max_size=30))
    frame = pl.DataFrame(rows, schema={name: _KEYS[name][0] for name in names}, orient="row")
    told = [repr([v + 0.0 if isinstance(v, float) else v for v in row]) for row in rows]
    expected = [i for i in range(len(told)) if i == 0 or told[i] != told[i - 1]]
    cut = data.draw(st.integers(0, len(frame)))
    frame = pl.concat([frame[:cut], frame[cut:]], rechunk=data.draw(st.booleans()))
    first = runs.group_starts(frame, names)
    assert first.tolist() == expected
    assert runs.is_distinct(frame, names, first) == (len({told[i] for i in expected}) == len(expected))
    scores = data.draw(st.lists(st.integers(0, 40), min_size=len(rows), max_size=len(rows)))
    scores = sorted(scores) if data.draw(st.booleans()) else scores
    frame = frame.with_columns(threshold=pl.Series(scores, dtype=pl.Float64))
    frame = pl.concat([frame[:cut], frame[cut:]], rechunk=False)
    rising = all(i in expected or scores[i] > scores[i - 1] for i in range(len(scores)))
    assert runs.is_sorted(frame, names, first) == (rising and runs.is_distinct(frame, names, first))


def test_runs_of_texts_are_found_in_chunks_that_share_memory():
    texts = pl.Series("model", ["a"] * 5 + ["b"] * 3)
    frame = pl.concat([texts[:5], texts[:8], texts[:3], texts[1:5], texts[5:]], rechunk=False).to_frame()
    assert frame.n_chunks() == 5
    assert runs.group_starts(frame, ["model"]).tolist() == [0, 10, 13, 20]


@pytest.mark.parametrize("row", first_quick([16_384, 0, 20_000]))
def test_one_wrong_number_in_a_long_group_is_seen(long_rates, row, monkeypatch):
    def wrong(name: str, value: pl.Expr) -> pl.Expr:
        return pl.when(pl.int_range(pl.len()) == row).then(value).otherwise(name).alias(name)

    in_three = pl.concat([long_rates[:row], long_rates[row:30_000], long_rates[30_000:]], rechunk=False)
    monkeypatch.setattr(consistency, "_AT_A_TIME", 1 << 14)
    nf.schemas.RATES.check(in_three)
    counts = ("tp", "fp", "fn", "tn", "positives", "negatives")
    spoiled = [
        *(wrong(name, pl.col(name) + 1) for name in counts),
        *(wrong(name, pl.col(name) * 0.999 + 4e-4) for name in ("tpr", "fpr", "observed_prevalence")),
        wrong("tpr_upper", pl.col("tpr_lower") - 1e-6),
        wrong("fpr_lower", pl.lit(-0.5)),
        wrong("threshold", pl.lit(float("nan"))),
    ]
    # The counts of one row are those of another log.
    more = [wrong("tp", pl.col("tp") + 9_000), wrong("fn", pl.col("fn") - 9_000)]
    for expressions in (*spoiled, more):
        for rates in (long_rates, in_three):
            with pytest.raises(nf.SchemaError):
                nf.schemas.RATES.check(rates.with_columns(expressions))


def test_columns_of_nulls_need_no_type():
    projection = calls()["rank_models"].frames[0].with_columns(supported=None, reason=None, threshold=None)
    assert projection.schema["supported"] == pl.Null
    typed = projection.cast({"supported": pl.Boolean, "reason": pl.String, "threshold": pl.Float64})
    assert nf.rank_models(projection).equals(nf.rank_models(typed))
    assert nf.chart_p3(projection).to_dict() == nf.chart_p3(typed).to_dict()
