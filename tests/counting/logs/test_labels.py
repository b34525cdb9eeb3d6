"""Labels and weights at the ends of what their types hold, and hints that show what was found."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import nci_frames as nf
from nci_frames.commands.cli import main
from tests.logs import COUNTS

BIG = 2**53


def log_of(labels: Any, **columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"model": "a", "label": labels, "score": 0.5, **columns})


@pytest.mark.parametrize("positive", [BIG + 1, str(BIG + 1)])
@pytest.mark.parametrize("dtype", [pl.Int64, pl.UInt64, pl.Int128])
def test_a_whole_number_keeps_all_its_digits(positive: Any, dtype: Any) -> None:
    log = log_of(pl.Series([BIG, BIG + 1], dtype=dtype))
    assert nf.scan_predictions(log, positive=positive).collect()["label"].to_list() == [False, True]


def test_labels_at_the_ends_of_their_type() -> None:
    for dtype in (pl.Int8, pl.Int64, pl.UInt64):
        low, high = pl.select(dtype.min(), dtype.max().alias("high")).row(0)
        log = log_of(pl.Series([low, high], dtype=dtype))
        for positive in (low, high):
            found = nf.scan_predictions(log, positive=positive).collect()["label"].to_list()
            assert found == [positive == low, positive == high]


@pytest.mark.parametrize("positive", [None, 1, 1.0, "1"])
@pytest.mark.parametrize("dtype", [pl.Float32, pl.Float64])
def test_a_label_that_is_nan_is_no_negative(positive: Any, dtype: Any) -> None:
    log = log_of(pl.Series([1.0, 0.0, float("nan")], dtype=dtype))
    with pytest.raises(nf.InvalidRowsError, match="1 row: label is NaN"):
        nf.count_confusion(nf.scan_predictions(log, positive=positive), thresholds=[0.5])
    scan = nf.scan_predictions(log, positive=positive, on_invalid="drop")
    with pytest.warns(nf.InvalidRowsWarning, match=r"1 \(label is NaN\)"):
        assert nf.count_confusion(scan, thresholds=[0.5]).select(COUNTS).row(0) == (1, 1, 0, 0)


@pytest.mark.parametrize("on_invalid", ["raise", "drop"])
@pytest.mark.parametrize(("labels", "told"), [([-1, 1, -1], "-1 and 1"), ([1.0, 2.0, 2.0], "1 and 2")])
def test_two_other_labels_need_a_word_and_are_never_dropped(on_invalid: Any, labels: Any, told: str) -> None:
    log = log_of(labels)
    for frame in (log, log.lazy()):
        scan = nf.scan_predictions(frame, on_invalid=on_invalid)
        for read in (lambda: nf.count_confusion(scan, thresholds=[0.5]), scan.collect):  # noqa: B023
            with pytest.raises(nf.InvalidRowsError, match="label is neither 0 nor 1") as error:
                read()
            high = told.rsplit(maxsplit=1)[-1]
            assert error.value.hint == f"the labels are {told}: say which is positive, e.g. positive={high}"


@pytest.mark.thorough
def test_the_hint_of_the_command_names_its_own_option(tmp_path: Path) -> None:
    log_of([-1, 1, -1]).write_parquet(tmp_path / "log.parquet")
    for options in ([], ["--on-invalid", "drop"]):
        arguments = ["report", str(tmp_path / "log.parquet"), "--out", str(tmp_path / "out"), *options]
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 3
        assert "the labels are -1 and 1: say which is positive, e.g. --positive 1" in done.output
    quick = ["-p", "0.1", "-b", "1", "--format", "json"]
    done = CliRunner().invoke(main, [*arguments, "--positive", "1", *quick])
    assert done.exit_code == 0, done.output
