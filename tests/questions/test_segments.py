"""The table of segments on the page: the rows of ``rank_segments`` in order, and the counts of the charts."""

import json

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.questions.segment_lines import doubt_of_segments, judged_model, segment_lines, why_untested
from nci_frames.questions.segments import segment_labels, segment_numbers, worst_first
from nci_frames.tables.numbers import format_value
from tests.cases import first_quick
from tests.chart_specs import unpacked
from tests.comparisons import MODELS, altered, comparison, questions
from tests.logs import counts_at, random_log

SEGMENTS = ["DE", "US", None, "missing", "constructor"]


@pytest.fixture(scope="module")
def tables():
    return comparison(segments=SEGMENTS, prevalence=(0.01, 0.1), beta=(1.0,))


@pytest.fixture(scope="module")
def numbers(tables):
    return json.loads(json.dumps(segment_numbers(tables), allow_nan=False))


@pytest.mark.thorough
def test_the_rows_are_those_of_rank_segments(tables, numbers):
    ranks = tables.segment_ranks
    assert numbers["names"] == [ranks["country"].to_list()]
    rows = unpacked(numbers["table"])
    for name in ("positives", "value", "lower", "upper", "observed_prevalence", "due_to_rates"):
        assert [row[name] for row in rows] == pytest.approx(ranks[name].to_list(), rel=1e-6), name
    judged = zip(rows, ranks["distinguishable"], ranks["shifted"], ranks["due_to_rates"], strict=True)
    for row, distinguishable, shifted, part in judged:
        expected = "other scores" if shifted else "as the rest"
        if distinguishable:
            expected = "worse" if part < 0 else "better"
        assert row["verdict"] == expected
    assert {"worse", "better"} <= {row["verdict"] for row in rows}


def test_labels_are_different_and_a_chart_can_hold_them(numbers):
    labels = dict(zip(numbers["names"][0], numbers["labels"], strict=True))
    assert labels[None] == "missing (null)"
    assert labels["missing"] == "missing"
    assert labels["constructor"] == "constructor⟨⟩"
    frame = pl.DataFrame({"a": ["x · y", "x"], "b": ["z", "y · z"]})
    assert segment_labels(frame, ["a", "b"]).n_unique() == 2


def test_without_ranks_the_page_says_why_and_lists_the_segments(tables):
    bare = altered(tables, segment_ranks=None)
    assert worst_first(bare)["verdict"].unique().to_list() == ["not tested"]
    assert set(worst_first(bare)["country"]) == set(SEGMENTS)
    assert why_untested(tables) is None
    assert str(why_untested(bare)).startswith(
        "The threshold 0.5 was not counted in every segment. Count at it"
    )
    one = altered(bare, segment_sizes=tables.segment_sizes.head(1))
    assert str(why_untested(one)).startswith("There is one segment only")
    assert "Count whole rows" in str(why_untested(altered(bare, _log=altered(bare._log, whole=False))))
    assert segment_numbers(comparison(prevalence=(0.01, 0.1), beta=(1.0,))) is None
    # The values are known all the same.
    values = bare.segment_points.filter(model=bare.answer["model"][0])
    expected = nf.project_rates(values, metrics="f_beta", prevalence=0.02, band=True)
    found = worst_first(bare).select("country", "value", "lower", "upper").sort("country")
    assert_frame_equal(found, expected.select("country", "value", "lower", "upper").sort("country"))
    areas = questions("segment-areas")[0].table(bare)
    assert areas.select("country", "model").n_unique() == len(SEGMENTS) * len(MODELS)


@pytest.mark.parametrize(("prevalence", "told"), [(0.1, True), (1e-6, False)])
def test_listed_areas_have_a_rank_only_where_the_log_can_tell_the_value(prevalence, told):
    question = nf.Question(prevalence=prevalence)
    shown = nf.compare_models(two_keys(), segments="country", prevalence=[prevalence], question=question)
    areas = questions("segment-areas")[0].table(shown)
    assert areas["rank"].to_list() == ([1, 1, 1] if told else [None] * 3)
    assert areas["value"].null_count() == 0
    assert ("reason" in areas.columns) != told
    assert told or areas["reason"].unique().to_list() == ["too few negatives"]


@pytest.mark.thorough
@pytest.mark.parametrize("segments", [1_000, 1_001])
def test_areas_of_very_many_segments_are_those_at_one_prevalence(segments):
    log = pl.DataFrame({"model": "a", "merchant": pl.arange(2 * segments, eager=True) // 2})
    log = log.with_columns(label=pl.int_range(pl.len()) % 2, score=pl.int_range(pl.len()) % 3)
    counts = nf.count_confusion(nf.scan_predictions(log, segments="merchant"), thresholds=[1.0])
    asked = nf.compare_models(counts, prevalence=[0.01, 0.02, 0.1], segments="merchant")
    etas = {0.01, 0.02, 0.1} if segments == 1_000 else {asked.middle_prevalence}
    assert set(asked.segment_areas["prevalence"].drop_nulls()) == etas
    assert asked.segment_areas["merchant"].n_unique() == segments


@pytest.mark.parametrize("metric", first_quick(["pr_auc", None]))
def test_the_line_of_all_rows_is_at_the_threshold_of_the_segments(metric):
    """The value of the answer is judged on other rows than those that chose the threshold."""
    counts = nf.count_confusion(random_log(900), by="country", thresholds="exact")
    question = nf.Question(prevalence=0.1, metric=metric)
    shown = nf.compare_models(counts, prevalence=0.1, segments="country", question=question, repeats=2)
    whole = nf.compute_rates(nf.pool_counts(counts, over="country")).filter(model=judged_model(shown))
    at = nf.select_operating_points(whole, threshold=shown.segment_threshold)
    expected = nf.project_rates(at, metrics="f_beta", prevalence=0.1)["value"].item()
    assert expected != shown.answer["value"][0]
    (drawn,) = questions("chosen")
    spec = drawn.draw(drawn.table(shown), shown).to_dict()
    assert f"dashed: all rows ({format_value(expected)})" in spec["title"]["subtitle"]


def two_keys():
    """One model in the segments of two keys; it finds less in one value of the first key."""
    places = [(country, tier) for country in ("at", "de", "fr") for tier in (1, 2)]
    found = [80, 78, 82, 81, 40, 44]
    return counts_at(
        found, [20] * 6, 100, 1000, model="a", country=[c for c, _ in places], tier=[t for _, t in places]
    )


@pytest.mark.thorough
def test_each_key_is_shown_alone_and_then_all_together():
    options = {
        "prevalence": [0.01, 0.1],
        "repeats": 20,
        "question": nf.Question(prevalence=0.1, threshold=0.5),
    }
    both = nf.compare_models(two_keys(), segments=["country", "tier"], **options)
    for shown in both.by_key:
        (key,) = shown.segments
        alone = nf.compare_models(two_keys(), segments=key, **options)
        assert_frame_equal(shown.segment_ranks, alone.segment_ranks)
        assert_frame_equal(shown.differences, alone.differences)
        assert shown.answer is both.answer
    numbers = segment_numbers(both)
    assert [(each["keys"], each["count"]) for each in numbers["by"]] == [([0], 3), ([1], 2), ([0, 1], 6)]
    countries, tiers = numbers["names"]
    assert (countries[0], set(countries[:3]), countries[3:5]) == ("fr", {"at", "de", "fr"}, [None, None])
    assert (set(tiers[3:5]), tiers[:3]) == ({"1", "2"}, [None] * 3)
    assert [row["positives"] for row in unpacked(numbers["table"])] == [200] * 3 + [300] * 2 + [100] * 6
    assert numbers["by"][0]["said"].startswith("1 of 3 segments is significantly worse than the rest")
    assert numbers["by"][1]["said"].startswith("None of 2 segments is significantly worse than the rest")
    first, worst, second, *_ = segment_lines(both)
    assert first.startswith("By country, a at threshold 0.5: 1 of 3 segments is ")
    assert worst.startswith("- country = fr: significantly worse; ")
    assert second.startswith("By tier, a at threshold 0.5: none of 2 segments is ")


def test_a_segment_has_the_same_name_in_sentences_and_tables():
    counts = counts_at([80, 40], [20, 20], 100, 1000, model="a", mobile=[True, False])
    compared = nf.compare_models(counts, prevalence=0.1, threshold=0.5, segments="mobile")
    _, worst = segment_lines(compared)
    assert worst.startswith("- mobile = false: significantly worse; ")
    assert {*segment_numbers(compared)["names"][0]} == {"true", "false"}


@pytest.mark.thorough
def test_segments_that_cannot_be_judged_have_no_parts_of_a_difference():
    counts = counts_at([80, 40, 9], 20, [100, 100, 10], 1000, model="a", country=["at", "de", "fr"])
    question = nf.Question(prevalence=0.1, threshold=0.5)
    asked = {"prevalence": 0.1, "segments": "country", "question": question, "repeats": 2}
    shown = nf.compare_models(counts, **asked)
    assert doubt_of_segments(shown) is None
    (drawn,) = questions("differences")
    told = drawn.table(shown).select("country", pl.col("due_to_rates").is_null(), "reason").rows()
    assert told == [("de", False, None), ("fr", True, "fewer than 20 positives")]
    assert drawn.table(nf.compare_models(counts.filter(pl.col("country") != "de"), **asked)) is None


@pytest.mark.thorough
def test_two_keys_and_a_field_have_columns():
    counts = counts_at(
        [80, 70, 60], [10, 20, 30], 100, 1000, model="a", country=["at", "at", "de"], tier=[1, 2, 1]
    )
    field = pl.DataFrame({"country": ["at", "at", "de"], "tier": [1, 2, 1], "prevalence": [0.1, 0.2, 0.3]})
    found = nf.compare_models(counts, prevalence=field, segments=["country", "tier"], repeats=2)
    numbers = segment_numbers(found)
    rows = dict(zip(zip(*numbers["names"], strict=True), unpacked(numbers["table"]), strict=True))
    assert {key: row["field"] for key, row in rows.items()} == {
        ("at", "1"): 0.1, ("at", "2"): 0.2, ("de", "1"): 0.3
    }  # fmt: skip
    assert set(numbers["labels"]) == {"at · 1", "at · 2", "de · 1"}


@pytest.mark.thorough
def test_of_an_area_the_model_of_the_answer_is_judged_at_its_own_best_threshold():
    counts = nf.count_confusion(random_log(900), by="country", thresholds="exact")
    question = nf.Question(prevalence=0.1, metric="pr_auc")
    options = {"prevalence": 0.1, "threshold": 0.4, "segments": "country", "repeats": 20}
    asked = nf.compare_models(counts, question=question, **options)
    best = asked.best.row(by_predicate=pl.col("model") == asked.answer["model"][0], named=True)
    assert set(asked.segment_ranks["model"]) == {best["model"]}
    assert set(asked.segment_ranks["threshold"]) == {best["threshold"]} != {asked.threshold}
    first, *_ = segment_lines(asked)
    assert first.startswith(f"Segments, {best['model']} at threshold {best['threshold']:.6g}, by F1: ")
    given = nf.Question(prevalence=0.1, metric="pr_auc", threshold=best["threshold"])
    same = nf.compare_models(counts, question=given, **options)
    assert_frame_equal(same.segment_ranks, asked.segment_ranks)
