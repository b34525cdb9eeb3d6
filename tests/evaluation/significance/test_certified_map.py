"""Certified decision maps: against comparisons at single prevalences, support, and what they promise."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.reporting.html import render_report
from tests.chart_specs import layers, rows_of
from tests.logs import COUNTS, counts_at, unit_log

GRID = np.linspace(-2, 5, 60).tolist()
RANGE = ["lambda_start", "lambda_end"]


def units_log(shifts: list[float], rows: tuple[int, int], seed: int = 0) -> pl.DataFrame:
    return unit_log({f"m{place}": shift for place, shift in enumerate(shifts)}, rows, alike=0.8, seed=seed)


def buckets_of(log: pl.DataFrame, thresholds: Any = GRID) -> pl.DataFrame:
    return nf.count_confusion(nf.unit_buckets(log, buckets=64), thresholds=thresholds)


def ranges_of(table: pl.DataFrame) -> list[tuple[float, float, str, tuple[str, ...]]]:
    """A row per range, with its models."""
    rows = table.group_by(*RANGE, "verdict", maintain_order=True).agg("model")
    return [(a, b, verdict, tuple(m for m in models if m)) for a, b, verdict, models in rows.rows()]


def test_a_clear_winner_is_certified_up_to_where_support_ends():
    counts = buckets_of(units_log([1.0, 2.0], (500, 8000)))
    found = nf.certify_decision_map(counts, units="bucket", repeats=200)
    lowest = nf.lowest_supported_prevalence(counts, metric="f_beta", units="bucket")
    border = (1 - lowest["prevalence"]) / lowest["prevalence"]
    ranges = ranges_of(found)
    starts, ends, *_ = zip(*ranges, strict=True)
    assert [*starts, np.inf] == [0, *ends]
    assert ranges[-2][2:] == ("certified", ("m1",))
    assert ranges[-1][2:] == ("unknown", ())
    assert ranges[-1][0] == pytest.approx(border.max())
    assert found.filter(verdict="unknown")["reason"].item().startswith("this log cannot tell: its negatives")
    assert found.filter(pl.col("verdict") != "unknown")["reason"].null_count() == len(found) - 1
    # Ten times the rows of each unit support no lower prevalence.
    repeated = nf.certify_decision_map(counts.with_columns(pl.col(COUNTS) * 10), units="bucket", repeats=200)
    assert ranges_of(repeated)[-1][0] == pytest.approx(border.max(), rel=0.1)


def test_a_model_whose_support_never_ends_does_not_weaken_the_others():
    """At a constant score no threshold has few false positives: the log supports the model everywhere."""
    counts = counts_at(
        [800, 100, 1000], [300, 0, 9000], 1000, 9000,
        model=["a", "a", "constant"], threshold=[0.5, 0.9, 0.5], resolution="exact",
    )  # fmt: skip
    lowest = nf.lowest_supported_prevalence(counts, metric="f_beta")["prevalence"].to_list()
    assert lowest == [pytest.approx(1 / 37), 0.0]
    table = ranges_of(nf.certify_decision_map(counts, repeats=200))
    assert [row[2:] for row in table[-2:]] == [("certified", ("a",)), ("unknown", ())]
    assert table[-1][0] == pytest.approx(36)


@pytest.mark.thorough
@pytest.mark.parametrize("units", ["bucket", None])
def test_ranges_have_the_models_that_a_comparison_at_each_prevalence_keeps(units):
    counts = buckets_of(units_log([1.2, 1.5, 1.8], (300, 4000), seed=3))
    counts = counts if units else nf.pool_counts(counts, over="bucket")
    found = nf.certify_decision_map(counts, units=units, repeats=300)
    table = ranges_of(found)
    assert {verdict for _, _, verdict, _ in table} >= {"several", "unknown"}
    places = [0.0, *np.geomspace(0.05, table[-1][0] * 0.95, 7).tolist()]
    at_each = nf.compare_best(
        counts, metric="f_beta", threshold="own", units=units, repeats=300,
        prevalence=[1 / (1 + place) for place in places],
    )  # fmt: skip
    for place in places:
        kept = at_each.filter(prevalence=1 / (1 + place), distinguishable=False)["model"].to_list()
        (models,) = [models for a, b, _, models in table if a <= place < b]
        assert kept
        # All at once excludes fewer than one at a time.
        assert set(models) >= set(kept)


@pytest.mark.thorough
def test_equal_models_are_several_everywhere():
    log = units_log([1.5], (200, 3000))
    twice = pl.concat([log, log.with_columns(model=pl.lit("twin"))])
    found = nf.certify_decision_map(buckets_of(twice), units="bucket", repeats=100)
    assert [(verdict, models) for *_, verdict, models in ranges_of(found)] == [
        ("several", ("m0", "twin")),
        ("unknown", ()),
    ]


@pytest.mark.thorough
def test_one_model_is_certified_where_it_is_supported_and_few_rows_are_unknown():
    alone = nf.certify_decision_map(buckets_of(units_log([1.5], (200, 3000))), units="bucket", repeats=100)
    assert [row[2:] for row in ranges_of(alone)] == [("certified", ("m0",)), ("unknown", ())]
    few = counts_at([3, 4], [1, 2], 5, 51)
    found = nf.certify_decision_map(few)
    assert ranges_of(found) == [(0.0, np.inf, "unknown", ())]
    assert found["reason"].item() is not None


def test_support_that_never_ends_is_followed_to_infinity():
    """The highest score is shared by more than a hundred negatives: no threshold has fewer."""
    counts = counts_at([600, 500], [4000, 200], 1000, 100_000, resolution="exact")
    assert nf.lowest_supported_prevalence(counts, metric="f_beta")["prevalence"].to_list() == [0.0, 0.0]
    table = ranges_of(nf.certify_decision_map(counts))
    assert [row[2:] for row in table] == [
        ("certified", ("a",)),
        ("several", ("a", "b")),
        ("certified", ("b",)),
    ]
    border = nf.decision_map(nf.compute_rates(counts))["lambda_start"][1]
    assert table[0][1] < border < table[2][0]
    assert table[-1][1] == np.inf


@pytest.mark.thorough
def test_the_chart_is_solid_where_a_model_is_certified_and_hides_what_nobody_knows():
    counts = buckets_of(units_log([1.2, 1.5, 1.8], (300, 4000), seed=3))
    certified = nf.certify_decision_map(counts, units="bucket", repeats=200)
    decisions = nf.decision_map(nf.compute_rates(nf.pool_counts(counts, over="bucket")))
    spec = nf.chart_decision_map(decisions, certified=certified).to_dict()
    assert "nobody knows" in spec["title"]["subtitle"]
    table = ranges_of(certified)
    for verdict in ("several", "unknown"):
        wanted = {a for a, _, kind, _ in table if kind == verdict}
        assert {row["lambda_start"] for row in rows_of(spec, verdict)} == wanted != set()
    assert "untold" not in layers(spec)
    # Tooltips name all models that may be the best, range by range.
    targets = rows_of(spec, "targets")
    assert {row["verdict"] for row in targets} == {row[2] for row in table}
    for row in targets:
        (mine,) = [r for r in table if r[0] <= row["lambda_start"] < r[1]]
        assert row["verdict"] == mine[2]
        assert row["may be best"] == (", ".join(mine[3]) or None)
    plain = nf.chart_decision_map(decisions).to_dict()
    assert rows_of(plain, "bands") == rows_of(spec, "bands")


@pytest.mark.long
def test_a_comparison_has_the_certified_map_of_its_log_and_a_report_draws_it():
    counts = buckets_of(units_log([1.0, 2.0], (300, 3000)))
    pooled = nf.pool_counts(counts, over="bucket")
    for given, units in ((counts, "bucket"), (pooled, None)):
        found = nf.compare_models(given, prevalence=[0.01, 0.1], repeats=200, threshold=GRID[30])
        assert found.certified.equals(nf.certify_decision_map(given, units=units, repeats=200))
    report = render_report(found)
    assert "solid: certified; pale: one of several; hatched: nobody knows" in report
    weighted = pooled.with_columns(pl.col("tp", "fp", "fn", "tn") * 0.5)
    assert nf.compare_models(weighted, prevalence=[0.01, 0.1], threshold=GRID[30]).certified is None
