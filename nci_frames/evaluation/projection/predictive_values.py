"""Rates -> intervals of the two predictive values at a prevalence."""

from typing import Literal, get_args

import polars as pl

from nci_frames.arguments import Prevalences, check_level, prevalence_values
from nci_frames.errors import ParameterError
from nci_frames.evaluation.rates.intervals import require_row_counts
from nci_frames.normal import normal_quantile
from nci_frames.schemas import PROJECTION, RATES, collect

__all__ = ["predictive_value_interval"]

Method = Literal["logit"]


def predictive_value_interval(
    rates: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    prevalence: Prevalences,
    method: Method = "logit",
    level: float = 0.95,
) -> pl.DataFrame:
    """Return precision (PPV) and NPV at a prevalence, each with its own interval.

    The intervals are pointwise, and narrower than the precision band, which holds at all prevalences at once.

    Parameters
    ----------
    rates
        A rates frame; it needs no bounds.
    prevalence
        P(y=1), each in [0, 1], known without error; or "observed".
    method
        "logit": a normal interval of the log odds, by the delta method.
    level
        Confidence of each interval, in (0, 1).

    Returns
    -------
    A projection frame with the metrics "npv" and "precision", sorted by all columns left of ``value``:

    ============ ======= ===================================== =====================================
    column       dtype   meaning                               null where
    ============ ======= ===================================== =====================================
    model, keys           as in *rates*                        as in *rates*
    threshold    Float64 as in *rates*                         as in *rates*
    metric       String  "npv" or "precision"                  never
    prevalence   Float64 P(y=1) the value belongs to           "observed", in a group without rows
    beta         Float64                                       always
    value        Float64 predictive value, in [0, 1]           undefined: 0/0
    lower, upper Float64 bounds, in [0, 1]                     the variance is: precision needs a
                                                               true and a false positive, npv a
                                                               true and a false negative
    ============ ======= ===================================== =====================================

    Raises
    ------
    ParameterError
        If a prevalence or the level is out of range, the method unknown, or counts are sums of weights.
    SchemaError
        If *rates* is not a rates frame.

    Notes
    -----
    logit PPV = ln(o·TPR/FPR), with variance (1-TPR)/(n₊·TPR) + (1-FPR)/(n₋·FPR), where o are the odds of the
    prevalence; logit NPV = ln((1-FPR)/(o·(1-TPR))), with variance TPR/(n₊·(1-TPR)) + FPR/(n₋·(1-FPR)).

    References
    ----------
    Mercaldo, Lau and Zhou (2007), Confidence intervals for predictive values with an emphasis to case-control
    studies, doi:10.1002/sim.2677.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a"], "threshold": [0.5], "tp": [60], "fp": [10], "fn": [40], "tn": [9990]
    ... })
    >>> rates = nf.compute_rates(counts)
    >>> found = nf.predictive_value_interval(rates, prevalence=0.001)
    >>> found.filter(metric="precision").select(pl.col("value", "lower", "upper").round(4)).row(0)
    (0.3752, 0.2406, 0.5325)
    """
    if method not in get_args(Method):
        raise ParameterError.unknown_choice("method", method, get_args(Method))
    check_level(level)
    z = normal_quantile(level)
    frame = collect(rates, RATES)
    require_row_counts(frame)
    grid = prevalence_values(prevalence)
    identity = ["model", *RATES.keys(frame.columns), "threshold"]
    if grid is None:
        points = frame.with_columns(prevalence="observed_prevalence")
    else:
        points = frame.join(pl.DataFrame({"prevalence": grid}), how="cross")

    tp, fp, fn, tn = (pl.col(cell).cast(pl.Float64) for cell in ("tp", "fp", "fn", "tn"))
    eta, tpr, fpr = pl.col("prevalence"), pl.col("tpr"), pl.col("fpr")
    of_metric = {
        # The two terms of the odds, and the variance of the log of their ratio, all from counts.
        "npv": ((1 - eta) * (1 - fpr), eta * (1 - tpr), tp / (fn * (tp + fn)) + fp / (tn * (fp + tn))),
        "precision": (eta * tpr, (1 - eta) * fpr, fn / (tp * (tp + fn)) + tn / (fp * (fp + tn))),
    }
    needed = {"npv": (fn > 0) & (tn > 0), "precision": (tp > 0) & (fp > 0)}
    tables = []
    for metric, (right, wrong, variance) in of_metric.items():
        factor = (z * variance.sqrt()).exp()
        tables.append(
            points.select(
                *identity,
                metric=pl.lit(metric),
                prevalence=eta,
                beta=pl.lit(None, pl.Float64),
                value=pl.when(right + wrong > 0).then(right / (right + wrong)),
                lower=pl.when(needed[metric]).then(right / (right + wrong * factor)),
                upper=pl.when(needed[metric]).then(right / (right + wrong / factor)),
            )
        )
    table = pl.concat(tables).sort(*identity, "metric", "prevalence")
    return PROJECTION.finish(table)
