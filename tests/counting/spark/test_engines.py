"""Counts of the examples for other engines are those of one process."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nci_frames as nf
from tests.logs import random_log

FOLDER = Path(__file__).parents[3] / "examples" / "engines"
NEEDS = {"processes": "nci_frames", "ray_counts": "ray", "dask_counts": "distributed"}
pytestmark = [pytest.mark.engines, pytest.mark.thorough]


def test_every_example_is_tested() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == set(NEEDS)


@pytest.mark.parametrize("example", NEEDS)
def test_an_engine_counts_the_same(example: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(NEEDS[example]) is None:
        pytest.skip(f"no {NEEDS[example]}: run `make spark`")
    logs = tmp_path / "logs"
    logs.mkdir()
    for place in range(20):
        log = random_log(400, seed=place)
        log = log.with_columns(score=(1 / (1 + (-pl.col("score")).exp())).cast(pl.Float32))
        # Keys that only some of the files have.
        some = log.filter(pl.col("country").ne_missing(["at", "de", None][place % 3]))
        some.write_parquet(logs / f"{place:02}.parquet")
    out = tmp_path / "counts.parquet"
    subprocess.run(
        [sys.executable, str(FOLDER / f"{example}.py"), str(logs), str(out)],
        check=True,
        timeout=300,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(FOLDER.parents[1]), "RAY_USAGE_STATS_ENABLED": "0"},
    )
    predictions = nf.scan_predictions(logs, segments="country")
    expected = nf.count_confusion(predictions, thresholds=nf.logit_thresholds(101))
    assert_frame_equal(pl.read_parquet(out), expected, check_exact=True)
