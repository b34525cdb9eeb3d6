"""Ranked tables for people, and how they write numbers."""

import math

import polars as pl
import pytest

import nci_frames as nf
from nci_frames.tables.cells import pick_evenly
from nci_frames.tables.great_tables import ranked_table
from nci_frames.tables.numbers import UNDEFINED, format_grid, format_value
from tests.comparisons import BETAS, GRID, MODELS, comparison
from tests.logs import counts_at


def test_the_best_is_bold_and_ranks_stand_beside_the_values():
    table = ranked_table(comparison().areas, metric="pr_auc", title="PR-AUC").as_raw_html()
    value = comparison().areas.filter(metric="pr_auc", model="forest")["value"].min()
    assert f'<strong><data value="{value!r}">{format_value(value)}</data></strong><small>1</small>' in table
    assert table.index("forest") < table.index("boosted trees") < table.index("logistic")
    assert "PR-AUC" in table


def test_the_columns_are_picked_evenly_with_both_ends():
    assert pick_evenly(range(11), 6) == [0, 2, 4, 6, 8, 10]
    assert pick_evenly(GRID, 6)[0] == GRID[0]
    assert pick_evenly(GRID, 6)[-1] == GRID[-1]
    assert pick_evenly([0.1, 0.2], 6) == [0.1, 0.2]


@pytest.mark.parametrize(("shown", "columns"), [(6, [0, 2, 4, 7, 8, 10]), (3, [0, 7, 10]), (2, [0, 7])])
def test_what_is_asked_has_a_column(shown, columns):
    assert pick_evenly(range(11), shown, 7) == columns
    assert pick_evenly(range(11), shown, 99) == pick_evenly(range(11), shown)


def test_undefined_values_have_a_note_and_tables_over_beta_need_a_prevalence():
    areas = comparison({**MODELS, "empty": (None, 0.1)}).areas
    noted = ranked_table(areas, metric="pr_auc").as_raw_html()
    assert f"{UNDEFINED} undefined" in noted
    assert "Small number: rank, 1 is best. Bold: best. Shading: value from 0 to 1." in noted
    assert f"{UNDEFINED} undefined" not in ranked_table(comparison().areas, metric="pr_auc").as_raw_html()
    projection = comparison().projection
    table = ranked_table(projection, metric="f_beta", over="beta", prevalence=0.01).as_raw_html()
    assert "0.1" in table
    assert format_grid(BETAS[-1]) in table


def test_a_model_without_a_row_is_not_said_to_be_undefined():
    counts = pl.concat([counts_at([60], [1], 100, 1000), counts_at([60, 80], [1, 20], 200, 1000)[1:]])
    points = nf.project_rates(nf.compute_rates(counts), metrics="precision", prevalence="observed")
    assert points["prevalence"].n_unique() == points["model"].n_unique() == 2
    table = ranked_table(nf.rank_models(points), metric="precision").as_raw_html()
    assert f"{UNDEFINED} the ranking has no row of this model there." in table
    assert f"{UNDEFINED} undefined" not in table


@pytest.mark.parametrize("beta", [0.0, 2.0, math.inf])
def test_each_beta_of_the_ranking_has_a_table(beta):
    counts = counts_at([60, 80], [1, 20], 100, 1000)
    points = nf.project_rates(
        nf.compute_rates(counts), metrics="f_beta", prevalence=[0.1], beta=[0, 2, math.inf]
    )
    table = ranked_table(nf.rank_models(points), metric="f_beta", beta=beta).as_raw_html()
    for value in points.filter(beta=beta)["value"]:
        assert f'value="{value!r}"' in table


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.99951, "1.000"),
        (0.1, "0.100"),
        (0.0995, "0.100"),
        (0.09949, "0.0995"),
        (0.000995, "0.000995"),
        (9.9e-5, "9.90 \N{MULTIPLICATION SIGN} 10⁻⁵"),
        (-0.25, "\N{MINUS SIGN}0.250"),
        (math.inf, "∞"),
        (-math.inf, "\N{MINUS SIGN}∞"),
        (math.nan, UNDEFINED),
    ],
)
def test_values_have_three_digits(value, text):
    assert format_value(value) == text
