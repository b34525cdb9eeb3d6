"""Operating points of segments -> values there and in the rest, why they differ, and how sure that is."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.arguments import beta_value
from nci_frames.base.normal import normal_quantile
from nci_frames.base.typing import Floats
from nci_frames.evaluation.metrics.metric import CalledMetric
from nci_frames.evaluation.significance.propagation import Function, p_values, propagated
from nci_frames.evaluation.significance.segment_worth import SegmentWorth

_CELLS = ("tp", "fp", "fn", "tn")


def _values_of(called: CalledMetric, beta: float) -> Function:
    """Return the metric as a function of TPR, FPR and prevalence."""
    given = beta_value(beta)

    def function(rates: Floats) -> Floats:
        columns = dict(zip(("tpr", "fpr", "prevalence"), rates, strict=True))
        frame = pl.DataFrame(columns).with_columns(beta=pl.lit(given))
        values = frame.select(value=called.cast(pl.Float64)).to_series()
        return values.fill_null(np.nan).to_numpy()

    return function


def compared_values(
    point: pl.DataFrame,
    ordinary: NDArray[np.bool_],
    worth: SegmentWorth,
    called: CalledMetric,
    *,
    prevalence: float,
    beta: float,
    level: float,
) -> dict[str, Floats]:
    """Return the metric in each segment and in its rest, the parts of their difference, and bounds.

    Parameters
    ----------
    point
        The counts of one operating point in each segment.
    ordinary
        Which segments belong to the rest of the others.
    worth
        How many independent rows those of each segment are worth.
    called
        The metric.
    prevalence
        The common one.
    beta
        Weight of recall.
    level
        Confidence of each interval.
    """
    z, function = normal_quantile(level), _values_of(called, beta)
    cells = point.select(_CELLS).to_numpy().astype(np.float64).T
    rest = cells[:, ordinary].sum(axis=1)[:, None] - np.where(ordinary, cells, 0.0)
    (rates, rows), (rest_rates, rest_rows) = _rates_of(cells), _rates_of(rest)
    trials, rest_trials = rows / worth.effects(level), rest_rows / worth.effects_of_rest(ordinary, level)

    def at_common(of: Floats) -> Floats:
        return function(np.stack([of[0], of[1], np.full(of.shape[1], prevalence)]))

    both, both_trials = np.concatenate([rates, rest_rates]), np.concatenate([trials, rest_trials])
    found: dict[str, Floats] = {}
    _, *at_eta = propagated(at_common, rates[:2], trials[:2], z)
    own, *at_own = propagated(function, rates, trials, z)
    for name, sides in (("", at_eta), ("own_", at_own)):
        found[f"{name}lower"], found[f"{name}upper"] = (
            np.clip(side, called.metric.lower, called.metric.upper) for side in sides
        )
    found["own_value"], found["rest_value"] = own, function(rest_rates)
    found["difference"] = own - found["rest_value"]

    def of_prevalence(of: Floats) -> Floats:
        return _parts(function, of)[0]

    def of_rates(of: Floats) -> Floats:
        return _parts(function, of)[1]

    for name, part in (("due_to_prevalence", of_prevalence), ("due_to_rates", of_rates)):
        names = (name, f"{name}_lower", f"{name}_upper")
        found |= dict(zip(names, propagated(part, both, both_trials, z), strict=True))
    found["p_value"] = p_values(of_rates, both, both_trials)
    return {name: np.where(np.isfinite(column), column, np.nan) for name, column in found.items()}


def _rates_of(cells: Floats) -> tuple[Floats, Floats]:
    """Return TPR, FPR and prevalence, and the rows that each is a share of."""
    tp, fp, fn, tn = cells
    positives, negatives = tp + fn, fp + tn
    trials = np.stack([positives, negatives, positives + negatives])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.stack([tp, fp, positives]) / trials, trials


def _parts(function: Function, rates: Floats) -> tuple[Floats, Floats]:
    """Return the parts of the difference that are due to prevalence and to rates."""
    cases = rates.shape[1]
    here, there = rates[:3], rates[3:]
    mixed = np.concatenate(
        [here, there, np.stack([*there[:2], here[2]]), np.stack([*here[:2], there[2]])], axis=1
    )
    own, rest, eta_moved, rates_moved = function(mixed).reshape(4, cases)
    return (eta_moved - rest + own - rates_moved) / 2, (rates_moved - rest + own - eta_moved) / 2
