"""The page in a real browser, without a network: it draws its charts, and runs nothing that it shows."""

import pytest

import nci_frames as nf
from nci_frames.tables.names import drawable
from tests.browsing import DESKTOP, PHONE, Visit, cells, move
from tests.comparisons import GRID, HOSTILE, comparison
from tests.hostile import UNDRAWABLE
from tests.logs import counts_at

pytestmark = pytest.mark.browser

LINES = ".mark-line path[d*='L']"  # a model without a value has an empty path
FEW = {"prevalence": GRID[::6], "beta": [0.5, 1.0, 2.0]}
#: The last one is a colour of the theme.
MODELS = {name: (0.9 - 0.1 * i, 0.2 / 1.8**i) for i, name in enumerate([*HOSTILE, "#1f2328"])}


@pytest.fixture(scope="module")
def visit(browser, tmp_path_factory):
    """A page with hostile names of everything, opened once for all tests here."""
    models = {**MODELS, "empty": (None, 0.1)}
    tables = comparison(models, segments=[*HOSTILE[::3], None], key=HOSTILE[0], **FEW)
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    nf.write_report(tables, path, title=HOSTILE[1], facts=[(name, name) for name in HOSTILE])
    with Visit(browser, path) as visit:
        yield visit
        visit.check_silence()


def check_drawings(visit, width):
    boxes = visit.page.locator("[data-spec] svg")
    assert boxes.count() == visit.page.locator("[data-spec]").count() > 0
    sizes = boxes.evaluate_all("all => all.map(svg => [svg.clientWidth, svg.clientHeight])")
    assert min(across for across, _ in sizes) > 250
    assert min(down for _, down in sizes) > 120
    for chart in ("p3", "value", "f-beta", "pr-auc"):
        drawn = visit.page.locator(f"[data-spec='spec-{chart}'] svg").locator(LINES).count()
        assert drawn == len(MODELS)
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    visit.check_silence()


@pytest.mark.long
def test_the_page_draws_its_charts_alone_and_in_silence_on_any_screen(visit):
    visit.page.set_viewport_size(DESKTOP)
    check_drawings(visit, DESKTOP["width"])
    visit.turn(PHONE, "dark")
    check_drawings(visit, PHONE["width"])
    # What a chart says stays inside it.
    overhang = visit.page.evaluate(
        """() => [...document.querySelectorAll("[data-spec] svg")].flatMap(svg => {
             const right = svg.getBoundingClientRect().right;
             return [...svg.querySelectorAll("text")].map(t => t.getBoundingClientRect().right - right);
           }).filter(d => d > 0)"""
    )
    assert overhang == []


def opacities(visit):
    lines = visit.page.locator(f"[data-spec='spec-p3'] {LINES}")
    return lines.evaluate_all("paths => paths.map(p => p.getAttribute('opacity'))")


def test_a_click_on_the_legend_highlights_one_model(visit):
    assert set(opacities(visit)) == {"1"}
    chip = visit.page.locator(".legend button", has_text="{{7*7}}")
    chip.click()
    faded = visit.page.locator("[data-spec='spec-p3'] .mark-line path[opacity='0.12']")
    faded.nth(len(MODELS) - 2).wait_for(state="attached")
    assert faded.count() == len(MODELS) - 1
    assert chip.get_attribute("aria-pressed") == "true"
    # In the tables as well, whichever is shown.
    faded_rows = visit.page.locator("#table-live tbody tr.faded")
    assert faded_rows.count() == len(MODELS)  # and the one that is empty
    chip.click()
    faded.nth(0).wait_for(state="detached")
    assert faded_rows.count() == 0


def test_the_tooltip_shows_a_hostile_name_as_text(visit):
    tooltip = visit.page.locator("#vg-tooltip-element.visible")
    # Some lie below the head of the page.
    for target in visit.page.locator("[data-spec='spec-value'] .mark-symbol path").all():
        target.hover(force=True)
        if tooltip.count():
            break
    shown = tooltip.locator("tr", has_text="model").first.inner_text()
    assert any(name in shown for name in HOSTILE)
    assert tooltip.locator("img, script").count() == 0


def test_every_link_of_the_navigation_leads_to_its_section(visit):
    links = visit.page.locator("nav a")
    targets = links.evaluate_all("links => links.map(link => document.querySelectorAll(link.hash).length)")
    assert targets == [1] * 6
    # Nothing moves for users who do not want it.
    assert visit.page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
    links.last.click()
    assert visit.page.evaluate("location.hash") == "#methods"


@pytest.mark.long
def test_on_paper_are_the_legend_of_all_charts_and_what_was_closed(visit):
    visit.page.emulate_media(media="print")
    assert visit.page.locator(".legend").is_visible()
    closed = "document.querySelectorAll('details:not([open])').length"
    before = visit.page.evaluate(closed)
    visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert visit.page.evaluate(closed) == 0 < before
    visit.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert visit.page.evaluate(closed) == before
    visit.page.emulate_media(media="screen")


@pytest.mark.long
def test_hostile_names_stay_text_wherever_the_sliders_go(visit):
    named = set()
    for step in range(0, 1001, 333):
        move(visit.page, step, step)
        said = visit.page.locator("#live-answer strong").inner_text()
        first = said.removeprefix("Choose ").removeprefix("Best in this log: ")
        named |= {name for name in MODELS if first.startswith((f"{name}, ", f"{name} at "))}
        assert visit.page.locator("#live-answer :not(p, strong)").count() == 0
        assert visit.page.locator("#table-live img, #table-live script").count() == 0
    assert len(named) > 1
    assert {row[0][0] for row in cells(visit.page, "table-live")} == {*MODELS, "empty"}
    # A name that looks like a colour of the theme is not taken for one.
    colours = visit.page.evaluate("nci.chartOf(document.querySelector(\"[data-spec='spec-p3']\")).models")
    assert "#1f2328" in colours
    assert visit.page.locator(".legend button", has_text="#1f2328").count() == 1


@pytest.mark.long
def test_segments_with_hostile_names_are_found_and_drawn(visit):
    page = visit.page
    names = page.locator("#segment-table .pick")
    assert set(names.all_inner_texts()) == {*HOSTILE[::3], "missing"}
    page.locator("#segment-search").fill("MISS")
    assert names.all_inner_texts() == ["missing"]
    names.first.click()
    page.wait_for_function(
        """() => {
             const chart = nci.chartOf(document.querySelector("[data-chosen]"));
             return chart.view.data(chart.source).every(row => row.segment === "missing");
           }"""
    )
    names.first.click()
    page.locator("#segment-search").fill("")
    assert page.locator("#segment-table img, #segment-table script").count() == 0


@pytest.mark.long
def test_segments_are_shown_by_one_key_or_by_all_together(browser, tmp_path):
    counts = counts_at(
        [80, 78, 40, 44], [20] * 4, 100, 1000, model="a", x=["p", "p", "q", "q"], y=[1, 2, 1, 2]
    )
    # An area has no value of all rows in the chart of segments, so that all of its layers share their data.
    area = nf.Question(metric="pr_auc")
    tables = nf.compare_models(counts, prevalence=[0.01, 0.1], segments=["x", "y"], question=area, repeats=20)
    with Visit(browser, nf.write_report(tables, tmp_path / "r.html")) as visit:
        names = visit.page.locator("#segment-table tbody th")
        assert set(names.all_inner_texts()) == {"p", "q"}
        for button, shown in (("by y", 2), ("by x and y", 8)):
            visit.page.get_by_role("button", name=button, exact=True).click()
            assert names.count() == shown
        visit.page.wait_for_function(
            """() => {
                 const chart = nci.chartOf(document.querySelector("[data-chosen]"));
                 return new Set(chart.view.data(chart.source).map(row => row.segment)).size === 4;
               }"""
        )
        visit.check_silence()


@pytest.mark.long
def test_names_that_a_chart_cannot_hold_are_drawn_and_follow_the_sliders(browser, tmp_path):
    models = {name: (0.5 + 0.05 * i, 0.01 * (i + 1)) for i, name in enumerate(UNDRAWABLE)}
    tables = comparison(models, segments=[*UNDRAWABLE[:2], None], **FEW)
    path = nf.write_report(tables, tmp_path / "r.html", title="\x00\x1b[2J")
    with Visit(browser, path) as visit:
        assert visit.page.locator("[data-drawn]").count() == visit.page.locator("[data-spec]").count()
        each = len(models)
        # Below a line of precision and recall is a dotted one, for where the log cannot tell.
        for chart, lines in (("p3", each), ("value", each), ("pr", 2 * each), ("segments", 3 * each)):
            assert visit.page.locator(f"[data-spec='spec-{chart}'] svg").locator(LINES).count() == lines
        assert visit.page.locator("[data-spec='spec-chosen'] .mark-symbol path").count() == 3
        bars = "[data-spec='spec-differences'] .mark-rect.role-mark path"
        assert visit.page.locator(bars).count() >= 8
        before, after = (_values(visit.page, step) for step in (100, 900))
        assert [model for model, _ in before] == [drawable(name) for name in sorted(models)]
        assert all(a != b for (_, a), (_, b) in zip(before, after, strict=True))
        visit.check_silence()


def _values(page, step):
    """Return the first value of each model's curve of F-beta, once the slider of prevalence stands there."""
    move(page, step)
    return page.evaluate(
        """() => {
             const chart = nci.chartOf(document.querySelector("[data-spec='spec-f-beta']"));
             const rows = chart.view.data(chart.source);
             return chart.models.map(model => [model, rows.find(row => row.model === model).value]);
           }"""
    )
