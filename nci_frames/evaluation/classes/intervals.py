"""Bounds of metrics of decisions among classes: by the delta method, or from resampled logs."""

from dataclasses import replace
from typing import Any

import numpy as np

from nci_frames.base.normal import normal_quantile, on_logit
from nci_frames.base.typing import FloatPair, Floats
from nci_frames.evaluation.classes.class_log import ClassLog, rates_of
from nci_frames.evaluation.classes.mixes import Mixes, at_shares
from nci_frames.evaluation.metrics.classes import ClassMetric
from nci_frames.evaluation.rates.strata import FEW_ROWS
from nci_frames.evaluation.resampling.draws import draw_with_replacement, stream, times_drawn
from nci_frames.evaluation.resampling.resampling import Resampling

#: The complex step of a derivative, which may be tiny since nothing is subtracted.
_STEP = 1e-30
#: Largest number of derivatives in memory.
_MOST_SLOPES = 1 << 21


def slopes(metric: ClassMetric, mixes: Mixes, rates: Floats) -> Floats:
    """Return the derivatives of a metric by the rates, of shape (mixes, outputs, names, names).

    They use a complex step, f(x + ih) = f(x) + ih·f'(x), without cancellation.
    """
    priors, mix, size = mixes.priors, mixes.mix(rates), mixes.priors.shape[-1]
    if metric.name == "expected_cost":
        return np.asarray(np.nan_to_num((priors[:, :, None] * mixes.cost)[:, None]))
    step, still = 1j * _STEP * np.eye(size), np.zeros((size, size))

    def slope(of_recall: Any, of_decided: Any) -> Floats:
        recall, decided = mix.recall[:, None] + of_recall, mix.decided[:, None] + of_decided
        ahead = mix.ahead[:, None] + of_recall - of_decided
        moved = replace(mix, priors=priors[:, None], recall=recall, decided=decided, ahead=ahead)
        return np.asarray(metric.values(moved).imag / _STEP)

    found = np.einsum("mdo,mc->mocd", slope(still, step), priors)
    found[..., range(size), range(size)] += slope(step, still).swapaxes(1, 2)
    return np.asarray(np.nan_to_num(found))


def influences(log: ClassLog, metric: ClassMetric, mixes: Mixes, rates: Floats) -> Floats:
    """Return the change of the metric by one more row of weight 1: (mixes, outputs, names, names).

    The rates are of shape (names, names), or (mixes, names, names).
    """
    of_class = log.total.sum(axis=1)
    slope = slopes(metric, mixes, rates)
    mean = (np.nan_to_num(rates)[..., None, :, :] * slope).sum(axis=-1, keepdims=True)
    each = np.divide(1.0, of_class, out=np.zeros(len(of_class)), where=of_class > 0)
    return np.asarray((slope - mean) * each[:, None])


def stratum_sums(log: ClassLog, influence: Floats) -> Floats:
    """Return the sum of influences of the rows of each stratum or bucket: (mixes, outputs, strata)."""
    return np.asarray(np.einsum("mocd,scd->mos", influence, log.rows, optimize=True) * log.weights)


def _variance(log: ClassLog, influence: Floats) -> Floats:
    """Return the variance of the metric, of buckets or strata.

    The rows of a stratum have a fixed number over all groups of the model, but how many rows of the traffic
    they stand for is chance. Strata of few rows are taken as drawn row by row.
    """
    sums = stratum_sums(log, influence)
    if log.in_buckets:
        buckets = sums.shape[-1]
        return np.asarray(sums.var(axis=-1) * buckets * buckets / (buckets - 1))
    squares = np.einsum("mocd,scd->mos", influence**2, log.rows, optimize=True) * log.weights**2
    fixed = np.where(log.drawn < FEW_ROWS, 0, 1 / log.drawn - 1 / np.maximum(log.traffic, log.drawn))
    return np.asarray((squares - sums**2 * fixed).sum(axis=-1))


def bounds_at(
    log: ClassLog, metric: ClassMetric, mixes: Mixes, draws: Resampling, drawn: Floats | None
) -> FloatPair:
    """Return bounds (mixes, outputs) by the delta method, extended to percentiles of *drawn* rates."""
    size = len(log.rates)
    some = max(1, _MOST_SLOPES // (size**3 if metric.of_each else size**2))
    parts = (mixes[begin : begin + some] for begin in range(0, len(mixes.names), some))
    lower, upper = np.concatenate([_by_slopes(log, metric, part, draws.level) for part in parts], axis=1)
    if drawn is None:
        return lower, upper
    for place in range(len(mixes.names)):
        values = mixes[place : place + 1].value(metric, drawn)
        told = np.flatnonzero((~np.isnan(values)).sum(axis=0) > 1)
        low, high = np.nanquantile(values[:, told], draws.tails, axis=0).reshape(2, -1)
        lower[place, told] = np.fmin(lower[place, told], low)
        upper[place, told] = np.fmax(upper[place, told], high)
    return lower, upper


def _by_slopes(log: ClassLog, metric: ClassMetric, mixes: Mixes, level: float) -> Floats:
    """Return bounds by the delta method, on the logit of the metric's range, of shape (2, mixes, outputs).

    A decision that no row of a class got may still occur in a few of a hundred rows. So the bounds include
    those of three similar logs: with one more row of each class, spread over all decisions; with less uneven
    wrong decisions (``ClassLog.scattered``), since few rows of many decisions make all precisions seem better
    than they are; and with the decision that a class never got, but that would do this metric the most harm.
    """
    z, of_mix, found = normal_quantile(level), np.zeros((len(mixes.names), 1)), []
    if mixes.errors is not None:
        of_mix = _by_mix(metric, mixes, log.rates, mixes.errors.max(axis=1))
        found.append(_at_bounds(metric, mixes, log.rates, mixes.errors))
    for more in (0 * log.unseen, log.scattered, log.unseen / len(log.unseen)):
        influence, bounds = _with_more(log, metric, mixes, more, z, of_mix)
        found.append(bounds)
    # The row that does the most harm is another one for each mix and output.
    (of_each, outputs, *shape), worse = influence.shape, -1 if metric.direction == "maximize" else 1
    never = np.where(log.total == 0, log.unseen, 0.0)
    place = (worse * influence * never).reshape(of_each * outputs, -1).argmax(axis=1)
    rows = np.where(np.arange(never.size) == place[:, None], never.ravel(), 0.0).reshape(-1, *shape)
    one = metric.of_class(np.tile(np.arange(outputs), of_each)) if metric.of_each else metric
    each = replace(mixes, priors=np.repeat(mixes.priors, outputs, axis=0))
    own = np.broadcast_to(of_mix, (of_each, outputs)).reshape(-1, 1)
    low, high = np.reshape(_with_more(log, one, each, rows, z, own)[1], (2, of_each, outputs))
    found.append((low, high))
    lower, upper = zip(*found, strict=True)
    return np.array([np.fmin.reduce(lower), np.fmax.reduce(upper)])


def _with_more(
    log: ClassLog, metric: ClassMetric, mixes: Mixes, more: Floats, z: float, of_mix: Floats
) -> tuple[Floats, FloatPair]:
    """Return the influences of rows, and bounds, of the log with *more* rows."""
    near = rates_of(log.total + more)
    influence = influences(log, metric, mixes, near)
    added = (influence**2 * (log.unseen * np.maximum(more, 0))[..., None, :, :]).sum(axis=(-1, -2))
    half = np.hypot(np.sqrt(np.maximum(_variance(log, influence) + added, 0)) * z, of_mix)
    return influence, _in_range(mixes.value(metric, near), half, *mixes.range(metric))


def _by_mix(metric: ClassMetric, mixes: Mixes, rates: Floats, errors: Floats) -> Floats:
    """Return the largest change of the metric by errors of the priors, of shape (mixes, outputs).

    The errors of the shares sum to 0; their dependence is unknown. So any number may be subtracted from the
    derivatives, and the change is at most the least sum of absolute derivatives times error bounds. For two
    classes this is exact.
    """
    size, step = mixes.priors.shape[-1], 1e-6
    toward = (1 - step) * mixes.priors[:, None] + step * np.eye(size)
    here = mixes.value(metric, rates)[:, None]
    moved = replace(mixes, priors=toward).value(metric, rates)
    # A name that is not a class has no share, hence no error.
    slope = np.nan_to_num((moved - here) / step)
    apart = np.abs(slope[:, :, None] - slope[:, None])
    far = np.einsum("mcko,mc->mko", apart, errors).min(axis=1)
    unknown = (np.isnan(moved) & (errors > 0)[..., None]).any(axis=1)
    return np.asarray(np.where(unknown, np.inf, far))


def _at_bounds(metric: ClassMetric, mixes: Mixes, rates: Floats, errors: Floats) -> FloatPair:
    """Return the least and the largest value with one share at a bound, the others in proportion.

    If a share may be 0, a precision may be 0, which derivatives do not show.
    """
    ends = (mixes.priors[:, None] + errors * np.array([[-1.0], [1.0]])).clip(0, 1)
    values = replace(mixes, priors=at_shares(mixes.priors[:, None], ends)).value(metric, rates)
    return np.fmin.reduce(values, axis=(1, 2)), np.fmax.reduce(values, axis=(1, 2))


def _in_range(value: Floats, half: Floats, low: float, high: float) -> FloatPair:
    """Return the ends of value ± half on the logit scale between *low* and *high*."""
    place = (value - low) / (high - low)
    lower, upper = (low + (high - low) * end for end in on_logit(place, half / (high - low)))
    inside = (place > 0) & (place < 1)
    return np.where(inside, lower, value), np.where(inside, upper, value)


def resampled(log: ClassLog, draws: Resampling) -> Floats:
    """Return the rates of resampled logs, of shape (repeats, names, names).

    Rows are drawn within each class, or with several weights within each weight, which stands for as many
    rows of the traffic as in another log. Buckets are drawn whole, and are the same for every model.
    """
    repeats, size = draws.repeats, log.rows.shape[-1]
    name = {key: value for key, value in log.group.items() if not (log.in_buckets and key == "model")}
    if log.in_buckets:
        times = times_drawn(draws.seed, name, len(log.rows), repeats)
        return rates_of((times @ log.rows.reshape(len(log.rows), -1)).reshape(repeats, size, size))
    rng, total = stream(draws.seed, name), np.zeros((repeats, size, size))
    several, samples = len(log.rows) > 1, zip(log.weights, log.drawn, log.traffic, strict=True)
    for stratum, (weight, sample, traffic) in zip(log.rows.astype(np.int64), samples, strict=True):
        # Rows of other groups are of the same sample.
        parts = [np.append(stratum, int(sample) - stratum.sum())] if several else stratum
        drawn = np.stack([draw_with_replacement(rng, part, repeats) for part in parts], axis=1)
        if several:
            drawn = drawn[..., :-1] * (rng.gamma(traffic, size=(repeats, 1, 1)) / max(traffic, 1))
        total += weight * drawn.reshape(repeats, size, size)
    return rates_of(total)
