"""Counts -> area under the precision-recall-gain curve."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from nci_frames.base.arguments import Prevalences
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Floats, Frame
from nci_frames.evaluation.areas.area import CELLS_IN_CACHE, LACKS, Area, Areas, Logs, enclosed
from nci_frames.evaluation.areas.areas import compute_areas
from nci_frames.evaluation.arrays.roc_steps import Curves
from nci_frames.evaluation.rates.strata import collect_counts
from nci_frames.evaluation.support.rule import GAIN_SUPPORT
from nci_frames.schemas import checked


@checked
def pr_gain_auc(counts: Frame, /, *, prevalence: Prevalences) -> pl.DataFrame:
    """Return the area under the curve of precision gain over recall gain, at each prevalence.

    On these scales the always-positive classifier is at 0 and the best at 1, and operating points may be
    joined by straight lines, as in ROC space.

    Parameters
    ----------
    counts
        A counts frame.
    prevalence
        P(y=1), each between 0 and 1, both excluded; or "observed": each group's own.

    Returns
    -------
    An areas frame with the metric "pr_gain_auc", sorted by model, keys and prevalence. ``value`` is at most
    1, and null where the group lacks a class; ``lower`` and ``upper`` are certified, as in ``compute_areas``.

    Raises
    ------
    ParameterError
        If a prevalence is not between 0 and 1.
    SchemaError
        If *counts* is not a counts frame.

    Notes
    -----
    Recall gain is 1 - o·(1-TPR)/TPR with the odds o of the prevalence, precision gain 1 - FPR/TPR; the curve
    begins where recall gain is 0, at TPR = eta. Both are linear in 1/TPR where FPR is linear in TPR, so the
    area is a sum of trapezoids, without approximation.

    References
    ----------
    Flach and Kull (2015), Precision-Recall-Gain curves: PR analysis done right, NIPS 28.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> nf.pr_gain_auc(nf.count_confusion(log), prevalence=0.5)["value"].item()
    0.25
    """
    return compute_areas(collect_counts(counts), prevalence=prevalence, metrics="pr_gain_auc")


def _check(grid: Sequence[float] | None) -> None:
    """Raise ParameterError if gains are undefined at one of the prevalences."""
    for given in grid or []:
        if not 0 < given < 1:
            raise ParameterError.out_of_range("prevalence", given, "between 0 and 1, both excluded")


def _certified(curves: Curves, eta: float | Floats) -> Areas:
    at = curves.each_step(eta)
    tpr = curves.tpr0, curves.tpr1
    return enclosed(
        curves,
        _gained(*tpr, curves.fpr0, curves.fpr1, at),
        _gained(*tpr, curves.fpr1, curves.fpr1, at),
        _gained(*tpr, curves.fpr0, curves.fpr0, at),
    )


def _replicated(logs: Logs, prevalence: Sequence[float]) -> Floats:
    positives, negatives, _ = logs
    areas = np.full((len(positives), len(prevalence)), np.nan)
    some = max(1, CELLS_IN_CACHE // positives.shape[1])
    for start in range(0, len(positives), some):
        part = slice(start, start + some)
        with np.errstate(invalid="ignore"):
            tpr, fpr = (
                np.pad(rows[part].cumsum(axis=1) / rows[part].sum(axis=1, keepdims=True), ((0, 0), (1, 0)))
                for rows in (positives, negatives)
            )
        for place, eta in enumerate(prevalence):
            steps = _gained(tpr[:, :-1], tpr[:, 1:], fpr[:, :-1], fpr[:, 1:], eta)
            areas[part, place] = steps.sum(axis=1)
    areas[~positives.any(axis=1) | ~negatives.any(axis=1)] = np.nan
    return areas


def _gained(tpr0: Floats, tpr1: Floats, fpr0: Floats, fpr1: Floats, eta: float | Floats) -> Floats:
    """Return the area over each step of a curve, with FPR linear in TPR from its begin (0) to its end (1)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        odds = eta / (1 - eta)
        # The part of each step where recall gain is positive.
        begin = np.maximum(tpr0, eta)
        inside = tpr1 > begin
        share = (begin - tpr0) / (tpr1 - tpr0)
        fpr = fpr0 + share * (fpr1 - fpr0)
        gains = 1 - (fpr / begin + fpr1 / tpr1) / 2
        # A group without a class keeps its NaN.
        return np.where(inside, (odds / begin - odds / tpr1) * gains, 0 * tpr1 + 0 * fpr1)


PR_GAIN_AUC = Area(
    "pr_gain_auc",
    title="PR-gain AUC",
    formula="∫ precision gain d(recall gain), from recall gain 0",
    undefined_when=LACKS,
    computed_by="pr_gain_auc(counts, prevalence=...)",
    lower=float("-inf"),
    certified=lambda curves, etas: [_certified(curves, eta) for eta in etas],
    replicated=_replicated,
    support=GAIN_SUPPORT,
    check=_check,
)
