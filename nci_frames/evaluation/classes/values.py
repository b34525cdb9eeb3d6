"""The metrics of decisions among classes, as functions of arrays that may be complex: their slopes follow.

All are functions of the priors, of the share of each class that is decided rightly, and of the share of each
decision in the mix. NaN is undefined.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nci_frames.base.typing import Floats
from nci_frames.evaluation.metrics.classes import CLASS_METRICS, OF_EACH_CLASS

#: An array of Float64, or complex where slopes are taken.
Numbers = Any
#: From here on, only recall counts.
_MOST_BETA = 1e150
#: The step of a slope: it is not subtracted, so it cannot be too small.
_STEP = 1e-30


@dataclass(frozen=True, slots=True)
class Mix:
    """What metrics are made of; the last axis is that of classes and other decisions."""

    priors: Floats
    #: Of each class, the share that is decided rightly.
    recall: Numbers
    #: The share of each decision in the mix.
    decided: Numbers
    #: The expected cost.
    cost: Numbers
    #: Which names are classes: those that means are over.
    classes: NDArray[np.bool_]
    beta: float

    @property
    def right(self) -> Numbers:
        """The share of the mix that is of each class and decided rightly."""
        return np.where(self.priors > 0, self.priors * self.recall, 0.0)


@dataclass(frozen=True, slots=True)
class Setting:
    """What a metric depends on besides the rows."""

    #: Those of one mix; or of shape (mixes, names).
    priors: Floats
    classes: NDArray[np.bool_]
    beta: float
    cost: Floats
    #: Of estimated priors, how far below and above them their bounds are: (mixes, 2, names).
    errors: Floats | None = None

    def __getitem__(self, mixes: int | slice) -> "Setting":
        """Return some of several mixes, or one."""
        errors = None if self.errors is None else self.errors[mixes]
        return replace(self, priors=self.priors[mixes], errors=errors)

    def mix(self, rates: Floats) -> Mix:
        """Return the mix of the priors (..., names) and rates (..., names, names), NaN without rows."""
        priors = np.broadcast_to(self.priors, np.broadcast_shapes(self.priors.shape, rates.shape[:-1]))
        recall, _ = np.broadcast_arrays(np.diagonal(rates, axis1=-2, axis2=-1), priors)
        known = np.nan_to_num(rates)
        told = np.where((priors > 0) & np.isnan(recall), np.nan, 0.0).sum(axis=-1)
        decided = np.einsum("...c,...cd->...d", priors, known) + told[..., None]
        paid = np.einsum("...c,...c->...", priors, (known * self.cost).sum(axis=-1)) + told
        return Mix(priors, recall, decided, paid, self.classes, self.beta)

    def value(self, metric: str, rates: Floats) -> Floats:
        """Return the metric at rates of shape (..., names, names), with an axis for its outputs."""
        return np.asarray(value_of(metric, self.mix(rates)))

    def range(self, metric: str) -> tuple[float, float]:
        """Return the range of the metric."""
        if metric == "expected_cost":
            return float(self.cost.min()), float(self.cost.max())
        return CLASS_METRICS[metric].lower, CLASS_METRICS[metric].upper


def value_of(metric: str, mix: Mix) -> Numbers:
    """Return a metric of mixes, with an axis for the classes, or one of length 1."""
    with np.errstate(invalid="ignore", divide="ignore"):
        value = _FORMULAS[metric](mix)
    return value if metric in OF_EACH_CLASS else value[..., None]


def _known(mix: Mix) -> Numbers:
    """0, or NaN where a class of the mix has no row."""
    return np.where(np.isnan(mix.recall) & (mix.priors > 0), np.nan, 0.0).sum(axis=-1)


def _precision(mix: Mix) -> Numbers:
    return np.where(mix.decided == 0, np.nan, mix.right / mix.decided)


def _f_beta(mix: Mix) -> Numbers:
    if mix.beta >= _MOST_BETA:
        return mix.recall
    weight = 1 / (1 + mix.beta**2)
    below = weight * mix.decided + (1 - weight) * mix.priors
    return np.where(below == 0, np.nan, mix.right / below)


def _mean(values: Numbers, mix: Mix) -> Numbers:
    """Return the mean over the classes whose value is defined; NaN where a class of the mix has no row."""
    counted = mix.classes & ~np.isnan(values)
    return np.where(counted, values, 0).sum(axis=-1) / counted.sum(axis=-1) + _known(mix)


def _weighted_f_beta(mix: Mix) -> Numbers:
    return np.where(mix.priors > 0, mix.priors * _f_beta(mix), 0).sum(axis=-1) + _known(mix)


def _apart(shares: Numbers, others: Numbers) -> Numbers:
    """Return the probability that draws from two distributions differ: exactly 0 if they cannot."""
    return (shares * (others.sum(axis=-1, keepdims=True) - others)).sum(axis=-1)


def _kappa(mix: Mix) -> Numbers:
    chance = _apart(mix.priors, mix.decided)
    return np.where(chance == 0, np.nan, 1 - _wrong(mix) / chance)


def _wrong(mix: Mix) -> Numbers:
    """Return the share of wrong decisions."""
    return mix.decided.sum(axis=-1) - mix.right.sum(axis=-1)


def _mcc(mix: Mix) -> Numbers:
    of_classes, of_decisions = _apart(mix.priors, mix.priors), _apart(mix.decided, mix.decided)
    above = _apart(mix.priors, mix.decided) - _wrong(mix)
    value = above / np.sqrt(of_classes * of_decisions)
    # With one class the limit is 0, unless all decisions are one, too.
    return np.where(of_decisions == 0, np.nan, np.where(of_classes == 0, 0.0, value))


_FORMULAS: Mapping[str, Any] = {
    "accuracy": lambda mix: mix.right.sum(axis=-1),
    "balanced_accuracy": lambda mix: _mean(mix.recall, mix),
    "macro_precision": lambda mix: _mean(_precision(mix), mix),
    "macro_recall": lambda mix: _mean(mix.recall, mix),
    "macro_f_beta": lambda mix: _mean(_f_beta(mix), mix),
    "weighted_f_beta": _weighted_f_beta,
    "kappa": _kappa,
    "mcc": _mcc,
    "expected_cost": lambda mix: mix.cost,
    "precision": _precision,
    "recall": lambda mix: mix.recall,
    "f_beta": _f_beta,
    "pos_fraction": lambda mix: mix.decided,
}


def rates_of(total: Floats) -> Floats:
    """Return the shares of the decisions among the rows of each class; NaN for a class without rows."""
    of_class = total.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(total, of_class, out=np.full(total.shape, np.nan), where=of_class > 0))


def slopes(metric: str, setting: Setting, rates: Floats) -> Floats:
    """Return how a metric of several mixes changes with the rates: (mixes, outputs, names, names).

    By a complex step: f(x + ih) = f(x) + ih·f'(x), without a difference of near numbers.
    """
    priors = setting.priors
    size = priors.shape[-1]
    mix = setting.mix(rates)
    recall, decided = mix.recall[:, None], mix.decided[:, None]
    step = 1j * _STEP * np.eye(size)
    known = np.zeros((size, size))
    paid = mix.cost[:, None] + np.zeros(size)
    of_recall, of_decided = (
        value_of(metric, Mix(priors[:, None], right, others, paid, mix.classes, mix.beta)).imag / _STEP
        for right, others in ((recall + step, decided + known), (recall + known, decided + step))
    )
    found = np.einsum("mdo,mc->mocd", of_decided, priors)
    found[..., range(size), range(size)] += of_recall.swapaxes(1, 2)
    if metric == "expected_cost":
        found = (priors[:, :, None] * setting.cost)[:, None]
    return np.asarray(np.nan_to_num(found))
