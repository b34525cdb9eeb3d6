"""The notebook runs, and what its cells show is a comparison, charts and a table."""

import runpy
import subprocess
import sys
from pathlib import Path

import altair as alt
import pytest
from great_tables import GT

import nci_frames as nf

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebook.py"


@pytest.mark.long
def test_every_cell_shows_what_it_makes():
    shown, made = runpy.run_path(str(NOTEBOOK))["app"].run()
    known = (nf.Comparison, alt.LayerChart, GT)
    kinds = [kind for output in shown for kind in known if isinstance(output, kind)]
    assert kinds == [nf.Comparison, alt.LayerChart, alt.LayerChart, alt.LayerChart, GT]
    areas = made["comparison"].areas.filter(metric="pr_auc")
    best = areas.filter(rank=1).sort("prevalence")["model"].to_list()
    # The point of the notebook: who is best depends on the prevalence.
    assert best[0] != best[-1]


@pytest.mark.slow
def test_the_notebook_becomes_a_page_that_holds_all_outputs(tmp_path):
    # marimo keeps what it found beside the notebook, so it gets one of its own.
    notebook, page = tmp_path / "notebook.py", tmp_path / "notebook.html"
    notebook.write_text(NOTEBOOK.read_text())
    words = ("--yes", "export", "html", str(notebook), "--output", str(page), "--no-include-code")
    command = [sys.executable, "-m", "marimo", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # The command fails if a cell does.
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    for part in ("PR-AUC and rank over prevalence", "vegalite", "F-beta over", "nci-pr-auc-prevalence"):
        assert part in text, part
