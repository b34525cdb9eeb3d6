"""What the report draws, and of whom."""

import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.evaluation.comparison.curves import report_curves
from nci_frames.evaluation.comparison.tables import MOST_MODELS
from nci_frames.reporting.pages.figures import report_figures, shown_models
from tests.comparisons import MODELS, comparison


def test_long_curves_keep_their_shape_at_every_prevalence() -> None:
    rng = np.random.default_rng(0)
    label = rng.random(150_000) < 0.1
    score = rng.normal(label * 1.5, 1)
    log = pl.DataFrame({"model": np.where(np.arange(150_000) % 2, "a", "b"), "label": label, "score": score})
    rates = nf.compute_rates(nf.count_confusion(log, thresholds="exact"))
    thinned = report_curves(rates, ["a", "b"])
    assert thinned.height < rates.height / 10
    assert thinned.join(rates, on=["model", "threshold"], how="anti").is_empty()
    for model in ("a", "b"):
        every, kept = (
            table.filter(pl.col("model") == model, pl.col("fpr") > 0).sort("fpr", "tpr")
            for table in (rates, thinned)
        )
        x, y, kept_x, kept_y = every["fpr"].log(), every["tpr"], kept["fpr"].log(), kept["tpr"]
        # A riser is met from the side, a tread from above.
        above = np.abs(np.interp(x, kept_x, kept_y) - y.to_numpy())
        beside = np.abs(np.interp(y, kept_y, kept_x) - x.to_numpy()) / (x.max() - x.min())
        assert np.minimum(above, beside).max() < 5e-4  # a quarter of a pixel of the chart


def test_short_curves_are_left_as_they_are() -> None:
    rates = comparison().rates
    assert report_curves(rates, list(MODELS)).equals(rates)
    assert report_curves(rates, ["forest"]).equals(rates.filter(model="forest"))


@pytest.mark.thorough
def test_the_models_shown_are_those_nearest_to_the_top() -> None:
    models = {f"m{i:02d}": (0.5, 0.3 - i / 100) for i in range(16)}
    tables = comparison(models, prevalence=[0.01, 0.1], beta=[1.0])
    assert shown_models(tables) == [f"m{i:02d}" for i in range(16 - MOST_MODELS, 16)]
    assert shown_models(tables, most=2) == ["m14", "m15"]


@pytest.mark.thorough
def test_every_chart_holds_at_most_5000_rows() -> None:
    models = {f"m{i:02d}": (0.9 - i / 50, 0.3 / 1.2**i) for i in range(16)}
    figures = report_figures(comparison(models, segments=["DE", None]))
    assert len(figures) == 18
    for figure in figures:
        spec = figure.draw().to_dict(validate=False)
        assert 0 < sum(map(len, spec["datasets"].values())) <= 5_000, figure.name
