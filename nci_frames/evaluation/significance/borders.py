"""Counts -> how far the place where two models change places varies between resampled logs."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np
import polars as pl

from nci_frames.base.typing import Floats
from nci_frames.evaluation.resampling.replicates import Replicates, resample

__all__ = ["Curves", "Draws", "area_curves_of", "border_between", "border_of", "own_curves_of"]

#: How many positives and negatives are drawn from, or buckets of equal size that have them.
Sizes = tuple[float, float]

#: The places along the axis, of which crossings are interpolated: the natural logarithm of odds, or of beta.
_LOGITS, _LOG_BETAS = np.linspace(-16, 16, 161), np.linspace(-7, 7, 141)


#: Of fewer rows, or buckets of equal size, resampled logs differ too little. In simulated logs bounds held
#: the place in 87 % with 3 units of positives, in 63 % with 2, and in none with 2 or 3 positive rows.
_LEAST = 5
_FEW = f"fewer than {_LEAST} rows of a class, or buckets of equal size that have it"
_RARE = "fewer than 2 resampled logs have it"


def border_between(below: Sizes, above: Sizes, drawn: Floats, logs: int, level: float) -> dict[str, Any]:
    """Return what ``crossover_intervals`` says of a crossover beside its place.

    Parameters
    ----------
    below, above
        The ``Replicates.sizes`` of both models.
    drawn
        Where it is in the resampled logs that have it.
    logs
        How many resampled logs there are.
    level
        Share of *drawn* between the bounds.
    """
    few = min(*below, *above) < _LEAST
    why = _FEW if few else _RARE if len(drawn) < 2 else None
    tails = [(1 - level) / 2, (1 + level) / 2]
    lower, upper = (None, None) if why else np.quantile(drawn, tails).tolist()
    return {
        "lower": lower,
        "upper": upper,
        "probability": None if few else len(drawn) / logs,
        "repeats": len(drawn),
        "reason": why,
    }


@dataclass(frozen=True, slots=True)
class Curves:
    """What models are compared by, along an axis, in resampled logs."""

    #: Ascending: the logarithm of the odds of the prevalence, or of beta.
    places: Floats
    #: Of each model, of shape (logs, places): logarithms, so that small values count as large ones do.
    values: dict[object, Floats]
    #: Of each model, its ``Replicates.sizes``.
    sizes: dict[object, Sizes]

    def overtakings(self, below: object, above: object, at: float) -> Floats:
        """Return where *above* overtakes *below* in the logs that have it, of several the nearest to *at*."""
        lead = self.values[below] - self.values[above]
        before, after = lead[:, :-1], lead[:, 1:]
        with np.errstate(invalid="ignore", divide="ignore"):
            overtaken = (before > 0) & (after <= 0)
            place = self.places[:-1] + np.diff(self.places) * before / (before - after)
            far = np.where(overtaken, np.abs(place - at), np.inf)
        nearest = far.argmin(axis=1)
        logs = np.arange(len(lead))
        return np.asarray(place[logs, nearest][np.isfinite(far[logs, nearest])])


class Draws(TypedDict):
    """How logs are resampled."""

    repeats: int
    seed: int
    units: str | None
    over: str | None


def border_of(curves: Curves, crossing: Mapping[str, Any], over: str, level: float) -> dict[str, Any]:
    """Return what ``crossover_intervals`` says of a crossover beside its place."""
    at = crossing[over]
    logit = over == "prevalence"
    place = np.log(at / (1 - at)) if logit else np.log(at)
    below, above = crossing["model_a"], crossing["model_b"]
    drawn = curves.overtakings(below, above, float(place))
    border = border_between(curves.sizes[below], curves.sizes[above], drawn, len(curves.values[below]), level)

    def back(place: float | None) -> float | None:
        if place is None:
            return None
        return float(1 / (1 + np.exp(-place)) if logit else np.exp(place))

    return border | {side: back(border[side]) for side in ("lower", "upper")}


def area_curves_of(counts: pl.DataFrame, **draws: Unpack[Draws]) -> dict[tuple[object, ...], Curves]:
    """Return PR-AUC of the models over prevalence, by the values of the other keys."""
    etas: list[float] = (1 / (1 + np.exp(-_LOGITS))).tolist()

    def curve(replicates: Replicates) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(replicates.values))

    found = resample(counts, "pr_auc", prevalence=etas, beta=1.0, threshold=None, **draws)
    return _grouped(found, curve, _LOGITS)


def own_curves_of(
    counts: pl.DataFrame,
    *,
    prevalence: float | None,
    beta: float | None,
    **draws: Unpack[Draws],
) -> dict[tuple[object, ...], Curves]:
    """Return F-beta of the models at their best thresholds, over prevalence if that is None, else over beta.

    The best threshold of a resampled log is that of the thresholds of *counts*.
    """
    if prevalence is None:
        places, log_lambda = _LOGITS, -_LOGITS - 2 * np.log(1.0 if beta is None else beta)
    else:
        places, log_lambda = _LOG_BETAS, np.log((1 - prevalence) / prevalence) - 2 * _LOG_BETAS

    def curve(replicates: Replicates) -> Floats:
        metric = replicates.cases["metric"].to_numpy()
        tpr, fpr = (replicates.values[:, metric == name] for name in ("recall", "fpr"))
        values = np.empty((len(tpr), len(places)))
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse, ratio = 1 / tpr, fpr / tpr
            for place, factor in enumerate(np.exp(log_lambda)):
                # F-beta falls as (1 + lambda·FPR)/TPR grows.
                values[:, place] = -np.log(np.fmin.reduce(inverse + factor * ratio, axis=1))
        return values

    found = resample(
        counts, ["recall", "fpr"], prevalence="observed", beta=1.0, threshold=None, **draws,
    )  # fmt: skip
    return _grouped(found, curve, places)


def _grouped(
    found: Iterator[Replicates], curve: Callable[[Replicates], Floats], places: Floats
) -> dict[tuple[object, ...], Curves]:
    groups: dict[tuple[object, ...], Curves] = {}
    for replicates in found:
        model, *keys = replicates.histogram.group.row(0)
        curves = groups.setdefault(tuple(keys), Curves(places, {}, {}))
        curves.values[model], curves.sizes[model] = curve(replicates), replicates.sizes
    return groups
