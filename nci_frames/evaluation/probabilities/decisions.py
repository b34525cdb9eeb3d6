"""Counts -> the value of decisions by the scores: decision curves and cost curves."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import polars as pl

from nci_frames.base.arguments import number_list
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Field, FloatPair, Floats, Frame, Prevalences
from nci_frames.counts.resolution import in_precision_of
from nci_frames.evaluation.arrays.score_bins import Scores, thresholds_of
from nci_frames.evaluation.probabilities.adjust import Logged
from nci_frames.evaluation.probabilities.parts import Part, of_parts
from nci_frames.schemas import COST_CURVE, DECISIONS, checked

#: Takes a part, prevalences (one row per group) and places (columns); returns columns of such an array.
Columns = Callable[[Part, Floats, Floats], dict[str, Floats]]


@checked
def decision_curve(
    counts: Frame,
    /,
    *,
    prevalence: Prevalences | Field,
    threshold_probabilities: float | Sequence[float],
    adjusted: bool = False,
    logged_prevalence: Logged = "observed",
) -> pl.DataFrame:
    """Return the net benefit of treating the rows whose score reaches a threshold probability.

    Treating at probability t or more means that a missed positive is (1-t)/t times as bad as a needless
    treatment. The scores are used as probabilities: t is also the decision threshold.

    Parameters
    ----------
    counts, prevalence, adjusted, logged_prevalence
        As in ``proper_scores``.
    threshold_probabilities
        One or several threshold probabilities t, each in [0, 1).

    Returns
    -------
    A row per group, prevalence and threshold probability, sorted by these:

    %(columns of decision curve)s

    Treating nobody has net benefit 0. If t lies between two thresholds of a grid, the rows between them are
    placed at the middle; the net benefit of the original rows lies between ``lower`` and ``upper``.

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
    places = _places("threshold_probabilities", threshold_probabilities, np.nextafter(1, 0), "[0, 1)")

    def columns(part: Part, eta: Floats, t: Floats) -> dict[str, Floats]:
        odds, asked = t / (1 - t), _as_logged(part, t, eta, adjusted=adjusted)
        benefit, lower, upper = (eta * tpr - (1 - eta) * fpr * odds for tpr, fpr in _treated(part, asked))
        everyone = np.where(np.isnan(benefit), np.nan, eta - (1 - eta) * odds)
        avoided = np.where(t > 0, (benefit - everyone) / odds, np.nan)
        found = {"net_benefit": benefit, "treat_all": everyone, "interventions_avoided": avoided}
        return found | {"lower": lower, "upper": upper}

    name = "threshold_probability"
    make = partial(_at_places, name, places, columns)
    return DECISIONS.finish(of_parts(counts, prevalence, logged_prevalence, make, by=["prevalence", name]))


@checked
def cost_curve(
    counts: Frame,
    /,
    *,
    prevalence: Prevalences | Field,
    probability_costs: float | Sequence[float] = tuple(np.linspace(0.01, 0.99, 99).tolist()),
    adjusted: bool = False,
    logged_prevalence: Logged = "observed",
) -> pl.DataFrame:
    """Return the cost of decisions if the scores are used as probabilities, and at the best threshold.

    The difference is the cost of miscalibration.

    Parameters
    ----------
    counts, prevalence, adjusted, logged_prevalence
        As in ``proper_scores``.
    probability_costs
        One or several probability costs pc, each in [0, 1]: the share of positives in the cost of always
        being wrong, which summarises the costs of the two errors.

    Returns
    -------
    A row per group, prevalence and probability cost, sorted by these:

    %(columns of cost curve)s

    Always deciding positive costs 1 - pc, never deciding positive costs pc. If the threshold lies between two
    thresholds of a grid, the rows between them are placed at the middle.

    Raises
    ------
    ParameterError
        If scores lie outside [0, 1], or an option is out of range.
    SchemaError
        If *counts* is not a counts frame.

    Notes
    -----
    With the costs c_fn and c_fp, pc = eta·c_fn/(eta·c_fn + (1-eta)·c_fp), the decision threshold is t =
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
    places = _places("probability_costs", probability_costs, 1, "[0, 1]")

    def columns(part: Part, eta: Floats, pc: Floats) -> dict[str, Floats]:
        curves, up, down = part.curves, eta * (1 - pc), (1 - eta) * pc
        t = np.where(up + down > 0, up / (up + down), 1 - pc)
        tpr, fpr = _treated(part, _as_logged(part, t, eta, adjusted=adjusted))[0]
        costs = (one * (1 - curves.tpr1) + (1 - one) * curves.fpr1 for one in places)
        best = [curves.reduce(np.minimum, each) for each in costs]
        return {
            "threshold_probability": t,
            "actual": pc * (1 - tpr) + (1 - pc) * fpr,
            # Never deciding positive costs pc.
            "achievable": np.minimum(np.column_stack(best), pc),
        }

    name = "probability_cost"
    make = partial(_at_places, name, places, columns)
    return COST_CURVE.finish(of_parts(counts, prevalence, logged_prevalence, make, by=["prevalence", name]))


def _places(name: str, given: float | Sequence[float], end: float, allowed: str) -> list[float]:
    """Return the distinct numbers, ascending; raise ParameterError if one is outside [0, *end*]."""
    places = sorted(set(number_list(given)))
    if not places or not (places[0] >= 0 and places[-1] <= end):
        raise ParameterError.out_of_range(name, given, f"one or several numbers in {allowed}")
    return places


def _at_places(name: str, places: Sequence[float], columns: Columns, part: Part) -> Iterator[pl.DataFrame]:
    """Yield the table of a part at each prevalence and place, from a function of the columns."""
    for eta in part.etas:
        at = np.broadcast_to(places, (len(eta), len(places)))
        found = {name: at, **columns(part, eta[:, np.newaxis], at)}
        flat = {column: values.ravel() for column, values in found.items()}
        yield part.labelled(np.repeat(np.arange(len(eta)), len(places)), eta, **flat)


def _as_logged(part: Part, t: Floats, eta: Floats, *, adjusted: bool) -> Floats:
    """Return the logged score that equals t, or if *adjusted* that becomes t at the prevalence *eta*."""
    if not adjusted:
        return t
    logged = part.logged[:, np.newaxis]
    # At the prevalence of the log scores stay the same, whatever moving them would round.
    found = np.where(eta == logged, t, Scores.of(t).moved(logged, eta).p)
    # A score of 0 stays 0, even where all rows are positive, so it does not reach t > 0.
    return np.where((found == 0) & (t > 0), np.nextafter(0, 1), found)


def _treated(part: Part, t: Floats) -> list[FloatPair]:
    """Return TPR and FPR at each t of its group (row): from representative scores, worst case, best case."""
    curves = part.curves
    low, high = thresholds_of(curves)
    if part.bins.exact:
        at, scores = in_precision_of(low[np.isfinite(low)], t), [low]
        # Rounding must not let a score of 0 reach t > 0.
        t = np.where(at == 0, t, at)
    else:
        # Scores of a bin are below its upper end, so they reach only t below that end.
        most = np.where(curves.tied, low, np.nextafter(high, -np.inf))
        scores = [part.bins.middle.p, low, most]
    found = []
    for score in scores:
        number = np.zeros(t.shape, np.int64)
        for group, (start, size) in enumerate(zip(curves.start, curves.size, strict=True)):
            ascending = score[start : start + size][::-1]
            number[group] = size - np.searchsorted(ascending, t[group])
        last = curves.start[:, np.newaxis] + np.maximum(number - 1, 0)
        # A group without a class keeps its NaN.
        tpr, fpr = (np.where(number > 0, rate[last], 0 * rate[last]) for rate in (curves.tpr1, curves.fpr1))
        found.append((tpr, fpr))
    value, least, highest = found if len(found) > 1 else found * 3
    return [value, (least[0], highest[1]), (highest[0], least[1])]
