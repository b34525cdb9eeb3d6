"""Every example runs, and ends with a frame called ``result``; the notebook has tests of its own."""

import runpy
from pathlib import Path

import polars as pl
import pytest

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(path for path in FOLDER.glob("*.py") if path.stem != "notebook")


@pytest.mark.thorough
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example, capsys):
    result = runpy.run_path(str(example))["result"]
    assert isinstance(result, pl.DataFrame)
    assert not result.is_empty()
    assert capsys.readouterr().out
    if "true_pr_auc" in result.columns:
        assert (result["value"] - result["true_pr_auc"]).abs().max() < 0.03
