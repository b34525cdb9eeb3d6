"""The report as JSON is checked against its schema, as Markdown by a parser, both against the frames."""

import base64
import datetime as dt
import json
import math
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
from markdown_it import MarkdownIt

import nci_frames as nf
from nci_frames.questions.answer_lines import answer_lines
from nci_frames.questions.ranked import ranked_tables
from nci_frames.questions.report import report_charts
from nci_frames.questions.segment_lines import segment_lines
from nci_frames.reporting.gates import RunSummary
from nci_frames.reporting.json import render_json
from nci_frames.reporting.live import live_numbers
from nci_frames.reporting.markdown import render_markdown
from nci_frames.reporting.templates import NUMBERS, template
from nci_frames.reporting.terminal import print_answer, render_text
from nci_frames.tables.numbers import UNDEFINED, format_cell, format_value
from tests.chart_specs import rows_of
from tests.comparisons import MODELS, altered, comparison, printed, questions
from tests.hostile import NAMES
from tests.logs import random_log

pytestmark = pytest.mark.thorough

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "report.schema.json").read_text())
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
SEGMENTS = [*NAMES, None]


def hostile() -> nf.Comparison:
    models = {name: (0.5, 0.01 * (i + 1)) for i, name in enumerate(NAMES)}
    few = {"prevalence": (0.001, 0.01, 0.1), "beta": (0.5, 1.0, 2.0)}
    return comparison({**models, "none": (None, 0.1)}, segments=SEGMENTS, key="=a|<b>{{7*7}}", **few)


@cache
def real() -> nf.Comparison:
    counts = nf.count_confusion(nf.scan_predictions(random_log(400), segments="country"), thresholds="exact")
    return nf.compare_models(
        counts, prevalence=[0, 0.01, 0.3, 1], beta=[0, 1, math.inf], segments="country", repeats=50
    )


def parsed(tables: nf.Comparison, **options: Any) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(render_json(tables, **options), parse_constant=pytest.fail)
    jsonschema.Draft202012Validator(SCHEMA).validate(content)
    return content


def inline(text: str) -> list[tuple[str, Any]]:
    """Return every piece of running text with the block it stands in; fail on markup that is not ours."""
    pieces, block = [], ""
    for token in MARKDOWN.parse(text):
        assert token.type not in ("html_block", "code_block", "fence", "hr"), token
        if token.type == "inline":
            kinds = {child.type for child in token.children or []}
            assert kinds <= {"text", "strong_open", "strong_close", "em_open", "em_close", "softbreak"}, token
            pieces.append((block, "".join(child.content for child in token.children or [])))
        block = token.type.removesuffix("_open")
    return pieces


@pytest.mark.long
def test_the_schema_is_one_and_refuses_other_things():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    content = parsed(comparison())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**content, "schema": 1}, SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**content, "more": 1}, SCHEMA)
    del content["orders"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content, SCHEMA)


def test_json_says_what_the_frames_say():
    tables = real()
    content = parsed(tables, title="four", facts=[("rows", "400")])
    assert (content["title"], content["facts"]) == ("four", [{"label": "rows", "value": "400"}])
    assert content["prevalence"] == [0, 0.01, 0.3, 1]
    assert content["beta"] == [0, 1, "infinity"]
    assert content["question"]["beta"] == 1
    assert [row["value"] for row in content["answer"]] == tables.answer["value"].to_list()
    assert content["observed_prevalence"] == tables.observed_prevalence
    pr_auc = tables.areas.filter(metric="pr_auc")
    assert [row["value"] for row in content["tables"]["pr_auc"]] == pr_auc["value"].to_list()
    assert len(content["tables"]["roc_auc"]) == len(content["models"]) == len(content["tables"]["points"])
    ranks = tables.segment_ranks
    assert [row["segment"]["country"] for row in content["segments"]] == ranks["country"].to_list()
    listed = [
        {name: value for name, value in row.items() if name != "segment"} for row in content["segments"]
    ]
    assert listed == ranks.drop("country").to_dicts()
    areas = content["questions"]["segment-areas"]["rows"]
    assert {row["prevalence"] for row in areas} == {tables.middle_prevalence}


@pytest.mark.long
def test_equal_comparisons_give_equal_text_whatever_the_order_of_rows():
    few: dict[str, Any] = {"segments": ["DE", None], "prevalence": [0.001, 0.01, 0.1], "beta": [0.5, 1.0]}
    tables, again = comparison(**few), comparison(dict(reversed(MODELS.items())), **few)
    assert render_json(tables) == render_json(again)
    assert render_markdown(tables) == render_markdown(again)
    text = render_json(tables)
    assert text == json.dumps(json.loads(text), sort_keys=True, indent=1, ensure_ascii=False) + "\n"


def test_names_in_json_are_names():
    content = parsed(hostile(), title=NAMES[0])
    assert content["models"] == sorted([*(name or "(no name)" for name in NAMES), "none"])
    values = [
        row["=a|<b>{{7*7}}"] for row in content["questions"]["segment-areas"]["rows"] if row["rank"] == 1
    ]
    assert len(set(values)) > 10
    assert set(values) <= set(SEGMENTS)
    assert content["undefined"][0]["model"] == "none"
    apart = [group["segment"]["=a|<b>{{7*7}}"] for group in content["undefined"]]
    assert sorted(apart, key=str) == sorted(SEGMENTS, key=str)


def test_a_segment_may_be_a_day_and_a_number_infinite_or_none():
    tables = comparison(segments=["x"])
    day = pl.lit(dt.date(2020, 1, 31)).alias("country")
    odd = altered(
        tables,
        _threshold=-math.inf,
        segment_areas=tables.segment_areas.with_columns(day),
        areas=tables.areas.with_columns(gap=pl.lit(math.nan)),
    )
    content = parsed(odd, questions=questions("segment-areas"))
    assert content["threshold"] == "-infinity"
    assert content["questions"]["segment-areas"]["rows"][0]["country"] == "2020-01-31"
    assert {row["gap"] for row in content["tables"]["pr_auc"]} == {None}


@pytest.mark.long
def test_markdown_holds_the_answer_and_the_tables():
    text = render_markdown(comparison(segments=["DE", None]), title="three", facts=[("rows", "3")])
    pieces = inline(text)
    assert [content for block, content in pieces if block.startswith("heading")] == [
        "three",
        "Which model is best?",
        "Does the order of the models change with the prevalence?",
        "Do the probabilities hold at your prevalence?",
        "In which segments is the best model worse than in the rest?",
        "PR-AUC by country at prevalence 0.02",
        "Counts at threshold 0.5, all segments pooled",
        "Ranked tables",
        "F1 over prevalence, each model at its own best threshold, evaluated on rows that did not choose it",
        "F1 over prevalence, at threshold 0.5",
        "PR-AUC over prevalence, all thresholds",
        "F-beta over beta at prevalence η = 0.02, each model at its own best threshold, evaluated on rows "
        "that did not choose it",
        "F-beta over beta at prevalence η = 0.02, at threshold 0.5",
        "Data",
    ]
    tables = comparison(segments=["DE", None])
    said = text.replace("\\", "").replace("&#45;", "-")
    assert all(f"\n- {line}\n" in said for line in answer_lines(tables.said))
    assert "boosted trees at threshold 0.5 has F1 0.706 (95 %: 0.690 to 0.720)" in said
    assert "By F1 at threshold 0.5 the order changes in this log: forest up to 0.0189 (95 %: " in said
    assert "logistic overtakes boosted trees between 0.251 and 0.316" in said
    assert "| forest | **0.0126** (1a) | **0.423** (1a) |" in text
    assert "| missing | 0.0199526 | boosted trees | 0.546116 |" in text
    assert "| rows | 3 |" in text
    assert "| forest | 4000 | 196000 | 2478 | 588 | 0.6195 | 0.003 |" in text
    assert not re.search(r"\n\n\n|[ \t]\n", text)


@pytest.mark.parametrize(
    ("changes", "lowest"),
    [
        ({}, "0.5, precision counts more"),
        ({"threshold": 0.5}, "0.5, precision counts more"),
        ({"alerts": 100, "volume": 10_000}, "at most 50 among 10,000 rows"),
        ({"cost": (200, 5)}, "100, a false alarm costs 5"),
    ],
)
def test_an_answer_has_one_order_in_every_form(changes, lowest):
    tables = comparison(prevalence=(0.001, 0.1), beta=(1.0,)).asking(prevalence=0.02, **changes)
    lines = answer_lines(tables.said)
    asked = questions("answer")
    assert parsed(tables, questions=asked)["questions"]["answer"]["sentences"] == lines
    read = [text for block, text in inline(render_markdown(tables, questions=asked)) if text in lines]
    assert read == lines
    assert " ".join(lines) in " ".join(render_text(tables, questions=asked).split())
    live = live_numbers(tables, questions=asked)
    assert live["answers"][live["asked"]["first"]]["lines"][live["first"]] == lines
    assert live["asked"]["words"][0] == lowest


def test_a_file_of_text_has_all_lines_of_the_answer_and_a_terminal_whole_sentences():
    tables = comparison(prevalence=(0.001, 0.1), beta=(1.0,), segments=["DE", "US"])
    whole, lines = render_text(tables), [*answer_lines(tables.said), *segment_lines(tables)]
    assert "and more in the report" not in whole
    assert all(" ".join(line.split()) in " ".join(whole.split()) for line in lines)
    for width in range(32, 50, 3):
        *told, rest = (
            " ".join(part.split()) for part in printed(print_answer, tables, width=width).strip().splitlines()
        )
        assert rest == "... and more in the report"
        assert " ".join(told) in [" ".join(lines[:count]) for count in range(1, len(lines))]


@pytest.mark.long
def test_tables_are_whole():
    """A blank line within a table would end it, and rows of pipes would be left as text."""
    for tables in (comparison(segments=["DE", None]), hostile(), real(), comparison({"a": (None, None)})):
        for block, content in inline(render_markdown(tables, facts=[("a", "b")])):
            left = content.replace("a|b", "").replace("=a|<b>", "")
            assert block in ("th", "td") or "|" not in left, content


@pytest.mark.long
def test_names_in_markdown_are_text():
    title = NAMES[0]
    pieces = inline(render_markdown(hostile(), title=title, facts=[(name, name) for name in NAMES]))
    assert pieces[0] == ("heading", title)
    cells = {content for block, content in pieces if block == "td"}
    assert {name for name in NAMES if name} | {"none"} <= cells
    assert "=a|<b>{{7*7}}" in {content for block, content in pieces if block == "th"}


@pytest.mark.long
def test_gates_with_hostile_names_are_text_and_no_formula():
    verdicts = pl.DataFrame(
        {
            "gate": [NAMES[0], "a|b"],
            "verdict": ["pass", "fail"],
            "kind": ["champion", "change_threshold"],
            "model": ["=1+1", "+1"],
            "segment": [None, '{"a|b": "<b>"}'],
            "metric": "recall",
            "rival": ["@SUM(1)", None],
            "reason": [None, "**b** | _i_"],
            "prevalence": 0.01,
            "value": [0.1, 0.6],
            "lower": [0.02, 0.5],
            "upper": [0.2, 0.7],
            "limit_lower": [0.0, -0.05],
            "limit_upper": [None, None],
            "reference": [None, 0.7],
            "difference": [None, -0.1],
            "difference_lower": [None, -0.2],
            "difference_upper": [None, -0.06],
        }
    )
    runs = pl.DataFrame({"run": ["=r"], "verdict": ["fail"]})
    history = verdicts.with_columns(run=pl.lit("=r"), sequence=1)
    gates = RunSummary(history=history, runs=runs, verdicts=verdicts, last_good="a|b")
    pieces = inline(render_markdown(comparison(), gates=gates).replace("[The history](history.html)", ""))
    cells = [content for block, content in pieces if block == "td"]
    place = cells.index("a|b")
    assert cells[place : place + 9] == [
        "a|b", "fail", "+1", "a|b = <b>", "recall", "0.01", "0.600 (0.500 to 0.700)",
        "change ≥ \N{MINUS SIGN}0.05", f"was 0.700: a change of {format_value(-0.1)} "
        f"({format_value(-0.2)} to {format_value(-0.06)}); **b** | _i_",
    ]  # fmt: skip
    assert cells[place + 9 : place + 18] == [
        NAMES[0], "pass", "=1+1", "all rows", "recall", "0.01", "0.100 (0.0200 to 0.200)",
        "lead ≥ 0", "the value is the lead over @SUM(1)",
    ]  # fmt: skip
    assert any("Run =r: fail, by 1 fail, 1 pass." in content for _, content in pieces)
    # Both pages show the same words; what is saved of a trend holds no formula.
    for gate, trend in zip(gates.reported, gates.trends, strict=True):
        saved = pl.read_csv(base64.b64decode(trend["data"]))
        assert saved["run"].item() == "'=r"
        assert saved["model"].item() == f"'{gate['model']}"


@pytest.mark.long
def test_what_is_undefined_is_a_dash_and_told():
    text = render_markdown(comparison({"a": (0.5, 0.1), "b": (None, 0.1)}))
    assert f"| b | {UNDEFINED} | {UNDEFINED} |" in text
    assert "| b | 0 | 98000 | no positives\\: tpr, and what depends on it, is undefined |" in text
    none = render_markdown(comparison({"a": (None, None), "b": (None, None)}))
    assert "the models cannot be ordered\\: none has a defined value" in none
    assert "- No model has a defined value" in none
    alone = render_markdown(comparison({"a": (0.5, 0.1)}))
    assert "1 model, compared at 10 prevalences" in alone
    assert "There is one model, so there is no order" in alone
    assert "leads" not in alone


def test_a_tie_and_many_names_are_told_shortly():
    few = {"prevalence": (0.001, 0.1), "beta": (1.0,)}
    text = render_markdown(comparison(dict.fromkeys("abcde", (0.5, 0.1)), **few))
    assert "Choose a, b, c, d or 1 more" in text


@pytest.mark.parametrize("betas", [(0.0,), (0.0, math.inf), (0.5, 2.0), (0.0, 1.0)])
@pytest.mark.long
def test_the_main_beta_is_one_that_was_compared(betas):
    tables = comparison(beta=betas, prevalence=[0.01, 0.1])
    assert tables.main_beta in betas
    assert not any(table.rows.is_empty() for table in ranked_tables(tables))
    parsed(tables)
    json.dumps(live_numbers(tables), allow_nan=False)


@pytest.mark.long
def test_the_charts_of_a_report():
    tables = comparison()
    drawn = report_charts(tables)
    by_segment = set(report_charts(comparison(segments=["DE", None])))
    assert by_segment - set(drawn) == {"segments", "chosen", "differences"}
    points, etas = tables.points, tables.answer_prevalences
    smooth = nf.project_rates(points, metrics="precision", prevalence=etas, band=True)
    assert drawn["p3"].to_dict() == nf.chart_p3(smooth, observed=0.02, models=list(MODELS)).to_dict()
    assert set(report_charts(comparison(folds=3))) - set(drawn) == {"folds"}
    none = pl.lit(None, dtype=pl.Float64)
    nodes = tables.area_nodes.with_columns(value=none)
    without = altered(tables, areas=tables.areas.with_columns(value=none), area_nodes=nodes)
    assert set(drawn) - set(report_charts(without)) == {"pr-auc"}


@pytest.mark.long
def test_bands_of_folds_are_of_few_models():
    models = {name: (0.3 + 0.1 * i, 0.002 * 2**i) for i, name in enumerate("abcdef")} | {"g": (0.3, 0.3)}
    spec = report_charts(comparison(models, folds=3))["folds"].to_dict()
    assert len({row["model"] for row in rows_of(spec)}) == 4
    few = report_charts(comparison(folds=3))["folds"].to_dict()
    assert {row["model"] for row in rows_of(few)} == set(MODELS)


def test_the_page_breaks_no_option_of_a_command_after_a_hyphen():
    parts = template("parts.html.jinja", cell=format_cell, **NUMBERS).module
    shown = '<span class="option">plan-labels</span> LOG <span class="option">--budget</span> 5 &lt;x&gt;'
    assert str(parts.unbroken("plan-labels LOG --budget 5 <x>")) == shown
