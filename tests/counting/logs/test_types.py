"""Columns whose types differ between files, and logs as CSV."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from tests.logs import random_log

LOG = random_log(200, values=10).with_columns(label=pl.col("label").cast(pl.Int64))
COLUMNS: dict[str, Any] = {"fold": "fold", "segments": "country"}
GRID = [-0.5, 0.0, 0.25, 0.5]
WHOLE = nf.count_confusion(nf.scan_predictions(LOG, **COLUMNS), thresholds=GRID)


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        ("model", pl.Categorical),
        ("model", pl.Enum(["forest", "linear"])),
        ("country", pl.Categorical),
        ("label", pl.Int8),
        ("label", pl.UInt8),
        ("label", pl.Float64),
    ],
    ids=str,
)
def test_types_that_lose_nothing_are_one_type(tmp_path: Path, column: str, dtype: Any) -> None:
    odd = LOG.with_columns(pl.col(column).cast(dtype))
    LOG[:90].write_parquet(tmp_path / "a.parquet")
    odd[90:120].write_parquet(tmp_path / "b.parquet")
    LOG[120:].write_parquet(tmp_path / "c.parquet")
    for source in (tmp_path, [LOG[:90], odd[90:120].lazy(), LOG[120:]]):
        counts = nf.count_confusion(nf.scan_predictions(source, **COLUMNS), thresholds=GRID)
        assert_frame_equal(counts, WHOLE)


def test_scores_are_compared_in_the_wider_type_and_that_is_said(tmp_path: Path) -> None:
    wide = pl.DataFrame({"model": "a", "label": [1, 0], "score": [0.7, 0.1]})
    narrow = wide.with_columns(pl.col("score").cast(pl.Float32))
    wide.write_parquet(tmp_path / "a.parquet")
    narrow.write_parquet(tmp_path / "b.parquet")
    for source in (tmp_path, [wide, narrow]):
        scan = nf.scan_predictions(source)
        with pytest.warns(nf.MixedTypesWarning, match="compared with thresholds as Float64"):
            counts = nf.count_confusion(scan, thresholds=[0.7])
        assert counts["tp"].item() == 1  # the Float32 0.7 is 0.699999988
        with pytest.warns(nf.MixedTypesWarning):
            assert scan.collect().schema["score"] == pl.Float64


@pytest.mark.parametrize("parts", [1, 3])
def test_a_log_as_csv(tmp_path: Path, parts: int) -> None:
    for part in range(parts):
        mine = LOG[part::parts]
        mine.select(reversed(mine.columns) if part else mine.columns).write_csv(tmp_path / f"{part}.csv")
    for source in (tmp_path, f"{tmp_path}/*.csv"):
        scan = nf.scan_predictions(source, **COLUMNS)
        types = [pl.String, pl.String, pl.String, pl.Boolean, pl.Float64]
        assert scan.collect_schema().dtypes() == types
        assert_frame_equal(nf.count_confusion(scan, thresholds=GRID), WHOLE)
        for thresholds in ("auto", "exact"):
            expected = nf.count_confusion(nf.scan_predictions(LOG, **COLUMNS), thresholds=thresholds)  # type: ignore[arg-type]
            assert_frame_equal(nf.count_confusion(scan, thresholds=thresholds), expected)  # type: ignore[arg-type]


def test_csv_beside_parquet_and_with_keys_in_folders(tmp_path: Path) -> None:
    for country, name in (("at", "a.csv"), ("01", "b.parquet")):
        folder = tmp_path / f"country={country}"
        folder.mkdir()
        part = LOG.drop("country")
        part.write_csv(folder / name) if name.endswith("csv") else part.write_parquet(folder / name)
    counts = nf.count_confusion(nf.scan_predictions(tmp_path, segments="country"), thresholds=GRID)
    assert counts["country"].unique().sort().to_list() == ["01", "at"]
    assert counts.filter(country="01").drop("country").equals(counts.filter(country="at").drop("country"))


def test_a_wide_csv(tmp_path: Path) -> None:
    wide = pl.DataFrame({"y": ["spam", "ham", "ham"], "f": [0.9, 0.2, 0.7], "g": [1, 0, 0], "note": "a,b"})
    wide.write_csv(tmp_path / "wide.csv")
    scan = nf.scan_predictions(
        tmp_path / "wide.csv", label="y", positive="spam", scores={"forest": "f", "linear": "g"}
    )
    counts = nf.count_confusion(scan, thresholds=[0.5])
    assert counts.select("model", "tp", "fp").rows() == [("forest", 1, 1), ("linear", 1, 0)]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [(["1", "0"], [True, False]), (["true", "FALSE"], [True, False]), (["1.0", "0.0"], [True, False])],
)
def test_labels_of_a_csv(tmp_path: Path, labels: list[str], expected: list[bool]) -> None:
    pl.DataFrame({"model": "007", "label": labels, "score": [0.5, 0.5]}).write_csv(tmp_path / "log.csv")
    found = nf.scan_predictions(tmp_path / "log.csv").collect()
    assert found["label"].to_list() == expected
    assert found["model"].to_list() == ["007", "007"]


@pytest.mark.parametrize(
    "rows", [3_000 * "a,1,0.5\n" + "\xff,0,0.5\n", 'a"b,1,0.5\nb,0,0.2\n', '"' + 20_000 * "a,1,0.5\n"]
)
def test_what_polars_says_of_a_bad_csv(tmp_path: Path, rows: str) -> None:
    (tmp_path / "bad.csv").write_text("model,label,score\n" + rows, encoding="latin-1")
    with pytest.raises(nf.SourceError, match=r"cannot be read(.|\n)*bad\.csv"):
        nf.count_confusion(nf.scan_predictions(tmp_path), thresholds=[0.5])


def test_blank_lines_before_a_header(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("\n\nmodel,label,score\na,1,0.5\n")
    assert nf.scan_predictions(tmp_path / "log.csv").collect().rows() == [("a", True, 0.5)]


def test_a_name_of_a_csv_may_have_another_separator(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("model,label,score,a;b\nx,1,0.5,y\n")
    assert nf.scan_predictions(path, segments="a;b").collect().row(0) == ("x", "y", True, 0.5)


def test_a_csv_may_repeat_the_keys_of_its_folders(tmp_path: Path) -> None:
    folder = tmp_path / "country=at"
    folder.mkdir()
    part = LOG.filter(country="at")
    part.write_csv(folder / "log.csv")
    found = nf.count_confusion(nf.scan_predictions(tmp_path, **COLUMNS), thresholds=GRID)
    assert found.equals(WHOLE.filter(country="at"))
