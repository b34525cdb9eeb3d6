"""What a comparison leaves out before it resamples, against the areas of every threshold."""

import numpy as np
import polars as pl
import pytest

import nci_frames as nf
from nci_frames.questions.certainty import _fewer_steps


@pytest.mark.parametrize(("positives", "negatives"), [(174, 1623), (3000, 30_000)])
def test_fewer_steps_change_no_area_by_much(positives: int, negatives: int) -> None:
    rng = np.random.default_rng(positives)
    label = np.repeat([True, False], [positives, negatives])
    logs = [
        pl.DataFrame({"model": name, "label": label, "score": rng.normal(label * shift, 1)})
        for name, shift in (("near", 1.0), ("far", 2.5))
    ]
    counts = nf.count_confusion(pl.concat(logs), thresholds="exact")
    fewer = _fewer_steps(counts)
    assert fewer.height < 2 * min(1200, positives + 2)
    prevalences = [1e-6, 1e-4, 1e-2, 0.5]
    of_all, of_fewer = (
        nf.compute_areas(frame, prevalence=prevalences).filter(metric="pr_auc")["value"].to_list()
        for frame in (counts, fewer)
    )
    # A step of its own for each of the first positives: then nothing is lost at all.
    assert of_fewer == pytest.approx(of_all, rel=1e-12 if positives <= 192 else 0.003)


def test_few_thresholds_stay_as_they_are() -> None:
    log = pl.DataFrame({"model": "a", "label": [0, 1] * 50, "score": np.arange(100.0)})
    counts = nf.count_confusion(log, thresholds="exact")
    assert _fewer_steps(counts).equals(counts)
