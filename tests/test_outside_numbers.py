"""Numbers that others print, beside those of the library; more of them are in ``docs/honesty.md``."""

import json
import subprocess
import sys

import polars as pl
import pytest
import sklearn

import nci_frames as nf

#: What takes another ten seconds, and what is about metrics that the library does not have.
SLOW, OTHER = (
    "multiclass or perfect_imp or micro or roc_curve_toydata",
    "ndcg or top_k or label_ranking or lrap",
)


def test_finley():
    # Finley's tornado forecasts of 1884, of which the table is in Murphy (1996),
    # doi:10.1175/1520-0434(1996)011<0003:TFAASE>2.0.CO;2; the scores are those of the package scores.
    counts = pl.DataFrame(
        {"model": "Finley", "threshold": 0.5, "tp": [28], "fp": [72], "fn": [23], "tn": [2680]}
    )
    found = nf.project_rates(nf.compute_rates(counts), metrics=["hss", "gilbert"], prevalence="observed")
    assert dict(found.select("metric", "value").rows()) == {
        "hss": pytest.approx(0.355325, abs=5e-7),
        "gilbert": pytest.approx(0.216046, abs=5e-7),
    }


@pytest.mark.thorough
def test_tests_of_scikit_learn_hold(tmp_path):
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-p", "tests.sklearn_shim", "-p", "no:cacheprovider",
            "-p", "no:randomly", "-c", "/dev/null", "--rootdir", str(tmp_path), "-k",
            f"not ({SLOW} or {OTHER})", "--pyargs", "sklearn.metrics.tests.test_ranking",
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    ended = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    assert len(ended) >= 70, (sklearn.__version__, done.stdout)
    # A row of weight 0 is a row here, and its score a threshold; scikit-learn leaves it out.
    assert {name.partition("[")[0] for name, outcome in ended.items() if outcome != "passed"} <= {
        "test_confusion_matrix_at_thresholds_zero_sample_weight"
    }
