"""The registry of metrics: how one is added, and what a name stands for."""

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, cast

import polars as pl

from nci_frames.base.docstrings import documented
from nci_frames.base.errors import ParameterError
from nci_frames.evaluation.metrics.metric import CalledMetric, Metric, Parameter
from nci_frames.schemas import checked

P = ParamSpec("P")

_REGISTRY: dict[str, Metric] = {}


def all_metrics() -> list[Metric]:
    """Return all metrics, sorted by name."""
    return sorted(_REGISTRY.values(), key=lambda known: known.name)


def resolve(label: str) -> tuple[Metric, dict[str, float]] | None:
    """Return the metric and the settings that a name, an alias or a label stands for; None if there is none.

    A name may itself contain brackets, so it is looked up as a whole before it is parsed.
    """
    by_word = {word: known for known in _REGISTRY.values() for word in known.words}
    if label in by_word:
        return by_word[label], {}
    name, settings = settings_of(label) or ("", {})
    known = by_word.get(name)
    if known is None or not set(settings) <= set(known.settings):
        return None
    return known, settings


def add(new: Metric) -> None:
    """Add a metric; a user-defined one replaces a user-defined one of the same name.

    Raises
    ------
    ParameterError
        If a name of it stands for another metric.
    """
    for word in new.words:
        found = resolve(word)
        if found is not None and not (new.own and found[0].own and found[0].name == new.name):
            raise ParameterError(
                f"the metric name {word!r} is taken",
                found=f"it stands for the metric {found[0].name!r}",
                hint="choose another name; nci_frames.metrics() lists them all",
            )
    _REGISTRY[new.name] = new


def metric(
    formula: str, undefined_when: str, **more: Any
) -> Callable[[Callable[P, pl.Expr]], Callable[P, CalledMetric]]:
    """Register the decorated function, and give its expression the metric's label.

    Parameters
    ----------
    formula
        In TPR, FPR and eta; for display only.
    undefined_when
        When the expression is null.
    more
        Other fields of the ``Metric``: its aliases, its range, its direction and how it depends on what.
    """

    def decorate(build: Callable[P, pl.Expr]) -> Callable[P, CalledMetric]:
        name = build.__name__
        parameters = inspect.signature(build).parameters
        settable = tuple(parameter for parameter in parameters if parameter not in ("prevalence", "beta"))

        @checked
        @functools.wraps(documented(build))
        def call(*args: P.args, **kwargs: P.kwargs) -> CalledMetric:
            given = cast("dict[str, float]", kwargs)
            settings = {key: float(given[key]) + 0.0 for key in settable if key in given}  # -0.0 is 0.0
            kwargs.update(settings)
            open_to = {key: cast("Parameter", kwargs.get(key)) for key in ("prevalence", "beta")}
            return CalledMetric(new, build(*args, **kwargs).alias(label_of(name, settings)), **open_to)

        told = {"formula": formula, "undefined_when": undefined_when, **more}
        new = Metric(name, build=call, settings=settable, **told)
        add(new)
        return call

    return decorate


_CALLED = re.compile(r"(\w+)\((.+)\)")


def label_of(name: str, settings: Mapping[str, float]) -> str:
    """Return the label of a metric called with settings; different settings always have different labels.

    >>> label_of("expected_cost", {"c_fp": 1.0, "c_fn": 1 / 3})
    'expected_cost(c_fp=1, c_fn=0.3333333333333333)'
    """
    # repr is the shortest text that is read back as the same number.
    told = (f"{key}={repr(float(value)).removesuffix('.0')}" for key, value in settings.items())
    return f"{name}({', '.join(told)})" if settings else name


def settings_of(label: str) -> tuple[str, dict[str, float]] | None:
    """Return the name and the settings that make a label; None if it has no settings.

    >>> settings_of("expected_cost(c_fp=1, c_fn=20)")
    ('expected_cost', {'c_fp': 1.0, 'c_fn': 20.0})
    """
    called = _CALLED.fullmatch(label)
    if called is None:
        return None
    settings: dict[str, float] = {}
    for part in called[2].split(","):
        key, _, value = part.partition("=")
        try:
            number = float(value)
        except ValueError:
            return None
        if key.strip() in settings:
            return None
        settings[key.strip()] = number
    return called[1], settings
