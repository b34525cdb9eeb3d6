"""benchmarks/curve_peers.py gives every package the same work; docs/performance.md has what it measured."""

import runpy
from pathlib import Path

import numpy as np
import polars as pl
import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = runpy.run_path(str(ROOT / "benchmarks" / "curve_peers.py"))
PAGE = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")


def test_the_same_work_gives_the_same_numbers(tmp_path):
    path = tmp_path / "log.parquet"
    PROGRAM["write_log"](path, 3_000)
    exact, other = (PROGRAM[name](str(path))() for name in ("nci_frames_exact", "scikit_learn"))
    assert exact == pytest.approx(other, rel=1e-12)
    log = pl.read_parquet(path)
    at = np.linspace(0, 1, PROGRAM["THRESHOLDS"])[PROGRAM["THRESHOLDS"] // 2]
    assert at == pytest.approx(PROGRAM["AT"], rel=1e-15)
    expected = {
        name: log.filter(label=of_class).select((pl.col("score") >= at).mean()).item()
        for name, of_class in (("tpr", True), ("fpr", False))
    }
    assert PROGRAM["nci_frames_grid"](str(path))() == pytest.approx({"threshold": at, **expected}, rel=1e-12)


def test_the_page_has_a_row_of_every_contender():
    table = PAGE.partition(PROGRAM["BEGIN"])[2].partition(PROGRAM["END"])[0]
    named = [(shown, what) for _, _, _, shown, what in PROGRAM["CONTENDERS"].values()]
    rows = [
        line.split(" | ") for line in table.splitlines() if line.startswith("| ") and line[2:9] != "package"
    ]
    assert [
        (row[0].removeprefix("| ").rsplit(" ", 1)[0], row[1]) for row in rows if "---" not in row[0]
    ] == named
