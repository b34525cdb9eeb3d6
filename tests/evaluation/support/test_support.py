"""Which prevalences a log supports: the rule against brute force, the flags, and simulated logs."""

import json
import math
import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nci_frames as nf
from nci_frames.evaluation.support.reasons import too_few
from nci_frames.questions.report import report_charts
from nci_frames.reporting.html import render_report
from nci_frames.reporting.json import render_json
from nci_frames.reporting.markdown import render_markdown
from nci_frames.reporting.terminal import print_answer, print_comparison
from tests.cases import first_quick
from tests.chart_specs import rows_of
from tests.comparisons import printed
from tests.logs import counts_at, unit_log

ETAS = np.geomspace(1e-6, 0.9, 60).tolist()


def lowest_by_hand(tp: Any, fp: Any, positives: int, negatives: int) -> float | None:
    """Search a fine grid of odds for the lowest from which on the rule of curves holds."""
    tpr, best = np.asarray(tp) / positives, math.inf
    for odds in np.geomspace(1e-7, 1e6, 8000):
        found = negatives * odds * tpr
        half = (np.asarray(tp) >= 10) & (found >= 25) & (found >= np.asarray(fp))
        if half.any():
            best = odds
            break
    return None if positives < 10 else best / (1 + best)


@pytest.mark.thorough
@given(
    bins=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 400)), min_size=1, max_size=12),
    rest=st.integers(1, 300),
)
def test_the_lowest_prevalence_of_curves_is_that_of_a_search(bins, rest):
    tp, fp = (np.cumsum(rows) for rows in zip(*bins, strict=True))
    positives, negatives = int(tp[-1]) + 1, int(fp[-1]) + rest
    counts = counts_at(tp, fp, positives, negatives, model="a", threshold=-np.arange(len(bins)) * 1.0)
    found = nf.lowest_supported_prevalence(counts, metric="pr_auc")
    wanted = lowest_by_hand([*tp, positives], [*fp, negatives], positives, negatives)
    if wanted is None:
        assert found.row(0)[1:] == (
            "pr_auc",
            None,
            "this log cannot tell the value: fewer than 10 independent positives reach any threshold",
        )
        return
    # A weak model may be supported below: then the early thresholds cannot add a tenth to the area.
    lowest = found["prevalence"].item()
    assert lowest <= wanted * 1.01
    if lowest < wanted * 0.99:
        solid = (tp >= 10) & (fp >= 25)
        odds = lowest / (1 - lowest)
        true = np.append(tp[solid], positives) / positives
        false = np.append(fp[solid], negatives) / negatives
        early = true[0]
        area = (np.diff(true) * odds * true[1:] / (odds * true[1:] + false[1:])).sum()
        assert early <= 0.1 * area * (1 + 1e-9)


def test_few_heavy_positives_are_said_to_be_few_independent_ones():
    """Forty-four positives, of which four stand for five of six."""
    counts = counts_at([30, 40], [5, 100], 40, 100, model="a", threshold=[0.9, 0.1], weight=1.0)
    heavy = counts_at([0, 4], [0, 300], 4, 300, model="a", threshold=[0.9, 0.1], weight=50.0)
    found = nf.lowest_supported_prevalence(pl.concat([counts, heavy]), metric="pr_auc")
    assert found["prevalence"].item() is None
    assert found["reason"].item().endswith("fewer than 10 independent positives reach any threshold")


def point(tp: int, fp: int, positives: int = 100, negatives: int = 10_000) -> pl.DataFrame:
    return counts_at(tp, fp, positives, negatives)


@pytest.mark.parametrize(
    ("tp", "fp", "lowest"),
    [(60, 0, 25 / 6025), (60, 99, 25 / 6025), (60, 100, 0.0), (100, 3, 25 / 10025), (0, 100, None)],
)
def test_the_lowest_prevalence_of_a_point_by_hand(tp, fp, lowest):
    found = nf.lowest_supported_prevalence(point(tp, fp), metric="precision", threshold=0.5)
    assert found["prevalence"].item() == (None if lowest is None else pytest.approx(lowest))
    assert (found["reason"].item() is None) == (lowest is not None)


@pytest.mark.thorough
@given(tp=st.integers(1, 100), fp=st.integers(0, 300), negatives=st.integers(400, 10**7))
def test_where_a_point_is_supported_precision_is_known_to_a_tenth(tp, fp, negatives):
    """The standard error of precision by chance in the negatives, by the delta method."""
    rates = nf.compute_rates(point(tp, fp, negatives=negatives))
    table = nf.project_rates(rates, metrics="precision", prevalence=ETAS)
    for eta, precision, supported in table.select("prevalence", "value", "supported").iter_rows():
        found = negatives * eta / (1 - eta) * tp / 100
        error = precision * math.sqrt(fp) / (found + fp)
        assert not supported or error <= 0.1 * precision * (1 + 1e-9)


def test_flags_agree_with_the_lowest_prevalence_and_are_monotone():
    log = unit_log({"a": 2.0}, 20_000, share=0.05, seed=3)
    counts = nf.count_confusion(log.drop("unit"), thresholds=[1.0, 2.5])
    areas = nf.compute_areas(counts, prevalence=ETAS)
    points = nf.project_rates(nf.compute_rates(counts), metrics=["precision", "npv"], prevalence=ETAS)
    for table, metric, options in (
        (areas.filter(metric="pr_auc"), "pr_auc", {}),
        (points.filter(metric="precision", threshold=2.5), "precision", {"threshold": 2.5}),
        (points.filter(metric="npv", threshold=2.5), "npv", {"threshold": 2.5}),
    ):
        lowest = nf.lowest_supported_prevalence(counts, metric=metric, **options)["prevalence"].item()
        assert table["supported"].to_list() == [eta >= lowest for eta in ETAS]
        assert table["reason"].is_null().to_list() == table["supported"].to_list()
    assert 0 < nf.lowest_supported_prevalence(counts, metric="pr_auc")["prevalence"].item() < 0.05
    assert areas.filter(metric="roc_auc")["supported"].to_list() == [True]


def test_reasons_say_how_many_negatives_are_needed():
    rates = nf.compute_rates(point(60, 0))
    table = nf.project_rates(rates, metrics="precision", prevalence=[0.0, 1e-4, 1e-3, 0.1])
    # 25 true positives at TPR 0.6 come with 25/0.6·(1-eta)/eta negatives.
    assert table["reason"].to_list() == [
        "this log cannot tell the value: no number of negatives would be enough",
        too_few(25 / 0.6 * 9999),
        too_few(25 / 0.6 * 999),
        None,
    ]
    assert "about 400,000 independent negatives" in table["reason"][1]
    enough = nf.compute_rates(point(60, 0, negatives=420_000))
    assert nf.project_rates(enough, metrics="precision", prevalence=1e-4)["supported"].item()


def test_what_does_not_depend_on_prevalence_or_fpr_is_supported_everywhere():
    rates = nf.compute_rates(point(60, 0))
    names = ["recall", "specificity", "youden_j", "accuracy", "npv"]
    table = nf.project_rates(rates, metrics=names, prevalence=[1e-6, 0.5])
    assert table["supported"].all()
    hidden = nf.precision(prevalence=1e-6).alias("mine")
    assert nf.project_rates(rates, metrics=hidden, prevalence=0.5).select("supported", "reason").row(0) == (
        None, "the prevalence is unknown, since the expression hides it",
    )  # fmt: skip
    fixed = nf.project_rates(rates, metrics=nf.precision(prevalence=1e-6), prevalence=0.5)
    assert fixed["supported"].to_list() == [False]
    ratio = nf.project_rates(rates, metrics=["lr_plus", "lr_minus"], prevalence=0.5)
    told = "this log cannot tell the value: it is infinite, since a rate is 0"
    assert ratio.select("value", "supported", "reason").rows() == [(0.4, True, None), (math.inf, False, told)]


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ((0, 1, 0, 100), "there are no positives"),
        ((1, 0, 10, 0), "there are no negatives"),
        ((0, 0, 9, 10), "this log cannot tell the value: no positive reaches the threshold"),
    ],
)
def test_groups_that_support_nothing_say_why(cells, reason):
    counts = counts_at(*cells)
    table = nf.project_rates(nf.compute_rates(counts), metrics="precision", prevalence=0.1)
    assert table.select("supported", "reason").row(0) == (False, reason)
    found = nf.lowest_supported_prevalence(counts, metric="precision", threshold=0.5)
    assert found.select("prevalence", "reason").row(0) == (None, reason)


def test_winners_and_maps_are_cut_where_support_ends():
    counts = counts_at([60, 80], [1, 20], 100, 10_000)
    rates = nf.compute_rates(counts)
    ranges = nf.winner_ranges(rates, metric="f_beta", over="prevalence")
    border = nf.lowest_supported_prevalence(counts, metric="f_beta", threshold=0.5).filter(model="a")
    assert ranges["supported"].to_list() == [False, *[True] * (len(ranges) - 1)]
    assert ranges["end"][0] == border["prevalence"].item()
    assert ranges["reason"][0] == "this log cannot tell: its negatives are too few below prevalence 0.0041"
    whole = nf.decision_map(rates)
    assert whole["supported"].to_list() == [*[True] * (len(whole) - 1), False]
    assert whole["lambda_start"].to_list()[-1] == pytest.approx(6000 / 25)
    over_beta = nf.winner_ranges(rates, metric="f_beta", over="beta", prevalence=1e-4)
    assert not over_beta["supported"].any()
    assert nf.winner_ranges(rates, metric="accuracy", over="prevalence")["supported"].all()


@pytest.mark.thorough
def test_areas_without_support_have_the_bounds_of_the_band():
    counts = small_log()
    table = nf.bootstrap(counts, metric=["pr_auc", "roc_auc"], prevalence=[1e-4, 0.3], repeats=50)
    lowest = table.filter(metric="pr_auc", prevalence=1e-4)
    band = nf.compute_areas(counts, prevalence=1e-4, interval="simultaneous").filter(metric="pr_auc")
    assert lowest.select("lower", "upper").equals(band.select("lower", "upper"))
    assert set(lowest["interval"]) == {"band"}
    assert lowest["reason"].str.starts_with("this log cannot tell the value: about ").all()
    rest = table.filter(pl.col("prevalence").ne_missing(1e-4))
    assert rest.select("lower", "upper", "interval").null_count().row(0) == (0, 0, 0)
    assert rest["supported"].all()


def small_log() -> pl.DataFrame:
    log = unit_log({"good": 3.0, "fair": 2.0}, (174, 1623))
    return nf.count_confusion(log.drop("unit"), thresholds="exact")


@pytest.mark.long
def test_no_form_of_a_report_states_what_the_log_cannot_tell():
    """The demonstration's size: 174 positives and 1,623 negatives say nothing of one in 10,000."""
    compared = nf.compare_models(small_log(), prevalence=[1e-4, 0.01, 0.1, 0.5], threshold=1.0, repeats=50)
    asked = compared.asking(prevalence=1e-4, metric="pr_auc")
    assert asked.answer["reason"][0].startswith("this log cannot tell the value: about ")
    assert compared.asking(prevalence=0.5, metric="pr_auc").answer["reason"][0] is None
    value = compared.areas.filter(metric="pr_auc", prevalence=1e-4)["value"].max()
    text = printed(print_answer, asked) + printed(print_comparison, compared)
    # A line begins with a capital.
    assert asked.answer["reason"][0][1:] in " ".join(text.split())
    assert f"{value:.4f}  ?" in text
    assert f"{value:.4f}  1" not in text
    # Resampled logs lack the same negatives, so their probabilities are covered there.
    cover = rows_of(report_charts(compared)["probability"].to_dict(), "untold")
    assert [row["prevalence"] for row in cover if row["to"]] == [1e-4, 0.01, 0.1]
    markdown = render_markdown(compared).replace("\\", "")
    assert "this log cannot tell the value\\: about " in render_markdown(asked)
    assert "This log cannot tell the value from 10⁻⁴ to 0.0" in markdown
    order = json.loads(render_json(compared))["orders"]["pr_auc"]
    assert [lead["supported"] for lead in order["leads"]] == [False, True]
    assert order["leads"][0]["models"] == []
    for table in (compared._repr_html_(), nf.ranked_table(compared.areas, metric="pr_auc").as_raw_html()):
        assert "Grey with ?: the log cannot tell this value at this prevalence (too few negatives)" in table


def test_legends_name_the_reason_that_the_values_have():
    """Eight positives are too few for PR-AUC anywhere; a threshold above all of them finds none."""
    few = "fewer than 10 independent positives"
    rates = counts_at([7, 0, 6, 0], [4, 1, 30, 2], 8, 900, model=[*"aabb"], threshold=[0.5, 0.9] * 2)
    areas = nf.rank_models(nf.compute_areas(rates, prevalence=[0.01, 0.5]))
    assert f"; dotted: {few}" in str(nf.chart_pr_auc_over_prevalence(areas).to_dict()["title"])
    ranks = nf.chart_rank_over_prevalence(areas.filter(metric="pr_auc")).to_dict()["title"]
    assert f"; dotted: {few}" in str(ranks)
    assert f"at this prevalence ({few})." in nf.ranked_table(areas, metric="pr_auc").as_raw_html()
    points = nf.project_rates(nf.compute_rates(rates), metrics="f_beta", prevalence=0.001)
    both = "hollow: too few negatives, or no positive reaches the threshold"
    shown = points.filter((pl.col("model") == "a") | (pl.col("threshold") == 0.5))
    shown = shown.with_columns(model=pl.col("model") + pl.col("threshold").cast(pl.String))
    assert both in str(nf.chart_intervals(shown).to_dict()["title"])


@pytest.mark.long
def test_every_form_of_a_report_names_the_reason_of_its_question_marks():
    counts = counts_at([7, 6], [4, 30], 8, 900)
    compared = nf.compare_models(counts, prevalence=[0.1, 0.5], repeats=20)
    why = "fewer than 10 independent positives"
    forms = {
        "terminal": printed(print_comparison, compared),
        "markdown": render_markdown(compared),
        "html": render_report(compared),
        "notebook": compared._repr_html_(),
    }
    for form, text in forms.items():
        told = rf"cannot tell (the|this)\s+value( at this prevalence)? \([^()]*{why}[^()]*\)"
        assert re.search(told, text), form
        assert "has too few negatives" not in text, form


@pytest.mark.parametrize(("metric", "threshold"), first_quick([("precision", 2.5), ("pr_auc", None)]))
def test_supported_counts_units_in_every_table_that_takes_them(metric, threshold):
    once, counts = (
        nf.count_confusion(
            nf.unit_buckets(unit_log({"a": 2.0}, 2000, share=0.1, times=times, digits=2, seed=2)),
            thresholds="exact",
        )
        for times in (1, 3)
    )
    pooled, options = nf.pool_counts(counts, over="bucket"), {"metric": metric, "threshold": threshold}
    # Between what a third of the rows supports and what all of them would.
    limits = [
        nf.lowest_supported_prevalence(frame, units=units, **options)["prevalence"].item()
        for frame, units in ((pooled, None), (counts, "bucket"), (nf.pool_counts(once, over="bucket"), None))
    ]
    assert limits[0] < 0.6 * limits[1]
    assert limits[1] == pytest.approx(limits[2], rel=0.1)
    asked: dict[str, Any] = {"prevalence": float(np.sqrt(limits[0] * limits[1]))}
    for units, frame, wanted in ((None, pooled, True), ("bucket", counts, False)):
        tables = [
            function(frame, repeats=20, units=units, **options, **asked)
            for function in (nf.bootstrap, nf.probability_best)
        ]
        if threshold is None:
            tables.append(nf.compute_areas(frame, units=units, metrics=metric, **asked))
        else:
            rates = nf.compute_rates(frame, interval="wilson", units=units)
            chosen = nf.select_operating_points(rates, threshold=threshold)
            tables.append(nf.project_rates(chosen, metrics=metric, **asked))
        for table in tables:
            assert table["supported"].to_list() == [wanted]
            assert table["reason"].is_null().to_list() == [wanted]
    if threshold is not None:
        assert chosen["effective_negatives"].item() == pytest.approx(chosen["negatives"].item() / 3, rel=0.1)


def test_weights_round_no_prevalence_below_the_lowest_supported_one():
    counts = counts_at(25, 0, 26, 30)
    for of_rows in (counts, counts.with_columns(weight=0.3)):
        rates = nf.compute_rates(of_rows)
        assert nf.project_rates(rates, metrics="precision", prevalence="observed")["supported"].item()
