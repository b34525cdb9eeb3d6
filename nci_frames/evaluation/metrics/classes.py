"""The metrics of decisions among more than two classes, and their values.

With the class shares p and the rates R[c, d] of decision d among rows of class c, J = diag(p)·R. Values are
functions of arrays that may be complex, for complex-step derivatives. NaN means undefined.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Flags, Floats
from nci_frames.evaluation.metrics.asked import unknown_metric
from nci_frames.evaluation.metrics.metric import Metric
from nci_frames.evaluation.metrics.registry import resolve

#: An array of Float64, or complex for derivatives.
Numbers = Any
#: From this beta on, F-beta equals recall.
_MOST_BETA = 1e150


@dataclass(frozen=True, slots=True)
class Mix:
    """The inputs of metrics at a mix of classes; the last axis is that of classes and other decisions."""

    priors: Floats
    #: Share of each class that is decided correctly.
    recall: Numbers
    #: Share of each decision in the mix; NaN if a class of the mix has no row.
    decided: Numbers
    #: Recall of each class less the share of its decision.
    ahead: Numbers
    #: Expected cost.
    cost: Numbers
    #: Which names are classes, over which means are taken.
    classes: Flags
    beta: float

    @property
    def right(self) -> Numbers:
        """Share of the mix in each class that is decided correctly."""
        return np.where(self.priors != 0, self.priors * self.recall, 0.0)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ClassMetric(Metric):
    """A metric of decisions among classes."""

    #: These metrics are in no registry, which would show how they are defined.
    formula: str = ""
    undefined_when: str = ""
    #: Returns the value at a mix: one number, or one per class along the last axis.
    of: Callable[[Mix], Numbers]
    #: Whether each class has its own value.
    of_each: bool = False
    #: For a mean over classes: the metric of each class.
    averages: "ClassMetric | None" = None

    def in_words(self, beta: float) -> str:
        """Return the display name, such as macro F1."""
        return (self.title or self.name.replace("_", " ")).replace("f beta", f"F{beta:g}")

    def of_class(self, places: Sequence[int] | NDArray[np.integer]) -> "ClassMetric":
        """Return the metric of one class: of another one at each mix, or of the same one at all."""

        def of(mix: Mix) -> Numbers:
            values = self.of(mix)
            at = np.reshape(places, (-1, *[1] * (values.ndim - 1)))
            return np.take_along_axis(values, at, axis=-1)[..., 0]

        return replace(self, of=of, of_each=False)

    def values(self, mix: Mix) -> Numbers:
        """Return the value with a last axis of classes, or of length 1."""
        value = self.of(mix)
        return value if self.of_each else value[..., None]


def _precision(mix: Mix) -> Numbers:
    return np.where(mix.decided == 0, np.nan, mix.right / mix.decided)


def _f_beta(mix: Mix) -> Numbers:
    if mix.beta >= _MOST_BETA:
        return mix.recall
    weight = 1 / (1 + mix.beta**2)
    # (1+beta²)·J[c,c]/(beta²·p[c] + J[.,c]), for any beta
    below = weight * mix.decided + (1 - weight) * mix.priors
    return np.where(below == 0, np.nan, mix.right / below)


_of_each = partial(ClassMetric, of_each=True)
_PRECISION, _F_BETA = _of_each("precision", of=_precision), _of_each("f_beta", of=_f_beta)
RECALL = _of_each("recall", of=lambda mix: mix.recall)
_POS_FRACTION = _of_each("pos_fraction", of=lambda mix: mix.decided, direction="target")


def _mean(name: str, averaged: ClassMetric, weights: str = "classes") -> ClassMetric:
    """Return a metric that is the mean of *averaged* over the classes where it is defined."""

    def mean(mix: Mix) -> Numbers:
        values = averaged.of(mix)
        weight = np.where(np.isnan(values), 0, getattr(mix, weights))
        known = 0 * mix.decided[..., 0]
        return np.where(weight != 0, weight * values, 0).sum(axis=-1) / weight.sum(axis=-1) + known

    return ClassMetric(name, of=mean, averages=averaged)


def _apart(shares: Numbers, others: Numbers) -> Numbers:
    """Return the probability that draws from two distributions differ: a sum of products, also if small."""
    rest = np.zeros_like(others)
    rest[..., 1:] += others[..., :-1].cumsum(axis=-1)
    rest[..., :-1] += others[..., :0:-1].cumsum(axis=-1)[..., ::-1]
    return (shares * rest).sum(axis=-1)


def _above_chance(mix: Mix, largest: Numbers) -> Numbers:
    """Return accuracy less that of decisions by chance, as a share of its largest possible value."""
    value = np.where(mix.priors != 0, mix.priors * mix.ahead, 0.0).sum(axis=-1) / largest
    return value / np.maximum(np.abs(np.real(value)), 1.0)  # above 1 by rounding


def _kappa(mix: Mix) -> Numbers:
    # (accuracy - e)/(1 - e), e = sum of p[c]·J[.,c]
    chance = _apart(mix.priors, mix.decided)
    return np.where(chance == 0, np.nan, _above_chance(mix, chance))


def _mcc(mix: Mix) -> Numbers:
    # (accuracy - e)/sqrt((1 - sum of p²)·(1 - sum of J[.,d]²))
    of_classes, of_decisions = _apart(mix.priors, mix.priors), _apart(mix.decided, mix.decided)
    value = _above_chance(mix, np.sqrt(of_classes) * np.sqrt(of_decisions))
    # With one class the limit is 0, unless there is only one decision, too.
    return np.where(of_decisions == 0, np.nan, np.where(of_classes == 0, 0.0 * of_decisions, value))


_SIGNED: dict[str, Any] = {"lower": -1.0, "scale": 1.0}
_EVERY = (
    ClassMetric("accuracy", of=lambda mix: mix.right.sum(axis=-1)),
    _mean("balanced_accuracy", RECALL),
    _mean("macro_precision", _PRECISION),
    _mean("macro_recall", RECALL),
    _mean("macro_f_beta", _F_BETA),
    _mean("weighted_f_beta", _F_BETA, "priors"),
    ClassMetric("kappa", of=_kappa, **_SIGNED),
    ClassMetric("mcc", of=_mcc, title="MCC", **_SIGNED),
    ClassMetric("expected_cost", of=lambda mix: mix.cost, direction="minimize", upper=float("inf")),
    _PRECISION, RECALL, _F_BETA, _POS_FRACTION,
)  # fmt: skip
#: By name; metrics of each class come last.
CLASS_METRICS = {metric.name: metric for metric in _EVERY}


def class_metric(name: str, *, of_all: str | None = None) -> ClassMetric:
    """Return the metric with a name or alias; *of_all* is the hint if it must be one of all classes.

    Raises
    ------
    ParameterError
        If it is one of each class, but must not be.
    UnknownMetricError
        If there is none.
    """
    found = resolve(name)
    known = CLASS_METRICS.get(found[0].name if found else name)
    if known is None:
        names = [metric.name for metric in _EVERY if of_all is None or not metric.of_each]
        hint = f"known are {', '.join(names)}"
        raise unknown_metric(name, names, hint, "metrics of decisions among classes")
    if of_all is not None and known.of_each:
        raise ParameterError(f"the metric {known.name!r} is one of each class", hint=of_all)
    return known


metric_of_all = partial(class_metric, of_all="take one of all classes, such as 'macro_f_beta'")
