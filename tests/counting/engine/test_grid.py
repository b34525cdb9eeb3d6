"""What the fast kernel is made of, each part against the plain way to do the same."""

import itertools
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from nci_frames.counting.engine import groups as groups_module
from nci_frames.counting.engine.grid import Counted
from nci_frames.counting.engine.groups import GroupNumbers, HashCollisionError
from nci_frames.counting.engine.memory import Budget
from nci_frames.counting.engine.passes import count_at
from nci_frames.counting.logs.reading import Scan, scan_of
from nci_frames.demo import write_synthetic_logs
from tests.logs import hard_links, random_log

GRID = np.linspace(-1, 1, 51)


def count(scan: Scan, group: list[str]) -> tuple[pl.DataFrame, dict[int, int]]:
    counted = count_at(scan, group, GRID, budget=Budget.of(None))
    return counted.counts, counted.rows_by_code


def scanned(log: pl.DataFrame | Path, **columns: object) -> tuple[pl.LazyFrame, Scan]:
    predictions = nf.scan_predictions(log, fold="fold", segments="country", **columns)  # type: ignore[arg-type]
    scan = scan_of(predictions)
    assert scan is not None
    return predictions, scan


@pytest.mark.thorough
@pytest.mark.parametrize("weighted", [False, True])
def test_neither_batches_nor_cells_change_a_bit(
    weighted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = random_log(600).with_columns(w=pl.Series(np.random.default_rng(1).random(600)))
    for part in range(5):
        log[part * 120 : part * 120 + 120].write_parquet(tmp_path / f"{part}.parquet", row_group_size=50)
    _, scan = scanned(tmp_path, weight="w" if weighted else None)
    group = ["model", "country"]
    expected, rows = count(scan, group)
    assert rows == {0: 600}
    for batch_rows in (1, 77, 600):
        monkeypatch.setattr("nci_frames.counting.logs.reading._FEWEST_ROWS", batch_rows)
        monkeypatch.setattr("nci_frames.counting.logs.reading._MOST_ROWS", batch_rows)
        monkeypatch.setattr("nci_frames.counting.engine.batch.SLICE_ROWS", 60)
        found, _ = count(scan, group)
        assert_frame_equal(found, expected, rel_tol=0, abs_tol=0)


@pytest.mark.parametrize("weight", [None, "w"])
def test_more_thresholds_change_no_count_and_have_theirs_apart(weight: str | None) -> None:
    log = random_log(3000).with_columns(w=pl.Series(np.random.default_rng(1).random(3000)))
    _, scan = scanned(log, weight=weight)

    def counted(grid: np.ndarray, also: np.ndarray | None = None) -> Counted:
        return count_at(scan, ["model", "country"], grid, also, budget=Budget.of(None))

    # One of them is in the grid, too.
    also = np.array([GRID[3], -0.005, 0.123])
    both = counted(GRID, also)
    assert both.also is not None
    # Weights are added bin by bin, and the bins are others.
    exactly = weight is None
    assert_frame_equal(both.counts, counted(GRID).counts, check_exact=exactly, rel_tol=1e-12)
    assert_frame_equal(both.also, counted(also).counts, check_exact=exactly, rel_tol=1e-12)


def test_columns_in_pieces_of_other_lengths_are_counted_as_if_in_one() -> None:
    log = random_log(5000).with_columns(w=pl.Series(np.random.default_rng(1).random(5000)))
    cuts = {"score": (1000, 4000), "label": (1000, 4000), "w": (2500,), "model": (17,)}
    pieces = log.with_columns(
        pl.concat([log[name][a:b] for a, b in itertools.pairwise((0, *cut, 5000))], rechunk=False)
        for name, cut in cuts.items()
    )
    assert {len(column.chunk_lengths()) for column in pieces} == {1, 2, 3}
    for weight in (None, "w"):
        expected, found = (
            nf.count_confusion(
                nf.scan_predictions(frame, fold="fold", segments="country", weight=weight), thresholds=GRID
            )
            for frame in (log, pieces)
        )
        assert_frame_equal(found, expected, rel_tol=0, abs_tol=0)


def test_many_groups_are_told_apart() -> None:
    keys = pl.DataFrame(
        {"a": pl.Series(range(30_000)) % 200, "b": (pl.Series(range(30_000)) // 200).cast(pl.String)}
    )
    keys = keys.with_columns(pl.when(pl.col("a") > 0).then("b").alias("b"))  # with nulls
    numbers = GroupNumbers(keys.schema)
    shuffled = keys.sample(fraction=1, shuffle=True, seed=0)
    found = [
        numbers.numbers(batch.select(numbers.hash).to_series().to_numpy(), batch)
        for batch in shuffled.iter_slices(997)
    ]
    assert len(numbers) == keys.n_unique()
    assert numbers.frame()[np.concatenate(found)].equals(shuffled)


@pytest.mark.parametrize("thresholds", ["exact", [0.0, 0.5]], ids=str)
def test_after_a_collision_of_hashes_all_is_counted_again(
    monkeypatch: pytest.MonkeyPatch, thresholds: object
) -> None:
    log = random_log(300)
    expected = nf.count_confusion(log, thresholds=thresholds)  # type: ignore[arg-type]
    honest = GroupNumbers.hash.fget  # type: ignore[attr-defined]
    seeds = []

    def colliding(numbers: GroupNumbers) -> pl.Expr:
        seeds.append(numbers.seed)
        return honest(numbers) if numbers.seed else pl.col("model").hash()

    monkeypatch.setattr(groups_module.GroupNumbers, "hash", property(colliding))
    assert_frame_equal(nf.count_confusion(log, thresholds=thresholds), expected)  # type: ignore[arg-type]
    assert seeds == [0, 1]
    monkeypatch.setattr(groups_module.GroupNumbers, "hash", property(lambda _: pl.col("model").hash()))
    with pytest.raises(HashCollisionError):
        nf.count_confusion(log, thresholds=thresholds)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [pl.String, pl.Int64, pl.Float32, pl.Date])
def test_pairs_of_the_same_values_have_other_hashes(dtype: type[pl.DataType]) -> None:
    values = pl.DataFrame({"a": pl.Series(range(300)).cast(dtype)})
    pairs = values.join(values.rename({"a": "b"}), how="cross")
    hashed = pairs.select(GroupNumbers(pairs.schema).hash.alias("hash"))["hash"]
    assert hashed.n_unique() == 300**2


@pytest.mark.parametrize("names", [["a", "a name of more than twelve bytes, é", ""], ["a", None, "b" * 40]])
def test_keys_are_repeated_as_they_are(names: list[str | None]) -> None:
    log = pl.DataFrame({"model": names, "score": 0.5, "label": [0, 1, 1], "k": [3, None, 1]})
    counts = nf.count_confusion(log.select("model", "score", "label"), thresholds=[0.2, 0.4])
    ordered = sorted(names, key=lambda n: (n or "", n))
    assert counts["model"].to_list() == [name for name in ordered for _ in "ab"]
    # A name of a column may hold what Arrow's may not.
    odd = log.with_columns(pl.col("model").alias("a\0b"))
    assert nf.count_confusion(odd, thresholds=[0.5])["a\0b"].to_list() == ordered
    exact = nf.count_confusion(log, thresholds="exact")
    assert sorted(exact.select("model", "k").rows(), key=repr) == sorted(
        log.select("model", "k").rows(), key=repr
    )


@pytest.mark.long
@pytest.mark.parametrize("thresholds", ["[0.1, 0.5]", "'exact'"])
def test_an_interrupt_stops_the_count(tmp_path: Path, thresholds: str) -> None:
    for file in write_synthetic_logs(tmp_path, rows=400_000).glob("*.parquet"):
        hard_links(file, 150)  # 60 million rows
    code = (
        "import sys, nci_frames as nf; "
        "scan = nf.scan_predictions(sys.argv[1], fold='fold', segments='segment'); "
        "print('counting', flush=True); "
        f"nf.count_confusion(scan, thresholds={thresholds}, memory_limit=1e12)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "counting\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=30)
        finally:
            process.kill()  # one that hangs would keep the tests from ending
    assert process.returncode == -signal.SIGINT
    # A thread of Polars that reads ahead may add that it was interrupted, too.
    assert "KeyboardInterrupt" in errors.splitlines()
