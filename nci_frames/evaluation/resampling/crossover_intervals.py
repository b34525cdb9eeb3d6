"""Counts -> where the F-beta curves of two models cross, with intervals."""

import itertools
from typing import Literal

import numpy as np
import polars as pl

from nci_frames.arguments import beta_value, check_level, prevalence_values
from nci_frames.checked import checked
from nci_frames.errors import ParameterError
from nci_frames.evaluation.arrays.histograms import whole_counts
from nci_frames.evaluation.resampling.replicates import Replicates, resample
from nci_frames.schemas import COUNTS, CROSSOVER_INTERVALS
from nci_frames.typing import Floats

__all__ = ["crossover_intervals"]

Over = Literal["prevalence", "beta"]


@checked
def crossover_intervals(
    counts: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    over: Over = "prevalence",
    prevalence: float | None = None,
    beta: float = 1.0,
    threshold: float | None = None,
    repeats: int = 1000,
    seed: int = 0,
    units: str | None = None,
    level: float = 0.95,
) -> pl.DataFrame:
    """Return where the F-beta curves of every two models cross, with intervals from resampled logs.

    Parameters
    ----------
    counts
        A counts frame of whole rows, or rates. Each model needs one operating point: *threshold*, or a frame
        with one row of each model.
    over
        "prevalence" for curves over the prevalence at a fixed *beta*; "beta" for curves over beta at a fixed
        *prevalence*.
    prevalence
        P(y=1), between 0 and 1, both excluded; used with "beta" only.
    beta
        Weight of recall, in (0, inf); used with "prevalence" only.
    threshold
        The threshold of the operating points.
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
    A row per key and two models that cross, sorted by keys, model_a and model_b:

    =========== ======= ============================================== =====================================
    column      dtype   meaning                                        null where
    =========== ======= ============================================== =====================================
    keys                 as in *counts*, without *units*               as in *counts*
    metric      String  "f_beta"                                       never
    model_a     String  the one that is better below the crossover     a model of its own
    model_b     String  the one that is better above it                a model of its own
    prevalence  Float64 where they cross, or as given                  never
    beta        Float64 where they cross, or as given                  never
    lower,      Float64 percentiles of the crossover, in the unit of   fewer than 2 resampled logs have it
    upper               *over*, among the resampled logs that have it
    probability Float64 share of the resampled logs that have it       never
    repeats     Int64   resampled logs that have it                    never
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

    References
    ----------
    Wojciechowski and Wozniak (2024), the F-beta plot, arXiv:2404.08709.

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
    fixed = _fixed(over, prevalence, beta)
    found = resample(
        counts, ["recall", "fpr"], prevalence="observed", beta=1.0,
        threshold=threshold, repeats=repeats, seed=seed, units=units,
    )  # fmt: skip
    frame = whole_counts(counts)
    groups: dict[tuple[object, ...], list[Replicates]] = {}
    for replicates in found:
        replicates.check_one_point()
        groups.setdefault(replicates.histogram.group.row(0)[1:], []).append(replicates)
    tables = [
        _crossover(*pair, over, fixed, level)
        for models in groups.values()
        for pair in itertools.permutations(models, 2)
    ]
    crossing = [table for table in tables if table is not None]
    keys = [key for key in COUNTS.keys(frame.columns) if key != units]
    if not crossing:
        return CROSSOVER_INTERVALS.empty(frame.select(keys))
    return CROSSOVER_INTERVALS.finish(pl.concat(crossing).sort(*keys, "model_a", "model_b"))


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
    bounds = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2]) if len(drawn) > 1 else [None, None]
    at = {"prevalence": fixed, "beta": fixed} | {over: float(value)}
    found = {
        "metric": "f_beta",
        "model_a": below.histogram.group["model"][0],
        "model_b": above.histogram.group["model"][0],
        **at,
        "lower": bounds[0],
        "upper": bounds[1],
        "probability": len(drawn) / len(values),
        "repeats": len(drawn),
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
