"""The curves of a comparison have few of the points of the log, and their shape."""

import numpy as np
import polars as pl

import nci_frames as nf
from nci_frames.questions.drawn_curves import report_curves
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
