"""The page is read as a parser reads it: what is an element, what is text, and what would be loaded."""

import base64
import functools
import hashlib
import itertools
import json
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

from nci_frames.charts.parts import selection
from nci_frames.questions.answer_lines import answer_lines
from nci_frames.reporting import html as report
from nci_frames.reporting.html import render_report
from nci_frames.reporting.write import write_report
from nci_frames.tables.great_tables import ranked_table
from nci_frames.tables.numbers import format_grid
from tests.cases import first_quick
from tests.chart_specs import unpacked
from tests.comparisons import BETAS, GRID, HOSTILE, altered, comparison, make_comparison

pytestmark = pytest.mark.thorough

HOSTILE_MODELS = {name: (0.5, 0.01 * (i + 1)) for i, name in enumerate(HOSTILE)}
SECTIONS = ["answer", "tables", "charts", "segments", "data", "methods"]
VOID = {"meta", "br", "link", "img", "hr", "input"}


@dataclass
class Page(HTMLParser):
    """Every element with its attributes, and the text outside scripts and styles."""

    source: str
    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    scripts: list[tuple[dict[str, str | None], str]] = field(default_factory=list)
    text: str = ""
    open: list[str] = field(default_factory=list)

    def __post_init__(self):
        super().__init__(convert_charrefs=True)
        self.feed(self.source)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif not self.open or self.open[-1] != "style":
            self.text += data

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    def data(self, name):
        """Return the JSON in the script of this name."""
        (text,) = (text for attributes, text in self.scripts if attributes.get("id") == name)
        return json.loads(text)

    @functools.cached_property
    def specs(self):
        """The specification of each chart, by the name of its script."""
        names = [attributes["id"] for attributes, _ in self.scripts if "id" in attributes]
        return {name: self.data(name) for name in names if name.startswith("spec-")}

    @property
    def models(self):
        """The models in the rows of all charts."""
        tables = [unpacked(table) for spec in self.specs.values() for table in spec["datasets"].values()]
        return {row["model"] for rows in tables for row in rows if "model" in row}


FACTS = [("rows read", "300,000"), ("rows dropped", "12: score is NaN")]
SEGMENTS = ("DE", "US", None)


@functools.cache
def page_of(**options):
    return Page(render_report(comparison(**options), facts=FACTS))


@pytest.fixture
def page():
    return page_of(segments=SEGMENTS)


def hostile_tables():
    models = {**HOSTILE_MODELS, "empty": (None, 0.1)}
    few = {"prevalence": GRID[::6], "beta": BETAS[::10]}
    return comparison(models, segments=[*HOSTILE, None], key=HOSTILE[0], **few)


@pytest.fixture(scope="module")
def hostile_page():
    return Page(render_report(hostile_tables(), title=HOSTILE[1], facts=[(name, name) for name in HOSTILE]))


def test_every_element_is_closed(page, hostile_page):
    assert page.open == hostile_page.open == []


def test_the_page_is_in_english_with_headings_in_order(page):
    assert page.all("html") == [{"lang": "en"}]
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_every_section_is_there_and_in_the_navigation(page):
    assert [s["id"] for s in page.all("section")] == SECTIONS
    links = [a["href"] for a in page.all("a") if a["href"].startswith("#")]
    assert links[: len(SECTIONS)] == [f"#{section}" for section in SECTIONS]
    # Each section links to itself, for those who want to send the link on.
    anchors = [a["href"] for a in page.all("a") if a.get("class") == "anchor"]
    assert anchors == [f"#{section}" for section in SECTIONS]
    ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    assert {link[1:] for link in links} <= ids


def test_names_of_elements_are_unique(hostile_page):
    ids = [attributes["id"] for _, attributes in hostile_page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_nothing_is_loaded(page, hostile_page):
    for source in (page, hostile_page):
        assert not [
            tag for tag, _ in source.elements if tag in ("link", "img", "iframe", "object", "embed", "base")
        ]
        assert not [attributes for _, attributes in source.elements if "src" in attributes]
        targets = {attributes["href"] for _, attributes in source.elements if "href" in attributes}
        papers = {t for t in targets if not t.startswith("#")}
        assert all(re.match(r"https://(arxiv\.org/abs|doi\.org)/", t) for t in papers)
        assert "10.1145/1143844.1143874" in source.text
        css = re.findall(r"<style>(.*?)</style>", source.source, re.DOTALL)
        assert len(css) == 1
        assert not re.search(r"url\(|@import", css[0])


def test_vega_is_embedded_once(page):
    assert sum("window.vegaEmbed=" in text for _, text in page.scripts) == 1
    assert len([1 for attributes, _ in page.scripts if not attributes]) == 1 + 14


def test_the_policy_names_the_scripts_by_hash(page, hostile_page):
    for source in (page, hostile_page):
        policies = [
            m["content"] for m in source.all("meta") if m.get("http-equiv") == "Content-Security-Policy"
        ]
        assert len(policies) == 1
        rules = dict(rule.strip().split(" ", 1) for rule in policies[0].split(";"))
        assert rules["default-src"] == "'none'"
        assert rules["img-src"] == "data: blob:"
        hashes = {
            f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
            for attributes, text in source.scripts
            if not attributes
        }
        assert set(rules["script-src"].split()) == hashes
        tags = [tag for tag, _ in source.elements]
        assert tags.index("meta") < tags.index("style") < tags.index("script")


def test_each_chart_has_a_box_a_description_and_a_specification(page):
    boxes = [d for d in page.all("div") if "data-spec" in d]
    assert [b["data-spec"] for b in boxes] == list(page.specs)
    assert all(b["role"] == "img" and b["aria-label"] for b in boxes)
    assert all(s.get("width") == "container" or "facet" in s for s in page.specs.values())
    assert not any("title" in s for s in page.specs.values())


def test_every_table_has_a_caption_and_heads(page):
    # Explorer, six ranked, the segments, rates, shifts.
    assert len(page.all("table")) == len(page.all("caption")) > 8
    assert {th["scope"] for th in page.all("th")} == {"col", "row", "colgroup"}


def test_the_answer_is_in_plain_words(page):
    tables = comparison(segments=SEGMENTS)
    text = " ".join(page.text.split())
    assert "3 models, compared at 10 prevalences from 10⁻⁴ to 0.501" in text
    assert "The prevalence of the log itself is 0.02 (1 in 50)." in text
    for line in answer_lines(tables.said):
        assert line in text
    assert "Choose boosted trees at threshold 0.5: F1 0.713 (95 %: 0.699 to 0.724)" in text
    leads = re.search(
        r"By F1 at threshold 0.5 the order changes in this log: "
        r"forest up to 0.0163 \(95 %: (0.01\d+) to (0.01\d+)\), "
        r"then boosted trees up to 0.246 \(95 %: 0.2\d+ to 0.\d+\), then logistic. "
        "These borders are exact for this log. In brackets: where they are in 95 % of the resampled logs",
        text,
    )
    assert float(leads[1]) < 0.0163 < float(leads[2])
    assert "boosted trees overtakes forest between 0.0158 and 0.02" in text
    starts = tables.area_winners.unique("model", keep="first", maintain_order=True)
    (first, _, _), (second, *near), (last, *far) = starts.select("start", "lower", "upper").rows()
    assert first == GRID[0]
    one, other = (" to ".join(map(format_grid, bounds)) for bounds in (near, far))
    told = (
        f"By PR-AUC the order changes in this log: forest up to {format_grid(second)} (95 %: {one}), then "
        f"boosted trees up to {format_grid(last)} (95 %: {other}), then "
        "logistic. These borders are exact for this log"
    )
    assert told in text


@pytest.mark.long
@pytest.mark.parametrize("options", [{}, {"folds": 4}, {"segments": SEGMENTS}])
def test_no_figure_stands_alone_in_a_row_of_two(options):
    page = page_of(**options).source
    figures = 0
    for section in page.split("<section ")[1:]:
        rows = "".join("w" if wide else "." for wide in re.findall(r'<figure( class="wide")?>', section))
        assert all(len(row) % 2 == 0 for row in rows.split("w")), rows
        figures += len(rows)
    assert figures == page.count("<figure") > 10


def test_facts_and_segments_are_shown(page):
    assert "12: score is NaN" in page.text
    assert sorted(page.data("segment-data")["names"][0], key=str) == ["DE", None, "US"]


@pytest.mark.long
def test_the_page_opens_at_the_first_scenario_that_it_covers():
    compared = comparison({"good": (0.9, 0.01), "bad": (0.5, 0.2)})
    low, high = compared.prevalence_range
    asked = (low * high) ** 0.3
    source = Page(render_report(compared, scenarios={"elsewhere": low / 10, "EU": asked, "US": high}))
    live = source.data("live-data")
    assert live["prevalence"][live["first"]] == pytest.approx(asked, rel=0.1)
    assert (live["prevalence"][0], live["prevalence"][-1]) == (low, high)
    chips = [float(chip["data-prevalence"]) for chip in source.all("button") if "data-prevalence" in chip]
    assert chips[:2] == [pytest.approx(asked), pytest.approx(high)]


@pytest.mark.long
def test_an_older_page_is_replaced_and_without_segments_there_is_no_such_section(tmp_path):
    target = tmp_path / "report.html"
    target.write_text("old")
    assert write_report(comparison(), target, title="fresh & new") == target
    assert list(tmp_path.iterdir()) == [target]
    source = Page(target.read_text(encoding="utf-8"))
    assert source.source.startswith("<!DOCTYPE html>")
    assert "<title>fresh &amp; new</title>" in source.source
    assert [s["id"] for s in source.all("section")] == [s for s in SECTIONS if s != "segments"]


@pytest.mark.long
def test_folds_are_explained_where_there_are_some(page):
    folded = page_of(folds=4)
    text = " ".join(folded.text.split())
    assert "separately in each of the 4 folds, all at threshold 0.5 and prevalence 0.02:" in text
    # As compare_folds does by default.
    assert "(Nadeau and Bengio), and for the number of models (Holm)" in text
    assert "F-beta plot at η = 0.02: mean and standard deviation over the folds" in text
    assert "spec-folds" in {d.get("data-spec") for d in folded.all("div")}
    assert "over the folds" not in page.text


def test_undefined_groups_are_listed_with_their_reason(hostile_page):
    assert "Groups whose rates are undefined" in hostile_page.text
    assert "no positives: tpr, and what depends on it, is undefined" in hostile_page.text


def test_hostile_names_are_text_and_nothing_else(hostile_page):
    for name in HOSTILE:
        assert hostile_page.text.count(name) >= 3  # a model, a fact's label and its value
    handlers = [a for _, attributes in hostile_page.elements for a in attributes if a.startswith("on")]
    assert not handlers
    tags = {tag for tag, _ in hostile_page.elements}
    assert "img" not in tags
    kinds = [attributes.get("type") for attributes, _ in hostile_page.scripts]
    assert set(kinds) == {None, "application/json"}
    assert kinds.count(None) == 1 + 14
    assert "49" not in re.findall(r"\d+", hostile_page.text.replace("{{7*7}}", ""))


def test_hostile_names_do_not_occur_raw(hostile_page):
    for name in HOSTILE:
        if re.search(r"[<>]", name):
            assert name not in hostile_page.source
    specs = [text for a, text in hostile_page.scripts if a.get("type") == "application/json"]
    assert not [text for text in specs if re.search("[<>&\u2028\u2029]", text)]
    assert hostile_page.models - {None} == set(HOSTILE)  # marks that belong to no model have none
    assert hostile_page.data("live-data")["models"] == sorted([*HOSTILE, "empty"])


def test_a_name_cannot_turn_the_direction_of_the_text_after_it():
    asked = {"prevalence": GRID[::18], "beta": [1.0], "segments": ["\u2067de", "fr"], "key": "country"}
    source = render_report(comparison({"\u202eevil": (0.5, 0.1), "b": (0.5, 0.1)}, **asked), title="\u202dx")
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", source)
    assert "⟨202e⟩evil" in Page(source).text


@pytest.mark.long
def test_equal_arguments_give_equal_bytes(tmp_path):
    asked = {"segments": ["DE"], "prevalence": GRID[::18], "beta": [0.5, 1.0]}
    first = write_report(make_comparison(**asked), tmp_path / "a.html")
    second = write_report(make_comparison(**asked), str(tmp_path / "deeper" / "b.html"))
    assert first.read_bytes() == second.read_bytes()
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == ["a.html"]


def test_a_failure_leaves_the_older_page(tmp_path, monkeypatch):
    page, text = (tmp_path / f"report.{form}" for form in ("html", "md"))
    for older in (page, text):
        older.write_text("older")

    def fail(*args, **kwargs):
        raise RuntimeError("no room")

    for patched, name, target in ((report, "doubt_of", page), (Path, "replace", text)):
        with monkeypatch.context() as patch:
            patch.setattr(patched, name, fail)
            with pytest.raises(RuntimeError, match="no room"):
                write_report(comparison(prevalence=(0.01, 0.1), beta=(1.0,)), target, questions=())
    assert page.read_text() == text.read_text() == "older"
    assert set(tmp_path.iterdir()) == {page, text}


def test_a_log_without_rows_still_gives_a_page():
    tables = comparison({"a": (None, None)})
    text = " ".join(Page(render_report(altered(tables, observed_prevalence=None))).text.split())
    assert "the log has no rows" in text.lower()
    assert "No model has a defined value" in text
    assert "Not drawn: there is no " in text


@pytest.mark.long
def test_charts_show_the_models_near_the_top_and_tables_all():
    models = {f"m{i:03d}": (0.5, 0.01 + i / 1000) for i in range(14)}
    many = comparison(models, prevalence=GRID[::12], beta=[1.0])
    source = Page(render_report(many))
    text = " ".join(source.text.split())
    assert "show the 12 models that rank highest anywhere; the tables show all 14" in text
    assert source.models == set(many.leading[:12])
    assert source.text.count("m013") >= 5


@pytest.mark.long
def test_a_chart_that_cannot_be_drawn_leaves_the_tables(monkeypatch):
    monkeypatch.setattr(selection, "MAX_ROWS", 25)
    # Up and down from prevalence to prevalence, so that no point can be left out.
    projection = comparison().projection
    zigzag = projection.with_columns(value=pl.col("prevalence").rank("dense") % 2 * 1.0)
    source = Page(render_report(altered(comparison(), projection=zigzag)))
    assert "Not drawn: a chart shows at most 25 rows" in source.text
    assert len(source.all("table")) == 1 + 6


@pytest.mark.parametrize("name", first_quick(HOSTILE, 2))
def test_tables_escape_names_and_captions(name):
    ranking = hostile_tables().areas.filter(model=name)
    parsed = Page(ranked_table(ranking, metric="pr_auc", title=name).as_raw_html())
    assert parsed.text.count(name) >= 2
    assert not {"script", "img"} & {tag for tag, _ in parsed.elements}
