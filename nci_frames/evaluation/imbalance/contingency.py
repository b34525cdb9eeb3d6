"""Contingency space: the path of a model on the surface of a metric while it learns."""

import numpy as np
import polars as pl

from nci_frames.base.arguments import beta_value, prevalence_of_ratio
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Frame
from nci_frames.evaluation.imbalance.sensitivity import on_surface, width_of
from nci_frames.schemas import PATHS, RATES, checked, collect
from nci_frames.schemas.keys import wrong_key


@checked
def surface_path_length(
    rates: Frame, /, *, metric: str | pl.Expr, over: str, ratio: float = 1.0, beta: float = 1.0
) -> pl.DataFrame:
    """Return the length of each model's path on the surface of a metric while it learns.

    Parameters
    ----------
    rates
        A rates frame with a key for the training step, such as the epoch or the number of training rows, and
        one operating point per model and step.
    metric
        Name or alias of a metric, or a called metric.
    over
        The key of the training step; its values are sorted.
    ratio
        Negatives per positive, > 0: the surface is that of prevalence 1/(1+ratio).
    beta
        Weight of recall in [0, inf], if the metric has one.

    Returns
    -------
    A row per model, sorted by model and keys:

    %(columns of paths)s

    Keys are those of *rates*, without *over*. ``length`` is the sum of the lengths of the steps in (TPR,
    TNR, the metric rescaled to [0, 1]); it is null also where the range of the metric is infinite.

    Raises
    ------
    ParameterError
        If the ratio or beta is out of range, or a model has several operating points at one step.
    SchemaError
        If *rates* is not a rates frame, or has no such key.
    UnknownMetricError
        If there is no such metric.

    References
    ----------
    Ahmadzadeh and Angryk (2022), section 4, who propose to track a model's learning on the surface,
    ICIP.

    Examples
    --------
    From chance to TPR 0.6 and TNR 0.8, then 0.3 further:

    >>> import nci_frames as nf
    >>> from nci_frames.evaluation.imbalance.contingency import surface_path_length
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": "a", "epoch": [1, 2, 3], "threshold": 0.5,
    ...     "tp": [50, 60, 90], "fp": [50, 20, 20], "fn": [50, 40, 10], "tn": [50, 80, 80],
    ... })
    >>> path = surface_path_length(nf.compute_rates(counts), metric="recall", over="epoch")
    >>> path.select("steps", pl.col("length").round(4)).row(0)
    (2, 0.7559)
    """
    frame = collect(rates, RATES)
    keys = RATES.need_keys(frame, [over], "over")
    group = ["model", *(key for key in keys if key != over)]
    if "ratio" in group:
        raise wrong_key("ratio", "the rates frame", "has the name of a column of the paths")
    twice = frame.filter(pl.struct(*group, over).is_duplicated()).sort(*group, over)
    if len(twice):
        msg = "a model has several operating points at one step"
        raise ParameterError(msg, where=f"{over}={twice[over][0]!r}", hint="select one operating point first")
    ((label, expression),) = on_surface(metric).items()
    weight = beta_value(beta)
    eta = prevalence_of_ratio(ratio)
    placed = frame.sort(*group, over).with_columns(
        prevalence=pl.lit(eta), beta=pl.lit(weight), observed_prevalence=pl.lit(eta)
    )
    width = width_of(expression)
    axes = (pl.col("tpr"), pl.col("fpr"), expression / (width if np.isfinite(width) else None))
    moved = sum((axis.diff().over(group) ** 2 for axis in axes), start=pl.lit(0.0)).sqrt()
    steps = pl.col("__moved").slice(1)
    table = (
        placed.with_columns(__moved=moved)
        .group_by(group, maintain_order=True)
        .agg(
            metric=pl.lit(label).first(),
            ratio=pl.lit(float(ratio)).first(),
            steps=pl.len().cast(pl.Int64) - 1,
            length=pl.when(steps.null_count() == 0).then(steps.sum()),
        )
    )
    return PATHS.finish(table)
