"""Counts -> area under the precision-recall-gain curve."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from nci_frames.base.arguments import Prevalences, prevalence_values
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Floats
from nci_frames.evaluation.areas.areas import Areas, enclosed
from nci_frames.evaluation.arrays.roc_steps import Curves, curves_of, no_curves
from nci_frames.evaluation.metrics import PR_GAIN_AUC
from nci_frames.evaluation.support.area_flags import with_curve_flags, with_curve_support
from nci_frames.schemas import AREAS, COUNTS, collect
from nci_frames.schemas.checked import checked


@checked
def pr_gain_auc(counts: pl.DataFrame | pl.LazyFrame, /, *, prevalence: Prevalences) -> pl.DataFrame:
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
    grid = prevalence_values(prevalence)
    check_gain_prevalences(grid)
    frame = collect(counts, COUNTS)
    keys = ["model", *COUNTS.keys(frame.columns)]
    tables = [with_curve_support(no_curves(frame, keys), "gain").with_columns(_columns(None, None))]
    for curves in curves_of(frame, keys):
        etas: list[float | Floats] = [curves.observed_prevalence] if grid is None else list(grid)
        groups = with_curve_support(curves, "gain")
        for eta in etas:
            tables.append(groups.with_columns(_columns(eta, _gain_area(curves, eta))))  # noqa: PERF401
    table = pl.concat(tables).sort(*keys, "prevalence", maintain_order=True)
    return AREAS.finish(with_curve_flags(table, pl.lit(value=True)))


def check_gain_prevalences(grid: Sequence[float] | None) -> None:
    """Raise ParameterError if gains are undefined at one of the prevalences."""
    for given in grid or []:
        if not 0 < given < 1:
            raise ParameterError.out_of_range("prevalence", given, "between 0 and 1, both excluded")


def _columns(eta: float | Floats | None, areas: Areas | None) -> list[pl.Expr | pl.Series]:
    constant = [pl.lit(PR_GAIN_AUC.name).alias("metric"), pl.lit(None, pl.String).alias("method")]
    if areas is None or eta is None:
        names = ("prevalence", "value", "lower", "upper")
        return [*constant, *(pl.lit(None, pl.Float64).alias(name) for name in names)]
    found = [
        pl.Series(name, area, nan_to_null=True)
        for name, area in zip(("value", "lower", "upper"), areas, strict=True)
    ]
    each = pl.Series("prevalence", np.broadcast_to(eta, len(areas[0])), dtype=pl.Float64, nan_to_null=True)
    return [*constant, each, *found]


def _gain_area(curves: Curves, eta: float | Floats) -> Areas:
    at = np.repeat(eta, curves.size) if isinstance(eta, np.ndarray) else eta
    tpr = curves.tpr0, curves.tpr1
    return enclosed(
        curves,
        gained(*tpr, curves.fpr0, curves.fpr1, at),
        gained(*tpr, curves.fpr1, curves.fpr1, at),
        gained(*tpr, curves.fpr0, curves.fpr0, at),
    )


def gained(tpr0: Floats, tpr1: Floats, fpr0: Floats, fpr1: Floats, eta: float | Floats) -> Floats:
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
