"""Memory is known before it is taken, and a scan takes no more of it than was meant."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.base.memory import machine_memory
from nci_frames.counting.engine import batches
from nci_frames.demo import write_synthetic_logs
from tests.forks import LOG
from tests.processes import in_python


@pytest.mark.parametrize("thresholds", [nf.uniform_thresholds(1001), "exact"], ids=["grid", "exact"])
def test_memory_is_refused_before_it_is_taken(thresholds: Any) -> None:
    log = LOG.with_columns(user=pl.int_range(2000) // 2, score=pl.int_range(2000) / 2000)
    scan = nf.scan_predictions(log, segments=["country", "user"])
    with pytest.raises(nf.ParameterError, match="the limit is 1e-05 GB") as error:
        nf.count_confusion(scan, thresholds=thresholds, memory_limit=1e4)
    assert "raise memory_limit" in str(error.value)
    if thresholds != "exact":
        assert "x 1,004 thresholds x" in str(error.value)
        assert "'user' has" in str(error.value)
    counts = nf.count_confusion(scan, thresholds=thresholds, memory_limit=1e9, by="country")
    assert counts.height > 0


def test_too_many_groups_are_refused_while_they_are_met() -> None:
    # 100,000 groups at 65,535 thresholds would take some 500 GB.
    log = pl.select(
        model=pl.repeat("a", 100_000),
        label=pl.int_range(100_000) % 2,
        score=pl.int_range(100_000) / 1e5,
        user=pl.int_range(100_000),
    )
    with pytest.raises(nf.ParameterError, match=r"the counts take .* GB, and the limit is") as error:
        nf.count_confusion(log, thresholds=nf.uniform_thresholds(65_535))
    assert "'user' has" in str(error.value)
    assert machine_memory() > 1e8


def test_a_variable_that_was_set_meanwhile_is_kept(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    variable = "POLARS_ROW_GROUP_PREFETCH_SIZE"
    monkeypatch.delenv(variable, raising=False)
    write_synthetic_logs(tmp_path, rows=1000)
    with batches._one_row_group_ahead(local=True):
        assert os.environ[variable] == "1"
    assert variable not in os.environ
    with batches._one_row_group_ahead(local=True):
        os.environ[variable] = "7"
    assert os.environ[variable] == "7"
    nf.count_confusion(nf.scan_predictions(tmp_path), thresholds=[0.5])
    assert os.environ[variable] == "7"


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc, which Linux has")
def test_memory_does_not_grow_with_the_score_columns(tmp_path: Path) -> None:
    code = (
        "import sys, nci_frames as nf; "
        "count = int(sys.argv[2]); "
        "scores = {f'm{i}': f's{i}' for i in range(count)}; "
        "scan = nf.scan_predictions(sys.argv[1], scores=scores); "
        "nf.count_confusion(scan, thresholds=[0.5]); "
        # Not ru_maxrss, which begins with the memory of the process that started this one.
        "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
    )
    rng = np.random.default_rng(2)
    score = rng.random(100_000).astype(np.float32)
    wide = pl.DataFrame({"label": score > 0.9, **{f"s{place}": score for place in range(200)}})
    wide.write_parquet(tmp_path / "wide.parquet")
    peaks = []
    for columns in (20, 200):
        done = in_python(code, tmp_path / "wide.parquet", columns)
        peaks.append(int(done.stdout))
    # In one scan the larger took 1 GB more than the smaller.
    assert peaks[1] < peaks[0] + 500_000
