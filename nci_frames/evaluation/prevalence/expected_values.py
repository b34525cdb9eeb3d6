"""Rates and a distribution of the prevalence -> the metric that is expected of each operating point."""

from collections.abc import Callable

import numpy as np
import polars as pl

from nci_frames.base.typing import Floats, Frame
from nci_frames.evaluation.crossovers.contest import Contest, Points, contests, points_of, repeated_keys
from nci_frames.evaluation.prevalence.distributions import PrevalenceDistribution
from nci_frames.evaluation.support.flags import log_cost
from nci_frames.evaluation.support.reasons import reason_text, too_few_number
from nci_frames.evaluation.support.rule import class_reason, independent_rows, point_reason, point_support
from nci_frames.schemas import EXPECTATIONS, RATES, checked, collect
from nci_frames.schemas.frame import FrameSchema


@checked
def expected_values(
    rates: Frame, /, *, metric: str | pl.Expr, prevalence: PrevalenceDistribution, beta: float = 1.0
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


#: A mean is supported if the log cannot tell the value at no more than this share of the mass.
MOST_UNSUPPORTED = 0.05

_VALUES_AT_A_TIME = 1 << 22


def by_group(
    rates: Frame,
    metric: str | pl.Expr,
    beta: float,
    schema: FrameSchema,
    table_of: Callable[[Points, Contest], pl.DataFrame],
) -> pl.DataFrame:
    """Return the tables of all groups of rates in one frame of the schema: a group has the same keys."""
    frame = collect(rates, RATES).drop("reason", strict=False)
    tables = []
    for points in points_of(frame):
        (contest,) = contests(points, metric, "prevalence", "observed", beta)
        tables.append(repeated_keys(table_of(points, contest), points.keys))
    return schema.joined(tables, frame.select("model", *RATES.keys(frame.columns)))


def mean_values(points: Points, contest: Contest, nodes: Floats, weights: Floats) -> Floats:
    """Return the mean of the metric at each point; NaN where it is undefined at a node."""
    size = max(1, _VALUES_AT_A_TIME // len(nodes))
    rates = points.frame.select("tpr", "fpr")
    means = []
    for begin in range(0, len(rates), size):
        some = rates[begin : begin + size]
        each = some[np.repeat(np.arange(len(some)), len(nodes))]
        values = contest.values(each, np.tile(nodes, len(some))).reshape(len(some), -1)
        means.append(values @ weights)
    return np.concatenate(means)


def with_support(table: pl.DataFrame, contest: Contest, law: PrevalenceDistribution) -> pl.DataFrame:
    """Add ``unsupported``, ``supported`` and ``reason`` to rows that have the columns of rates.

    A log supports the value of a point from one prevalence on (``lowest_supported_prevalence``).
    """
    needs_fpr = contest.metric.needs_fpr is not False
    lowest = point_support(table.columns) if needs_fpr else pl.lit(0.0)
    why = point_reason() if needs_fpr else class_reason()
    known = table.with_columns(__lowest=lowest.cast(pl.Float64), __why=why)
    border = known["__lowest"].fill_null(np.nan).to_numpy()
    missing = np.where(np.isnan(border), 1.0, law.below(border))
    supported = pl.col("unsupported") <= MOST_UNSUPPORTED
    # What the log would need at the prevalence below which so little mass lies.
    low = law.quantile(MOST_UNSUPPORTED)
    decades = log_cost(pl.col("__lowest"), independent_rows("negatives", table.columns)) + np.log10(
        (1 - low) / low if low else np.inf
    )
    number = pl.when(~supported).then(pl.coalesce("__why", too_few_number(decades)))
    return known.with_columns(pl.Series("unsupported", missing)).with_columns(
        supported=supported, reason=reason_text(number)
    )
