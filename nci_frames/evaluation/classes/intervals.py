"""How sure a metric of decisions among classes is: by its slopes, or by resampled logs."""

from dataclasses import replace

import numpy as np

from nci_frames.base.normal import normal_quantile
from nci_frames.base.typing import Floats
from nci_frames.evaluation.classes.class_log import ClassLog, rates_of
from nci_frames.evaluation.classes.mixes import Mixes
from nci_frames.evaluation.metrics.classes import ClassMetric
from nci_frames.evaluation.resampling.draws import draw_with_replacement, stream, times_drawn

#: The step of a slope: it is not subtracted, so it cannot be too small.
_STEP = 1e-30


def slopes(metric: ClassMetric, mixes: Mixes, rates: Floats) -> Floats:
    """Return how a metric changes with the rates: (mixes, outputs, names, names).

    By a complex step: f(x + ih) = f(x) + ih·f'(x), without a difference of near numbers.
    """
    priors, mix = mixes.priors, mixes.mix(rates)
    size = priors.shape[-1]
    recall, decided = mix.recall[:, None], mix.decided[:, None]
    step = 1j * _STEP * np.eye(size)
    known = np.zeros((size, size))
    paid = mix.cost[:, None] + np.zeros(size)
    moved = (
        replace(mix, priors=priors[:, None], recall=right, decided=others, cost=paid)
        for right, others in ((recall + step, decided + known), (recall + known, decided + step))
    )
    of_recall, of_decided = (metric.values(each).imag / _STEP for each in moved)
    found = np.einsum("mdo,mc->mocd", of_decided, priors)
    found[..., range(size), range(size)] += of_recall.swapaxes(1, 2)
    if metric.name == "expected_cost":
        found = (priors[:, :, None] * mixes.cost)[:, None]
    return np.asarray(np.nan_to_num(found))


def influences(log: ClassLog, metric: ClassMetric, mixes: Mixes, rates: Floats) -> Floats:
    """Return by how much one row of weight 1 more moves the metric: (mixes, outputs, names, names)."""
    of_class = log.total.sum(axis=1)
    slope = slopes(metric, mixes, rates)
    mean = (np.nan_to_num(rates) * slope).sum(axis=-1, keepdims=True)
    each = np.divide(1.0, of_class, out=np.zeros(len(of_class)), where=of_class > 0)
    return np.asarray((slope - mean) * each[:, None])


def stratum_sums(log: ClassLog, influence: Floats) -> Floats:
    """Return of each mix, output and bucket by how much its rows move the metric."""
    return np.asarray(np.einsum("mocd,scd->mos", influence, log.rows, optimize=True) * log.weights)


def _variance(log: ClassLog, influence: Floats) -> Floats:
    """Return the variance between logs of as many rows in each stratum, or of as many buckets."""
    sums = stratum_sums(log, influence)
    if log.in_buckets:
        buckets = sums.shape[-1]
        return np.asarray(sums.var(axis=-1) * buckets * buckets / (buckets - 1))
    squares = np.einsum("mocd,scd->mos", influence**2, log.rows, optimize=True) * log.weights**2
    rows = np.maximum(log.rows.sum(axis=(1, 2)), 1)
    return np.asarray((squares - sums**2 / rows).sum(axis=-1))


def delta_bounds(log: ClassLog, metric: ClassMetric, mixes: Mixes, level: float) -> tuple[Floats, Floats]:
    """Return bounds by the slopes of the metric, on the logit of its range, of shape (mixes, outputs).

    A decision that no row of a class got may still be one of a few in a hundred. So the bounds hold those of
    the log with one row more of each class, spread over all decisions.
    """
    total, of_class, z = log.total, log.total.sum(axis=1), normal_quantile(level)
    lower, upper = np.full((2, *mixes.value(metric, log.rates).shape), np.nan)
    of_mix: Floats | float = 0.0
    if mixes.errors is not None:
        of_mix = _by_mix(metric, mixes, log.rates, mixes.errors.max(axis=1))
        lower, upper = _at_bounds(metric, mixes, log.rates, mixes.errors)
    row = np.divide(of_class, log.independent, out=np.zeros(len(of_class)), where=of_class > 0)
    more = np.repeat((row / len(row))[:, None], len(row), axis=1)
    for added in (np.zeros_like(more), more):
        near = rates_of(total + added)
        value, influence = mixes.value(metric, near), influences(log, metric, mixes, near)
        variance = _variance(log, influence)
        if added.any():
            variance = variance + (influence**2 * (row**2 / len(row))[:, None]).sum(axis=(-1, -2))
        half = np.hypot(np.sqrt(np.maximum(variance, 0)) * z, of_mix)
        bounds = _on_logit(value, half, *mixes.range(metric))
        lower, upper = np.fmin(lower, bounds[0]), np.fmax(upper, bounds[1])
    return lower, upper


def _by_mix(metric: ClassMetric, mixes: Mixes, rates: Floats, errors: Floats) -> Floats:
    """Return by how much errors of the priors may move the metric, of shape (mixes, outputs).

    The errors of the shares add up to 0, and how they depend on each other is not known. So the sum of slopes
    times errors is that of slopes less any number, and at most the least sum of their sizes times the bounds.
    For two classes that is exact.
    """
    size, step = mixes.priors.shape[-1], 1e-6
    toward = (1 - step) * mixes.priors[:, None] + step * np.eye(size)
    here = mixes.value(metric, rates)[:, None]
    moved = replace(mixes, priors=toward).value(metric, rates)
    # A name that is no class has no share, and no error.
    slope = np.nan_to_num((moved - here) / step)
    apart = np.abs(slope[:, :, None] - slope[:, None])
    far = np.einsum("mcko,mc->mko", apart, errors).min(axis=1)
    unknown = (np.isnan(moved) & (errors > 0)[..., None]).any(axis=1)
    return np.asarray(np.where(unknown, np.inf, far))


def _at_bounds(metric: ClassMetric, mixes: Mixes, rates: Floats, errors: Floats) -> tuple[Floats, Floats]:
    """Return the least and the largest value where one share is at a bound, the others in proportion.

    A share that may be 0 makes a precision 0, which no slope shows.
    """
    size = mixes.priors.shape[-1]
    priors = mixes.priors[:, None, None]  # of a mix, a side and a class that is at its bound
    alone = np.eye(size, dtype=bool)
    ends = (priors + errors[..., None] * np.array([-1.0, 1.0])[:, None, None]).clip(0, 1)
    share, end = (np.where(alone, each, 0).sum(axis=-1, keepdims=True) for each in (priors, ends))
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = np.where(share < 1, priors * (1 - end) / (1 - share), priors)
    at = np.where(alone & (share < 1), end, rest)
    values = replace(mixes, priors=at).value(metric, rates)
    return np.fmin.reduce(values, axis=(1, 2)), np.fmax.reduce(values, axis=(1, 2))


def _on_logit(value: Floats, half: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Return the ends of value ± half, taken on the logit of where the value is between low and high."""
    with np.errstate(all="ignore"):
        place = (value - low) / (high - low)
        inside = (place > 0) & (place < 1)
        odds = place / (1 - place)
        factor = np.exp(np.minimum(half / (high - low) / (place * (1 - place)), 700))
        ends = [low + (high - low) * (1 - 1 / (1 + odds * by)) for by in (1 / factor, factor)]
    return np.where(inside, ends[0], value), np.where(inside, ends[1], value)


def resampled(log: ClassLog, repeats: int, seed: int) -> Floats:
    """Return the rates of resampled logs, of shape (repeats, names, names).

    Rows are drawn within each class, or of several weights within each weight; of buckets whole ones, the
    same for every model.
    """
    size = log.rows.shape[-1]
    name = {key: value for key, value in log.group.items() if not (log.in_buckets and key == "model")}
    if log.in_buckets:
        times = times_drawn(seed, name, len(log.rows), repeats)
        return rates_of((times @ log.rows.reshape(len(log.rows), -1)).reshape(repeats, size, size))
    rng, total = stream(seed, name), np.zeros((repeats, size, size))
    for weight, stratum in zip(log.weights, log.rows.astype(np.int64), strict=True):
        if len(log.rows) > 1:
            drawn = draw_with_replacement(rng, stratum.ravel(), repeats).reshape(repeats, size, size)
        else:
            drawn = np.stack([draw_with_replacement(rng, of_class, repeats) for of_class in stratum], axis=1)
        total += weight * drawn
    return rates_of(total)


def bootstrap_bounds(rates: Floats, metric: ClassMetric, mix: Mixes, level: float) -> Floats:
    """Return percentiles of a metric at one mix in resampled logs; NaN where fewer than two have a value."""
    values = mix.value(metric, rates)
    bounds = np.full((2, values.shape[1]), np.nan)
    some = (~np.isnan(values)).sum(axis=0) > 1
    if some.any():
        bounds[:, some] = np.nanquantile(values[:, some], [(1 - level) / 2, (1 + level) / 2], axis=0)
    return bounds
