"""The page in a real browser, without a network: it draws its charts, and runs nothing that it shows."""

import itertools

import pytest

from nci_frames.reporting.pages.write import write_report
from nci_frames.reporting.tables.names import drawable
from tests.browsing import Visit
from tests.comparisons import HOSTILE, MODELS, comparison
from tests.hostile import UNDRAWABLE

pytestmark = pytest.mark.browser

LINES = ".mark-line path[d*='L']"  # a model without a value has an empty path


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    tables = comparison(segments=["DE", "US", None])
    return write_report(tables, tmp_path_factory.mktemp("plain") / "report.html", facts=[("rows", "300,000")])


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    models = {**{name: (0.5, 0.01 * (i + 1)) for i, name in enumerate(HOSTILE)}, "empty": (None, 0.1)}
    tables = comparison(models, segments=[*HOSTILE, None], key=HOSTILE[0])
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    return write_report(tables, path, title=HOSTILE[1], facts=[(name, name) for name in HOSTILE])


@pytest.mark.parametrize("name", ["plain", "hostile"])
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (420, "dark")])
def test_the_page_draws_its_charts_alone_and_in_silence(browser, request, name, width, scheme):
    path = request.getfixturevalue(name)
    with Visit(browser, path, viewport={"width": width, "height": 900}, color_scheme=scheme) as visit:
        assert visit.messages == visit.errors == visit.dialogs == []
        assert visit.requests == [path.as_uri()]
        assert visit.page.evaluate("window.__pwned") is None
        boxes = visit.page.locator("[data-spec] svg")
        assert boxes.count() == 18
        for i in range(18):
            size = boxes.nth(i).bounding_box()
            assert size["width"] > 250
            assert size["height"] > 120
        for chart in ("p3", "f-own", "f-beta", "pr-auc"):
            drawn = visit.page.locator(f"[data-spec='spec-{chart}'] svg").locator(LINES).count()
            assert drawn == (len(MODELS) if name == "plain" else len(HOSTILE))
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width


def test_what_a_chart_says_stays_inside_it(browser, hostile):
    with Visit(browser, hostile, viewport={"width": 420, "height": 900}) as visit:
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


def test_a_click_on_the_legend_highlights_one_model(browser, plain):
    with Visit(browser, plain, charts=3, viewport={"width": 1280, "height": 900}) as visit:
        assert set(opacities(visit)) == {"1"}
        chip = visit.page.locator(".legend button", has_text="forest")
        chip.click()
        faded = visit.page.locator("[data-spec='spec-p3'] .mark-line path[opacity='0.12']")
        faded.nth(1).wait_for(state="attached")
        assert faded.count() == 2
        assert chip.get_attribute("aria-pressed") == "true"
        # In the tables as well, whichever is shown.
        faded_rows = visit.page.locator("#table-live tbody tr.faded")
        assert faded_rows.count() == len(MODELS) - 1
        chip.click()
        faded.nth(0).wait_for(state="detached")
        assert faded_rows.count() == 0
        assert visit.errors == visit.messages == []


def test_the_tooltip_shows_a_hostile_name_as_text(browser, hostile):
    with Visit(browser, hostile, charts=3, viewport={"width": 1280, "height": 900}) as visit:
        chart = visit.page.locator("[data-spec='spec-p3'] svg")
        chart.scroll_into_view_if_needed()
        box = chart.bounding_box()
        seen = set()
        for across, step in itertools.product((0.5, 0.55, 0.6, 0.65, 0.7), range(4, 20)):
            visit.page.mouse.move(box["x"] + box["width"] * across, box["y"] + box["height"] * step / 30)
            tooltip = visit.page.locator("#vg-tooltip-element.visible")
            if tooltip.count():
                seen.add(tooltip.locator("tr", has_text="model").first.inner_text())
                assert tooltip.locator("img, script").count() == 0
        assert any(name in row for row in seen for name in HOSTILE)
        assert visit.page.evaluate("window.__pwned") is None
        assert visit.errors == visit.messages == visit.dialogs == []


def test_every_link_of_the_navigation_leads_to_its_section(browser, plain):
    with Visit(browser, plain, charts=3, viewport={"width": 1280, "height": 900}) as visit:
        for link in visit.page.locator("nav a").all():
            link.click()
            section = visit.page.locator(link.get_attribute("href"))
            assert section.count() == 1
        assert visit.requests == [plain.as_uri()]


def test_on_paper_the_navigation_is_gone(browser, plain):
    with Visit(browser, plain, charts=3, viewport={"width": 1280, "height": 900}) as visit:
        visit.page.emulate_media(media="print")
        assert not visit.page.locator("nav").is_visible()
        assert visit.page.pdf().startswith(b"%PDF")


def test_names_that_a_chart_cannot_hold_are_drawn_and_follow_the_sliders(browser, tmp_path):
    models = {name: (0.5 + 0.05 * i, 0.01 * (i + 1)) for i, name in enumerate(UNDRAWABLE)}
    path = write_report(
        comparison(models, segments=[*UNDRAWABLE, None]), tmp_path / "r.html", title="\x00\x1b[2J"
    )
    with Visit(browser, path, viewport={"width": 1280, "height": 900}) as visit:
        assert visit.messages == visit.errors == []
        assert visit.page.locator("[data-drawn]").count() == 18
        for chart, lines in (("p3", 8), ("f-own", 8), ("pr", 8), ("segments", 8 * 9)):
            assert visit.page.locator(f"[data-spec='spec-{chart}'] svg").locator(LINES).count() == lines
        bars = "[data-spec='spec-differences'] .mark-rect.role-mark path"
        assert visit.page.locator(bars).count() >= 8
        before, after = (_values(visit.page, step) for step in (100, 900))
        assert [model for model, _ in before] == [drawable(name) for name in sorted(models)]
        assert all(a != b for (_, a), (_, b) in zip(before, after, strict=True))
        assert visit.messages == visit.errors == []


def _values(page, step):
    """Return the first value of each model's curve of F-beta, once the slider of beta stands there."""
    page.locator("#beta-slider").evaluate(
        "(s, value) => { s.value = value; s.dispatchEvent(new Event('input')); }", step
    )
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.evaluate(
        """() => {
             const chart = nci.chartOf(document.querySelector("[data-spec='spec-f-own']"));
             const rows = chart.view.data(chart.source);
             return chart.models.map(model => [model, rows.find(row => row.model === model).value]);
           }"""
    )
