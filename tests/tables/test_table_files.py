"""Tables on disk are read back: by Python's csv, by Polars, by a Markdown parser."""

import csv
import datetime as dt
import io
import math
import re
import unicodedata
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.tables.markdown import literal, markdown_table
from tests.cases import CHARACTERS
from tests.comparisons import comparison
from tests.hostile import NAMES
from tests.logs import counts_at

#: What GitHub reads as well as the tables of CommonMark.
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def cells(text: str) -> list[list[str]]:
    """Return the rows of the one table in a Markdown text; fail if anything in a cell is not text."""
    rows: list[list[str]] = []
    for token in MARKDOWN.parse(text):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            children = token.children or []
            assert {child.type for child in children} <= {"text"}, children
            rows[-1].append("".join(child.content for child in children))
        else:
            assert token.type.split("_")[0] in ("table", "thead", "tbody", "tr", "th", "td"), token
    return rows


def saved(frame: pl.DataFrame, folder: Path, kind: str) -> str:
    return nf.save_table(frame, folder / f"table.{kind}").read_bytes().decode()


def rows_of(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def names_frame() -> pl.DataFrame:
    names = [*NAMES, None]
    return pl.DataFrame({"model": names, "tpr": [0.1 * i for i in range(len(names))]})


@pytest.mark.thorough
@pytest.mark.parametrize("lazy", [False, True])
def test_parquet_is_the_frame(tmp_path, lazy):
    frame = comparison(segments=["DE", None]).segment_areas
    path = nf.save_table(frame.lazy() if lazy else frame, tmp_path / "deep" / "areas.parquet")
    assert path == tmp_path / "deep" / "areas.parquet"
    assert_frame_equal(pl.read_parquet(path), frame)


def test_no_cell_of_a_csv_is_a_formula_and_every_name_is_there(tmp_path):
    text = saved(names_frame().rename({"tpr": "=cmd|' /C calc'!A0"}), tmp_path, "csv")
    header, *rows = rows_of(text)
    assert header == ["model", "'=cmd|' /C calc'!A0"]
    shown = [name for name, _ in rows]
    odd = {"\r=1": "'\r'=1"}
    assert shown == [odd.get(name, f"'{name}" if name.startswith(FORMULA) else name) for name in [*NAMES, ""]]
    assert not [name for name in shown if name.startswith(FORMULA)]
    assert sum(name.startswith("'") for name in shown) == 6


def test_null_and_the_empty_name_differ_in_csv(tmp_path):
    frame = pl.DataFrame({"model": ["", None], "n": [None, -1]})
    text = saved(frame, tmp_path, "csv")
    assert text == 'model,n\n"",\n,-1\n'
    assert_frame_equal(pl.read_csv(tmp_path / "table.csv"), frame)


def test_columns_may_have_equal_names_once_they_are_guarded(tmp_path):
    assert saved(pl.DataFrame({"=a": [1], "'=a": [2], "": [3]}), tmp_path, "csv") == "'=a,'=a,\"\"\n1,2,3\n"


def test_numbers_below_nought_stay_numbers(tmp_path):
    frame = pl.DataFrame({"a": [-1, 2], "b": [-0.5, 1e-300], "c": [-math.inf, math.nan]})
    assert saved(frame, tmp_path, "csv") == "a,b,c\n-1,-0.5,-inf\n2,1e-300,NaN\n"
    assert cells(saved(frame, tmp_path, "md"))[1:] == [["-1", "-0.5", "-inf"], ["2", "1e-300", "nan"]]


@given(st.lists(st.floats() | st.none(), min_size=1))
def test_a_float_has_all_its_digits_in_csv(tmp_path_factory, values):
    folder = tmp_path_factory.getbasetemp()
    frame = pl.DataFrame({"value": values, "row": range(len(values))}, schema_overrides={"value": pl.Float64})
    back = [None if text == "" else float(text) for text, _ in rows_of(saved(frame, folder, "csv"))[1:]]
    assert [repr(value) for value in back] == [repr(value).replace("-nan", "nan") for value in values]


def without_guards(name: str) -> str:
    """Take out the apostrophes where a guard may stand."""
    return re.sub("(^|[;\\t\\r\\n])'+", r"\1", name)


names_of_a_spreadsheet = st.lists(
    st.text(CHARACTERS) | st.text(st.sampled_from(" ;=+-@\t\r\n'\"a\u200b\ufeff\x1c\xa0\uff1d"), max_size=8)
)


@given(names_of_a_spreadsheet)
def test_reading_a_csv_gives_the_names_back(tmp_path_factory, names):
    frame = pl.DataFrame({"model": names, "row": range(len(names))}, schema_overrides={"model": pl.String})
    text = saved(frame, tmp_path_factory.getbasetemp(), "csv")
    back = [name for name, _ in rows_of(text)[1:]]
    assert [without_guards(name) for name in back] == [without_guards(name) for name in names]


@given(names_of_a_spreadsheet)
@example([" =1+1", "\u200b=1+1", "\ufeff @SUM(1)", "a;=1+1", "a\t=1+1", "a\n=1+1", "a;\u200b\t =1", "\x1c+1"])
def test_no_spreadsheet_sees_a_formula(tmp_path_factory, names):
    frame = pl.DataFrame({"row": range(len(names)), "model": names}, schema_overrides={"model": pl.String})
    text = saved(frame, tmp_path_factory.getbasetemp(), "csv")
    read = [name for _, name in rows_of(text)[1:]]
    # With another separator, a quote within a cell is a letter like any other.
    split = [cell for line in re.split("[\\r\\n]", text) for cell in re.split("[;\\t]", line)]
    for cell in [*read, *split]:
        seen = "".join(c for c in cell if not c.isspace() and unicodedata.category(c)[0] not in "ZC")
        assert not seen.startswith(FORMULA), repr(cell)


def test_in_markdown_every_name_is_text(tmp_path):
    frame = names_frame().rename({"model": "<b>|_x_"})
    header, *rows = cells(saved(frame, tmp_path, "md"))
    assert header == ["<b>|_x_", "tpr"]
    assert [name for name, _ in rows] == [*NAMES, ""]
    text = (tmp_path / "table.md").read_text()
    assert not [mark for mark in ("<", "{{", "${", "https:", "www.", "`") if mark in text]
    assert "<td>&lt;script&gt;alert(1)&lt;/script&gt;</td>" in MARKDOWN.render(text)


@given(st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"])))
def test_any_name_is_text_in_markdown(name):
    assert cells(markdown_table(pl.DataFrame({f"{name}.": [name], "x": ["x"]}))) == [
        [f"{name}.", "x"],
        [name, "x"],
    ]
    paragraph = MARKDOWN.parse(f"By F1: x{literal(name)}x is best.\n")
    assert [token.type for token in paragraph] == ["paragraph_open", "inline", "paragraph_close"]
    assert {child.type for child in paragraph[1].children or []} == {"text"}
    assert paragraph[1].children[0].content == f"By F1: x{name}x is best."


def test_control_characters_are_shown_as_such():
    assert literal("a\x1b[2J\u202eb\0") == "a�\\[2J�b�"
    assert cells(markdown_table(pl.DataFrame({"a": ["x\r\ny\tz"]}))) == [["a"], ["x\r\ny\tz"]]


def test_markdown_is_to_be_read(tmp_path):
    frame = pl.DataFrame({"model": ["a"], "value": [1 / 3], "rows": [389_091], "sure": [True]})
    assert saved(frame, tmp_path, "md") == (
        "| model | value | rows | sure |\n| --- | ---: | ---: | --- |\n| a | 0.333333 | 389091 | true |\n"
    )
    assert saved(frame.clear(), tmp_path, "md").count("\n") == 2


def test_categories_and_times_are_text(tmp_path):
    frame = pl.DataFrame(
        {
            "kind": pl.Series(["=1"], dtype=pl.Categorical),
            "choice": pl.Series(["-1"], dtype=pl.Enum(["-1"])),
            "day": [dt.date(2020, 1, 31)],
            "took": [dt.timedelta(minutes=5)],
        }
    )
    assert rows_of(saved(frame, tmp_path, "csv"))[1] == ["'=1", "'-1", "2020-01-31", "PT5M"]
    assert cells(saved(frame, tmp_path, "md"))[1] == ["=1", "-1", "2020-01-31", "PT5M"]


def test_a_column_that_a_format_cannot_hold_leaves_the_older_file(tmp_path):
    (tmp_path / "t.csv").write_text("older")
    with pytest.raises(nf.SchemaError):
        nf.save_table(pl.DataFrame({"x": [[1]]}), tmp_path / "t.csv")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["older"]


def test_a_column_whose_name_has_a_nul_is_written(tmp_path):
    table = pl.DataFrame({"a\x00b": ["x", None], "value": [1.0, 2.0]})
    nf.save_table(table, tmp_path / "table.parquet")
    assert_frame_equal(pl.read_parquet(tmp_path / "table.parquet"), table)


def test_a_key_whose_name_has_a_nul_keeps_groups_apart():
    name = "a\x00b"
    keys = {name: [str(number) for number in range(9)] * 3000, "threshold": np.repeat(np.arange(3000.0), 9)}
    counts = counts_at(np.ones(27_000, np.int64), 1, 2, 2, model="a", **keys)
    areas = nf.compute_areas(counts, prevalence=0.1)
    assert areas.group_by(name).len()["len"].to_list() == [2] * 9


def test_numbers_that_all_differ_take_no_dictionary(tmp_path):
    rows = 100_000
    table = pl.DataFrame({"score": np.random.default_rng(0).random(rows), "model": "a name"})
    file = nf.save_table(table, tmp_path / "table.parquet")
    assert file.stat().st_size < 1.02 * 8 * rows
    assert pl.read_parquet(file).equals(table)
