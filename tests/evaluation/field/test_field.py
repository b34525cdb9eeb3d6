"""A prevalence for each segment: the same as a loop over the segments, each at its own number."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.jobs.small_segments import field_with_small_pooled, small_segments, with_small_pooled
from nci_frames.options.report import SegmentOptions
from nci_frames.questions import segments
from nci_frames.questions.report import answered
from nci_frames.reporting.html import render_report
from nci_frames.reporting.json import render_json
from nci_frames.reporting.markdown import render_markdown
from tests.cases import first_quick
from tests.comparisons import questions
from tests.logs import counts_at, random_log
from tests.small_jobs import ended

COUNTS = nf.pool_counts(nf.count_confusion(random_log(900), thresholds=[-0.5, 0.0, 0.5]), over="fold")
RATES = nf.compute_rates(COUNTS)
(KEY,) = nf.schemas.COUNTS.keys(COUNTS.columns)
SEGMENTS = COUNTS[KEY].unique().sort().to_list()
ETAS = dict(zip(SEGMENTS, np.geomspace(1e-4, 0.3, len(SEGMENTS)).tolist(), strict=True))
FIELD = pl.DataFrame(
    {KEY: pl.Series(SEGMENTS, dtype=COUNTS.schema[KEY]), "prevalence": ETAS.values()}
).with_columns(share=pl.int_range(1, pl.len() + 1).cast(pl.Float64))


def test_a_key_of_another_type_is_matched_as_text():
    numbered = {value: place for place, value in enumerate(SEGMENTS)}
    rates = RATES.with_columns(pl.col(KEY).replace_strict(numbered, return_dtype=pl.Int32))
    texts = FIELD.with_columns(pl.col(KEY).replace_strict(numbered).cast(pl.String))
    found = nf.project_rates(rates, metrics="precision", prevalence=texts)
    wanted = nf.project_rates(RATES, metrics="precision", prevalence=FIELD)
    assert found[KEY].dtype == pl.Int32
    assert found["value"].to_list() == wanted["value"].to_list()


def test_models_may_have_prevalences_of_their_own():
    """As ``estimate_prevalence`` returns them, whose further columns play no part."""
    models = RATES["model"].unique().sort()
    given = pl.DataFrame({"model": models, "prevalence": np.linspace(0.1, 0.2, len(models)), "lower": 0.0})
    found = nf.project_rates(RATES, metrics="precision", prevalence=given)
    for model, eta in zip(models, given["prevalence"], strict=True):
        alone = nf.project_rates(RATES.filter(model=model), metrics="precision", prevalence=eta)
        assert_frame_equal(found.filter(model=model), alone)


def test_differences_are_split_at_the_prevalences_of_the_field():
    points = RATES.filter(threshold=0.0)
    found = nf.decompose_difference(points, metric="precision", over=KEY, prevalence=FIELD)
    by_hand = points.join(FIELD.drop("share"), on=KEY, nulls_equal=True)
    wanted = nf.decompose_difference(by_hand, metric="precision", over=KEY, prevalence="selected")
    assert_frame_equal(found, wanted)
    assert set(found["prevalence"]) == set(list(ETAS.values())[1:])


def traffic(at: float, model: str, metric: str) -> float:
    """The metric of a log with the prevalences and shares of the field, cell by cell."""
    tp = fp = fn = tn = 0.0
    for value, eta, share in FIELD.iter_rows():
        there = pl.col(KEY).eq_missing(pl.lit(value))
        row = RATES.filter(there, threshold=at, model=model).row(0, named=True)
        tp += share * eta * row["tpr"]
        fn += share * eta * (1 - row["tpr"])
        fp += share * (1 - eta) * row["fpr"]
        tn += share * (1 - eta) * (1 - row["fpr"])
    total = tp + fp + fn + tn
    values = {
        "precision": tp / (tp + fp) if tp + fp else np.nan,
        "recall": tp / (tp + fn),
        "f_beta": 2 * tp / (2 * tp + fp + fn),
        "accuracy": (tp + tn) / total,
        "pos_fraction": (tp + fp) / total,
    }
    return values[metric]


@pytest.mark.parametrize(
    "metric", first_quick(["precision", "recall", "f_beta", "accuracy", "pos_fraction"], 2)
)
def test_a_roll_up_is_that_of_the_traffic(metric):
    table = nf.roll_up(RATES, over=KEY, metrics=metric, prevalence=FIELD)
    assert len(table) == 2 * 3 * 3  # models, thresholds, averages
    each = nf.project_rates(RATES, metrics=metric, prevalence=FIELD)
    weights = FIELD.select(KEY, weight=pl.col("share") * pl.col("prevalence"))
    for row in table.iter_rows(named=True):
        at = {"model": row["model"], "threshold": row["threshold"]}
        mine = each.filter(**at).join(weights, on=KEY, nulls_equal=True).drop_nulls("value")
        if row["average"] == "micro":
            wanted = traffic(row["threshold"], row["model"], metric)
            mix = (FIELD["share"] * FIELD["prevalence"]).sum() / FIELD["share"].sum()
            # Recall does not depend on the prevalence.
            assert row["prevalence"] == pytest.approx(mix)
        elif row["average"] == "macro":
            wanted = mine["value"].mean()
        else:
            weight = mine["weight"].sum()
            wanted = (mine["value"] * mine["weight"]).sum() / weight if weight else None
        assert (row["value"] is None) == (wanted is None or np.isnan(wanted))
        assert row["value"] is None or row["value"] == pytest.approx(wanted, rel=1e-12), row


ROWS = st.tuples(*[st.integers(1, 500)] * 4)


@given(st.lists(st.tuples(ROWS, st.floats(1e-6, 1 - 1e-6), st.floats(1e-3, 1e3)), min_size=1, max_size=4))
def test_expressions_over_the_cells_of_a_mix_have_shares_of_its_rows(segments):
    """Each segment brings its share of the rows, of which its prevalence are positives, decided as there."""
    cells, etas, shares = zip(*segments, strict=True)
    names = [f"s{place}" for place in range(len(segments))]
    tables = pl.DataFrame(cells, ["tp", "fn", "fp", "tn"], orient="row")
    tables = tables.with_columns(pl.Series("segment", names), model=pl.lit("a"), threshold=0.5)
    field = pl.DataFrame({"segment": names, "prevalence": etas, "share": shares})
    read = ("tp", "fn", "fp", "tn", "positives", "negatives")
    metrics = [pl.col(name) for name in read]
    rolled = nf.roll_up(nf.compute_rates(tables), over="segment", metrics=metrics, prevalence=field)
    found = dict(rolled.filter(average="micro").select("metric", "value").iter_rows())
    mix = dict.fromkeys(read, 0.0)
    for (tp, fn, fp, tn), eta, share in segments:
        part = share / sum(shares)
        positive, negative = part * eta, part * (1 - eta)
        mix["positives"] += positive
        mix["negatives"] += negative
        mix["tp"] += positive * tp / (tp + fn)
        mix["fn"] += positive * fn / (tp + fn)
        mix["fp"] += negative * fp / (fp + tn)
        mix["tn"] += negative * tn / (fp + tn)
    assert found == pytest.approx(mix, rel=1e-9)


def test_without_shares_the_traffic_is_unknown():
    table = nf.roll_up(RATES, over=KEY, metrics="precision", prevalence=FIELD.drop("share"))
    known = table.group_by("average").agg(pl.col("value").is_not_null().any()).sort("average")
    assert known.rows() == [("macro", True), ("micro", False), ("weighted", False)]


def test_a_segment_whose_rates_are_unknown_leaves_the_traffic_unknown():
    part = RATES.filter(threshold=0.0, model=RATES["model"][0])
    without = pl.when(pl.col(KEY) == SEGMENTS[-1]).then(0)
    broken = nf.compute_rates(part.with_columns(tp=without.otherwise("tp"), fn=without.otherwise("fn")))
    micro = nf.roll_up(broken, over=KEY, metrics=["recall", "fpr"], prevalence=FIELD).filter(average="micro")
    assert micro.filter(metric="recall")["value"].to_list() == [None]
    assert micro.filter(metric="fpr")["value"].null_count() == 0
    assert micro["skipped"].to_list() == [1, 1]


def test_a_roll_up_can_be_ranked():
    table = nf.roll_up(RATES, over=KEY, metrics="precision", prevalence=FIELD)
    ranked = nf.rank_models(table)
    assert len(ranked) == len(table)
    assert {"segments", "skipped"}.isdisjoint(ranked.columns)
    for row in ranked.iter_rows(named=True):
        rivals = table.filter(average=row["average"], threshold=row["threshold"])["value"].drop_nulls()
        assert row["rank"] == (None if row["value"] is None else 1 + (rivals > row["value"]).sum())


@pytest.fixture(scope="module")
def comparison() -> nf.Comparison:
    return nf.compare_models(
        COUNTS, prevalence=FIELD, threshold=0.0, beta=[0.5, 1.0], segments=KEY, repeats=20
    )


@pytest.mark.long
def test_a_comparison_judges_each_segment_at_its_prevalence(comparison):
    points = nf.select_operating_points(RATES, threshold=0.0)
    projection = nf.project_rates(
        points,
        metrics=["precision", "recall", "f_beta", "accuracy", "pos_fraction"],
        prevalence=FIELD,
        beta=[0.5, 1.0],
    )
    tables = comparison.tables
    for name, wanted in {
        "field_projection": projection,
        "field_areas": nf.compute_areas(COUNTS, prevalence=FIELD),
    }.items():
        assert_frame_equal(tables[name], nf.rank_models(wanted), rel_tol=1e-12)
    assert_frame_equal(comparison.field, FIELD, check_row_order=False)
    mix = (FIELD["share"] * FIELD["prevalence"]).sum() / FIELD["share"].sum()
    assert comparison.prevalence[0] == FIELD["prevalence"].min()
    assert comparison.prevalence[-1] == FIELD["prevalence"].max()
    assert any(eta == pytest.approx(mix, rel=1e-14) for eta in comparison.prevalence)
    micro = tables["field_averages"].filter(average="micro", metric="f_beta", beta=1.0)
    assert sorted(micro["model"]) == sorted(COUNTS["model"].unique())
    for model, value in micro.select("model", "value").iter_rows():
        assert value == pytest.approx(traffic(0.0, model, "f_beta"))


@pytest.mark.thorough
def test_a_report_shows_segments_at_their_prevalence(comparison):
    mixed = segments.traffic(comparison)
    assert mixed is not None
    text = render_markdown(comparison).replace("\\", "")
    assert "PR-AUC by segment, each at its own prevalence in the field" in text
    by = "F1, each model at its threshold in the answer"
    assert f"All traffic, with the shares and prevalences of its segments: {by}" in text
    content = json.loads(render_json(comparison))
    schema = json.loads((Path(__file__).parents[3] / "docs" / "report.schema.json").read_text())
    jsonschema.validate(content, schema)
    told = content["questions"]
    assert [row["value"] for row in told["traffic"]["rows"]] == mixed["value"].to_list()
    assert {row[KEY]: row["prevalence"] for row in told["segment-areas"]["rows"]} == ETAS


@pytest.mark.long
def test_a_page_shows_segments_at_their_prevalence(comparison):
    page = render_report(comparison)
    assert "plays no part; the areas below, at that of each segment in the field. " in page
    assert "All traffic" in page
    # A number in the first column stands below its right-aligned head.
    assert '<th scope="row" class="number">' in page


def test_without_shares_a_report_has_no_traffic():
    bare = nf.compare_models(COUNTS, prevalence={KEY: ETAS}, threshold=0.0, segments=KEY, repeats=20)
    assert segments.traffic(bare) is None
    (shown,) = answered(bare, questions("traffic", "segment-areas"))
    assert shown.question.name == "segment-areas"


@pytest.mark.parametrize("shares", [True, False])
def test_small_segments_have_a_prevalence_together(shares):
    """One of two tiers of a country is small; so are both of another country."""
    sizes = {("at", "x"): (400, 50), ("at", "y"): (100, 5), ("de", "x"): (30, 2), ("de", "y"): (70, 4)}
    sizes |= {("fr", "x"): (300, 60), ("fr", "y"): (200, 40)}
    (country, tier), (rows, hits) = (np.array([*part]).T for part in (sizes, sizes.values()))
    counts = counts_at(hits, 0, hits, rows - hits, model="a", country=country, tier=tier)
    given = {"at": (0.01, 0.5), "de": (0.1, 0.3), "fr": (0.02, 0.2)}
    field = pl.DataFrame([(c, eta, share) for c, (eta, share) in given.items()], orient="row",
                         schema=["country", "prevalence", "share"])  # fmt: skip
    small = small_segments(counts, ["country", "tier"], SegmentOptions(min_positives=10))
    found = field_with_small_pooled(field if shares else field.drop("share"), counts, small)
    assert found["country"].to_list() == ["at", "fr", "other"]
    assert found["prevalence"][:2].to_list() == [0.01, 0.02]
    at, de = (0.5 * 100 / 500, 0.3) if shares else (100, 100)
    assert found["prevalence"][2] == pytest.approx((0.01 * at + 0.1 * de) / (at + de))
    if shares:
        assert found["share"].to_list() == pytest.approx([0.4, 0.2, 0.4])
    pooled = with_small_pooled(counts, small)
    nf.compute_areas(pooled, prevalence=found)
    # Segments that are none of the log are refused as before.
    with pytest.raises(nf.ParameterError, match="a segment that is not judged"):
        field_with_small_pooled(field.with_columns(country=pl.lit("us")).head(1), counts, small)


@pytest.mark.long
def test_small_segments_and_a_file_of_prevalences_on_the_command_line(tmp_path):
    log = random_log(900).with_columns(pl.col("country").fill_null("fr")).drop("fold")
    given = FIELD.with_columns(pl.col(KEY).fill_null("fr"))
    log.write_parquet(tmp_path / "log.parquet")
    given.write_csv(tmp_path / "field.csv")
    positives = log.filter(label=True).group_by(KEY, "model").len().group_by(KEY).agg(pl.col("len").max())
    least = int(positives["len"].sort()[-1])
    few = positives.filter(pl.col("len") < least)[KEY].to_list()
    assert 1 <= len(few) < len(positives)
    asked = ["--prevalence", tmp_path / "field.csv", "--min-positives", least, "--beta", 1, "--threshold", 0]
    ended(0, "report", tmp_path / "log.parquet", *asked, "--out", tmp_path / "out", "--format", "json")
    told = pl.read_parquet(tmp_path / "out" / "tables" / "field_areas.parquet").filter(metric="pr_auc")
    pooled = given.filter(pl.col(KEY).is_in(few))
    mean = (pooled["prevalence"] * pooled["share"]).sum() / pooled["share"].sum()
    rest = dict(given.filter(~pl.col(KEY).is_in(few)).select(KEY, "prevalence").iter_rows())
    assert dict(told.select(KEY, "prevalence").iter_rows()) == {**rest, "other": pytest.approx(mean)}


@pytest.mark.thorough
def test_a_threshold_that_was_not_counted_leaves_points_undefined():
    found = nf.compare_models(
        COUNTS, prevalence=FIELD, segments=KEY, repeats=20, question=nf.Question(threshold=0.25)
    )
    assert found.field_projection["value"].null_count() == len(found.field_projection)
    assert found.field_areas["value"].null_count() == 0
