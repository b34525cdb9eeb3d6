"""The controls of the page in a real browser: what they say is what Python says."""

import functools
import io
import json
import math
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.interpolate import RegularGridInterpolator

import nci_frames as nf
from nci_frames.questions.verdicts import read_verdict
from nci_frames.reporting.write import write_report
from nci_frames.tables.numbers import (
    format_grid,
    format_one_in,
    format_percent,
    format_threshold,
    format_value,
)
from tests.browsing import Visit, cells, move, settled
from tests.comparisons import HOSTILE, comparison

pytestmark = pytest.mark.browser

GRID = np.geomspace(1e-4, 0.5, 20).tolist()
BETAS = np.geomspace(0.25, 4, 9).tolist()


@functools.cache
def counts():
    """Five models with ties, one without positives, one that repeats another, at every score."""
    rng = np.random.default_rng(11)
    rows = []
    for number, strength in enumerate((0.8, 1.2, 1.6, 2.0)):
        label = rng.random(4_000) < 0.1
        score = np.round(rng.normal(label * strength, 1) * 20) / 20
        rows.append(pl.DataFrame({"model": f"model {number}", "label": label, "score": score}))
    twin = rows[2].with_columns(model=pl.lit("twin"))
    empty = rows[0].filter(~pl.col("label")).with_columns(model=pl.lit("without positives"))
    return nf.count_confusion(pl.concat([*rows, twin, empty]), thresholds="exact")


@pytest.fixture(scope="module")
def tables():
    return nf.compare_models(counts(), prevalence=GRID, beta=BETAS, threshold=1.5, repeats=20)


@pytest.fixture(scope="module")
def visit(browser, tables, tmp_path_factory):
    """The page, opened once for all tests here."""
    with Visit(browser, write_report(tables, tmp_path_factory.mktemp("live") / "report.html")) as visit:
        yield visit
        visit.check_silence()


def assert_same(found, expected):
    if expected is None:
        assert found is None
    else:
        assert found == pytest.approx(expected, abs=1e-9)


@pytest.fixture(scope="module")
def ratios(tables):
    """Of each model how much lower F-beta is on other rows, between the prevalences and betas compared."""
    axes = (np.log(GRID) - np.log1p(-np.array(GRID)), np.log(BETAS))
    found = {}
    for (model,), rows in tables.best.sort("prevalence", "beta").group_by("model"):
        ratio = rows.select((pl.col("value") / pl.col("optimistic")).round_sig_figs(6)).to_series()
        found[model] = RegularGridInterpolator(axes, ratio.to_numpy().reshape(len(GRID), len(BETAS)))
    return found


def judged(ratios, frame):
    """Return F-beta at own best thresholds as the page shows it: times the ratio, interpolated."""
    low, high = np.array([[GRID[0], BETAS[0]], [GRID[-1], BETAS[-1]]])
    values = []
    for row in frame.iter_rows(named=True):
        eta, beta = np.clip([row["prevalence"], row["beta"]], low, high)
        place = [np.log(eta) - np.log1p(-eta), np.log(beta)]
        values.append(None if row["value"] is None else row["value"] * ratios[row["model"]](place).item())
    return frame.with_columns(value=pl.Series(values, dtype=pl.Float64))


def own_values(tables, ratios, eta, beta):
    """Return F-beta of the models at their own best thresholds, as the page shows it, and the points."""
    own = nf.select_operating_points(tables.rates, metric="f_beta", prevalence=eta, beta=beta)
    return judged(ratios, nf.project_rates(own, metrics="f_beta", prevalence="selected", beta=beta)), own


def python_says(tables, ratios, areas, eta, beta):
    """Return value and rank of each model by the three measures, and precision and recall, from Python."""
    values, own = own_values(tables, ratios, eta, beta)
    best = nf.rank_models(values, by=["metric", "prevalence", "beta"])
    precision = nf.project_rates(own, metrics="precision", prevalence="selected")
    at = nf.rank_models(nf.project_rates(tables.points, metrics="f_beta", prevalence=eta, beta=beta))
    areas = areas.filter(prevalence=eta)
    found = {}
    for model in tables.points["model"]:
        rows = [
            best.filter(model=model, metric="f_beta"),
            precision.filter(model=model),
            own.filter(model=model),
            at.filter(model=model),
            areas.filter(model=model),
        ]
        found[model] = {
            # A value that the log does not support has no rank on the page.
            name: row[column][0] if row.height and (column != "rank" or row["supported"][0]) else None
            for name, row, column in (
                ("own", rows[0], "value"),
                ("own rank", rows[0], "rank"),
                ("precision", rows[1], "value"),
                ("recall", rows[2], "tpr"),
                ("at", rows[3], "value"),
                ("at rank", rows[3], "rank"),
                ("area", rows[4], "value"),
                ("area rank", rows[4], "rank"),
            )
        }
    return found


def test_many_places_of_the_sliders_give_what_python_gives(visit, tables, ratios):
    rng = np.random.default_rng(5)
    shown = {}
    for _ in range(15):
        place = tuple(move(visit.page, *rng.integers(0, 1001, 2).tolist()))
        answer = visit.page.locator("#live-answer")
        best = answer.locator("strong").all_inner_texts()
        shown[place] = (cells(visit.page, "table-live"), answer.inner_text(), best)
    assert len(shown) == 15
    etas = sorted({eta for eta, _ in shown})
    areas = nf.rank_models(nf.compute_areas(counts(), prevalence=etas)).filter(metric="pr_auc")
    for (eta, beta), (rows, sentence, named) in shown.items():
        expected = python_says(tables, ratios, areas, eta, beta)
        found = {row[0][0]: row for row in rows}
        assert set(found) == set(expected)
        for model, row in found.items():
            says = expected[model]
            for column, name in ((3, "own"), (4, "precision"), (5, "recall"), (6, "at"), (7, "area")):
                assert_same(row[column][1], says[name])
            for column, name in ((3, "own rank"), (6, "at rank"), (7, "area rank")):
                assert row[column][2] == says[name]
        # The table is sorted by rank, and the sentence names those of rank 1.
        ranks = [row[3][2] for row in rows]
        assert [rank for rank in ranks if rank] == sorted(rank for rank in ranks if rank)
        best = [model for model, says in expected.items() if says["own rank"] == 1]
        if best:
            assert named == [", ".join(sorted(best))]
        else:
            assert re.match(r"At .* this log cannot tell the value of F[\d.]+: about ", sentence)


def test_the_borders_in_the_sentence_are_those_of_python(visit, tables):
    eta, beta = move(visit.page, 750, 500)
    ranges = nf.winner_ranges(tables.rates, metric="f_beta", over="prevalence", beta=beta)
    merged = [(s, m) for s, m, before in ranges.select(
        "start", "model", before=pl.col("model").shift()).iter_rows() if m != before]  # fmt: skip
    above = next((start for start, _ in merged if start > eta), None)
    sentence = visit.page.locator("#live-answer").inner_text()
    # The borders are those of the log; they are named where the model ahead on it is the best on other rows.
    assert f"use {[m for start, m in merged if start <= eta][-1]} at threshold" in sentence
    assert ("bove η" in sentence) == (above is not None)
    if above is not None:
        assert f"bove η = {format_grid(above)}" in sentence


def test_the_ranked_tables_follow(visit, tables, ratios):
    eta, beta = move(visit.page, 650, 850)
    live = json.loads(visit.page.locator("#table-own-over-prevalence-live").inner_text())
    own, own_over_beta, over_beta = (
        cells(visit.page, f"table-{name}")
        for name in ("own-over-prevalence", "own-over-beta", "f-beta-over-beta")
    )
    assert all([own, own_over_beta, over_beta])
    values = nf.rank_models(own_values(tables, ratios, live["grid"], beta)[0], by=["prevalence"])
    for row in own:
        for at, cell in zip(live["grid"], row[1:], strict=True):
            expected = values.filter(model=row[0][0], prevalence=at)
            assert_same(cell[1], expected["value"][0] if expected.height else None)
            told = expected.height and expected["supported"][0]
            assert cell[2] == (expected["rank"][0] if told else None)
    caption = visit.page.locator("#table-own-over-prevalence caption").inner_text()
    assert (
        caption
        == f"F{format_grid(beta)} over prevalence, each model at its own best threshold, judged on other rows"
    )
    betas = json.loads(visit.page.locator("#table-own-over-beta-live").inner_text())["grid"]
    best = [own_values(tables, ratios, eta, at)[0] for at in betas]
    for row in own_over_beta:
        for values, cell in zip(best, row[1:], strict=True):
            value = values.filter(model=row[0][0])["value"]
            assert_same(cell[1], value[0] if len(value) else None)
    at_threshold = nf.project_rates(tables.points, metrics="f_beta", prevalence=eta, beta=betas)
    for row in over_beta:
        for at, cell in zip(betas, row[1:], strict=True):
            assert_same(cell[1], at_threshold.filter(model=row[0][0], beta=at)["value"].item())


def test_the_charts_follow(visit, tables, ratios):
    eta, beta = move(visit.page, 200, 900)
    rows = visit.page.evaluate(
        """["p3", "f-own", "f-prevalence", "f-beta", "decisions", "roc"].map(name => {
             const chart = nci.chartOf(document.querySelector(`[data-spec="spec-${name}"]`));
             return ["live", chart.source].map(name => chart.view.data(name).map(row => ({...row})));
           })"""
    )
    (p3, _), (_, own), (_, at), (rule, over_beta), (decisions, _), (roc, _) = rows
    assert all([own, at, over_beta])
    assert p3 == [{"prevalence": eta}]
    assert rule == [{"beta": beta}]
    assert decisions == [{"odds": pytest.approx(eta / (1 - eta)), "beta": beta}]
    points = nf.select_operating_points(tables.rates, metric="f_beta", prevalence=eta, beta=beta)
    expected = {m: (f, t) for m, f, t in points.drop_nulls("fpr").select("model", "fpr", "tpr").iter_rows()}
    assert {row["model"]: (row["fpr"], row["tpr"]) for row in roc} == {
        model: pytest.approx(rates) for model, rates in expected.items() if rates[0] > 0
    }
    some = sorted({row["prevalence"] for row in own[::7]})
    values, _ = own_values(tables, ratios, some, beta)
    for row in own[::7]:
        value = values.filter(model=row["model"], prevalence=row["prevalence"])["value"].item()
        assert row["value"] == pytest.approx(value, abs=1e-9)
    for row in [*at[::7], *over_beta[::7]]:
        point = tables.points.filter(model=row["model"])
        place = {"prevalence": row.get("prevalence", eta), "beta": row.get("beta", beta)}
        (value,) = nf.project_rates(point, metrics="f_beta", **place)["value"]
        assert row["value"] == pytest.approx(value, abs=1e-9)
    title = visit.page.locator("#spec-f-own-title").inner_text()
    assert title == f"F{format_grid(beta)} over prevalence"


def test_a_number_may_be_written(visit):
    field = visit.page.locator("#prevalence-number")
    field.fill("0.0123")
    field.press("Enter")
    settled(visit.page)
    assert visit.page.evaluate("nci.state.prevalence") == 0.0123
    assert visit.page.locator("#prevalence-words").inner_text() == "1 in 81 (η = 0.0123)"
    field.fill("7")  # more than the range: its end is taken
    field.press("Enter")
    settled(visit.page)
    assert visit.page.evaluate("nci.state.prevalence") == 0.5
    field.fill("-1")  # no prevalence at all: nothing changes
    field.press("Enter")
    settled(visit.page)
    assert visit.page.evaluate("nci.state.prevalence") == 0.5


def test_the_sliders_move_by_keys_and_say_where_they_are(visit):
    move(visit.page, 500, 500)
    slider = visit.page.locator("#prevalence-slider")
    slider.focus()
    before = visit.page.evaluate("nci.state.prevalence")
    slider.press("ArrowRight")
    settled(visit.page)
    after = visit.page.evaluate("nci.state.prevalence")
    assert after == pytest.approx(before * (0.5 / 1e-4) ** (1 / 1000))
    assert f"η = {format_grid(after)}" in slider.get_attribute("aria-valuetext")
    visit.page.keyboard.press("Tab")
    assert visit.page.evaluate("document.activeElement.id") == "prevalence-number"


def test_numbers_are_written_as_in_python(visit):
    values = [0.9234, 0.04567, 1.0, 1.23e-5, 0.0, None, 0.0994, 0.09951, 0.000996, 0.00099449, 5e-324]
    grid = [0.5, 0.001, 0.0316228, 1e-4, 0.000316228, 10.0, 0.0, 2.3456, 123.4]
    thresholds = [0.5, 0.123456789, -12.0, 0.9999999]
    shares = [0.5, 0.02, 0.000213, 1e-4, 0.3]
    found = visit.page.evaluate(
        """([v, g, t, s]) => [v.map(nci.formatValue), g.map(nci.formatGrid), t.map(nci.formatThreshold),
                              s.map(nci.oneIn)]""",
        [values, grid, thresholds, shares],
    )
    assert found == [
        [format_value(v) for v in values],
        [format_grid(g) for g in grid],
        [format_threshold(t) for t in thresholds],
        [format_one_in(s) for s in shares],
    ]


def test_a_click_on_a_head_sorts_and_says_so(visit):
    move(visit.page, 800, 500)
    heads = visit.page.locator("#table-live thead th")
    area = heads.nth(7)
    area.locator("button").click()
    assert area.get_attribute("aria-sort") == "descending"
    assert heads.nth(1).get_attribute("aria-sort") is None
    column = [row[7][1] for row in cells(visit.page, "table-live")]
    assert column[-1] is None  # undefined values are last
    assert column[:-1] == sorted(column[:-1], reverse=True)
    area.locator("button").press("Enter")
    assert area.get_attribute("aria-sort") == "ascending"
    column = [row[7][1] for row in cells(visit.page, "table-live")]
    assert column[:-1] == sorted(column[:-1])
    assert column[-1] is None
    # A slider keeps the order that was asked for.
    move(visit.page, 700)
    column = [row[7][1] for row in cells(visit.page, "table-live")]
    assert column[:-1] == sorted(column[:-1])
    name = heads.nth(0)
    name.locator("button").click()
    assert name.get_attribute("aria-sort") == "ascending"
    names = [row[0][0] for row in cells(visit.page, "table-live")]
    assert names == sorted(names)
    heads.nth(1).locator("button").click()
    assert cells(visit.page, "table-live")[0][3][2] == 1
    assert not visit.page.locator("#table-pr-auc").is_visible()
    visit.page.locator("#table-switch button", has_text="PR-AUC").click()
    assert visit.page.locator("#panel-table-pr-auc").is_visible()
    assert not visit.page.locator("#table-live").is_visible()
    ranked = visit.page.locator("#table-pr-auc thead th", has_text="0.5")
    ranked.locator("button").click()
    column = [row[-1][1] for row in cells(visit.page, "table-pr-auc")]
    assert column[:-1] == sorted(column[:-1], reverse=True)


def test_a_threshold_beyond_all_scores_is_infinity(visit):
    assert visit.page.evaluate("nci.formatThreshold(null)") == format_threshold(math.inf) == "∞"


def test_the_answer_says_how_sure_it_is(visit, tables):
    page = visit.page
    page.locator(".chip", has_text="1 in 100").first.click()
    settled(page)
    assert page.evaluate("nci.state.prevalence") == pytest.approx(0.01)
    field = page.locator("#prevalence-number")
    for eta in (GRID[12], GRID[17]):
        field.fill(repr(eta))
        field.press("Enter")
        move(page, beta=500)
        settled(page)
        best = tables.best.filter(prevalence=eta, beta=1.0, rank=1).row(0, named=True)
        sentence = page.locator("#live-answer").inner_text()
        low, high = (format_value(best[side]) for side in ("lower", "upper"))
        assert f"F1 {format_value(best['value'])} ({low} to {high})." in sentence
        own = tables.contenders.filter(measure="own", prevalence=eta)
        near = own.filter(distinguishable=False)["model"].implode()
        ranked = tables.best.filter(pl.col("model").is_in(near), prevalence=eta, beta=1.0).sort(
            "rank", "model"
        )
        equal = [model for model in ranked["model"] if model != best["model"]]
        assert (f"Not distinguishable from it: {', '.join(equal[:3])}" in sentence) == bool(equal)
        share = tables.best_certainty.filter(prevalence=eta, model=best["model"])["probability"].item()
        assert f"Best in {format_percent(share)} of resampled logs" in sentence
        rows = page.evaluate(
            """() => {
                 const chart = nci.chartOf(document.querySelector("[data-spec='spec-intervals']"));
                 return chart.view.data(chart.source).map(row => ({...row}));
               }"""
        )
        frame = tables.best.filter(prevalence=eta, beta=1.0)
        assert rows
        for row in rows:
            (expected,) = frame.filter(model=row["model"]).iter_rows(named=True)
            # Values are interpolated from ratios of six digits; bounds are computed from counts.
            assert row["value"] == pytest.approx(expected["value"], rel=1e-5)
            for side in ("lower", "upper"):
                assert row[side] == pytest.approx(expected[side], abs=1e-9)


def test_the_data_of_a_chart_can_be_saved_and_holds_no_formula(visit):
    with visit.page.expect_download() as caught:
        visit.page.locator("[data-csv='spec-p3']").click()
    text = Path(caught.value.path()).read_text(encoding="utf-8")
    assert caught.value.suggested_filename == "p3.csv"
    saved = pl.read_csv(io.StringIO(text))
    assert set(saved["model"].unique()) <= set(counts()["model"])
    assert saved.height > 50
    # The same rule as for tables that are saved.
    for name in ["=1+1", "  =1+1", "\u200b@x", "a;-2", "+1", "\t=1", 'a "quoted", name', *HOSTILE]:
        frame = pl.DataFrame({"model": [name], "value": [0.5]})
        path = Path(caught.value.path()).with_suffix(".csv")
        expected = pl.read_csv(nf.save_table(frame, path))
        found = pl.read_csv(
            io.StringIO(visit.page.evaluate("name => nci.csv([{model: name, value: 0.5}])", name))
        )
        assert found.equals(expected), name


def test_where_the_value_is_unknown_the_order_may_be_known(visit, tables):
    """The words are those of the other forms of a report."""
    page, found = visit.page, set()
    for eta in (GRID[0], GRID[3], GRID[6]):
        page.locator("#prevalence-number").fill(repr(eta))
        page.locator("#prevalence-number").press("Enter")
        move(page, beta=500)
        best = tables.best.filter(prevalence=eta, beta=1.0, rank=1)
        own = tables.contenders.filter(measure="own", prevalence=eta)
        assert not best["supported"].any()
        words = read_verdict(tables.best.filter(prevalence=eta, beta=1.0), contenders=own).doubt
        assert words is not None
        words = words.partition("; ")[2]
        sentence = page.locator("#live-answer").inner_text()
        assert "this log cannot tell the value of F1: about " in sentence
        assert f"{words[:1].upper()}{words[1:]}." in sentence
        found.add(words.partition(":")[0])
    assert any("can tell" in words for words in found)


def rounded(frame, *columns):
    """Return the different rows of some columns; charts have six digits."""
    rows = frame.select("model", *columns).drop_nulls().rows()
    return {(model, *(f"{value:.4g}" for value in values)) for model, *values in rows}


def test_every_chart_saves_what_it_is_of(visit, tables):
    """Not the line of chance, nor corners of polygons: the rows of the models, with all their columns."""
    texts = visit.page.evaluate(
        """Object.fromEntries([...document.querySelectorAll("[data-spec]")].map(box =>
             [box.dataset.spec.slice(5), nci.chartCsv(box)]))"""
    )
    buttons = visit.page.locator("[data-csv]:visible").evaluate_all("all => all.map(b => b.dataset.csv)")
    assert {button.removeprefix("spec-") for button in buttons} == set(texts)
    saved = {name: pl.read_csv(io.StringIO(text), infer_schema_length=None) for name, text in texts.items()}
    assert {name for name, frame in saved.items() if frame["model"].has_nulls() or frame.is_empty()} == set()
    assert {frame.columns[frame.columns[0] == "layer"] for frame in saved.values()} == {"model"}
    curves = rounded(saved["roc"], "fpr", "tpr")
    # A digit at its edge may be rounded twice.
    assert 100 < len(curves) < 1.01 * len(curves & rounded(tables.curves, "fpr", "tpr"))
    ranges = rounded(saved["winners"][1:], "start")  # the first begins at the edge of the chart
    assert ranges
    assert ranges <= rounded(tables.best_winners, "start")
    assert "lower" in saved["winners"].columns
    assert set(saved["decisions"]["model"]) == set(tables.decisions["model"])
    assert len(saved["decisions"]) == saved["decisions"]["lambda_start"].n_unique()
    leaders = saved["leaders"]
    sure = rounded(leaders.filter(layer="areas"), "prevalence", "probability")
    assert sure == rounded(tables.best_certainty, "prevalence", "probability")
    assert leaders.filter(layer="leaders")["start"].null_count() == 0
    assert saved["work"].filter(layer="lines").height > saved["work"].filter(layer="held").height > 0


def test_who_is_better_beyond_a_border_leads_there(browser, tmp_path):
    path = write_report(comparison(), tmp_path / "r.html")
    told = re.compile(r"(above|below) η = ([\d.e-]+) ([\w ]+?) is better", re.IGNORECASE)
    with Visit(browser, path) as visit:
        answer, field = visit.page.locator("#live-answer"), visit.page.locator("input[type=number]").first
        borders = set()
        for step in range(0, 1001, 100):
            move(visit.page, step)
            borders.update(told.findall(answer.inner_text()))
        assert len({name for _, _, name in borders}) > 1
        for word, border, name in borders:
            field.fill(repr(float(border) * (1.02 if word.lower() == "above" else 0.98)))
            field.press("Enter")
            settled(visit.page)
            assert answer.locator("strong").inner_text() == name
