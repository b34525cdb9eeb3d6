"""The area under the ROC curve, whole or over a range of FPR."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nci_frames.base.normal import normal_quantile
from nci_frames.base.typing import FloatPair, Floats
from nci_frames.evaluation.areas.area import LACKS, Area, Areas, Logs, enclosed
from nci_frames.evaluation.arrays.roc_steps import Curves
from nci_frames.evaluation.metrics import Metric

#: Steps of the bisection for a bound.
_HALVINGS = 60


def roc_area(curves: Curves, fpr_range: tuple[float, float]) -> Areas:
    """Return the area within a range of FPR, with TPR linear in FPR along each step.

    A positive adds the part of the range that lies to the right of it.
    """
    high, hits = fpr_range[1], curves.tpr1 - curves.tpr0
    begin, end = np.clip(curves.fpr0, *fpr_range), np.clip(curves.fpr1, *fpr_range)
    right = high - (begin + end) / 2
    if fpr_range != (0.0, 1.0):
        width = curves.fpr1 - curves.fpr0
        inside = np.where(width > 0, (end - begin) / width, 1.0)
        left = np.where(width > 0, np.clip((begin - curves.fpr0) / width, 0, 1), 0.0)
        right = inside * right + left * (high - fpr_range[0])
    return enclosed(curves, hits * right, lambda: hits * (high - end), lambda: hits * (high - begin))


def _areas_of_logs(logs: Logs, _: Sequence[float]) -> Floats:
    positives, negatives, _histogram = logs
    # Ties count as half.
    above = positives.cumsum(axis=1) - positives / 2
    fpr = negatives / negatives.sum(axis=1, keepdims=True)
    areas = (fpr * (above / positives.sum(axis=1, keepdims=True))).sum(axis=1)
    return np.asarray(areas)[:, np.newaxis]


def score_interval(value: Floats, std: Floats, m: Floats, n: Floats, level: float) -> FloatPair:
    """Return the "score" interval of ``auc_interval``.

    It allows for kinds of rows that the log may lack. Such rows may be ranked anywhere, so they may move the
    value towards 0 or 1. This distance and that of the score bounds are independent, so they are added as
    squares.
    """
    spread = np.fmax(1.0, std**2 / newcombe_variance(value, m, n))
    lower, upper = score_bounds(value, m, n, normal_quantile(level) ** 2 * spread)
    unseen = unseen_share(np.fmin(m, n), level)
    down, up = np.hypot(value - lower, unseen * value), np.hypot(upper - value, unseen * (1 - value))
    return np.maximum(value - down, 0.0), np.minimum(value + up, 1.0)


def unseen_share(rows: Floats, level: float) -> Floats:
    """Return the largest share of the population of a kind of row that a log of *rows* rows may lack.

    It is -log((1 - level) / 2) / rows, or 3.7 / rows at 95 %, and at most 1.
    """
    # Without rows it is 1.
    return np.asarray(np.fmin(-np.log((1 - level) / 2) / np.maximum(rows, 1e-300), 1.0))


def newcombe_variance(area: Floats, m: Floats, n: Floats) -> Floats:
    """Return the variance of ROC-AUC with m positives and n negatives; NaN without a class."""
    rows = (m + n) / 2 - 1
    terms = 1 + rows * (1 - area) / (2 - area) + rows * area / (1 + area)
    return np.asarray(area * (1 - area) / (m * n) * terms)


def score_bounds(value: Floats, m: Floats, n: Floats, factor: Floats | float) -> FloatPair:
    """Return the least and the greatest area t with (t - value)² <= factor·V(t); NaN stays NaN.

    Parameters
    ----------
    value
        Areas of the log.
    m, n
        Effective numbers of positives and negatives, > 0; need not be whole.
    factor
        Squared quantile of the normal distribution, if the variance is V.

    References
    ----------
    Newcombe (2006), Statistics in Medicine 25(4), 559-573, doi:10.1002/sim.2324, method 5.
    """
    return _farthest(value, m, n, 0.0, factor), _farthest(value, m, n, 1.0, factor)


def _farthest(value: Floats, m: Floats, n: Floats, end: float, factor: Floats | float) -> Floats:
    """Return the area farthest from the value, towards *end*, that still meets the inequality."""
    inside, outside = value.copy(), np.full_like(value, end)
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        likely = (middle - value) ** 2 <= factor * newcombe_variance(middle, m, n)
        inside, outside = np.where(likely, middle, inside), np.where(likely, outside, middle)
    return np.where(np.isnan(value), np.nan, (inside + outside) / 2)


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
    score_bounds=score_interval,
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
    """Return the ``Area`` of ROC-AUC within a range of FPR."""
    return replace(
        ROC_AUC,
        name=PARTIAL_ROC_AUC.name,
        certified=lambda curves, _: [roc_area(curves, fpr_range)],
        highest=lambda curves, _: [roc_area(curves, fpr_range)[2]],
    )
