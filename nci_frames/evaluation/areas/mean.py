"""Counts -> the mean PR-AUC over a range of prevalences."""

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Frame
from nci_frames.evaluation.areas.area import LACKS
from nci_frames.evaluation.areas.areas import compute_areas
from nci_frames.evaluation.areas.pr import Method
from nci_frames.evaluation.metrics import Metric
from nci_frames.evaluation.rates.strata import collect_counts
from nci_frames.schemas import AREAS, checked

MEAN_PR_AUC = Metric(
    "mean_pr_auc",
    kind="curve",
    title="mean PR-AUC",
    formula="∫ PR-AUC deta / (high - low)",
    undefined_when=LACKS,
    computed_by="mean_pr_auc(counts, prevalence_range=...)",
    depends_on_prevalence=False,
    needs="a range of prevalence",
)


@checked
def mean_pr_auc(
    counts: Frame, /, *, prevalence_range: tuple[float, float], method: Method = "average_precision"
) -> pl.DataFrame:
    """Return the mean PR-AUC over a range of prevalences: the volume under the P-ROC surface, per unit.

    Use it if the prevalence in the field is known only as a range, with every prevalence in it equally
    likely.

    Parameters
    ----------
    counts
        A counts frame.
    prevalence_range
        The range of P(y=1), within (0, 1].
    method
        The rule of the PR area, as in ``compute_areas``.

    Returns
    -------
    A row per group, sorted by model and keys: the columns of an areas frame, with the metric "mean_pr_auc"
    and null for prevalence, since it belongs to a range.

    Raises
    ------
    ParameterError
        If the range is empty or outside (0, 1], or the method unknown.
    SchemaError
        If *counts* is not a counts frame.

    Notes
    -----
    ∫ PR-AUC(eta) deta / (high - low) by Gauss-Legendre quadrature with 64 nodes in ln eta.

    References
    ----------
    Landgrebe et al. (2004), Cost-based classifier evaluation for imbalanced problems, for the P-ROC surface,
    doi:10.1007/978-3-540-27868-9_83.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> mean = nf.mean_pr_auc(nf.count_confusion(log), prevalence_range=(0.001, 0.1))
    >>> mean.select("metric", pl.col("value").round(4)).row(0)
    ('mean_pr_auc', 0.5474)
    """
    low, high = prevalence_range
    if not 0 < low < high <= 1:
        raise ParameterError.out_of_range(
            "prevalence_range", prevalence_range, "(low, high) with 0 < low < high <= 1"
        )
    nodes, weights = np.polynomial.legendre.leggauss(64)
    half = np.log(high / low) / 2
    eta = np.exp(np.log(low) + half * (nodes + 1))
    weight = pl.DataFrame({"prevalence": eta, "__weight": weights * half * eta / (high - low)})
    etas, frame = [low, *eta.tolist()], collect_counts(counts)
    areas = compute_areas(frame, prevalence=etas, metrics="pr_auc", method=method)
    keys = ["model", *AREAS.keys(areas.columns)]
    numbers = ("value", "lower", "upper")
    means = (
        areas.join(weight, on="prevalence", how="left", maintain_order="left")
        .group_by(keys, maintain_order=True)
        .agg(
            pl.lit(MEAN_PR_AUC.name).first().alias("metric"),
            pl.col("method").first(),
            pl.lit(None, pl.Float64).first().alias("prevalence"),
            *(
                pl.when(pl.col(name).null_count() == 0).then((pl.col(name) * pl.col("__weight")).sum())
                for name in numbers
            ),
            # The whole range is supported if its lowest prevalence is.
            *(pl.col(name).first() for name in ("supported", "reason")),
        )
    )
    return AREAS.finish(means)
