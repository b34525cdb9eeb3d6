"""Counts -> where two models change places, with intervals."""

from typing import Literal

import numpy as np
import polars as pl

from nci_frames.base.arguments import beta_value, prevalence_values
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Frame
from nci_frames.evaluation.arrays.histograms import whole_counts
from nci_frames.evaluation.crossovers.contest import Over
from nci_frames.evaluation.crossovers.crossovers import find_crossovers
from nci_frames.evaluation.projection.operating_points import select_operating_points
from nci_frames.evaluation.rates.rates import compute_rates
from nci_frames.evaluation.resampling.resampling import Resampling
from nci_frames.evaluation.significance.borders import area_curves_of, border_of, own_curves_of, points_drawn
from nci_frames.schemas import CROSSOVER_INTERVALS, checked

CrossingMetric = Literal["f_beta", "pr_auc"]


@checked
def crossover_intervals(
    counts: Frame,
    /,
    *,
    metric: CrossingMetric = "f_beta",
    over: Over = "prevalence",
    prevalence: float | None = None,
    beta: float = 1.0,
    threshold: float | Literal["own"] | None = None,
    repeats: int = 1000,
    seed: int = 0,
    units: str | None = None,
    level: float = 0.95,
) -> pl.DataFrame:
    """Return where every two models change places, with intervals from resampled logs.

    Parameters
    ----------
    counts
        A counts frame of whole rows, or rates. For F-beta each model needs one operating point: *threshold*,
        or a frame with one row of each model.
    metric
        "f_beta" or "pr_auc" (average precision).
    over
        "prevalence" for curves over the prevalence, of F-beta at a fixed *beta*; "beta" for curves over beta
        at a fixed *prevalence*.
    prevalence
        P(y=1), between 0 and 1, both excluded; used with "beta" only.
    beta
        Weight of recall, in (0, inf); used with F-beta over "prevalence" only.
    threshold
        The threshold of the operating points; or "own": each model at its best threshold for each place, in
        each resampled log anew. PR-AUC has none.
    repeats
        Number of resampled logs, 2 to 1,000,000.
    seed
        Seed of the draws.
    units
        None resamples the rows of each model separately; a key such as the ``bucket`` of ``unit_buckets``
        resamples the same units for all models.
    level
        Share of the crossovers between the bounds, in (0, 1).

    Returns
    -------
    A row per crossover of two models, sorted by keys, model_a, model_b and place:

    %(columns of crossover intervals)s

    Keys are those of *counts*, without *units*. Bounds are percentiles, in the unit of *over*, among the
    resampled logs that have the crossover. ``probability`` is null where a class has fewer than 5 rows,
    or buckets of equal size: too few show how it varies.

    Raises
    ------
    ParameterError
        As for ``bootstrap``, or if a model has several operating points.
    SchemaError
        If *counts* is not a counts frame, or lacks the key *units*.

    Notes
    -----
    With k = (1-eta)/eta, F-beta falls as (1 + lambda·FPR)/TPR grows, where lambda = k/beta²; two models cross
    at lambda = (TPR_b - TPR_a)/(TPR_a·FPR_b - TPR_b·FPR_a). If the probability is not near 1, it is uncertain
    whether they cross at all; the interval only shows where they cross if they do.

    The crossovers of the log are exact, as those of ``find_crossovers``; for PR-AUC and own thresholds those
    of resampled logs are interpolated on a grid, of steps of 0.2 in the logarithm of the odds or 0.1 in that
    of beta, between prevalences 1e-7 and 1 - 1e-7, or beta 1e-3 and 1e3. Of several crossovers of a resampled
    log in the same direction the nearest counts.

    References
    ----------
    Wojciechowski and Woźniak (2024), F-beta-plot, arXiv:2404.08709.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"], "threshold": [0.5, 0.5],
    ...     "tp": [60, 80], "fp": [10, 50], "fn": [40, 20], "tn": [990, 950],
    ... })
    >>> nf.crossover_intervals(counts).select(
    ...     "model_a", "model_b", pl.col("prevalence", "lower", "upper", "probability").round(2)
    ... ).row(0)
    ('a', 'b', 0.1, 0.05, 0.27, 1.0)
    """
    logs = Resampling(units, repeats=repeats, seed=seed, level=level)
    curves = metric == "pr_auc"
    if curves and (over == "beta" or threshold is not None):
        msg = "PR-AUC depends on neither beta nor a threshold"
        given = "over='beta'" if over == "beta" else f"threshold={threshold!r}"
        raise ParameterError(msg, found=given, hint="omit it")
    fixed = _fixed(over, prevalence, beta)
    frame = whole_counts(counts)
    keys = logs.keys(frame)
    if frame.is_empty():
        return CROSSOVER_INTERVALS.empty(frame.select(keys))
    pooled = logs.without_units(frame)
    if curves:
        found = area_curves_of(frame, logs)
        crossings = find_crossovers(pooled, metric=metric, over="prevalence")
    else:
        rates = compute_rates(pooled)
        if threshold == "own":
            found = own_curves_of(frame, logs, over, fixed)
        else:
            found = points_drawn(frame, logs, threshold, over, fixed)
            rates = rates if threshold is None else select_operating_points(rates, threshold=threshold)
        other = {"beta": fixed} if over == "prevalence" else {"prevalence": fixed}
        crossings = find_crossovers(rates, metric=metric, over=over, **other)
    rows = [
        row | border_of(found[tuple(row[key] for key in keys)], row, logs)
        for row in crossings.drop("value").iter_rows(named=True)
    ]
    schema = {key: frame.schema[key] for key in keys} | CROSSOVER_INTERVALS.dtypes()
    order = [*keys, "model_a", "model_b", "prevalence", "beta"]
    return CROSSOVER_INTERVALS.finish(pl.DataFrame(rows, schema=schema).sort(order))


def _fixed(over: Over, prevalence: float | None, beta: float) -> float:
    """Return the prevalence or the beta that is fixed."""
    if over == "prevalence":
        if prevalence is not None:
            msg = "prevalence cannot be fixed with over='prevalence'"
            raise ParameterError(msg, found=repr(prevalence), hint="omit it, or use over='beta'")
        value = beta_value(beta)
        if not 0 < value < np.inf:
            raise ParameterError.out_of_range("beta", beta, "a finite number > 0")
        return value
    values = prevalence_values(np.nan if prevalence is None else float(prevalence))
    if values is None or not 0 < values[0] < 1:
        raise ParameterError.out_of_range("prevalence", prevalence, "between 0 and 1, both excluded")
    return values[0]
