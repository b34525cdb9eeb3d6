"""Files that a ledger counts in part, or refuses."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from tests.logs import random_log
from tests.small_jobs import write_log

GRID = [-1.0, 0.1, 0.3, 0.5, 0.7, float("inf")]


@pytest.mark.parametrize("thresholds", ["exact", GRID])
def test_dropped_rows_are_a_number_and_no_warning(ledger, tmp_path, thresholds):
    """Warnings are errors here."""
    log = random_log(60, seed=1)
    path = write_log(tmp_path / "a.parquet", log.with_columns(label=pl.col("label").shift(2)))
    appended = ledger.append(path, thresholds=thresholds, on_invalid="drop")
    assert appended.select("event", "rows", "counted", "dropped").row(0) == ("counted", 60, 58, 2)
    lowest = ledger.read().filter(pl.col("threshold") == pl.col("threshold").min().over("model"))
    assert lowest.select(pl.sum_horizontal("tp", "fp", "fn", "tn").sum()).item() == 58


@pytest.mark.parametrize(
    "columns", [{"segments": "country"}, {"weight": "unit"}, {"label": None, "fold": "fold"}]
)
def test_logs_without_a_valid_row_have_counts_without_rows(ledger, tmp_path, columns):
    log = random_log(20).with_columns(score=pl.lit(None, pl.Float64), unit=1.0)
    path = write_log(tmp_path / "a.parquet", log)
    options = {"on_invalid": "drop"} | columns
    assert ledger.append(path, thresholds=GRID, **options)["dropped"].to_list() == [20]
    count = nf.count_confusion if "label" not in columns else nf.count_scores
    with pytest.warns(nf.InvalidRowsWarning):
        assert_frame_equal(ledger.read(), count(nf.scan_predictions(path, **options), thresholds=GRID))


@pytest.mark.parametrize(
    ("positive", "labels", "odd"), [("y", ["y", "n"], "N"), ("y", ["y", "n"], "Y"), (2, [2, 1], 0)]
)
def test_a_file_whose_only_label_is_misspelt_is_refused(ledger, tmp_path, positive, labels, odd):
    """Alone, it would count as the label of negatives."""
    log = write_log(tmp_path / "log", pl.DataFrame({"model": "a", "label": labels, "score": [0.9, 0.2]}))
    night = pl.DataFrame({"model": "a", "label": odd, "score": [0.8, 0.1, 0.3]})
    misspelt = write_log(tmp_path / "odd", night)
    told = f"found: '{odd}', and before '{labels[1]}'"
    with pytest.raises(nf.InvalidRowsError, match=told):
        ledger.append([log, misspelt], positive=positive)
    ledger.append(log, positive=positive)
    with pytest.raises(nf.InvalidRowsError, match=told):
        ledger.append(misspelt, positive=positive)
    for label in labels:
        ledger.append(
            write_log(tmp_path / "night", night.with_columns(label=pl.lit(label))),
            positive=positive,
            on_changed="recount",
        )
    assert ledger.sources().filter("active")["negatives"].to_list() == [1, 3]


def test_a_missing_label_is_not_the_label_of_negatives(ledger, tmp_path):
    for night, labels in enumerate([[2.0, 1.0, None], [float("nan"), 1.0, 2.0], [float("nan")] * 3]):
        log = pl.DataFrame({"model": "a", "label": labels, "score": [0.9, 0.2, 0.1]}, strict=False)
        path = write_log(tmp_path / str(night), log.with_columns(pl.col("label").cast(pl.Float64)))
        ledger.append(path, positive=2, on_invalid="drop")
    assert ledger.sources()["negatives"].to_list() == [1, 1, 0]


def test_types_that_differ_between_files_are_refused(ledger, tmp_path):
    ledger.append(write_log(tmp_path / "a.parquet", random_log(50)))
    with pytest.raises(nf.SchemaError, match="score"):
        ledger.append(write_log(tmp_path / "b.parquet", random_log(50, dtype="float32")))
    assert ledger.sources().height == 1
