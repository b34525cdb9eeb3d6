"""Class counts -> the best model along a line between two mixes of the classes, or over a triangle."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import Option, listed
from nci_frames.base.typing import Floats
from nci_frames.counts.class_counts import Priors, one_mix, scenarios_of
from nci_frames.evaluation.classes.class_log import ClassLog, collected, null_first
from nci_frames.evaluation.classes.meetings import places_of_equality
from nci_frames.evaluation.classes.mixes import Mixes, read_mixes
from nci_frames.evaluation.metrics import better_sign
from nci_frames.evaluation.metrics.classes import ClassMetric, class_metric, metric_of_all
from nci_frames.evaluation.metrics.metric import rounding
from nci_frames.schemas import CLASS_WINNERS, checked

#: Strips of a triangle between lines on which the share of the third class stays the same, and how far the
#: outer ones are from its border, where a metric may be undefined.
_LINES, _EDGE = 60, 1e-6
#: Places that are nearer than this are one.
_APART = 1e-13


@checked
def class_winners(
    class_counts: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    metric: str,
    start: Priors,
    end: Priors,
    of: str | float | bool | date | None = None,
    beta: float = 1.0,
    cost: Mapping[Any, Any] | None = None,
) -> pl.DataFrame:
    """Return the best model in each range of a line between two mixes of the classes.

    Parameters
    ----------
    class_counts
        Class counts of a labelled log, without scenarios.
    metric
        A metric, as in ``project_classes``.
    start, end
        The mixes between which the line runs: ``{class: share}``, "uniform", or "observed", if that is the
        same for all models.
    of
        For "precision", "recall" or "f_beta", the class.
    beta, cost
        As in ``project_classes``.

    Returns
    -------
    A row per range, sorted by keys and start; the ranges leave no gap:

    %(columns of class winners)s

    Keys are those of *class_counts*, without ``bucket``. Of models that are equal over a whole range the
    first by name is returned; ``tied`` names all.

    Raises
    ------
    ParameterError
        If the metric has no best value, or is one of each class and *of* is none of them; if a mix lacks a
        class, or models differ in their observed mix.
    UnknownMetricError
        If there is no such metric.
    SchemaError
        If *class_counts* are no counts of a labelled log.

    Notes
    -----
    Ranges are exact, whatever their width. Along the line every metric is smooth: it is linear (accuracy,
    cost, mean recall), or a fraction of polynomials or a sum of such (the square of the MCC, but for what all
    models share). So parts of the line are halved until polynomials hold all values to rounding, and two
    models are equal at the roots of their difference.
    All this is for these counts: another log may have other winners.

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
    known = class_metric(metric) if of is not None else metric_of_all(metric, hint)
    better_sign(known)
    ends = {"start": one_mix("start", scenarios_of(start)), "end": one_mix("end", scenarios_of(end))}
    frame = collected(class_counts, scenarios=False)
    logs, asked = read_mixes(frame, ends, [known], beta=beta, cost=cost)
    place = 0 if of is None else _place(of, known, logs.names.filter(pl.Series(asked.classes)), logs.names)
    keys, groups = logs.compared()
    rows: list[dict[str, Any]] = []
    for values, models in groups.items():
        ranges = _ranges(known, place, models, _common(asked, models))
        rows.extend(dict(zip(keys, values, strict=True)) | row for row in ranges)
    schema = {key: logs.keys[key] for key in keys} | CLASS_WINNERS.dtypes()
    return CLASS_WINNERS.finish(pl.DataFrame(rows, schema=schema).sort([*keys, "start"]))


def _place(of: Any, metric: ClassMetric, classes: pl.Series, names: pl.Series) -> int:
    """Return the place of the class that a metric of each class is evaluated for."""
    if not metric.of_each:
        raise ParameterError(f"the metric {metric.name!r} is one of all classes", hint=f"omit {Option('of')}")
    if of not in classes.to_list():
        found = f"{of!r}; the classes are {listed(map(repr, classes), 20)}"
        raise ParameterError(f"{Option('of')} must be one of the classes", found=found)
    return names.to_list().index(of)


def _common(asked: Mixes, models: list[ClassLog]) -> Mixes:
    """Return the mixes of all models: a word must stand for the same mix of each."""
    first, *others = (asked.of(log) for log in models)
    for log, mixes in zip(models[1:], others, strict=True):
        if not np.allclose(mixes.priors, first.priors, rtol=0, atol=1e-12):
            msg, hint = "the models have different observed mixes", "give the shares as {class: share}"
            found = f"models {models[0].group['model']!r} and {log.group['model']!r}"
            raise ParameterError(msg, found=found, hint=hint)
    return first


def _best(metric: ClassMetric, values: Floats) -> NDArray[np.bool_]:
    """Return which models are as good as the best at each mix, but for rounding."""
    most = values.max(axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray((values == most) | (most - values <= rounding(metric, most)))


def _ranges(metric: ClassMetric, place: int, models: list[ClassLog], ends: Mixes) -> Iterator[dict[str, Any]]:
    """Yield the ranges of the line between two mixes, neighbours with the same best models joined.

    The *place* is that of the class of a metric of each class; 0 for one of all.
    """

    def at(places: Floats) -> Floats:
        first, last = ends.priors
        return np.outer(1 - places, first) + np.outer(places, last)

    def values(places: Floats) -> Floats:
        """Return the metric of each model at some places: higher is better, undefined -inf."""
        mixes = replace(ends, priors=at(places))
        found = better_sign(metric) * np.array([mixes.value(metric, log.rates)[:, place] for log in models])
        return np.asarray(np.where(np.isnan(found), -np.inf, found))

    def smooth(places: Floats) -> Floats:
        """Return what is equal where the models are, without the root of the MCC."""
        found = values(places)
        return found if metric.name != "mcc" else found**2 * (1 - (at(places) ** 2).sum(axis=1))

    borders = places_of_equality(smooth)
    borders = borders[(borders > 0) & (borders < 1)]
    # Where three models meet, rounding tells apart what is one place.
    borders = borders[np.diff(borders, prepend=0.0) > _APART]
    low, high = np.append(0.0, borders), np.append(borders, 1.0)
    # Models that are equal in a whole range are so at three places of it.
    inside = (low + (high - low) * part for part in (0.25, 0.5, 0.75))
    equal: NDArray[np.bool_] = np.logical_and.reduce([_best(metric, values(places)) for places in inside])
    defined = np.asarray(np.isfinite(values((low + high) / 2)).any(axis=0))
    same = (equal[:, 1:] == equal[:, :-1]).all(axis=0) & (defined[1:] == defined[:-1])
    last = np.flatnonzero(np.append(~same, True))
    for begin, end in zip([0.0, *high[last[:-1]]], last, strict=True):
        best = [log.group["model"] for log, holds in zip(models, equal[:, end], strict=True) if holds]
        tied = sorted(best, key=null_first) if defined[end] else []
        yield {"start": begin, "end": high[end], "model": tied[0] if tied else None, "tied": tied}


def winners_in_triangle(
    class_counts: pl.DataFrame | pl.LazyFrame, *, metric: str, beta: float, cost: Mapping[Any, Any] | None
) -> tuple[pl.DataFrame, list[Any]]:
    """Return the corners of regions in which a model is best, and the three classes.

    ``region``, ``model``, ``tied``, and ``second`` and ``third``: the shares of these classes at a corner.
    The regions lie between parallel lines, on which they are exact.

    Raises
    ------
    ParameterError
        If there are not three classes with rows, if there are keys, or the metric is one of each class.
    """
    known = metric_of_all(metric)
    logs, uniform = read_mixes(class_counts, "uniform", [known], beta=beta, cost=cost)
    logs.need_no_keys("the triangle")
    classes = np.flatnonzero(logs.seen)
    if len(classes) != 3:
        msg, hint = "the triangle is that of the mixes of three classes", "draw winners along lines"
        raise ParameterError(msg, found=f"{len(classes)} classes with rows", hint=hint)
    lines = []
    for third in np.linspace(0, 1, _LINES + 1).clip(_EDGE, 1 - _EDGE).tolist():
        ends = np.zeros((2, len(logs.names)))
        ends[:, classes] = (1 - third, 0, third), (0, 1 - third, third)
        lines.append((third, list(_ranges(known, 0, logs.logs, replace(uniform, priors=ends)))))
    rows: list[tuple[Any, ...]] = []
    for region, (one, low, other, high) in enumerate(_strips(lines)):
        corners = (one["start"], low), (one["end"], low), (other["end"], high), (other["start"], high)
        told = region, one["model"], one["tied"]
        rows += [(*told, part * (1 - third), third) for part, third in corners]
    table = pl.DataFrame(rows, ["region", "model", "tied", "second", "third"], orient="row")
    return table.cast({"model": pl.String}), logs.names[classes].to_list()


def _strips(
    lines: list[tuple[float, list[dict[str, Any]]]],
) -> Iterator[tuple[dict[str, Any], float, dict[str, Any], float]]:
    """Yield the ranges of two lines that border on the same region, and where the lines are."""
    for (low, below), (high, above) in pairwise(lines):
        if [each["tied"] for each in below] == [each["tied"] for each in above]:
            yield from ((one, low, other, high) for one, other in zip(below, above, strict=True))
        else:  # some region begins or ends between them
            middle = (low + high) / 2
            yield from ((each, low, each, middle) for each in below)
            yield from ((each, middle, each, high) for each in above)
