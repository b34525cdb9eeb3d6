"""The area under the ROC curve, the whole or a part of it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nci_frames.base.normal import normal_quantile
from nci_frames.base.typing import Floats
from nci_frames.evaluation.areas.area import LACKS, Area, Areas, Logs, enclosed
from nci_frames.evaluation.areas.score_bounds import newcombe_variance, score_bounds
from nci_frames.evaluation.arrays.roc_steps import Curves
from nci_frames.evaluation.metrics import Metric

#: With fewer independent rows of a class, percentiles are extended to Newcombe's interval.
_ENOUGH = 100


def roc_area(curves: Curves, fpr_range: tuple[float, float]) -> Areas:
    """Return the area within a range of FPR, with TPR linear in FPR along each step."""
    low, high = fpr_range
    width = curves.fpr1 - curves.fpr0
    begin, end = np.clip(curves.fpr0, low, high), np.clip(curves.fpr1, low, high)
    inside = end - begin
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.where(width > 0, (curves.tpr1 - curves.tpr0) / width, 0.0)
    middle = curves.tpr0 + slope * ((begin + end) / 2 - curves.fpr0)
    return enclosed(curves, inside * middle, inside * curves.tpr0, inside * curves.tpr1)


def _areas_of_logs(logs: Logs, _: Sequence[float]) -> Floats:
    positives, negatives, _histogram = logs
    # Ties count as half.
    above = positives.cumsum(axis=1) - positives / 2
    with np.errstate(invalid="ignore"):
        fpr = negatives / negatives.sum(axis=1, keepdims=True)
        areas = (fpr * (above / positives.sum(axis=1, keepdims=True))).sum(axis=1)
    return np.asarray(areas)[:, np.newaxis]


def _newcombe(
    value: Floats, std: Floats, m: Floats, n: Floats, level: float
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return Newcombe's interval, and where rows of a class are few; as for the one of auc_interval."""
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.fmax(1.0, std**2 / newcombe_variance(value, m, n))
    return *score_bounds(value, m, n, normal_quantile(level) ** 2 * spread), np.fmin(m, n) < _ENOUGH


ROC_AUC = Area(
    "roc_auc",
    title="ROC-AUC",
    formula="∫ TPR dFPR",
    undefined_when=LACKS,
    computed_by="compute_areas(counts, prevalence=...)",
    depends_on_prevalence=False,
    certified=lambda curves, _: [roc_area(curves, (0.0, 1.0))],
    highest=lambda curves, _: [roc_area(curves, (0.0, 1.0))[2]],
    replicated=_areas_of_logs,
    score_bounds=_newcombe,
)
PARTIAL_ROC_AUC = Metric(
    "partial_roc_auc",
    kind="curve",
    title="partial ROC-AUC",
    formula="∫ TPR dFPR over a range of FPR",
    undefined_when=LACKS,
    computed_by="compute_areas(counts, prevalence=..., fpr_range=...)",
    depends_on_prevalence=False,
    needs="a range of FPR",
)


def partial_area(fpr_range: tuple[float, float]) -> Area:
    """Return the area within a range of FPR, ready to be computed."""
    return replace(
        ROC_AUC,
        name=PARTIAL_ROC_AUC.name,
        certified=lambda curves, _: [roc_area(curves, fpr_range)],
        highest=lambda curves, _: [roc_area(curves, fpr_range)[2]],
    )
