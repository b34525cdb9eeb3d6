"""Every form of every contender in the benchmark of counting counts the same as this library."""

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from nci_frames.demo import write_synthetic_logs

PROGRAMS = Path(__file__).parents[2] / "benchmarks"
pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def programs() -> tuple[ModuleType, ModuleType]:
    sys.path.insert(0, str(PROGRAMS))
    try:
        import contenders  # noqa: PLC0415
        import run  # noqa: PLC0415
    finally:
        sys.path.remove(str(PROGRAMS))
    return contenders, run


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_all_forms_count_the_same(programs, dtype, tmp_path):
    contenders, run = programs
    write_synthetic_logs(tmp_path, rows=4000, models=2, folds=2, segments=2, files=2, dtype=dtype)
    files = [str(file) for file in sorted(tmp_path.glob("*.parquet"))]
    # Some even cells of the lookup tables have several thresholds, most have none.
    arbitrary = np.sort(np.append(np.random.default_rng(0).random(60), 0.5 + np.arange(4) * 1e-6))
    grids = {"arbitrary": arbitrary, "uniform": np.arange(64) / 64, "exact": np.array([])}
    for kind, thresholds in grids.items():
        ours = contenders.CONTENDERS[run.OURS[kind][-1]](files, thresholds)
        expected = contenders.digest(ours, thresholds)
        for form in (form for forms in run.FORMS[kind].values() for form in forms):
            found = contenders.CONTENDERS[form](files, thresholds)
            assert contenders.digest(found, thresholds) == expected, form


def test_a_digest_tells_one_row_in_another_bin(programs):
    contenders, _ = programs
    columns = {"model": "a", "fold": "b", "segment": "c"}
    rows = [{**columns, "bin": place, "positives": 1, "negatives": 2} for place in range(4)]
    thresholds = np.array([0.2, 0.4, 0.6])
    frame = contenders.pl.DataFrame
    same = contenders.digest(frame(rows[::-1]), thresholds)
    assert contenders.digest(frame(rows), thresholds) == same
    rows[1]["positives"], rows[2]["positives"] = 0, 2
    assert contenders.digest(frame(rows), thresholds) != same
