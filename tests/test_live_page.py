"""The controls of the page in a real browser: what they say is what Python says."""

import io
import json
import math
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from axe_playwright_python.sync_playwright import Axe
from scipy.interpolate import RegularGridInterpolator

import nci_frames as nf
from nci_frames.reporting.pages.write import write_report
from nci_frames.reporting.tables.numbers import (
    format_grid,
    format_one_in,
    format_percent,
    format_threshold,
    format_value,
)
from tests.browsing import Visit
from tests.comparisons import HOSTILE, comparison

pytestmark = pytest.mark.browser

DESKTOP = {"width": 1280, "height": 900}
GRID = np.geomspace(1e-4, 0.5, 20).tolist()
BETAS = np.geomspace(0.25, 4, 9).tolist()


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
def report(tables, tmp_path_factory):
    return write_report(tables, tmp_path_factory.mktemp("live") / "report.html")


@pytest.fixture(scope="module")
def visit(browser, report):
    with Visit(browser, report, viewport=DESKTOP) as visit:
        yield visit
        assert visit.errors == visit.messages == visit.dialogs == []
        assert visit.requests == [report.as_uri()]


def move(page, eta=None, beta=None):
    """Put the sliders somewhere, and return the exact prevalence and beta that the page then shows."""
    for name, step in (("prevalence", eta), ("beta", beta)):
        if step is not None:
            page.locator(f"#{name}-slider").evaluate(
                "(s, value) => { s.value = value; s.dispatchEvent(new Event('input')); }", step
            )
    settled(page)
    return page.evaluate("[nci.state.prevalence, nci.state.beta]")


def settled(page):
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def cells(page, table):
    """Return the rows of a table: the name, and of each cell its number and its small rank."""
    return page.locator(f"#{table} tbody tr").evaluate_all(
        """rows => rows.map(row => [...row.cells].map(cell => {
             const number = cell.querySelector("data")?.value ?? null;
             const rank = cell.querySelector("small")?.textContent;
             return [cell.textContent, number === null ? null : Number(number), rank ? Number(rank) : null];
           }))"""
    )


def assert_same(found, expected):
    if expected is None:
        assert found is None
    else:
        assert found == pytest.approx(expected, abs=1e-9)


def judged(tables, frame):
    """Return F-beta at own best thresholds as the page shows it: times the ratio, interpolated."""
    ratios = {}
    for (model,), rows in tables.best.sort("prevalence", "beta").group_by("model"):
        ratio = rows.select((pl.col("value") / pl.col("optimistic")).round_sig_figs(6)).to_series()
        axes = (np.log(GRID) - np.log1p(-np.array(GRID)), np.log(BETAS))
        ratios[model] = RegularGridInterpolator(axes, ratio.to_numpy().reshape(len(GRID), len(BETAS)))
    low, high = np.array([[GRID[0], BETAS[0]], [GRID[-1], BETAS[-1]]])
    values = []
    for row in frame.iter_rows(named=True):
        eta, beta = np.clip([row["prevalence"], row["beta"]], low, high)
        place = [np.log(eta) - np.log1p(-eta), np.log(beta)]
        values.append(None if row["value"] is None else row["value"] * ratios[row["model"]](place).item())
    return frame.with_columns(value=pl.Series(values, dtype=pl.Float64))


def python_says(tables, eta, beta):
    """Return value and rank of each model by the three measures, and precision and recall, from Python."""
    own = nf.select_operating_points(tables.rates, metric="f_beta", prevalence=eta, beta=beta)
    within = ["metric", "prevalence", "beta"]
    best = nf.rank_models(
        judged(tables, nf.project_rates(own, metrics="f_beta", prevalence="selected", beta=beta)), by=within
    )
    precision = nf.project_rates(own, metrics="precision", prevalence="selected")
    at = nf.rank_models(nf.project_rates(tables.points, metrics="f_beta", prevalence=eta, beta=beta))
    areas = nf.rank_models(nf.compute_areas(counts(), prevalence=eta)).filter(metric="pr_auc")
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


def test_twenty_places_of_the_sliders_give_what_python_gives(visit, tables):
    rng = np.random.default_rng(5)
    seen = set()
    for _ in range(20):
        steps = rng.integers(0, 1001, 2).tolist()
        eta, beta = move(visit.page, *steps)
        seen.add((eta, beta))
        expected = python_says(tables, eta, beta)
        found = {row[0][0]: row for row in cells(visit.page, "table-live")}
        assert set(found) == set(expected)
        for model, row in found.items():
            says = expected[model]
            for column, name in ((3, "own"), (4, "precision"), (5, "recall"), (6, "at"), (7, "area")):
                assert_same(row[column][1], says[name])
            for column, name in ((3, "own rank"), (6, "at rank"), (7, "area rank")):
                assert row[column][2] == says[name]
        # The table is sorted by rank, and the sentence names those of rank 1.
        ranks = [row[3][2] for row in cells(visit.page, "table-live")]
        assert [rank for rank in ranks if rank] == sorted(rank for rank in ranks if rank)
        sentence = visit.page.locator("#live-answer").inner_text()
        best = [model for model, says in expected.items() if says["own rank"] == 1]
        if best:
            assert visit.page.locator("#live-answer strong").inner_text() == ", ".join(sorted(best))
        else:
            assert sentence.startswith("This log cannot tell: about ")
    assert len(seen) == 20


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


def test_the_ranked_tables_follow(visit, tables):
    eta, beta = move(visit.page, 650, 850)
    live = json.loads(visit.page.locator("#table-own-over-prevalence-live").inner_text())
    best = nf.select_operating_points(tables.rates, metric="f_beta", prevalence=live["grid"], beta=beta)
    values = nf.rank_models(
        judged(tables, nf.project_rates(best, metrics="f_beta", prevalence="selected", beta=beta)),
        by=["prevalence"],
    )
    for row in cells(visit.page, "table-own-over-prevalence"):
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
    for row in cells(visit.page, "table-own-over-beta"):
        for at, cell in zip(betas, row[1:], strict=True):
            point = nf.select_operating_points(
                tables.rates.filter(model=row[0][0]), metric="f_beta", prevalence=eta, beta=at
            )
            value = judged(tables, nf.project_rates(point, metrics="f_beta", prevalence="selected", beta=at))[
                "value"
            ]
            assert_same(cell[1], value[0] if len(value) else None)
    for row in cells(visit.page, "table-f-beta-over-beta"):
        point = tables.points.filter(model=row[0][0])
        for at, cell in zip(betas, row[1:], strict=True):
            value = nf.project_rates(point, metrics="f_beta", prevalence=eta, beta=at)["value"]
            assert_same(cell[1], value[0])


def test_the_charts_follow(visit, tables):
    eta, beta = move(visit.page, 200, 900)
    rows = visit.page.evaluate(
        """["p3", "f-own", "f-prevalence", "f-beta", "decisions", "roc"].map(name => {
             const chart = nci.chartOf(document.querySelector(`[data-spec="spec-${name}"]`));
             return ["live", chart.source].map(name => chart.view.data(name).map(row => ({...row})));
           })"""
    )
    (p3, _), (_, own), (_, at), (rule, over_beta), (decisions, _), (roc, _) = rows
    assert p3 == [{"prevalence": eta}]
    assert rule == [{"beta": beta}]
    assert decisions == [{"odds": pytest.approx(eta / (1 - eta)), "beta": beta}]
    points = nf.select_operating_points(tables.rates, metric="f_beta", prevalence=eta, beta=beta)
    expected = {m: (f, t) for m, f, t in points.drop_nulls("fpr").select("model", "fpr", "tpr").iter_rows()}
    assert {row["model"]: (row["fpr"], row["tpr"]) for row in roc} == {
        model: pytest.approx(rates) for model, rates in expected.items() if rates[0] > 0
    }
    for row in own[::7]:
        best = nf.select_operating_points(
            tables.rates.filter(model=row["model"]), metric="f_beta", prevalence=row["prevalence"], beta=beta
        )
        found = nf.project_rates(best, metrics="f_beta", prevalence="selected", beta=beta)
        value = judged(tables, found)["value"][0]
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


def test_the_theme_can_be_chosen(browser, report):
    with Visit(browser, report, viewport=DESKTOP, color_scheme="light") as visit:
        button = visit.page.locator("#theme")
        ground = "getComputedStyle(document.body).backgroundColor"
        light = visit.page.evaluate(ground)
        assert button.get_attribute("aria-pressed") == "false"
        visit.page.evaluate(
            "document.querySelectorAll('[data-drawn]').forEach(b => b.removeAttribute('data-drawn'))"
        )
        button.click()
        assert button.get_attribute("aria-pressed") == "true"
        visit.page.locator("[data-drawn]").nth(12).wait_for(state="attached")
        assert visit.page.evaluate(ground) != light
        fills = visit.page.locator("[data-spec='spec-p3'] svg text").evaluate_all(
            "texts => [...new Set(texts.map(t => t.getAttribute('fill')))]"
        )
        assert not {"#1f2328", "#57606a"} & set(fills)
        visit.page.emulate_media(media="print")
        assert visit.page.evaluate(ground) == "rgb(255, 255, 255)"
        assert visit.errors == visit.messages == []


@pytest.fixture(scope="module")
def segmented(tmp_path_factory):
    """A page with everything: many models, segments of which one is missing, undefined groups."""
    models = {f"model {i:02d}": (0.95 - i / 20, 0.3 / 2**i) for i in range(14)} | {"empty": (None, 0.1)}
    tables = comparison(models, segments=["DE", "US", None], beta=BETAS)
    return write_report(tables, tmp_path_factory.mktemp("segmented") / "report.html", facts=[("rows", "3")])


@pytest.mark.parametrize(
    ("page", "scheme", "width"),
    [("report", "light", 1280), ("segmented", "dark", 1280), ("segmented", "light", 400)],
)
def test_axe_finds_no_serious_violation(browser, request, page, scheme, width):
    viewport = {"width": width, "height": 900}
    with Visit(browser, request.getfixturevalue(page), viewport=viewport, color_scheme=scheme) as visit:
        found = Axe().run(visit.page).response["violations"]
        grave = [v for v in found if v["impact"] in ("serious", "critical")]
        assert not grave, json.dumps(
            [(v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in grave], indent=1
        )


def test_the_page_is_soon_ready(visit):
    milliseconds = float(visit.page.evaluate("document.documentElement.dataset.ready"))
    assert 0 < milliseconds < 3_000


def test_hostile_names_stay_text_wherever_the_sliders_go(browser, tmp_path):
    models = {name: (0.9 - 0.1 * i, 0.2 / 3**i) for i, name in enumerate([*HOSTILE, "#1f2328"])}
    tables = comparison(models, segments=[*HOSTILE, None], key=HOSTILE[1])
    path = write_report(tables, tmp_path / "r.html")
    with Visit(browser, path, charts=3, viewport=DESKTOP, color_scheme="dark") as visit:
        named = set()
        for step in range(0, 1001, 125):
            move(visit.page, step, step)
            named.add(visit.page.locator("#live-answer strong").inner_text())
            assert visit.page.locator("#live-answer :not(strong, small)").count() == 0
            assert visit.page.locator("#table-live img, #table-live script").count() == 0
        assert len(named & set(models)) > 2

        assert {row[0][0] for row in cells(visit.page, "table-live")} == set(models)
        # A name that looks like a colour of the theme is not taken for one.
        colours = visit.page.evaluate(
            """() => nci.chartOf(document.querySelector("[data-spec='spec-p3']")).models"""
        )
        assert "#1f2328" in colours
        assert visit.page.locator(".legend button", has_text="#1f2328").count() == 1
        assert visit.page.evaluate("window.__pwned") is None
        assert visit.errors == visit.messages == visit.dialogs == []


def test_many_models_show_the_first_until_all_are_asked_for(browser, tmp_path):
    models = {f"model {i:02d}": (0.9 - i / 100, 0.1) for i in range(40)}
    path = write_report(comparison(models, segments=["a", "b"], beta=[1.0]), tmp_path / "r.html")
    with Visit(browser, path, charts=2, viewport=DESKTOP) as visit:
        shown = visit.page.locator("#table-live tbody tr:visible")
        assert shown.count() == 12
        more = visit.page.locator("button.more[aria-controls='table-live']")
        assert more.inner_text() == "Show all 40 rows"
        more.press("Enter")
        assert more.get_attribute("aria-expanded") == "true"
        assert shown.count() == 40
        visit.page.locator("#table-live thead th button").first.click()
        visit.page.locator("#table-live thead th button").first.click()
        more.click()
        assert shown.count() == 12
        assert shown.first.locator("th").inner_text() == "model 39"
        assert visit.errors == visit.messages == []


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
        equal = sorted(set(own.filter(distinguishable=False)["model"]) - {best["model"]})
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


def test_who_is_better_beyond_a_border_leads_there(browser, tmp_path):
    path = write_report(comparison(), tmp_path / "r.html")
    told = re.compile(r"(above|below) η = ([\d.e-]+) ([\w ]+?) is better", re.IGNORECASE)
    with Visit(browser, path, charts=1, viewport=DESKTOP) as visit:
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
