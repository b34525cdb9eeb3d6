"""The controls of the page in a real browser: what they say is what Python says."""

import functools
import io
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.questions.answer_lines import answer_lines
from nci_frames.tables.numbers import UNDEFINED, format_grid, format_one_in, format_threshold, format_value
from tests.browsing import Visit, cells, settled
from tests.comparisons import HOSTILE
from tests.logs import unit_log

pytestmark = pytest.mark.browser

GRID = np.geomspace(1e-4, 0.5, 20).tolist()
BETAS = np.geomspace(0.25, 4, 9).tolist()


@functools.cache
def counts():
    """Five models with ties, one without positives, one that repeats another, at every score."""
    shifts = {f"model {number}": 0.8 + 0.4 * number for number in range(4)}
    log = unit_log(shifts, 4_000, share=0.1, digits=1, seed=11).drop("unit")
    twin = log.filter(model="model 2").with_columns(model=pl.lit("twin"))
    empty = log.filter(model="model 0", label=False).with_columns(model=pl.lit("without positives"))
    return nf.count_confusion(pl.concat([log, twin, empty]), thresholds="exact")


@pytest.fixture(scope="module")
def tables():
    return nf.compare_models(counts(), prevalence=GRID, beta=BETAS, threshold=1.5, repeats=20)


@pytest.fixture(scope="module")
def visit(browser, tables, tmp_path_factory):
    """The page, opened once for all tests here."""
    with Visit(browser, nf.write_report(tables, tmp_path_factory.mktemp("live") / "report.html")) as visit:
        visit.page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        yield visit
        visit.check_silence()


def shown_rows(visit):
    """Return the texts of the table at the place of the sliders."""
    return visit.page.locator("#table-live tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    )


def go_to(visit, eta):
    visit.page.fill("#prevalence-number", repr(float(eta)))
    visit.page.keyboard.press("Enter")
    settled(visit.page)


def places(visit):
    """Return the prevalences at which the page has an answer."""
    return visit.page.evaluate("nci.values.data.prevalence")


def here(visit):
    return visit.page.evaluate("nci.values.eta()")


@pytest.mark.long
def test_the_page_says_at_any_place_what_python_answers_there(visit, tables):
    rng = np.random.default_rng(5)
    etas = places(visit)
    for eta in sorted(rng.choice(etas, 4, replace=False)):
        go_to(visit, eta)
        asked = tables.asking(prevalence=float(eta))
        text = " ".join(visit.page.inner_text("#live-answer").split())
        for line in answer_lines(asked.said):
            assert line in text
        answer = asked.answer
        rows = shown_rows(visit)
        assert [row[0] for row in rows] == answer["model"].to_list()
        for row, told in zip(rows, answer.iter_rows(named=True), strict=True):
            assert row[1] == (UNDEFINED if told["rank"] is None else str(told["rank"]))
            if told["value"] is not None:
                assert row[3].removesuffix(" ?") == format_value(told["value"])
                assert row[3].endswith(" ?") == (told["supported"] is False)
            if told["precision"] is not None:
                assert row[5].endswith(" ?") == (told["model"] in asked.said.imprecise)
            assert row[6] == format_value(told["recall"])


def test_another_beta_is_answered_without_tests(visit, tables):
    visit.page.focus("#asked-slider")
    visit.page.keyboard.press("ArrowRight")
    settled(visit.page)
    answer = tables.asking(prevalence=here(visit), beta=2.0).answer
    assert [row[0] for row in shown_rows(visit)] == answer["model"].to_list()
    assert shown_rows(visit)[0][3].removesuffix(" ?") == format_value(answer["value"][0])
    assert "tested for the question that was asked" in visit.page.inner_text("#live-answer")
    visit.page.keyboard.press("ArrowLeft")
    settled(visit.page)


@pytest.mark.long
def test_a_number_may_be_written(visit, tables):
    go_to(visit, 0.0123)  # the nearest place at which the answer is known
    assert here(visit) == min(places(visit), key=lambda eta: abs(math.log(eta / 0.0123)))
    assert float(visit.page.input_value("#prevalence-number")) == pytest.approx(here(visit), rel=1e-5)
    assert visit.page.inner_text("#prevalence-words").endswith("nearest to 0.0123")
    go_to(visit, 0.000005)
    assert here(visit) == places(visit)[0]
    assert "nearest to 0.000005" in visit.page.inner_text("#prevalence-words")
    go_to(visit, places(visit)[3])
    assert "nearest" not in visit.page.inner_text("#prevalence-words")
    go_to(visit, 7)  # more than the range: its end is taken
    assert here(visit) == places(visit)[-1]
    go_to(visit, -1)  # no prevalence at all: nothing changes
    assert here(visit) == places(visit)[-1]


@pytest.mark.long
def test_the_sliders_move_by_keys_and_say_where_they_are(visit, tables):
    go_to(visit, 0.01)
    slider = visit.page.locator("#prevalence-slider")
    slider.focus()
    place = places(visit).index(here(visit))
    slider.press("ArrowRight")
    settled(visit.page)
    assert here(visit) == places(visit)[place + 1]
    assert f"η = {format_grid(here(visit))}" in slider.get_attribute("aria-valuetext")
    visit.page.keyboard.press("Tab")
    assert visit.page.evaluate("document.activeElement.id") == "prevalence-number"


def test_numbers_are_written_as_in_python(visit):
    values = [0.9234, 0.04567, 1.0, 1.23e-5, 0.0, None, 0.0994, 0.09951, 0.000996, 0.00099449, 5e-324]
    values += [9.9951, 13.685, 99.96, -1834.2]
    grid = [0.5, 0.001, 0.0316228, 1e-4, 0.000316228, 10.0, 0.0, 2.3456, 123.4, 999.5, 1234.0]
    grid += [0.9999, 0.99995]
    thresholds = [0.5, 0.123456789, -12.0, 0.9999999, -2e-5, 1e-5, 999_999.5, 1_234_567.0, 0.99999987]
    thresholds += [-3e14, 2e15, 1 - 2**-53]
    shares = [0.5, 0.02, 0.000213, 1e-4, 0.3, *(1 / n for n in range(105, 1000, 10))]
    # In the middle of two numbers of a few digits, whether they are binary fractions or not; and any others.
    rng = np.random.default_rng(0)
    numbers = [k / 2**n for n in range(12) for k in range(1, 2**n, 2)]
    numbers += [(k + 0.5) / 10**n for n in range(1, 7) for k in rng.integers(0, 10**n, 200).tolist()]
    numbers += (10 ** rng.uniform(-6, 0, 3000)).tolist()
    values += [*numbers, *(n * 1000 for n in numbers), *(-n * 64 for n in numbers)]
    grid, thresholds, shares = grid + numbers, thresholds + numbers, shares + numbers
    parts = values[6:]
    found = visit.page.evaluate(
        """([v, g, t, s, p]) => [v.map(nci.formatValue), g.map(nci.formatGrid), t.map(nci.formatThreshold),
                                 s.map(nci.oneIn), p.map(nci.formatPart)]""",
        [values, grid, thresholds, shares, parts],
    )
    assert found == [
        [format_value(v) for v in values],
        [format_grid(g) for g in grid],
        [format_threshold(t) for t in thresholds],
        [format_one_in(s) for s in shares],
        [f"{p:.3f}".replace("-", "\N{MINUS SIGN}") for p in parts],
    ]


@pytest.mark.long
def test_a_click_on_a_head_sorts_and_says_so(visit):
    go_to(visit, 0.01)
    heads = visit.page.locator("#table-live thead th")
    recall = heads.nth(6)
    recall.locator("button").click()
    assert recall.get_attribute("aria-sort") == "descending"
    assert heads.nth(1).get_attribute("aria-sort") is None

    def column():
        texts = [row[6] for row in shown_rows(visit)]
        assert texts[-1] == UNDEFINED  # undefined values are last
        return [float(text) for text in texts[:-1]]

    assert column() == sorted(column(), reverse=True)
    recall.locator("button").press("Enter")
    assert recall.get_attribute("aria-sort") == "ascending"
    assert column() == sorted(column())
    # A slider keeps the order that was asked for.
    go_to(visit, 0.1)
    assert column() == sorted(column())
    heads.nth(0).locator("button").click()
    names = [row[0] for row in shown_rows(visit)]
    assert names == sorted(names)
    heads.nth(1).locator("button").click()
    assert shown_rows(visit)[0][1] == "1"
    assert not visit.page.locator("#table-pr-auc").is_visible()
    visit.page.locator("#table-switch button", has_text="PR-AUC").click()
    assert visit.page.locator("#panel-table-pr-auc").is_visible()
    assert not visit.page.locator("#table-live").is_visible()
    ranked = visit.page.locator("#table-pr-auc thead th", has_text="0.5")
    ranked.locator("button").click()
    values = [row[-1][1] for row in cells(visit.page, "table-pr-auc")]
    assert values[:-1] == sorted(values[:-1], reverse=True)
    visit.page.locator("#table-switch button").first.click()


def test_a_threshold_beyond_all_scores_is_infinity(visit):
    assert visit.page.evaluate("nci.formatThreshold(null)") == format_threshold(math.inf) == "∞"


@pytest.mark.long
def test_the_charts_follow_the_answer(visit, tables):
    visit.page.locator(".chip", has_text="1 in 100").first.click()
    settled(visit.page)
    assert here(visit) == pytest.approx(0.01)
    found = {}
    for name in ("intervals", "f-beta", "p3", "roc", "pr", "work"):
        found[name] = visit.page.evaluate(
            """name => {
                 const chart = nci.chartOf(document.querySelector(`[data-spec='spec-${name}']`));
                 const live = name === "p3" || name === "roc";
                 return chart.view.data(live ? "live" : chart.source).map(row => ({...row}));
               }""",
            name,
        )
    answer = {row["model"]: row for row in tables.asking(prevalence=here(visit)).answer.to_dicts()}
    assert found["intervals"]
    for row in found["intervals"]:
        for name in ("value", "lower", "upper"):
            assert row[name] == pytest.approx(answer[row["model"]][name], rel=1e-6)
    betas = sorted({row["beta"] for row in found["f-beta"]})
    wanted = nf.project_rates(tables.points, metrics="f_beta", prevalence=here(visit), beta=betas)
    for row in found["f-beta"]:
        (value,) = wanted.filter(pl.col("beta").is_between(row["beta"] * 0.999999, row["beta"] * 1.000001),
                                 model=row["model"])["value"]  # fmt: skip
        assert row["value"] == pytest.approx(value, rel=1e-5)
    assert found["p3"] == [{"prevalence": here(visit)}]
    assert {"at prevalence 0.01"} == {
        visit.page.locator(f"#spec-{name}-title").inner_text()[-18:] for name in ("intervals", "pr", "work")
    }
    moved = nf.project_rates(tables.curves, metrics=["precision", "pos_fraction"], prevalence=here(visit))
    known = {(m, float(f"{t:.6g}"), name): v for m, t, name, v in
             moved.select("model", "threshold", "metric", "value").rows() if t is not None}  # fmt: skip
    for chart, metric in (("pr", "precision"), ("work", "pos_fraction")):
        compared = [(row, known.get((row["model"], float(f"{row['threshold']:.6g}"), metric)))
                    for row in found[chart] if row["threshold"] is not None]  # fmt: skip
        assert len([row for row, value in compared if value is not None]) > 50
        for row, value in compared:
            assert value is None or row[metric] == pytest.approx(value, rel=1e-6)
    for row in found["roc"]:
        assert row["tpr"] == pytest.approx(answer[row["model"]]["recall"], rel=1e-6)


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
    sure = rounded(saved["leaders"], "prevalence", "probability")
    assert sure == rounded(tables.best_certainty, "prevalence", "probability")
    assert saved["work"].filter(layer="lines").height > saved["work"].filter(layer="held").height > 0
