"""The page of few and many models and segments, on wide and narrow screens, light, dark and on paper."""

import itertools

import numpy as np
import polars as pl
import pytest
from axe_playwright_python.sync_playwright import Axe

import nci_frames as nf
from benchmarks.page_matrix import MODELS, SEGMENTS, compared, counted
from nci_frames.tables.numbers import format_value
from tests.browsing import DESKTOP, PHONE, Visit, settled

pytestmark = [pytest.mark.browser, pytest.mark.long]

#: Models and segments: few of either, and so many that they are folded. `make pages` looks at all pairs.
PAIRS = [(2, 13), (14, 0)]
EVERY = [pytest.param((*pair, True), marks=pytest.mark.slow) for pair in itertools.product(MODELS, SEGMENTS)]
#: A4 within margins of a centimetre.
SHEET = {"width": 718, "height": 1046}


@pytest.fixture(
    scope="module",
    params=[*((*pair, False) for pair in PAIRS), *EVERY],
    ids=lambda page: f"{page[0]} models, {page[1]} segments{', whole' * page[2]}",
)
def opened(request, browser, tmp_path_factory):
    """A page and what it is of, opened once and looked at by all tests."""
    models, segments, whole = request.param
    tables = compared(models, segments) if whole else nf.compare_models(
        counted(models, segments), prevalence=[1e-3, 0.01, 0.1, 0.3], beta=[0.5, 1.0, 2.0],
        segments="shop" if segments else (), repeats=20,
    )  # fmt: skip
    path = nf.write_report(tables, tmp_path_factory.mktemp("sizes") / "report.html", facts=[("rows", "3")])
    with Visit(browser, path) as visit:
        yield visit, tables, models, segments
        visit.check_silence()


def findings(page):
    """Return what axe finds on a page, each with where."""
    return [
        (found["id"], [node["html"][:200] for node in found["nodes"][:3]])
        for found in Axe().run(page).response["violations"]
    ]


def first_screen(page):
    """Return what of the answer a reader sees without scrolling."""
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


def sideways(page):
    """Return by how many pixels a page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


def broken_names(page):
    """Return the names of models that a ranked table breaks into lines."""
    return page.locator(".ranked tbody th").evaluate_all(
        """heads => heads.filter(head => {
             const range = document.createRange();
             range.selectNodeContents(head);
             return new Set([...range.getClientRects()].map(box => box.top)).size > 1;
           }).map(head => head.innerText)"""
    )


def unsaved(page):
    """Return the charts whose button saves no row of a model."""
    return page.evaluate(
        """[...document.querySelectorAll("[data-spec]")].filter(box => {
             const [head, ...rows] = nci.chartCsv(box).split("\\n");
             return !head.split(",").includes("model") || rows.length < 1;
           }).map(box => box.dataset.spec)"""
    )


def half_empty(page):
    """Return the cards of which less than half of the room for the chart is drawn on."""
    return page.evaluate(
        """() => {
             const cards = [...document.querySelectorAll("figure:has([data-spec] svg)")];
             return cards.filter((card) => {
               const [box, chart, svg] = ["figure", "[data-spec]", "svg"].map(
                 (what) => (what === "figure" ? card : card.querySelector(what)).getBoundingClientRect());
               const button = card.querySelector(".csv").getBoundingClientRect().height;
               return svg.height < (box.bottom - chart.top - button) / 2 || svg.width < 0.6 * chart.width;
             }).map((card) => card.querySelector("h3").id);
           }"""
    )


def unanswered(page, tables):
    """Return which of three questions the first screen does not answer after one click on "1 in 10".

    Which model is the best there, how sure is that, and from where on is another one better?
    """
    page.locator(".chip", has_text="1 in 10").last.click()
    settled(page)
    text = first_screen(page)
    best = tables.asking(prevalence=0.1).answer.row(0, named=True)
    low, high = (format_value(best[side]) for side in ("lower", "upper"))
    answers = {
        "which": [f"{best['model']} at threshold {best['threshold']:g}"],
        "how sure": [f"F1 {format_value(best['value'])} (95 %: {low} to {high})"],
        "from where": ["the best model changes with the prevalence", "leads at every prevalence"],
    }
    return [question for question, words in answers.items() if not any(word in text for word in words)]


def test_on_every_screen_nothing_is_found(opened):
    visit, _, models, segments = opened
    page = visit.page
    assert visit.path.stat().st_size <= 4 * 1024**2
    assert float(page.evaluate("document.documentElement.dataset.ready")) > 0
    assert visit.cpu_seconds() > 0
    assert findings(page) == []
    # The link of a heading is seen while the pointer is on it.
    page.locator("#charts h2, h2#charts").first.hover()
    assert findings(page) == []
    assert broken_names(page) == []
    assert unsaved(page) == []
    # Many models are many marks of the same kinds, of which one look is enough.
    if models <= 10:
        visit.turn(PHONE, "dark")
        assert findings(page) == []
    for viewport in (DESKTOP, PHONE):
        page.set_viewport_size(viewport)
        assert sideways(page) <= 0
    page.emulate_media(media="print", color_scheme="light")
    page.set_viewport_size(SHEET)
    assert sideways(page) <= 0
    for place in ("nav", "#segment-search", ".csv"):
        assert page.locator(place).first.is_visible() is False
    if not segments:
        assert page.pdf().startswith(b"%PDF")
    page.emulate_media(media="screen")


def test_a_long_name_is_no_wider_than_a_sheet(browser, tmp_path):
    log = pl.DataFrame({"label": [0, 1] * 400, "score": np.linspace(0, 1, 800), "shop": ["a", "b"] * 400})
    log = pl.concat(log.with_columns(model=pl.lit(name)) for name in ("x" * 150, "y"))
    counts = nf.count_confusion(nf.scan_predictions(log, segments="shop"), thresholds=[0.2, 0.5])
    tables = nf.compare_models(counts, prevalence=[0.01, 0.1], beta=[1.0], segments="shop", repeats=20)
    with Visit(browser, nf.write_report(tables, tmp_path / "report.html"), viewport=SHEET) as visit:
        visit.page.emulate_media(media="print")
        assert sideways(visit.page) <= 0
        names = visit.page.locator("tbody th").all_inner_texts()
        assert names.count("x" * 150) > 2


def test_no_card_is_half_empty(opened):
    visit = opened[0]
    visit.page.evaluate("document.querySelectorAll('details').forEach(folded => { folded.open = true })")
    for viewport in (PHONE, DESKTOP):
        visit.page.set_viewport_size(viewport)
        visit.redraw(visit.page.locator("#theme").click)
        assert half_empty(visit.page) == []
    visit.page.evaluate("document.querySelectorAll('details').forEach(folded => { folded.open = false })")


def test_three_questions_are_answered_without_a_scroll_and_by_one_click(opened):
    """Which model is the best there, how sure is that, and from where on is another one better?"""
    visit, tables, _, _ = opened
    for viewport in (DESKTOP, PHONE, PHONE | {"width": 390}):
        visit.page.set_viewport_size(viewport)
        assert unanswered(visit.page, tables) == []


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
    page.emulate_media(media="print")
    on_paper = "button => getComputedStyle(button, '::before').content"
    assert more.evaluate(on_paper) == f'"The first 12 of {models} rows"'
    page.emulate_media(media="screen")
    more.press("Enter")
    assert more.get_attribute("data-paper") == ""
    assert more.get_attribute("aria-expanded") == "true"
    assert shown.count() == models
    name = page.locator("#table-live thead th button").first
    name.click()
    name.click()
    more.click()
    assert shown.count() == 12
    assert shown.first.locator("th").inner_text() == f"gradient_boosting_{models - 1:02d}"
    assert page.locator("#table-live tbody tr", has_text="best in this log").count() == 1


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
    assert page.evaluate(drawn) == ranks.drop_nulls("value")["shop"].head(40).to_list()
    rows.first.locator("button").press("Enter")
    page.wait_for_function(f"{drawn}.length === 1")
    assert page.evaluate(drawn) == ["shop 0002"]
    assert rows.first.locator("button").get_attribute("aria-pressed") == "true"
    # What is drawn is what Python judged.
    (dot,) = page.evaluate(f"{chart}.view.data({chart}.source).map(row => ({{...row}}))")
    (row,) = ranks.filter(shop="shop 0002").to_dicts()
    for name in ("value", "lower", "upper"):
        assert dot[name] == pytest.approx(row[name], rel=1e-6)
    assert dot["model"] == row["model"] == tables.answer["model"][0]
    rows.first.locator("button").press("Enter")
    search.fill("")
    if segments > 12:
        page.locator("#segment-more").click()
        assert rows.count() == segments
        page.locator("#segment-more").click()
    assert rows.count() == min(segments, 12)


def test_the_theme_can_be_chosen(opened):
    visit = opened[0]
    page = visit.page
    button = page.locator("#theme")
    ground = "getComputedStyle(document.body).backgroundColor"
    before, offered = page.evaluate(ground), button.inner_text()
    visit.redraw(button.click)
    assert {offered, button.inner_text()} == {"Dark page", "Light page"}
    assert page.evaluate(ground) != before
    if offered == "Light page":
        visit.redraw(button.click)
    fills = page.locator("[data-spec='spec-p3'] svg text").evaluate_all(
        "texts => [...new Set(texts.map(t => t.getAttribute('fill')))]"
    )
    assert fills
    assert not {"#1f2328", "#57606a"} & set(fills)
    page.emulate_media(media="print")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    page.emulate_media(media="screen")
    visit.redraw(button.click)
