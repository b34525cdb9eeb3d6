"""A scan keeps its promise whatever is made of its frame: no row is lost in silence."""

import gc
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from tests.cases import first_quick
from tests.logs import COUNTS

LOG = pl.DataFrame(
    {
        "model": ["a", "b"] * 50,
        "country": ["at", "de", "fr", None] * 25,
        "label": [None, 1, 0, 0, 1] * 20,
        "score": [0.1, 0.9, float("nan"), 0.4] * 25,
    }
)
VALID = LOG.drop_nulls("label").filter(pl.col("score").is_not_nan()).with_columns(pl.col("label") == 1)

CHANGES: dict[str, Callable[[pl.LazyFrame], pl.LazyFrame]] = {
    "filter": lambda frame: frame.filter(pl.col("country") == "de"),
    "select": lambda frame: frame.select("model", "label", "score"),
    "with_columns": lambda frame: frame.with_columns(score=pl.col("score") * 2),
    "head": lambda frame: frame.head(20),
    "tail": lambda frame: frame.tail(20),
    "head of filter": lambda frame: frame.filter(pl.col("country") == "de").head(3),
    "sort": lambda frame: frame.sort("score", maintain_order=True),
    "concat": lambda frame: pl.concat([frame, frame.filter("label")]),
    "unique": lambda frame: frame.unique(maintain_order=True),
    "group_by": lambda frame: frame.group_by("model", maintain_order=True).agg(pl.col("score").sum()),
    "join": lambda frame: frame.join(
        pl.LazyFrame({"model": ["a"], "x": [1]}), on="model", maintain_order="left"
    ),
    "rename": lambda frame: frame.rename({"country": "land"}),
    "clone": lambda frame: frame.clone(),
}


def dropping(folder: Path, *, files: bool) -> pl.LazyFrame:
    LOG.write_parquet(folder / "log.parquet", row_group_size=10)
    source = folder / "log.parquet" if files else LOG
    return nf.scan_predictions(source, segments="country", on_invalid="drop")


@pytest.mark.parametrize("files", [False, True])
@pytest.mark.parametrize("engine", first_quick(["streaming", "in-memory"]))
@pytest.mark.parametrize("name", CHANGES)
def test_what_was_dropped_is_told_by_every_frame(tmp_path: Path, name: str, engine: str, files: bool) -> None:
    change = CHANGES[name]
    with pytest.warns(nf.InvalidRowsWarning, match=r"rows dropped from .*label is null.*score is NaN"):
        found = change(dropping(tmp_path, files=files)).collect(engine=engine)  # type: ignore[call-overload]
    assert_frame_equal(found, change(VALID.lazy().select("model", "country", "label", "score")).collect())


@pytest.mark.parametrize("name", ["filter", "select", "with_columns", "head", "concat", "clone"])
def test_counting_a_changed_frame_tells_it_too(tmp_path: Path, name: str) -> None:
    change = CHANGES[name]
    with pytest.warns(nf.InvalidRowsWarning, match="rows dropped from"):
        found = nf.count_confusion(change(dropping(tmp_path, files=True)), thresholds=[0.5])
    assert_frame_equal(found, nf.count_confusion(change(VALID.lazy()).collect(), thresholds=[0.5]))


def test_what_was_read_of_a_part_is_told_as_a_part(tmp_path: Path) -> None:
    scan = dropping(tmp_path, files=False)
    with pytest.warns(nf.InvalidRowsWarning, match=r"20 \(label is null\), 20 \(score is NaN\)$"):
        scan.collect()
    many = nf.scan_predictions(pl.concat([LOG] * 3000), on_invalid="drop")
    with pytest.warns(nf.InvalidRowsWarning, match=r"of the first [0-9,]+ rows that were read$"):
        assert len(many.head(1).collect()) == 1


@pytest.mark.parametrize("name", CHANGES)
def test_invalid_rows_are_refused_by_every_frame(name: str) -> None:
    scan = nf.scan_predictions(LOG, segments="country")
    with pytest.raises(nf.InvalidRowsError, match="20 rows: label is null, 20 rows: score is NaN"):
        CHANGES[name](scan).collect()


@pytest.mark.parametrize("name", ["filter", "select", "with_columns", "sort", "concat", "clone"])
def test_the_control_total_is_kept_by_every_frame(tmp_path: Path, name: str) -> None:
    VALID.write_parquet(tmp_path / "log.parquet")
    scan = CHANGES[name](nf.scan_predictions(tmp_path, segments="country"))
    VALID[:-1].write_parquet(tmp_path / "log.parquet")  # changed between the scan and the read
    with pytest.raises(nf.SourceError, match=f"{len(VALID) - 1} of {len(VALID)} rows"):
        scan.collect()
    with pytest.raises(nf.SourceError, match=f"{len(VALID) - 1} of {len(VALID)} rows"):
        nf.count_confusion(scan, thresholds=[0.5])


def test_a_frame_without_invalid_rows_says_nothing() -> None:
    scan = nf.scan_predictions(VALID, segments="country", on_invalid="drop")
    counts = nf.count_confusion(scan.filter(country="de"), thresholds=[0.5])
    assert counts.select(pl.sum_horizontal(COUNTS).sum()).item() == (VALID["country"] == "de").sum()


@pytest.mark.thorough
def test_a_scan_that_is_gone_is_never_taken_for_another() -> None:
    # The frames are made at the address of the one before, which is gone.
    for place in range(50):
        one = VALID[place : place + 10]
        scan = nf.scan_predictions(one)
        total = nf.count_confusion(scan, thresholds=[0.5]).select(pl.sum_horizontal(COUNTS).sum()).item()
        plain = nf.count_confusion(one.lazy().head(3), thresholds=[0.5], by=[])
        assert (total, plain.select(pl.sum_horizontal(COUNTS).sum()).item()) == (10, 3)
        del scan
        gc.collect(1)


@pytest.mark.filterwarnings("ignore::nci_frames.IgnoredUnitsWarning")
def test_a_frame_counted_directly_is_predictions_with_keys() -> None:
    frame = VALID.with_columns(fold=pl.Series([1, 2] * (len(VALID) // 2)), weight=2.0, unit=pl.lit("ann"))
    direct = nf.count_confusion(frame, thresholds=[0.5])
    assert direct.columns[:5] == ["model", "fold", "country", "weight", "threshold"]
    for same in (frame, frame.lazy(), frame.to_arrow()):
        assert_frame_equal(nf.count_confusion(same, thresholds=[0.5]), direct)  # type: ignore[arg-type]
    scan = nf.scan_predictions(frame, fold="fold", segments="country", weight="weight", unit="unit")
    assert_frame_equal(nf.count_confusion(scan, thresholds=[0.5]), direct)
    assert_frame_equal(nf.count_confusion(nf.scan_predictions(scan), thresholds=[0.5]), direct)


def test_of_a_log_those_columns_are_read_that_are_named(tmp_path: Path) -> None:
    frame = VALID.with_columns(weight=2.0, age=0.5)
    frame.write_parquet(tmp_path / "log.parquet")
    for source in (frame, frame.lazy(), tmp_path):
        assert nf.scan_predictions(source).collect_schema().names() == ["model", "label", "score"]
    for named in ({"segments": "country"}, {"segments": ["country"], "model": "model"}):
        assert nf.scan_predictions(frame, **named).collect_schema().names() == [  # type: ignore[arg-type]
            "model", "country", "label", "score",
        ]  # fmt: skip
    assert nf.scan_predictions(frame, segments=()).collect_schema().names() == ["model", "label", "score"]
