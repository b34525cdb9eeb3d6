"""The cells of a ranked table, and that every form of a report shows the same ones."""

import base64
import html
import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nci_frames as nf
from nci_frames.questions.answer_lines import answer_lines
from nci_frames.questions.ranked import ranked_tables
from nci_frames.reporting.markdown import render_markdown
from nci_frames.reporting.terminal import print_comparison
from nci_frames.tables.cells import Cell, pick_evenly, ranked_cells
from nci_frames.tables.latex import latex_signs
from nci_frames.tables.numbers import UNDEFINED, format_group, format_value
from tests.comparisons import GRID, MODELS, altered, comparison, printed

values = st.one_of(st.none(), st.floats(0, 1))
tables = st.dictionaries(
    st.text("abc", min_size=1, max_size=2), st.dictionaries(st.sampled_from(GRID[:9]), values), min_size=1
)


@given(models=tables, shown=st.integers(2, 5))
def test_every_cell_is_the_row_of_its_model_and_column(models, shown):
    rows = [(model, at, value) for model, row in models.items() for at, value in row.items()]
    schema = {"model": pl.String, "prevalence": pl.Float64, "value": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row").with_columns(
        rank=pl.col("value").rank("min", descending=True).over("prevalence").cast(pl.Int64)
    )
    found = ranked_cells(frame, over="prevalence", shown=shown)
    assert found.grid == tuple(pick_evenly(sorted({at for _, at, _ in rows}), shown))
    assert {model for model, _ in found.rows} == {model for model, at, _ in rows if at in found.grid}
    for model, cells in found.rows:
        for at, cell in zip(found.grid, cells, strict=True):
            ahead = [v for _, e, v in rows if e == at and v is not None]
            value = models[model].get(at)
            rank = None if value is None else 1 + sum(other > value for other in ahead)
            assert cell == Cell(value, rank)
    firsts = [(cells[0].rank or float("inf"), model) for model, cells in found.rows]
    assert firsts == sorted(firsts)


def _written(cell):
    if cell.value is None:
        return UNDEFINED
    bold = "**" if cell.rank == 1 else ""
    return f"{bold}{format_value(cell.value)}{bold} ({cell.rank}{format_group(cell.group)})"


@pytest.mark.long
def test_every_form_shows_the_same_models_values_and_ranks():
    compared = comparison({**MODELS, "none": (None, 0.1)})
    text = render_markdown(compared)
    terminal = printed(print_comparison, compared)
    shown_tables = ranked_tables(compared)
    assert {table.measure for table in shown_tables} == {"own", "f_beta", "pr_auc"}
    for table in shown_tables:
        cells = table.cells(6)
        assert table.measure == "own" or cells.rows[-1][0] == "none"
        metric = "pr_auc" if table.measure == "pr_auc" else "f_beta"
        other = {} if metric == "pr_auc" else {"beta": 1.0, "prevalence": compared.middle_prevalence}
        page = nf.ranked_table(table.rows, metric=metric, over=table.over, **other).as_raw_html()
        assert f"### {table.title}, {table.where}" in text
        assert f"{table.title}, {table.where}" in terminal
        for model, row in cells.rows:
            line = [_written(cell) for cell in row]
            assert f"| {model} | {' | '.join(line)} |" in text
        alone = ranked_cells(table.rows, over=table.over, shown=6)
        for _, row in alone.rows:
            for cell in row:
                if cell.value is not None:
                    assert f'<data value="{cell.value!r}">{format_value(cell.value)}</data>' in page
        drawn = re.findall(r'<th[^>]*class="gt_row gt_left gt_stub"[^>]*>(.*?)</th>', page)
        assert drawn == [model for model, _ in cells.rows]


@pytest.mark.thorough
def test_a_notebook_shows_the_ranked_table_of_areas_with_names_as_text():
    models = {**MODELS, "<b>": (0.5, 0.2), "none": (None, 0.1)}
    compared = comparison(models, prevalence=[0.01, 0.1], beta=[1.0])
    notebook = compared._repr_html_()
    areas = compared.areas.filter(metric="pr_auc")
    assert nf.ranked_table(areas, metric="pr_auc").as_raw_html().count("<data ") == notebook.count("<data ")
    drawn = re.findall(r'<th[^>]*class="gt_row gt_left gt_stub"[^>]*>(.*?)</th>', notebook)
    assert drawn == [html.escape(name) for name, _ in ranked_cells(areas, over="prevalence", shown=6).rows]
    assert "PR-AUC and rank over prevalence; the log&#x27;s own prevalence is 0.0161" in notebook
    for line in answer_lines(compared.said):
        assert html.escape(line) in notebook
    (picture,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', notebook)
    assert "F1 over prevalence" in base64.b64decode(picture).decode()
    assert altered(compared, areas=compared.areas.clear())._repr_html_() is None


def test_latex_holds_every_cell_and_no_html():
    models = {"a_b & {x} <b>": (0.5, 0.2), "η": (0.5, 0.1), "none": (None, 0.1)}
    compared = comparison(models, prevalence=[1e-4, 0.1], beta=[1.0])
    areas = compared.areas.filter(metric="pr_auc")
    table = nf.ranked_table(areas, metric="pr_auc", title="100 % of {a}")
    text = table.as_latex()
    assert text.isascii()
    assert not re.search(r"<|data value|[^\\]%", text)
    # Groups are closed, and rows have as many cells as there are columns.
    bare = re.sub(r"\\[{}&]", "", text)
    assert bare.count("{") == bare.count("}")
    body = text.split(r"\addlinespace[2.5pt]")[1].split(r"\bottomrule")[0].strip().splitlines()
    cells = ranked_cells(areas, over="prevalence", shown=6)
    assert len(body) == len(cells.rows)
    for line, (_, row) in zip(body, cells.rows, strict=True):
        _, *written = line.removesuffix(r" \\").replace(r"\&", "").split(" & ")
        for cell, told in zip(row, written, strict=True):
            assert latex_signs(format_value(cell.value)) in told
            assert told.startswith(r"\textbf") == (cell.rank == 1 and not cell.doubtful)
            assert told.endswith(" ?") == cell.doubtful
    assert "Shading" not in text
    assert "<strong>" in table.as_raw_html()
