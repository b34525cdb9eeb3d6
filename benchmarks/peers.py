"""Evaluate one log with other packages and with this one: the numbers, the seconds, the lines of code.

    python benchmarks/peers.py --python evidently=/venvs/evidently/bin/python --write

Each peer runs in a new process, with the Python that ``--python`` names, or else with this one. The table is
in docs/coming-from.md. A peer's code is the body of its function below, written as its documentation does.
"""

import argparse
import inspect
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "coming-from.md"
#: The share of positives in the field, at which PR-AUC and precision are also wanted.
FIELD = 0.001
THRESHOLD = 0.5
ROWS = 200_000
Values = dict[str, dict[str, float]]

#: column of the table -> what it compares
WANTED = {
    "counts": ("tp", "fp", "fn", "tn"),
    "precision, recall": ("precision", "recall"),
    "F1": ("f1",),
    "ROC-AUC": ("roc_auc",),
    "PR-AUC": ("pr_auc",),
    "precision at 0.001": ("field_precision",),
    "PR-AUC at 0.001": ("field_pr_auc",),
}


def nci_frames(path: str) -> Values:
    """Evaluate with this library."""
    import polars as pl

    import nci_frames as nf

    counts = nf.count_confusion(nf.scan_predictions(path), thresholds="exact")
    points = nf.select_operating_points(nf.compute_rates(counts), threshold=THRESHOLD)
    observed = nf.project_rates(points, metrics=["precision", "recall", "f_beta"], prevalence="observed")
    field = nf.project_rates(points, metrics="precision", prevalence=FIELD)
    areas = nf.compute_areas(counts, prevalence="observed")
    field_areas = nf.compute_areas(counts, prevalence=FIELD).filter(metric="pr_auc")
    shown = [
        points.select("model", "tp", "fp", "fn", "tn").unpivot(index="model", variable_name="metric"),
        pl.concat([observed, areas], how="diagonal").with_columns(pl.col("metric").replace("f_beta", "f1")),
        pl.concat([field, field_areas], how="diagonal").with_columns(metric="field_" + pl.col("metric")),
    ]
    table = pl.concat([part.select("model", "metric", pl.col("value").cast(float)) for part in shown])
    return {model: dict(rows.select("metric", "value").rows()) for (model,), rows in table.group_by("model")}


def scikit_learn(path: str) -> Values:
    """Evaluate with scikit-learn: weights of the negatives move the prevalence."""
    import numpy as np
    import pandas as pd
    from sklearn import metrics

    values = {}
    for model, rows in pd.read_parquet(path).groupby("model"):
        y, score = rows["label"].to_numpy(), rows["score"].to_numpy()
        alert = score >= THRESHOLD
        tn, fp, fn, tp = metrics.confusion_matrix(y, alert).ravel()
        precision, recall, f1, _ = metrics.precision_recall_fscore_support(y, alert, average="binary")
        weight = np.where(y, 1.0, (1 - FIELD) / FIELD * y.sum() / (~y).sum())
        values[model] = {
            "tp": tp, "fp": fp, "fn": fn, "tn": tn, "precision": precision, "recall": recall, "f1": f1,
            "roc_auc": metrics.roc_auc_score(y, score),
            "pr_auc": metrics.average_precision_score(y, score),
            "field_precision": metrics.precision_score(y, alert, sample_weight=weight),
            "field_pr_auc": metrics.average_precision_score(y, score, sample_weight=weight),
        }  # fmt: skip
    return values


def duckdb(path: str) -> Values:
    """Evaluate with DuckDB: one query, whose windows go down the distinct scores."""
    import duckdb

    query = f"""
        WITH scores AS (
            SELECT model, score, count(*) FILTER (label) AS p, count(*) FILTER (NOT label) AS n
            FROM read_parquet('{path}') GROUP BY model, score
        ), curve AS (
            SELECT *, sum(p) OVER down AS tp, sum(n) OVER down AS fp,
                sum(p) OVER (PARTITION BY model) AS pos, sum(n) OVER (PARTITION BY model) AS neg
            FROM scores WINDOW down AS (PARTITION BY model ORDER BY score DESC)
        ), rates AS (SELECT *, tp / pos AS tpr, fp / neg AS fpr, {FIELD} AS eta FROM curve),
        areas AS (
            SELECT model,
                sum(n / neg * (tpr - p / pos / 2)) AS roc_auc,
                sum(p / pos * tp / (tp + fp)) AS pr_auc,
                sum(p / pos * eta * tpr / (eta * tpr + (1 - eta) * fpr)) AS field_pr_auc
            FROM rates GROUP BY model
        ), points AS (
            SELECT model, tp, fp, pos - tp AS fn, neg - fp AS tn, tp / (tp + fp) AS precision,
                tpr AS recall, 2 * tp / (tp + fp + pos) AS f1,
                eta * tpr / (eta * tpr + (1 - eta) * fpr) AS field_precision
            FROM rates WHERE score >= {THRESHOLD}
            QUALIFY row_number() OVER (PARTITION BY model ORDER BY score) = 1
        )
        SELECT * FROM points JOIN areas USING (model)
    """
    rows = duckdb.sql(query)
    return {row[0]: dict(zip(rows.columns[1:], row[1:], strict=True)) for row in rows.fetchall()}


def tfma(path: str) -> Values:
    """Evaluate with TensorFlow Model Analysis: a slice for each model, areas from 10,000 thresholds."""
    import pandas as pd
    import tensorflow_model_analysis as tfma
    from google.protobuf import text_format
    from tensorflow_model_analysis.proto.config_pb2 import EvalConfig

    config = text_format.Parse(
        """
        model_specs { prediction_key: "score" label_key: "label" }
        slicing_specs { feature_keys: ["model"] }
        metrics_specs {
            metrics { class_name: "ConfusionMatrixAtThresholds" config: '{"thresholds": [0.5]}' }
            metrics { class_name: "AUC" config: '{"num_thresholds": 10000}' }
            metrics { class_name: "AUCPrecisionRecall" config: '{"num_thresholds": 10000}' }
        }
        """,
        EvalConfig(),
    )
    rows = pd.read_parquet(path).astype({"label": float})
    result = tfma.analyze_raw_data(rows, config)
    values = {}
    for ((_, model),), found in result.slicing_metrics:
        metrics = found[""][""]
        matrices = metrics["confusion_matrix_at_thresholds"]["confusionMatrixAtThresholds"]["matrices"]
        values[model] = {
            "tp": matrices[0]["truePositives"], "fp": matrices[0]["falsePositives"],
            "fn": matrices[0]["falseNegatives"], "tn": matrices[0]["trueNegatives"],
            "precision": matrices[0]["precision"], "recall": matrices[0]["recall"], "f1": matrices[0]["f1"],
            "roc_auc": metrics["auc"]["doubleValue"],
            "pr_auc": metrics["auc_precision_recall"]["doubleValue"],
        }  # fmt: skip
    return values


def evidently(path: str) -> Values:
    """Evaluate with Evidently: a report for each model."""
    import pandas as pd
    from evidently import BinaryClassification, DataDefinition, Dataset, Report
    from evidently.metrics import F1Score, Precision, Recall, RocAuc

    values = {}
    names = {"precision": Precision, "recall": Recall, "f1": F1Score, "roc_auc": RocAuc}
    for model, rows in pd.read_parquet(path).groupby("model"):
        task = BinaryClassification(target="label", prediction_probas="score")
        data = Dataset.from_pandas(rows.astype({"label": int}), DataDefinition(classification=[task]))
        report = Report([metric(probas_threshold=THRESHOLD) for metric in names.values()]).run(data)
        found = report.dict()["metrics"]
        values[model] = {name: item["value"] for name, item in zip(names, found, strict=True)}
    return values


def nannyml(path: str) -> Values:
    """Evaluate with NannyML: one chunk for each model; it asks for a reference and for decisions."""
    import nannyml as nml
    import pandas as pd

    names = ["confusion_matrix", "precision", "recall", "f1", "roc_auc", "average_precision"]
    values = {}
    for model, rows in pd.read_parquet(path).groupby("model"):
        data = rows.assign(label=rows["label"].astype(int), alert=(rows["score"] >= THRESHOLD).astype(int))
        calculator = nml.PerformanceCalculator(
            y_true="label", y_pred="alert", y_pred_proba="score", problem_type="classification_binary",
            metrics=names, chunk_size=len(data),
        )  # fmt: skip
        table = calculator.fit(data).calculate(data).filter(period="analysis").to_df()
        found = {name: table[name, "value"].item() for name in names[1:]}
        for short, name in {"tp": "true_positive", "fp": "false_positive", "fn": "false_negative"}.items():
            found[short] = table[name, "value"].item()
        found["tn"] = table["true_negative", "value"].item()
        values[model] = {**found, "pr_auc": found.pop("average_precision")}
    return values


def nci_eval(path: str) -> Values:
    """Evaluate with nci_eval: it takes rates, which scikit-learn counts, and draws; areas are private."""
    import numpy as np
    import pandas as pd
    from nci_eval.metrics import precision_from_tpr_fpr
    from nci_eval.plots import PositivePriorPraucPlot
    from sklearn.metrics import roc_curve

    values = {}
    for model, rows in pd.read_parquet(path).groupby("model"):
        fpr, tpr, score = roc_curve(rows["label"], rows["score"], drop_intermediate=False)
        at = np.flatnonzero(score >= THRESHOLD)[-1]
        observed, plot = rows["label"].mean(), PositivePriorPraucPlot()
        values[model] = {
            "precision": precision_from_tpr_fpr(tpr[at], fpr[at], observed),
            "recall": tpr[at],
            "pr_auc": plot._pr_auc(tpr[1:], fpr[1:], observed),  # noqa: SLF001 - nothing public returns it
            "field_precision": precision_from_tpr_fpr(tpr[at], fpr[at], FIELD),
            "field_pr_auc": plot._pr_auc(tpr[1:], fpr[1:], FIELD),  # noqa: SLF001
        }
    return values


#: name -> (function, name of the distribution)
PEERS: dict[str, tuple[Callable[[str], Values], str]] = {
    "nci_frames": (nci_frames, "nci_frames"),
    "scikit-learn": (scikit_learn, "scikit-learn"),
    "DuckDB": (duckdb, "duckdb"),
    "TFMA": (tfma, "tensorflow-model-analysis"),
    "Evidently": (evidently, "evidently"),
    "NannyML": (nannyml, "nannyml"),
    "nci_eval": (nci_eval, "nci-eval"),
}


def lines_of(function: Callable[[str], Values]) -> int:
    """Return how many lines a function has, without its name, its text, and blank ones."""
    return sum(bool(line.strip()) for line in inspect.getsource(function).splitlines()[2:])


def write_log(path: Path, rows: int = ROWS) -> None:
    """Write the log: two models of the same rows, 1 in 20 positive, Float64 scores without many ties."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(1)
    label = rng.random(rows) < 0.05
    logs = [
        pl.DataFrame({"model": name, "label": label, "score": rng.normal(shift * label, 1 + spread * label)})
        for name, shift, spread in (("forest", 2.5, 0.0), ("linear", 2.6, 0.9))
    ]
    pl.concat(logs).with_columns(score=1 / (1 + (2 - pl.col("score")).exp())).write_parquet(path)


def run_here(name: str, path: str) -> None:
    """Run one peer in this process: once to import and compile, and once more to be timed."""
    function, package = PEERS[name]
    started = time.process_time()
    function(path)
    first = time.process_time()
    values = function(path)
    last = time.process_time()
    plain = {model: {key: float(value) for key, value in found.items()} for model, found in values.items()}
    seconds = {"first": first - started, "again": last - first}
    print("\n" + json.dumps({"values": plain, **seconds, "version": version(package)}))


def measure(name: str, python: str, path: Path) -> dict[str, Any]:
    """Run one peer in a new process, without sending anything to its makers."""
    quiet = dict.fromkeys(("DO_NOT_TRACK", "NML_DISABLE_USAGE_LOGGING"), "1") | {"PYTHONWARNINGS": "ignore"}
    command = [python, __file__, "--run", name, "--log", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | quiet)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def agreement(found: Values, ours: Values, names: tuple[str, ...]) -> str:
    """Return the largest difference from our values, or that there are none."""
    pairs = [(found[m].get(n), ours[m][n]) for m in ours for n in names]
    if any(theirs is None for theirs, _ in pairs):
        return "no"
    largest = max(abs(theirs - own) for theirs, own in pairs if theirs is not None)
    return "same" if largest < 1e-9 else f"{largest:.1g} off"


def table(results: dict[str, dict[str, Any]]) -> str:
    """Return the table of the page."""
    ours = results["nci_frames"]["values"]
    head = ["", *WANTED, "s", "s with imports", "lines"]
    lines = [f"| {' | '.join(head)} |", f"| --- |{' --- |' * len(WANTED)} ---: | ---: | ---: |"]
    for name, result in results.items():
        cells = [f"{name} {result['version']}"]
        cells += [agreement(result["values"], ours, names) for names in WANTED.values()]
        cells += [f"{result['again']:.2f}", f"{result['first']:.1f}", str(lines_of(PEERS[name][0]))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", action="append", default=[], metavar="PEER=PATH")
    parser.add_argument("--write", action="store_true", help="write the table into docs/coming-from.md")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--log", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run_here(options.run, options.log)
        return
    pythons = dict(part.split("=", 1) for part in options.python)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        write_log(path)
        results = {}
        for name in PEERS:
            results[name] = measure(name, pythons.get(name, sys.executable), path)
            print(name, results[name]["again"], flush=True)
    made = table(results)
    print(made)
    if options.write:
        begin, end = "<!-- peers -->\n", "<!-- /peers -->"
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
        day = f"Measured on {datetime.now(UTC):%Y-%m-%d}.\n\n"
        PAGE.write_text(before + begin + day + made + "\n" + end + rest.partition(end)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
