"""Class counts -> the best models along a line between two mixes, or over the triangle of three classes."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import Option
from nci_frames.base.typing import Flags, Floats, Frame
from nci_frames.counts.class_counts import Priors, one_mix, scenarios_of
from nci_frames.evaluation.classes.class_log import ClassLog, collected
from nci_frames.evaluation.classes.mixes import Mixes, place_of_class, read_mixes
from nci_frames.evaluation.metrics import better_sign
from nci_frames.evaluation.metrics.classes import ClassMetric, class_metric, metric_of_all
from nci_frames.evaluation.metrics.metric import rounding
from nci_frames.schemas import CLASS_WINNERS, checked

#: Lines of a triangle, each with a constant share of the third class, and mixes along each.
LINES = 200
#: Points closer than this are the same.
_APART = 1e-13
#: Degree and nodes of the polynomials; no node is at an end, where a fraction may be 0/0.
_DEGREE = 16
_NODES = np.polynomial.chebyshev.chebpts1(_DEGREE + 1)
_TO_COEFFICIENTS = np.linalg.inv(np.polynomial.chebyshev.chebvander(_NODES, _DEGREE)).T
#: Largest number of halvings, and of parts of the line.
_HALVINGS, _MOST_PARTS = 45, 1 << 16
#: Tolerances: of values, relative to the largest; of imaginary parts of roots; of distances from an end.
_ROUNDING, _REAL, _AT_END = 1e-14, 1e-7, 1e-10


@checked
def class_winners(
    class_counts: Frame,
    /,
    *,
    metric: str,
    start: Priors,
    end: Priors,
    of: str | float | bool | date | None = None,
    beta: float = 1.0,
    cost: Mapping[Any, float] | None = None,
) -> pl.DataFrame:
    """Return the best model in each range of a line between two mixes of the classes.

    Parameters
    ----------
    class_counts
        Class counts of a labelled log, without scenarios.
    metric
        A metric, as in ``project_classes``.
    start, end
        Mixes at the ends of the line: ``{class: share}``, "uniform", or "observed", if it is the same for all
        models.
    of
        The class, for "precision", "recall" or "f_beta".
    beta, cost
        As in ``project_classes``.

    Returns
    -------
    A row per range, sorted by keys and start, without gaps:

    %(columns of class winners)s

    Keys are those of *class_counts*, without ``bucket``. If models are equal over a whole range, the first by
    name is returned, and ``tied`` lists all.

    Raises
    ------
    ParameterError
        If the metric has no best value; if it is a metric of each class and *of* is not a class; if a mix
        lacks a class; or if models have different observed mixes.
    UnknownMetricError
        If the metric is unknown.
    SchemaError
        If *class_counts* are not class counts of a labelled log.

    Notes
    -----
    Ranges are exact, even narrow ones. Every metric is smooth along the line: linear (accuracy, cost, mean
    recall), a rational function, or a sum of these (for MCC, its square times a common factor). The line is
    halved until polynomials represent all values to rounding; models cross at the roots of their difference.
    This holds for these counts: another log may have other winners.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a"] * 4 + ["b"] * 4, "label": ["cat", "cat", "dog", "dog"] * 2,
    ...     "decision": ["cat", "dog"] * 4, "rows": [90, 10, 30, 70, 60, 40, 10, 90],
    ... })
    >>> cats, dogs = {"cat": 1.0, "dog": 0.0}, {"cat": 0.0, "dog": 1.0}
    >>> nf.class_winners(counts, metric="accuracy", start=cats, end=dogs).with_columns(
    ...     pl.col("start", "end").round(3)
    ... ).rows()
    [(0.0, 0.6, 'a', ['a']), (0.6, 1.0, 'b', ['b'])]
    """
    hint = f"take one of all classes, such as 'macro_f_beta', or say of which class: {Option('of')}"
    known = class_metric(metric, of_all=None if of is not None else hint)
    better_sign(known)
    ends = {"start": one_mix("start", scenarios_of(start)), "end": one_mix("end", scenarios_of(end))}
    logs, asked = read_mixes(collected(class_counts, scenarios=False), ends, [known], beta=beta, cost=cost)
    if of is not None:
        if not known.of_each:
            msg, hint = f"the metric {known.name!r} is one of all classes", f"omit {Option('of')}"
            raise ParameterError(msg, hint=hint)
        classes = logs.names.filter(pl.Series(asked.classes)).to_list()
        place = place_of_class(f"{Option('of')}", of, classes)
        known = known.of_class(np.flatnonzero(asked.classes)[[place]])
    return logs.table(CLASS_WINNERS, lambda models: _ranges(known, models, asked), "start")


def winners_along(
    class_counts: Frame, lines: Mapping[str, tuple[Any, Any]], *, metric: str, **asked: Any
) -> pl.DataFrame:
    """Return ``class_winners`` along several lines, given their ends by ``class``; counts are read once."""
    known = metric_of_all(metric)
    better_sign(known)
    ends = {f"{name} {end}": mix for name, line in lines.items() for end, mix in enumerate(line)}
    logs, mixes = read_mixes(class_counts, ends, [known], **asked)
    (models,) = logs.groups
    each = ((name, mixes[2 * place : 2 * place + 2]) for place, name in enumerate(lines))
    rows = [{"class": name, **row} for name, line in each for row in _ranges(known, models, line)]
    return pl.DataFrame(rows, {"class": pl.String(), **CLASS_WINNERS.dtypes()})


def _common(asked: Mixes, models: list[ClassLog]) -> Mixes:
    """Return the mixes, which must be the same for all models."""
    first, *others = (asked.of(log) for log in models)
    if not all(np.allclose(mixes.priors, first.priors, rtol=0, atol=1e-12) for mixes in others):
        msg, hint = "the models have different observed mixes", "give the shares as {class: share}"
        raise ParameterError(msg, hint=hint)
    return first


def _upward(metric: ClassMetric, models: list[ClassLog], mixes: Mixes) -> Floats:
    """Return the metric of each model at each mix, signed so that higher is better; -inf if undefined."""
    found = better_sign(metric) * np.array([mixes.value(metric, log.rates)[..., 0] for log in models])
    return np.asarray(np.where(np.isnan(found), -np.inf, found))


def _best(metric: ClassMetric, values: Floats) -> Flags:
    """Return a mask of the models that tie with the best at each mix; none if all are undefined."""
    most = values.max(axis=0)
    return np.asarray(((values == most) | (most - values <= rounding(metric, most))) & np.isfinite(most))


def _joined(models: list[ClassLog], best: Flags, edges: Floats) -> Iterator[dict[str, Any]]:
    """Yield the ranges between *edges*; neighbours with the same best models are merged."""
    last = np.flatnonzero(np.append((best[:, 1:] != best[:, :-1]).any(axis=0), True))
    for begin, end in zip([0, *last[:-1] + 1], last, strict=True):
        tied = [log.group["model"] for log, holds in zip(models, best[:, end], strict=True) if holds]
        yield {"start": edges[begin], "end": edges[end + 1], "model": tied[0] if tied else None, "tied": tied}


def _ranges(metric: ClassMetric, models: list[ClassLog], asked: Mixes) -> Iterator[dict[str, Any]]:
    """Return the ranges of the line between two mixes; neighbours with the same best models are merged."""
    ends = _common(asked, models)

    def at(places: Floats) -> Floats:
        first, last = ends.priors
        return np.outer(1 - places, first) + np.outer(places, last)

    def values(places: Floats) -> Floats:
        return _upward(metric, models, replace(ends, priors=at(places)))

    def smooth(places: Floats) -> Floats:
        """Return a smooth function that is equal where the models are: for MCC, without its square root."""
        found = values(places)
        return found if metric.name != "mcc" else found**2 * (1 - (at(places) ** 2).sum(axis=1))

    borders = places_of_equality(smooth)
    borders = borders[(borders > 0) & (borders < 1)]
    # Where three models meet, rounding may split one point into several.
    borders = borders[np.diff(borders, prepend=0.0) > _APART]
    low, high = np.append(0.0, borders), np.append(borders, 1.0)
    # Models tie in a whole range if they tie at three points of it.
    inside = (low + (high - low) * part for part in (0.25, 0.5, 0.75))
    equal: Flags = np.logical_and.reduce([_best(metric, values(places)) for places in inside])
    return _joined(models, equal, np.append(low, 1.0))


def places_of_equality(values: Callable[[Floats], Floats]) -> Floats:
    """Return the points in [0, 1] at which two models are equal.

    Parameters
    ----------
    values
        Returns the metric of each model at given points, of shape (models, points): smooth between 0 and 1.

    Notes
    -----
    Parts of the line are halved until polynomials of degree 16 represent all values to rounding. Two models
    are equal at the roots of their difference, the eigenvalues of its companion matrix in the Chebyshev basis
    (Boyd 2002, doi:10.1137/S0036142901398325).
    """
    low, width = np.zeros(1), np.ones(1)
    found = [np.empty(0)]
    for halving in range(_HALVINGS):
        places = low[:, None] + width[:, None] * (1 + _NODES) / 2
        at = values(places.ravel())
        at = at[np.isfinite(at).all(axis=1)].reshape(-1, *places.shape)
        if len(at) < 2:
            break
        coefficients = at @ _TO_COEFFICIENTS
        least = _ROUNDING * np.abs(at).max(axis=(0, 2))
        held = (np.abs(coefficients[..., -2:]).max(axis=(0, 2)) <= least) | (halving == _HALVINGS - 1)
        for part in np.flatnonzero(held | (len(low) > _MOST_PARTS)):
            roots = [*_roots(coefficients[:, part], least[part])]
            found.append(low[part] + width[part] * (1 + np.array(roots)) / 2)
        low, width = low[~held], width[~held] / 2
        if not 0 < len(low) <= _MOST_PARTS:
            break
        low, width = np.concatenate([low, low + width]), np.tile(width, 2)
    return np.unique(np.concatenate(found))


def _roots(coefficients: Floats, least: float) -> Iterator[float]:
    """Yield the points in [-1, 1] at which two polynomials are equal, given their coefficients."""
    one, other = np.triu_indices(len(coefficients), 1)
    differences = coefficients[one] - coefficients[other]
    # Chebyshev terms are at most their coefficients, so a dominant constant excludes roots.
    may_meet = np.abs(differences[:, 0]) <= np.abs(differences[:, 1:]).sum(axis=1) + least
    for difference in differences[may_meet]:
        roots = np.polynomial.chebyshev.chebroots(np.polynomial.chebyshev.chebtrim(difference, least))
        real = roots.real[(np.abs(roots.imag) < _REAL) & (np.abs(roots.real) <= 1 + _AT_END)]
        # Snap roots to the ends, where the neighbouring part may find the same root.
        yield from np.where(np.abs(real) >= 1 - _AT_END, np.sign(real), real).tolist()


def winners_in_triangle(
    class_counts: Frame, *, metric: str, beta: float, cost: Mapping[Any, float] | None
) -> tuple[pl.DataFrame, list[Any]]:
    """Return the best models at a lattice of mixes of three classes, and the classes.

    The rows are ranges of lines, as of ``class_winners``, on which the ``third`` class has a constant share;
    ``start`` and ``end`` are shares of the second class.

    Raises
    ------
    ParameterError
        If there are not exactly three classes with rows, there are keys, or the metric is one of each class.
    """
    known = metric_of_all(metric)
    logs, uniform = read_mixes(class_counts, "uniform", [known], beta=beta, cost=cost)
    logs.need_no_keys("the triangle")
    classes = np.flatnonzero(logs.seen)
    if len(classes) != 3:
        msg, hint = "the triangle is that of the mixes of three classes", "draw winners along lines"
        raise ParameterError(msg, found=f"{len(classes)} classes with rows", hint=hint)
    # Mixes in the middle of cells have all classes; without a class, metrics may be undefined.
    edges = np.linspace(0, 1, LINES + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    first, second = np.outer(1 - middles, 1 - middles), np.outer(1 - middles, middles)
    priors = np.zeros((LINES, LINES, len(logs.names)))
    priors[..., classes] = np.stack([first, second, 1 - first - second], axis=-1)
    (models,) = logs.groups
    best = _best(known, _upward(known, models, replace(uniform, priors=priors)))
    rows = [
        {"third": share, **run}
        for line, share in enumerate(middles.tolist())
        for run in _joined(models, best[:, line], (1 - share) * edges)
    ]
    schema = {"third": pl.Float64(), **CLASS_WINNERS.dtypes()}
    return pl.DataFrame(rows, schema), logs.names[classes].to_list()
