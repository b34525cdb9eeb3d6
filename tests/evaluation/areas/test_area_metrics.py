"""Areas are metrics: what ranks, compares and resamples metrics takes them from the registry."""

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

import nci_frames as nf
from nci_frames.evaluation.areas.area import Logs, all_areas
from nci_frames.evaluation.arrays.histograms import Histogram
from nci_frames.evaluation.metrics import find_metric
from nci_frames.evaluation.metrics.registry import all_metrics
from tests.cases import first_quick
from tests.logs import counts_of_bins, crossing_models

CURVES = [known for known in all_metrics() if known.kind == "curve"]
#: Every area of the registry, by the function that computes it.
COMPUTED: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "partial_roc_auc": lambda counts: nf.compute_areas(counts, prevalence=0.1, fpr_range=(0, 0.2)),
    **{
        area.name: lambda counts, name=area.name: nf.compute_areas(
            counts, prevalence=[0.01, 0.1], metrics=name
        )
        for area in all_areas()
    },
}


@pytest.mark.parametrize("name", [known.name for known in CURVES])
def test_every_area_is_ranked(name):
    # The scores are logits: some areas are of probabilities.
    probabilities = crossing_models(0, models=3).with_columns(
        threshold=1 / (1 + (-pl.col("threshold")).exp())
    )
    areas = COMPUTED[name](probabilities).filter(metric=name)
    assert len(areas) >= 3
    ranking = nf.rank_models(areas)
    ranks = ranking.group_by("metric", "prevalence").agg(pl.col("rank").sort())["rank"]
    assert ranks.to_list() == [[1, 2, 3]] * (areas.height // 3)
    known = find_metric(name)
    for group in ranking.partition_by("prevalence"):
        assert group.sort("rank")["value"].is_sorted(descending=known.direction == "maximize")
    assert areas["value"].is_between(known.lower, known.upper).all()
    assert known.depends_on_prevalence == (areas["prevalence"].null_count() == 0)
    assert nf.rank_models(ranking).equals(ranking)


@pytest.mark.parametrize("name", [known.name for known in CURVES])
def test_an_area_has_no_value_at_an_operating_point(name):
    counts = crossing_models(0, models=2)
    rates = nf.compute_rates(counts)
    folds = pl.concat(counts.with_columns(fold=pl.lit(fold)) for fold in ("1", "2"))
    maker = find_metric(name).computed_by.split("(")[0]
    asked: list[Callable[[], Any]] = [
        lambda: nf.project_rates(rates, metrics=["precision", name], prevalence=0.1),
        lambda: nf.select_operating_points(rates, metric=name, prevalence=0.1),
        lambda: nf.imbalance_sensitivity(name, ratios=2),
        lambda: nf.metric_surface(name),
        lambda: nf.compare_folds(nf.compute_rates(folds), metric=name),
        lambda: nf.rank_segments(folds, metric=name, segments="fold", threshold=counts["threshold"][0]),
    ]
    for call in asked:
        with pytest.raises(nf.ParameterError, match=f"{name}' is an area(.|\\n)*hint: .*{maker}"):
            call()


logs_of_bins = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=9)


@pytest.mark.parametrize("area", first_quick(all_areas(), 3), ids=lambda area: area.name)
@given(rows=logs_of_bins, logs=st.integers(1, 3))
def test_areas_of_many_logs_are_those_of_each(area, rows, logs):
    rng = np.random.default_rng(len(rows))
    positives, negatives = (
        np.stack([rng.permutation(np.array(column)) for _ in range(logs)])
        for column in zip(*rows, strict=True)
    )
    edges = np.arange(1.0, len(rows)) / 10
    histogram = Histogram(pl.DataFrame(), edges[::-1], positives[0], negatives[0], every_score=False)
    etas = [0.01, 0.5]
    found = area.replicated(Logs(positives, negatives, histogram), etas)
    assert found.shape == (logs, 2 if area.depends_on_prevalence else 1)
    if not len(edges):
        return
    counts = counts_of_bins(positives[:, ::-1], negatives[:, ::-1], edges)
    each = nf.compute_areas(counts, prevalence=etas, metrics=area.name)["value"].fill_null(np.nan)
    assert_allclose(found.ravel(), each.to_numpy(), rtol=1e-12, atol=1e-12)
