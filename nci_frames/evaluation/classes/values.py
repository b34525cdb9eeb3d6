"""Rates of decisions and mixes of the classes -> values of metrics, and their slopes."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nci_frames.base.typing import Floats
from nci_frames.evaluation.metrics.classes import ClassMetric, Mix

#: The step of a slope: it is not subtracted, so it cannot be too small.
_STEP = 1e-30


@dataclass(frozen=True, slots=True)
class Setting:
    """A metric, and what it depends on besides the rows."""

    metric: ClassMetric
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

    def value(self, rates: Floats) -> Floats:
        """Return the metric at rates of shape (..., names, names), with an axis for its outputs."""
        return np.asarray(self.metric.values(self.mix(rates)))

    @property
    def range(self) -> tuple[float, float]:
        """The range of the metric."""
        if self.metric.name == "expected_cost":
            return float(self.cost.min()), float(self.cost.max())
        return self.metric.lower, self.metric.upper


def rates_of(total: Floats) -> Floats:
    """Return the shares of the decisions among the rows of each class; NaN for a class without rows."""
    of_class = total.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(total, of_class, out=np.full(total.shape, np.nan), where=of_class > 0))


def slopes(setting: Setting, rates: Floats) -> Floats:
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
    moved = (
        replace(mix, priors=priors[:, None], recall=right, decided=others, cost=paid)
        for right, others in ((recall + step, decided + known), (recall + known, decided + step))
    )
    of_recall, of_decided = (setting.metric.values(each).imag / _STEP for each in moved)
    found = np.einsum("mdo,mc->mocd", of_decided, priors)
    found[..., range(size), range(size)] += of_recall.swapaxes(1, 2)
    if setting.metric.name == "expected_cost":
        found = (priors[:, :, None] * setting.cost)[:, None]
    return np.asarray(np.nan_to_num(found))
