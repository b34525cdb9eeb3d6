"""Counts -> what decisions by the scores are worth: decision curves and cost curves."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.arguments import Prevalences, number_list
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Floats
from nci_frames.counts.resolution import in_precision_of
from nci_frames.evaluation.arrays.score_bins import thresholds_of
from nci_frames.evaluation.field.prevalences import Field
from nci_frames.evaluation.probabilities.adjust import Logged, check_logged
from nci_frames.evaluation.probabilities.parts import Part, of_parts
from nci_frames.schemas import COST_CURVE, DECISIONS
from nci_frames.schemas.checked import checked

#: Share of positives and of negatives that are treated: by what stands for the scores, at least and at most.
_Treated = tuple[tuple[Floats, Floats], tuple[Floats, Floats], tuple[Floats, Floats]]


@checked
def decision_curve(
    counts: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    prevalence: Prevalences | Field,
    threshold_probabilities: float | Sequence[float],
    adjusted: bool = False,
    logged_prevalence: Logged = "observed",
) -> pl.DataFrame:
    """Return the net benefit of treating the rows whose score reaches a threshold probability.

    Who treats from the probability t on takes a missed positive for (1-t)/t times as bad as a treatment in
    vain. The scores are taken at their word: t is also the decision threshold.

    Parameters
    ----------
    counts, prevalence, adjusted, logged_prevalence
        As in ``proper_scores``.
    threshold_probabilities
        One or several t, each in [0, 1).

    Returns
    -------
    A row per group, prevalence and threshold probability, sorted by these:

    %(columns of decision curve)s

    Treating nobody has the net benefit 0. Where t lies between two thresholds of a grid, the rows between
    them stand at the middle; ``lower`` and ``upper`` enclose the net benefit whatever they were.

    Raises
    ------
    ParameterError
        If scores lie outside [0, 1], or an option is out of range.
    SchemaError
        If *counts* is not a counts frame.

    Notes
    -----
    Net benefit = eta·TPR(t) - (1-eta)·FPR(t)·t/(1-t).

    References
    ----------
    Vickers and Elkin (2006), Decision curve analysis, doi:10.1177/0272989X06295361.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> curve = nf.decision_curve(nf.count_confusion(log), prevalence=0.1, threshold_probabilities=0.2)
    >>> curve.select(pl.col("net_benefit", "treat_all", "interventions_avoided").round(4)).row(0)
    (-0.0125, -0.125, 0.45)
    """
    check_logged(logged_prevalence)
    places = sorted(set(number_list(threshold_probabilities)))
    if not places or not (places[0] >= 0 and places[-1] < 1):
        allowed = "one or several numbers in [0, 1)"
        raise ParameterError.out_of_range("threshold_probabilities", threshold_probabilities, allowed)

    def make(part: Part) -> pl.DataFrame:
        groups, tables = np.arange(len(part.logged)), []
        for eta in part.etas:
            for t in places:
                odds = t / (1 - t)
                asked = np.full(len(groups), t)
                asked = _moved_back(asked, eta, part.logged) if adjusted else asked
                value, least, most = _treated(part, asked)
                benefit = [
                    eta * tpr - (1 - eta) * fpr * odds
                    for tpr, fpr in (value, (least[0], most[1]), (most[0], least[1]))
                ]
                everyone = np.where(np.isnan(benefit[0]), np.nan, eta - (1 - eta) * odds)
                columns = {
                    "threshold_probability": np.full(len(groups), t),
                    "net_benefit": benefit[0],
                    "treat_all": everyone,
                    "interventions_avoided": (benefit[0] - everyone) / odds if t else benefit[0] * np.nan,
                    "lower": benefit[1],
                    "upper": benefit[2],
                }
                tables.append(part.labelled(groups, eta, **columns))
        return pl.concat(tables)

    table, keys = of_parts(counts, prevalence, logged_prevalence, make)
    table = table.sort(*keys, "prevalence", "threshold_probability", maintain_order=True)
    return DECISIONS.finish(table)


@checked
def cost_curve(
    counts: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    prevalence: Prevalences | Field,
    probability_costs: float | Sequence[float] = tuple(np.linspace(0.01, 0.99, 99).tolist()),
    adjusted: bool = False,
    logged_prevalence: Logged = "observed",
) -> pl.DataFrame:
    """Return what decisions cost if the scores are taken at their word, and at the best of all thresholds.

    The distance of the two is what miscalibration costs whoever decides by the scores.

    Parameters
    ----------
    counts, prevalence, adjusted, logged_prevalence
        As in ``proper_scores``.
    probability_costs
        One or several numbers in [0, 1]: the share of the worst cost that positives hold, which stands for
        all costs of the two errors.

    Returns
    -------
    A row per group, prevalence and probability cost, sorted by these:

    %(columns of cost curve)s

    Always or never deciding positive costs 1 - pc, and pc.

    Raises
    ------
    ParameterError
        If scores lie outside [0, 1], or an option is out of range.
    SchemaError
        If *counts* is not a counts frame.

    Notes
    -----
    With the costs c_fn and c_fp, pc = eta·c_fn/(eta·c_fn + (1-eta)·c_fp), the scores are cut at t =
    c_fp/(c_fp + c_fn), and the normalised cost is pc·(1-TPR) + (1-pc)·FPR. The Brier score is twice the mean
    expected cost over t from 0 to 1.

    References
    ----------
    Drummond and Holte (2006), Cost curves, doi:10.1007/s10994-006-8199-5; Hernández-Orallo, Flach and Ferri
    (2011), Brier curves, ICML 28, for the scores at their word.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> curve = nf.cost_curve(nf.count_confusion(log), prevalence=0.5, probability_costs=0.5)
    >>> curve.select("threshold_probability", "actual", "achievable").row(0)
    (0.5, 0.25, 0.25)
    """
    check_logged(logged_prevalence)
    places = sorted(set(number_list(probability_costs)))
    if not places or not (places[0] >= 0 and places[-1] <= 1):
        allowed = "one or several numbers in [0, 1]"
        raise ParameterError.out_of_range("probability_costs", probability_costs, allowed)

    def make(part: Part) -> pl.DataFrame:
        groups, tables, curves = np.arange(len(part.logged)), [], part.curves
        for eta in part.etas:
            for pc in places:
                up, down = eta * (1 - pc), (1 - eta) * pc
                with np.errstate(invalid="ignore"):
                    t = np.where(up + down > 0, up / (up + down), 1 - pc)
                asked = _moved_back(t, eta, part.logged) if adjusted else t
                tpr, fpr = _treated(part, asked)[0]
                costs = pc * (1 - curves.tpr1) + (1 - pc) * curves.fpr1
                best = np.minimum.reduceat(costs, curves.start) if len(curves.start) else costs
                columns = {
                    "probability_cost": np.full(len(groups), pc),
                    "threshold_probability": t,
                    "actual": pc * (1 - tpr) + (1 - pc) * fpr,
                    # Nothing need be positive, either.
                    "achievable": np.minimum(best, pc),
                }
                tables.append(part.labelled(groups, eta, **columns))
        return pl.concat(tables)

    table, keys = of_parts(counts, prevalence, logged_prevalence, make)
    return COST_CURVE.finish(table.sort(*keys, "prevalence", "probability_cost", maintain_order=True))


def _moved_back(t: Floats, eta: Floats, logged: Floats) -> Floats:
    """Return the logged score of which the score moved to a prevalence is t."""
    up, down = t * ((1 - eta) * logged), (1 - t) * (eta * (1 - logged))
    with np.errstate(invalid="ignore"):
        return np.where(up + down > 0, up / (up + down), t)


def _treated(part: Part, t: Floats) -> _Treated:
    """Return which share of each class has scores that reach the t of the group."""
    curves, each = part.curves, part.each_step(t)
    low, high = thresholds_of(curves)
    if part.bins.exact:
        asked = in_precision_of(low[np.isfinite(low)], each)
        reached = [low >= asked] * 3
    else:
        surely = low >= each
        reached = [part.bins.middle.p >= each, surely, np.where(curves.tied, surely, high > each)]
    value, least, most = (_reached(part, those) for those in reached)
    return value, least, most


def _reached(part: Part, steps: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return TPR and FPR of the steps that are reached, the first of each group."""
    curves = part.curves
    number = np.add.reduceat(steps.astype(np.int64), curves.start) if len(curves.start) else curves.start
    last = curves.start + np.maximum(number - 1, 0)
    # A group that lacks a class keeps its NaN.
    tpr, fpr = (np.where(number > 0, rate[last], 0 * rate[last]) for rate in (curves.tpr1, curves.fpr1))
    return tpr, fpr
