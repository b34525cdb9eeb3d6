"""Rates and a distribution of the prevalence -> the metric that is expected of each operating point."""

import numpy as np
import polars as pl

from nci_frames.evaluation.crossovers.contest import Contest, Points
from nci_frames.evaluation.prevalence.distributions import PrevalenceDistribution
from nci_frames.evaluation.prevalence.means import by_group, mean_values, with_support
from nci_frames.schemas import EXPECTATIONS
from nci_frames.schemas.checked import checked


@checked
def expected_values(
    rates: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    metric: str | pl.Expr,
    prevalence: PrevalenceDistribution,
    beta: float = 1.0,
) -> pl.DataFrame:
    """Return the mean of a metric over a distribution of the prevalence, for every operating point.

    Parameters
    ----------
    rates
        A rates frame. Points without a TPR or FPR are left out.
    metric
        Name or alias of a metric, or a called metric without a prevalence.
    prevalence
        What is known of the prevalence: ``beta_prevalence``, ``prevalence_between`` or ``prevalence_draws``.
    beta
        Weight of recall in [0, inf], for a metric that has one.

    Returns
    -------
    A row per operating point, sorted by model, keys and threshold:

    %(columns of expectations)s

    Keys are those of *rates*.

    Raises
    ------
    ParameterError
        If the metric cannot be ranked, beta is out of range, or the metric was called with a prevalence.
    UnknownMetricError
        If there is no such metric.
    SchemaError
        If *rates* is not a rates frame.

    Notes
    -----
    The mean is an integral over the mass, by Gauss-Legendre quadrature in some hundred panels; its error is
    below 1e-11. Over draws it is their mean.

    Examples
    --------
    >>> import nci_frames as nf
    >>> from nci_frames.evaluation.prevalence.expected_values import expected_values
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a"], "threshold": [0.5], "tp": [60], "fp": [1], "fn": [40], "tn": [999]
    ... })
    >>> field = nf.prevalence_between(0.0002, 0.001, level=0.9)
    >>> found = expected_values(nf.compute_rates(counts), metric="precision", prevalence=field)
    >>> found.select(pl.col("value").round(4), "supported").row(0)
    (0.2225, False)
    """
    nodes, weights = prevalence.nodes(np.empty(0))

    def expected(points: Points, contest: Contest) -> pl.DataFrame:
        means = mean_values(points, contest, nodes, weights)
        table = points.frame.select(
            "model", "threshold", "positives", "negatives", "tpr", "fpr"
        ).with_columns(
            metric=pl.lit(contest.metric.label),
            prevalence=pl.lit(prevalence.mean),
            beta=pl.lit(contest.beta, pl.Float64),
            value=pl.Series(means, nan_to_null=True),
        )
        known = with_support(table, contest, prevalence)
        return known.select(name for name in EXPECTATIONS.fixed if name in known.columns)

    found = by_group(rates, metric, beta, EXPECTATIONS, expected)
    return found.sort("model", *EXPECTATIONS.keys(found.columns), "threshold", maintain_order=True)
