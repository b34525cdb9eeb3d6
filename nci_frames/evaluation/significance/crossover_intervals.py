"""Counts -> where two models change places, with intervals."""

import itertools
from typing import Literal

import numpy as np
import polars as pl

from nci_frames.base.arguments import beta_value, check_level, prevalence_values
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Floats
from nci_frames.counts.pooling import pool_counts
from nci_frames.evaluation.arrays.histograms import whole_counts
from nci_frames.evaluation.crossovers.crossovers import find_crossovers
from nci_frames.evaluation.rates.rates import compute_rates
from nci_frames.evaluation.resampling.replicates import Replicates, resample
from nci_frames.evaluation.significance.borders import (
    Draws,
    area_curves_of,
    border_between,
    border_of,
    own_curves_of,
)
from nci_frames.schemas import COUNTS, CROSSOVER_INTERVALS
from nci_frames.schemas.checked import checked

__all__ = ["crossover_intervals"]

Over = Literal["prevalence", "beta"]
CrossingMetric = Literal["f_beta", "pr_auc"]


@checked
def crossover_intervals(
    counts: pl.DataFrame | pl.LazyFrame,
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

    =========== ======= ============================================== =====================================
    column      dtype   meaning                                        null where
    =========== ======= ============================================== =====================================
    keys                 as in *counts*, without *units*               as in *counts*
    metric      String  "f_beta" or "pr_auc"                           never
    model_a     String  the one that is better below the crossover     a model of its own
    model_b     String  the one that is better above it                a model of its own
    prevalence  Float64 where they cross, or as given                  never
    beta        Float64 where they cross, or as given                  "pr_auc"
    lower,      Float64 percentiles of the crossover, in the unit of   there is a reason
    upper               *over*, among the resampled logs that have it
    probability Float64 share of the resampled logs that have it       a class has fewer than 5 rows, or
                                                                       buckets of equal size: too few show
                                                                       how it varies
    repeats     Int64   resampled logs that have it                    never
    reason      String  why there are no bounds                        there are bounds
    =========== ======= ============================================== =====================================

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
    check_level(level)
    curves = metric == "pr_auc"
    if curves and (over == "beta" or threshold is not None):
        msg = "PR-AUC depends on neither beta nor a threshold"
        given = "over='beta'" if over == "beta" else f"threshold={threshold!r}"
        raise ParameterError(msg, found=given, hint="omit it")
    fixed = _fixed(over, prevalence, beta)
    frame = whole_counts(counts)
    keys = [key for key in COUNTS.keys(frame.columns) if key != units]
    if frame.is_empty():
        return CROSSOVER_INTERVALS.empty(frame.select(keys))
    draws = Draws(repeats=repeats, seed=seed, units=units, over=None)
    if curves or threshold == "own":
        tables = _interpolated(frame, keys, metric, over, fixed, level, draws)
    else:
        tables = _of_points(frame, threshold, over, fixed, level, draws)
    if not tables:
        return CROSSOVER_INTERVALS.empty(frame.select(keys))
    order = [*keys, "model_a", "model_b", "prevalence", "beta"]
    return CROSSOVER_INTERVALS.finish(pl.concat(tables).sort(order))


def _interpolated(
    frame: pl.DataFrame,
    keys: list[str],
    metric: CrossingMetric,
    over: Over,
    fixed: float,
    level: float,
    draws: Draws,
) -> list[pl.DataFrame]:
    """Return the crossovers of curves, which resampled logs have on a grid."""
    if metric == "pr_auc":
        found = area_curves_of(frame, **draws)
    else:
        at = (
            {"prevalence": None, "beta": fixed}
            if over == "prevalence"
            else {"prevalence": fixed, "beta": None}
        )
        found = own_curves_of(frame, **at, **draws)
    units = draws["units"]
    pooled = frame if units is None else pool_counts(frame, over=units)
    if metric == "pr_auc":
        crossings = find_crossovers(pooled, metric=metric, over="prevalence")
    else:
        rates = compute_rates(pooled)
        other = {"beta": fixed} if over == "prevalence" else {"prevalence": fixed}
        crossings = find_crossovers(rates, metric=metric, over=over, **other)
    tables = []
    for row in crossings.iter_rows(named=True):
        border = border_of(found[tuple(row[key] for key in keys)], row, over, level)
        result = {name: row[name] for name in (*keys, "metric", "model_a", "model_b", "prevalence", "beta")}
        schema = {key: frame.schema[key] for key in keys} | CROSSOVER_INTERVALS.dtypes()
        tables.append(pl.DataFrame([result | border], schema=schema))
    return tables


def _of_points(
    frame: pl.DataFrame, threshold: float | None, over: Over, fixed: float, level: float, draws: Draws
) -> list[pl.DataFrame]:
    """Return the crossovers of single operating points, in closed form."""
    found = resample(frame, ["recall", "fpr"], prevalence="observed", beta=1.0, threshold=threshold, **draws)
    groups: dict[tuple[object, ...], list[Replicates]] = {}
    for replicates in found:
        replicates.check_one_point()
        groups.setdefault(replicates.histogram.group.row(0)[1:], []).append(replicates)
    tables = [
        _crossover(*pair, over, fixed, level)
        for models in groups.values()
        for pair in itertools.permutations(models, 2)
    ]
    return [table for table in tables if table is not None]


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


def _crossover(
    below: Replicates, above: Replicates, over: Over, fixed: float, level: float
) -> pl.DataFrame | None:
    """Return where *above* overtakes *below*; None if it does not."""
    value = _position(_rates(below, below.value), _rates(above, above.value), over, fixed)
    if np.isnan(value):
        return None
    values = _position(_rates(below, below.values), _rates(above, above.values), over, fixed)
    drawn = values[~np.isnan(values)]
    border = border_between(below.sizes, above.sizes, drawn, len(values), level)
    at = {"prevalence": fixed, "beta": fixed} | {over: float(value)}
    found = {
        "metric": "f_beta",
        "model_a": below.histogram.group["model"][0],
        "model_b": above.histogram.group["model"][0],
        **at,
        **border,
    }
    table = pl.DataFrame([found], schema=CROSSOVER_INTERVALS.dtypes())
    return below.histogram.group.drop("model").hstack(table) if below.histogram.group.width > 1 else table


def _rates(replicates: Replicates, values: Floats) -> tuple[Floats, Floats]:
    """Return TPR and FPR."""
    metric = replicates.cases["metric"].to_list()
    return values[..., metric.index("recall")], values[..., metric.index("fpr")]


def _position(below: tuple[Floats, Floats], above: tuple[Floats, Floats], over: Over, fixed: float) -> Floats:
    """Return where the second overtakes the first; NaN where it does not."""
    (tpr_a, fpr_a), (tpr_b, fpr_b) = below, above
    gain, cost = tpr_b - tpr_a, tpr_a * fpr_b - tpr_b * fpr_a
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        slope = np.where((gain > 0) & (cost > 0), gain / cost, np.nan)
        if over == "prevalence":
            return 1 / (1 + slope * fixed * fixed)
        return np.sqrt((1 - fixed) / fixed / slope)
