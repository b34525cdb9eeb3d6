"""The page of few and many models and segments, on wide and narrow screens, light, dark and on paper."""

import json
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest
from axe_playwright_python.sync_playwright import Axe

import nci_frames as nf
from nci_frames.reporting.pages.write import write_report
from nci_frames.reporting.tables.numbers import format_value
from tests.browsing import DESKTOP, PHONE, Visit, settled

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

MEGABYTE = 1024 * 1024
#: Models and segments: each number of either is in one pair at least.
PAIRS = [(2, 2000), (10, 120), (92, 3), (2, 0)]


def counted(models, segments):
    """Counts at five thresholds of models that get better, in segments of which every 17th is worse."""
    rng, below = np.random.default_rng(0), NormalDist(0, 2**0.5).cdf
    rows = []
    for place in range(max(segments, 1)):
        positives = 1000 if segments < 4 else int(rng.integers(10, 400))
        negatives = int(positives * rng.uniform(2, 30))
        shift = rng.normal(0, 0.2) - (place % 17 == 3)
        for model in range(models):
            for threshold in (0.2, 0.35, 0.5, 0.65, 0.8):
                at = 4 * (threshold - 0.5)
                tp = round(positives * (1 - below(at - 0.2 - 0.8 * model / models - shift)))
                fp = round(negatives * (1 - below(at + 1.5)))
                rows.append(
                    (
                        f"gradient_boosting_{model:02d}",
                        f"shop {place:04d}",
                        threshold,
                        tp,
                        fp,
                        positives - tp,
                        negatives - fp,
                    )
                )
    frame = pl.DataFrame(rows, ["model", "shop", "threshold", "tp", "fp", "fn", "tn"], orient="row")
    return frame if segments else frame.drop("shop")


@pytest.fixture(scope="module", params=PAIRS, ids=lambda pair: f"{pair[0]} models, {pair[1]} segments")
def opened(request, browser, tmp_path_factory):
    """A page and what it is of, opened once and looked at by all tests."""
    models, segments = request.param
    tables = nf.compare_models(
        counted(models, segments), prevalence=[1e-3, 0.01, 0.1, 0.3], beta=[0.5, 1.0, 2.0],
        segments="shop" if segments else (), repeats=20,
    )  # fmt: skip
    path = write_report(tables, tmp_path_factory.mktemp("sizes") / "report.html", facts=[("rows", "3")])
    with Visit(browser, path) as visit:
        yield visit, tables, models, segments
        visit.check_silence()


def findings(page):
    return [
        (found["id"], [node["html"][:200] for node in found["nodes"][:3]])
        for found in Axe().run(page).response["violations"]
    ]


def test_on_every_screen_nothing_is_found(opened):
    visit, _, models, segments = opened
    page = visit.page
    assert visit.path.stat().st_size <= 4 * MEGABYTE
    assert float(page.evaluate("document.documentElement.dataset.ready")) > 0
    assert findings(page) == []
    # Model names are not broken inside a word.
    lines = page.locator(".ranked tbody th").evaluate_all(
        """heads => heads.map(head => {
             const range = document.createRange();
             range.selectNodeContents(head);
             return new Set([...range.getClientRects()].map(box => box.top)).size;
           })"""
    )
    assert set(lines) <= {0, 1}
    # Many models are many marks of the same kinds: one look at them takes as long as two at others.
    if models < 92:
        visit.turn(PHONE, "dark")
        assert findings(page) == []
    for viewport in (DESKTOP, PHONE):
        page.set_viewport_size(viewport)
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    page.emulate_media(media="print", color_scheme="light")
    assert not page.locator("nav").is_visible()
    assert page.locator("#segment-search").is_visible() is False
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    if (models, segments) == (92, 3):
        assert page.pdf().startswith(b"%PDF")
    page.emulate_media(media="screen")


def first_screen(page):
    """Return the text that a reader sees without scrolling."""
    return page.evaluate(
        """() => {
             scrollTo({ top: 0, behavior: "instant" });
             const seen = box => {
               const { top, bottom, width } = box.getBoundingClientRect();
               return top >= 0 && bottom <= innerHeight && width > 0;
             };
             const said = [...document.querySelectorAll("#live-answer, #live-answer *")];
             return said.filter(seen).map(box => box.innerText).join("\\n");
           }"""
    )


def test_three_questions_are_answered_without_a_scroll_and_by_one_click(opened):
    """Which model is the best there, how sure is that, and from where on is another one better?"""
    visit, tables, _, _ = opened
    page = visit.page
    for viewport in (DESKTOP, PHONE):
        page.set_viewport_size(viewport)
        page.locator(".chip", has_text="1 in 10").last.click()
        settled(page)
        text = first_screen(page)
        best = tables.best.filter(prevalence=0.1, beta=1.0, rank=1).row(0, named=True)
        assert f"At 1 in 10 (η = 0.1), use {best['model']} at threshold {best['threshold']:g}" in text
        low, high = (format_value(best[side]) for side in ("lower", "upper"))
        assert f"F1 {format_value(best['value'])} ({low} to {high})." in text
        assert "Best in " in text
        assert "is better" in text or "No other model is better at any prevalence" in text


def test_many_models_show_the_first_until_all_are_asked_for(opened):
    visit, _, models, _ = opened
    page = visit.page
    shown = page.locator("#table-live tbody tr:visible")
    more = page.locator("button.more[aria-controls='table-live']")
    if models <= 13:
        assert more.count() == 0
        assert shown.count() == models
        return
    assert shown.count() == 12
    assert more.inner_text() == f"Show all {models} rows"
    more.press("Enter")
    assert more.get_attribute("aria-expanded") == "true"
    assert shown.count() == models
    name = page.locator("#table-live thead th button").first
    name.click()
    name.click()
    more.click()
    assert shown.count() == 12
    assert shown.first.locator("th").inner_text() == f"gradient_boosting_{models - 1:02d}"
    # The best has the letter a.
    assert page.locator("#table-live tbody tr", has_text="1a").count() > 0


def test_segments_are_sorted_searched_and_chosen(opened):
    visit, tables, _, segments = opened
    page = visit.page
    if not segments:
        assert page.locator("#segments").count() == 0
        return
    page.set_viewport_size(DESKTOP)
    rows = page.locator("#segment-table tbody tr")
    ranks = tables.segment_ranks
    assert rows.locator("th").all_inner_texts() == ranks["shop"].head(12).to_list()
    assert rows.count() == min(segments, 12)
    worst = ranks.row(0, named=True)
    value, low, high = (format_value(worst[name]) for name in ("value", "lower", "upper"))
    said = rows.first.inner_text()
    verdict = "worse" if worst["distinguishable"] else "as the rest"
    assert said.split("\t")[1:3] == [verdict, f"{worst['positives']:,}"]
    assert f"{value} ({low} to {high})" in said
    # By the positives, from the most to the least and back.
    head = page.locator("#segment-table thead th", has_text="positives")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    ordered = sorted(ranks["positives"].to_list(), reverse=True)[:12]
    assert [
        int(text.replace(",", "")) for text in rows.locator("td:nth-child(3)").all_inner_texts()
    ] == ordered
    name = page.locator("#segment-table thead th button").first
    name.click()
    assert rows.first.locator("th").inner_text() == "shop 0000"
    search = page.locator("#segment-search")
    search.fill("SHOP 0002")
    assert rows.locator("th").all_inner_texts() == ["shop 0002"]
    assert page.locator("#segment-count").inner_text() == f"1 of {segments:,} segments"
    chart = "nci.chartOf(document.querySelector('[data-chosen]'))"
    drawn = f"[...new Set({chart}.view.data({chart}.source).map(row => row.segment))]"
    assert page.evaluate(drawn) == ranks["shop"].head(6).to_list()
    rows.first.locator("button").press("Enter")
    page.wait_for_function(f"{drawn}.length === 1")
    assert page.evaluate(drawn) == ["shop 0002"]
    assert rows.first.locator("button").get_attribute("aria-pressed") == "true"
    # What is drawn is what Python projects.
    lines = page.evaluate(f"{chart}.view.data({chart}.source).map(row => ({{...row}}))")
    expected = tables.segment_projection.filter(shop="shop 0002", metric="f_beta", beta=1.0)
    for line in lines:
        if "model" in line and line.get("value") is not None:
            (row,) = expected.filter(model=line["model"], prevalence=line["prevalence"]).to_dicts()
            assert line["value"] == pytest.approx(row["value"], abs=1e-9)
    rows.first.locator("button").press("Enter")
    search.fill("")
    if segments > 12:
        page.locator("#segment-more").click()
        assert rows.count() == segments
        page.locator("#segment-more").click()
    assert rows.count() == min(segments, 12)


def test_the_theme_can_be_chosen(opened):
    visit, _, models, segments = opened
    if (models, segments) != (2, 0):
        return
    page = visit.page
    button = page.locator("#theme")
    ground = "getComputedStyle(document.body).backgroundColor"
    before, pressed = page.evaluate(ground), button.get_attribute("aria-pressed")
    visit.redraw(button.click)
    assert button.get_attribute("aria-pressed") != pressed
    assert page.evaluate(ground) != before
    if pressed == "true":
        visit.redraw(button.click)
    fills = page.locator("[data-spec='spec-p3'] svg text").evaluate_all(
        "texts => [...new Set(texts.map(t => t.getAttribute('fill')))]"
    )
    assert not {"#1f2328", "#57606a"} & set(fills)
    page.emulate_media(media="print")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    page.emulate_media(media="screen")
    visit.redraw(button.click)


def test_the_letters_are_the_groups_of_compare_best(opened):
    visit, tables, _, _ = opened
    found = json.loads(visit.page.locator("#live-data").inner_text())
    tested = found["tested"]
    groups = {
        (measure, eta, model): group
        for measure, eta, model, group in tables.contenders.select(
            "measure", "prevalence", "model", "group"
        ).iter_rows()
    }
    for measure in ("own", "f_beta", "pr_auc"):
        for eta, letters in zip(tested["prevalence"], tested[measure], strict=True):
            assert letters == [groups.get((measure, eta, model)) for model in found["models"]]
