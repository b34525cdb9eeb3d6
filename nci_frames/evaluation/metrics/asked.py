"""Look up a metric by name, label or expression; errors suggest the nearest name."""

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import polars as pl

from nci_frames.base.arguments import check_allowed
from nci_frames.base.errors import ParameterError, UnknownMetricError
from nci_frames.base.messages import Call, nearest_name
from nci_frames.evaluation.metrics.metric import CalledMetric, Metric
from nci_frames.evaluation.metrics.registry import all_metrics, resolve

__all__ = [
    "COSTS_OF_ONE",
    "asked_metric",
    "by_label",
    "called_metric",
    "curve_asked",
    "find_metric",
    "title_of",
    "value_expression",
]

M = TypeVar("M")

#: Metrics whose costs are 1 unless they are given.
COSTS_OF_ONE = ("expected_cost", "normalised_cost", "relative_cost")

_F_SCORE = re.compile(r"f[-_ ]?(\d+(?:\.\d+)?)(?:[-_ ]?score)?", re.IGNORECASE)
_WANTED = "the name of a metric, or a called metric such as nci_frames.f_beta(beta=2)"


def find_metric(label: str) -> Metric:
    """Return the metric with a name, an alias, or the label of a called metric such as ``name(c=1)``.

    Raises
    ------
    UnknownMetricError
        If there is none.
    """
    return _found(label)[0]


def curve_asked(asked: str | pl.Expr) -> Metric | None:
    """Return the requested metric if it is an area; None if it is a metric of operating points.

    Raises
    ------
    UnknownMetricError
        If the name is unknown.
    """
    if isinstance(asked, pl.Expr):
        return None
    found, _ = _found(asked)
    return found if found.kind == "curve" else None


def asked_metric(asked: str | pl.Expr) -> Metric:
    """Return the requested metric, of operating points or of curves.

    Raises
    ------
    UnknownMetricError
        As ``called_metric`` does.
    """
    return curve_asked(asked) or called_metric(asked).metric


def title_of(label: str) -> str:
    """Return the display name of a metric; a label with settings is returned unchanged."""
    found = resolve(label)
    return found[0].title if found and found[0].title and label in found[0].words else label


def called_metric(asked: str | pl.Expr) -> CalledMetric:
    """Return the requested metric as an expression that can be evaluated and compared.

    Parameters
    ----------
    asked
        A name, an alias or a label; a called metric; or an expression registered under its name.

    Raises
    ------
    ParameterError
        If it is an area.
    UnknownMetricError
        If the name is unknown, or the expression is not a metric, so that its direction is unknown.
    """
    if isinstance(asked, CalledMetric):
        return asked
    if isinstance(asked, pl.Expr):
        label = _output_name(asked)
        known = _registered_as(asked, label)
        if known is not None:
            return known
        hint = "an expression has no direction: register_metric gives it one; a called metric needs no alias"
        raise unknown_metric(label, (), hint)
    found, settings = _found(asked)
    if found.build is None:
        msg = f"the metric {found.name!r} is an area of all scores: it has no value at an operating point"
        way = Call(f"{found.computed_by} computes it", "nci-frames report compares models by areas")
        raise ParameterError(msg, hint=f"{way}")
    return found.build(**settings)


def by_label(asked: Any, found: Callable[[Any], M], label: Callable[[M], str], hint: str) -> dict[str, M]:
    """Look up each requested metric, one or several, with *found*; return the results by label.

    Raises
    ------
    ParameterError
        If there is none, or two share a label, which *hint* may contain.
    """
    named: dict[str, M] = {}
    for metric in map(found, [asked] if isinstance(asked, str | pl.Expr) else asked):
        name = label(metric)
        if name in named:
            raise ParameterError(f"two metrics have the label {name!r}", hint=hint.format(name))
        named[name] = metric
    check_allowed(named, "metrics", asked, "at least one metric")
    return named


def value_expression(asked: str | pl.Expr) -> pl.Expr:
    """Return the expression of the requested metric, or any other expression that has no metric's name.

    Raises
    ------
    ParameterError
        If an expression has the name of another metric.
    UnknownMetricError
        If a name is unknown.
    """
    if not isinstance(asked, pl.Expr) or isinstance(asked, CalledMetric):
        return called_metric(asked)
    label = _output_name(asked)
    registered = resolve(label)
    if registered is None:
        return asked
    known = _registered_as(asked, label)
    if known is not None:
        return known
    msg = f"the label {label!r} belongs to the metric {registered[0].name!r}, not to this expression"
    hint = "give the expression another name with .alias(...), or ask for the metric by its name"
    raise ParameterError(msg, found=str(asked), hint=hint)


def _registered_as(expression: pl.Expr, label: str) -> CalledMetric | None:
    """Return the metric that a user registered with this expression and name."""
    registered = resolve(label)
    if registered is None or not registered[0].own or registered[0].build is None:
        return None
    called = registered[0].build()
    bare = expression.meta.undo_aliases()
    return called if bare.meta.eq(called.meta.undo_aliases()) else None


def _found(label: object) -> tuple[Metric, dict[str, float]]:
    if not isinstance(label, str):
        raise ParameterError.out_of_range("metric", label, _WANTED)
    found = resolve(label)
    if found is None:
        score = _F_SCORE.fullmatch(label)
        if score:
            raise unknown_metric(label, (), f"did you mean 'f_beta', with beta={score[1]}?")
        known = [each.name for each in all_metrics()]
        raise unknown_metric(label, known, "nci_frames.metrics() lists them all")
    return found


def unknown_metric(
    label: str, known: Iterable[str], hint: str, found: str | None = None
) -> UnknownMetricError:
    """Return the error for an unknown name; it suggests the nearest of *known*, or gives the *hint*."""
    close = nearest_name(label, known)
    hint = f"did you mean {close!r}?" if close else hint
    return UnknownMetricError(f"unknown metric {label!r}", found=found, hint=hint)


def _output_name(expression: pl.Expr) -> str:
    try:
        return expression.meta.output_name()
    except pl.exceptions.ComputeError:
        raise ParameterError.out_of_range("metric", str(expression), _WANTED) from None
