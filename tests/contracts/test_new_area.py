"""An area is one object: registered, it is taken by all that rank, resample, compare, judge and answer."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.evaluation.areas.area import Area, Areas, Etas, Logs, enclosed
from nci_frames.evaluation.arrays.roc_steps import Curves
from nci_frames.evaluation.metrics import registry
from nci_frames.jobs.gates.judge import Reference, judge_gates
from nci_frames.jobs.job_file.model import Job
from tests.comparisons import questions
from tests.small_jobs import call

ETAS = [0.1, 0.5]


def _certified(curves: Curves, etas: Etas) -> list[Areas]:
    low = np.clip(curves.score, 0, 1)
    high = np.roll(low, 1)
    high[curves.start] = 1.0
    positives, negatives = curves.tpr1 - curves.tpr0, curves.fpr1 - curves.fpr0
    found = []
    for eta in etas:
        of_step = np.repeat(np.broadcast_to(eta, len(curves.start)), curves.size)

        def at(of_positives: Any, of_negatives: Any, eta: Any = of_step) -> Any:
            return eta * positives * (1 - of_positives) ** 2 + (1 - eta) * negatives * of_negatives**2

        found.append(enclosed(curves, at(low, low), partial(at, high, low), partial(at, low, high)))
    return found


def _replicated(logs: Logs, prevalence: Sequence[float]) -> Any:
    score, etas = np.append(np.clip(logs.histogram.thresholds, 0, 1), 0.0), np.asarray(prevalence)
    of_positives = (logs.positives * (1 - score) ** 2).sum(axis=1) / logs.positives.sum(axis=1)
    of_negatives = (logs.negatives * score**2).sum(axis=1) / logs.negatives.sum(axis=1)
    return etas * of_positives[:, None] + (1 - etas) * of_negatives[:, None]


@pytest.fixture(autouse=True)
def area(monkeypatch: pytest.MonkeyPatch) -> Iterator[Area]:
    """The mean squared error of scores in [0, 1]: less is better, and it needs the scores themselves."""
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))
    new = Area(
        "squared_error",
        aliases=("mse",),
        title="squared error",
        formula="mean of (score - label)²",
        direction="minimize",
        undefined_when="a class has no rows",
        computed_by="compute_areas(counts, metrics='squared_error', prevalence=...)",
        certified=_certified,
        replicated=_replicated,
        of_scores=True,
    )
    registry.add(new)
    return new


def squared_errors(log: pl.DataFrame, eta: float) -> list[float]:
    """The mean squared error of each model at a prevalence, from the rows."""
    error = (pl.col("score") - pl.col("label").cast(pl.Float64)) ** 2
    means = log.group_by("model").agg(
        value=eta * error.filter("label").mean() + (1 - eta) * error.filter(~pl.col("label")).mean()
    )
    return means.sort("model")["value"].to_list()


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    """Three models; by their scores "a" is the best, and by their order it is "z"."""
    rng = np.random.default_rng(3)
    label = rng.random(800) < 0.2
    parts = []
    for model, noise, shift in (("a", 0.15, 0.0), ("m", 0.3, 0.0), ("z", 0.1, 0.9)):
        score = np.clip(np.where(label, 0.75, 0.25) + rng.normal(0, noise, len(label)), 0, 1)
        score = shift + (1 - shift) * score
        parts.append(pl.DataFrame({"model": model, "label": label, "score": score}))
    return pl.concat(parts)


@pytest.fixture(scope="module")
def counts(log: pl.DataFrame) -> pl.DataFrame:
    return nf.count_confusion(log, thresholds="exact")


def test_its_values_are_those_of_the_rows_and_within_bounds(log, counts):
    coarse = nf.count_confusion(log, thresholds=nf.uniform_thresholds(20))
    both = nf.compute_areas(counts, prevalence=ETAS, metrics=["mse", "pr_auc"])
    # What is asked for with it is as without it.
    assert both.filter(metric="pr_auc").equals(nf.compute_areas(counts, prevalence=ETAS, metrics="pr_auc"))
    for eta in ETAS:
        expected = pl.Series(squared_errors(log, eta))
        exact = both.filter(metric="squared_error", prevalence=eta)
        assert exact["value"].to_list() == pytest.approx(expected.to_list(), rel=1e-12)
        assert (exact["lower"] == exact["value"]).all()
        assert exact["supported"].all()
        grid = nf.compute_areas(coarse, prevalence=eta, metrics="mse")
        assert ((grid["lower"] < expected) & (expected < grid["upper"])).all()
    ranks = nf.rank_models(both.filter(metric="squared_error", prevalence=0.1)).select("model", "rank")
    assert ranks.rows() == [("a", 1), ("m", 2), ("z", 3)]


@pytest.mark.thorough
def test_it_is_resampled_and_compared(log, counts):
    options: dict[str, Any] = {"prevalence": 0.1, "repeats": 100}
    table = nf.bootstrap(counts, metric=["mse", "recall"], threshold=counts["threshold"][0], **options)
    table = table.filter(metric="squared_error")
    assert table["value"].to_list() == pytest.approx(squared_errors(log, 0.1), rel=1e-12)
    assert table.select((pl.col("lower") < pl.col("value")) & (pl.col("value") < pl.col("upper")))[:, 0].all()
    best = nf.probability_best(counts, metric="mse", **options)
    assert best.select("model", "probability").rows() == [("a", 1.0), ("m", 0.0), ("z", 0.0)]
    compared = nf.compare_best(counts, metric="mse", **options).select("model", "group", "distinguishable")
    assert compared.rows() == [("a", 1, False), ("m", 2, True), ("z", 3, True)]
    lowest = nf.lowest_supported_prevalence(counts, metric="mse")
    assert lowest["prevalence"].to_list() == [0.0] * 3
    with pytest.raises(nf.ParameterError, match="there is no search for its crossovers"):
        nf.find_crossovers(counts, metric="mse", over="prevalence")
    with pytest.raises(nf.ParameterError, match="'squared_error' is an area of all scores"):
        nf.cross_fit(counts, metric="mse")


@pytest.mark.long
def test_it_is_a_question_in_every_format(log, counts, tmp_path):
    question = nf.Question(metric="mse", prevalence=0.1)
    comparison = nf.compare_models(counts, prevalence=ETAS, question=question)
    answer = comparison.answer
    assert answer.select("model", "metric", "rank", "distinguishable").rows() == [
        ("a", "squared_error", 1, False), ("m", "squared_error", 2, True), ("z", "squared_error", 3, True),
    ]  # fmt: skip
    assert answer["value"].to_list() == pytest.approx(squared_errors(log, 0.1), rel=1e-12)
    assert set(comparison.answer_winners["model"]) == {"a"}
    for suffix in ("html", "md", "json", "txt"):
        asked = None if suffix == "html" else questions("answer", "intervals")
        nf.write_report(comparison, tmp_path / f"report.{suffix}", questions=asked)
        assert "squared" in (tmp_path / f"report.{suffix}").read_text(encoding="utf-8")
    log.write_parquet(tmp_path / "log.parquet")
    options = ("--metric", "mse", "--at", "0.1", "--prevalence", "0.1,0.5", "--format", "json", "--out")
    ran = call("report", tmp_path / "log.parquet", *options, tmp_path / "out")
    assert ran.exit_code == 0, ran.output
    rows = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))["answer"]
    assert [row["model"] for row in rows] == ["a", "m", "z"]


@pytest.mark.thorough
def test_gates_know_in_which_direction_it_is_better(log):
    gates: list[dict[str, Any]] = [
        {"name": "value", "prevalence": 0.1, "value_threshold": {"upper": 0.1}},
        {"name": "change", "prevalence": 0.1, "change_threshold": {"absolute": 0.01}},
        {"name": "champion", "champion": {"model": "a", "prevalence": [0.1]}},
    ]
    asked = [{"metric": "mse", **gate} for gate in gates]
    job = Job.model_validate({"name": "x", "source": {"path": "x"}, "gates": asked})
    thresholds = nf.uniform_thresholds(200)

    def judged(rows: pl.DataFrame, before: pl.DataFrame | None = None) -> dict[tuple[str, str], str]:
        counts = nf.count_confusion(rows, thresholds=thresholds)
        nothing = counts.clear()
        reference = None if before is None else Reference(before, lambda keys, scope: nothing)
        table = judge_gates(job, lambda keys, scope: counts, reference)
        verdicts.append(table.with_columns(pl.col("segment").cast(pl.String)))
        return {(row["gate"], row["model"]): row["verdict"] for row in table.to_dicts()}

    verdicts: list[pl.DataFrame] = []
    found = judged(log)
    assert [found["value", model] for model in "amz"] == ["pass", "fail", "fail"]
    assert found["champion", "a"] == "pass"
    # The scores of "a" and "z" change places: one is worse now, the other better.
    changed = log.with_columns(pl.col("model").replace({"a": "z", "z": "a"}))
    found = judged(changed, verdicts[0])
    assert [found["change", model] for model in "az"] == ["fail", "pass"]
    assert found["champion", "a"] == "fail"
