"""The matrix of decisions and the winners between two mixes draw the numbers of their tables."""

import polars as pl
import pytest

import nci_frames as nf
from tests.chart_specs import panel_rows, rows_of
from tests.charts.drawn import class_counts


def test_the_matrix_has_shares_of_the_class_and_of_the_mix():
    counts = class_counts(("a", "b"))
    rows = panel_rows(nf.chart_class_matrix(counts, priors={"x": 0.2, "y": 0.8}).to_dict())
    assert len(rows) == 2 * 2 * 3  # "none" is a decision, and no class
    cell = next(row for row in rows if (row["model"], row["label"], row["decision"]) == ("a", "x", "none"))
    assert (cell["rows"], cell["rate"], cell["share"], cell["percent"]) == (
        50,
        0.5,
        pytest.approx(0.1),
        "10.0",
    )


def test_the_matrix_names_classes_of_few_rows():
    pairs = {"label": ["x", "y", "x", "y"], "decision": ["x", "y", "x", "y"]}
    counts = pl.DataFrame({"model": ["a", "a", "b", "b"], **pairs, "rows": [20, 3, 20, 3]})
    for mix, ends in (
        ({"x": 0.2, "y": 0.8}, "as given; fewer than 10 independent rows of 'y'"),
        ({"x": 1.0, "y": 0.0}, "as given"),
    ):
        subtitle = nf.chart_class_matrix(counts, priors=mix).to_dict()["title"]["subtitle"]
        assert subtitle.endswith(ends)


def test_the_winners_are_bars_with_labelled_borders():
    ends = {"start": {"x": 1.0, "y": 0.0}, "end": {"x": 0.0, "y": 1.0}}
    winners = nf.class_winners(class_counts(("a", "b")), metric="accuracy", **ends)
    spec = nf.chart_class_winners(winners).to_dict()
    assert [row["model"] for row in rows_of(spec, "bars")] == ["b", "a"]
    assert [row["start"] for row in rows_of(spec, "borders")] == [pytest.approx(20 / 35)]
    of_class = winners.with_columns(pl.lit("x").alias("class"))
    marked = nf.chart_class_winners(of_class, priors={"x": 0.3, "y": 0.7}).to_dict()
    assert rows_of(marked, "mix") == [{"line": "x", "share": 0.3}]
