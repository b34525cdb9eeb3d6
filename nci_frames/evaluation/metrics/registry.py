"""The registry of metrics: add a metric, look up a name, list all."""

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, cast

import polars as pl

from nci_frames.base.arguments import check_allowed, check_utf8
from nci_frames.base.docstrings import documented
from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.evaluation.metrics.metric import CalledMetric, Direction, Metric
from nci_frames.evaluation.metrics.terms import Parameter
from nci_frames.schemas import checked

P = ParamSpec("P")

_REGISTRY: dict[str, Metric] = {}


def all_metrics() -> list[Metric]:
    """Return all metrics, sorted by name."""
    return sorted(_REGISTRY.values(), key=lambda known: known.name)


def resolve(label: str) -> tuple[Metric, dict[str, float]] | None:
    """Return the metric and the settings of a name, an alias or a label; None if there is no such metric.

    A name may itself contain brackets, so look it up as a whole before parsing it.
    """
    found = _named(label)
    if found is not None:
        return found, {}
    name, settings = settings_of(label) or ("", {})
    known = _named(name)
    if known is None or not set(settings) <= set(known.settings):
        return None
    return known, settings


def _named(word: str) -> Metric | None:
    """Return the metric with this name or alias."""
    return _REGISTRY.get(word) or next((known for known in _REGISTRY.values() if word in known.aliases), None)


def add(new: Metric) -> None:
    """Add a metric; a user-defined metric replaces another one of the same name.

    Raises
    ------
    ParameterError
        If its name or an alias belongs to another metric.
    """
    for word in new.words:
        found = resolve(word)
        if found is not None and not (new.own and found[0].own and found[0].name == new.name):
            msg = f"the metric name {word!r} is taken"
            hint = "choose another name; nci_frames.metrics() lists them all"
            raise ParameterError(msg, found=f"it stands for the metric {found[0].name!r}", hint=hint)
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
        Other fields of ``Metric``, such as aliases, range and direction.
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
    """Return the label of a metric called with settings; different settings have different labels.

    >>> label_of("expected_cost", {"c_fp": 1.0, "c_fn": 1 / 3})
    'expected_cost(c_fp=1, c_fn=0.3333333333333333)'
    """
    # repr is the shortest text that parses to the same number.
    told = (f"{key}={repr(float(value)).removesuffix('.0')}" for key, value in settings.items())
    return f"{name}({', '.join(told)})" if settings else name


def settings_of(label: str) -> tuple[str, dict[str, float]] | None:
    """Return the name and the settings of a label; None if it has no settings.

    >>> settings_of("expected_cost(c_fp=1, c_fn=20)")
    ('expected_cost', {'c_fp': 1.0, 'c_fn': 20.0})
    """
    called = _CALLED.fullmatch(label)
    if called is None:
        return None
    parts = [part.partition("=") for part in called[2].split(",")]
    try:
        settings = {key.strip(): float(value) for key, _, value in parts}
    except ValueError:
        return None
    return (called[1], settings) if len(settings) == len(parts) else None


@checked
def register_metric(
    name: str,
    expression: pl.Expr,
    *,
    range: tuple[float, float],  # noqa: A002  (the word that users look for)
    direction: Direction = "maximize",
    aliases: Sequence[str] = (),
    formula: str = "",
    monotone: bool = False,
) -> None:
    """Register a user-defined metric; its name is then accepted wherever a metric's name is.

    Parameters
    ----------
    name
        Name of the metric. A user-defined metric of that name is replaced, e.g. when a notebook cell is run
        again.
    expression
        Polars expression over ``tpr``, ``fpr`` and, if it depends on them, ``prevalence`` and ``beta``. It
        should be null, not NaN, where it is undefined.
    range
        Smallest and largest possible value; either may be infinite.
    direction
        "maximize" (higher is better), "minimize", or "target" (neither: such a metric is not ranked).
    aliases
        Other names for the metric.
    formula
        For display only.
    monotone
        Whether the metric is monotone in each rate for any value of the other. Only then can a projection
        derive its band from the bounds of the rates.

    Raises
    ------
    ParameterError
        If a name belongs to a built-in metric or another user-defined one, the range is empty, or the
        direction is unknown.
    SchemaError
        If the expression reads another column.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> nf.register_metric("lift_over_chance", pl.col("tpr") - pl.col("fpr"), range=(-1, 1))
    >>> "lift_over_chance" in nf.metrics()["name"]
    True
    """
    for word in (name, *aliases):
        check_allowed(word, "name", word, "a non-empty string")
        check_utf8("name", word)
    lower, upper = range
    check_allowed(lower < upper, "range", range, "(lower, upper) with lower < upper")
    known = ("tpr", "fpr", "prevalence", "beta")
    strange = [column for column in expression.meta.root_names() if column not in known]
    if strange:
        raise SchemaError.wrong_type(
            strange[0], f"the expression of the metric {name!r}", "another column", f"one of {known}"
        )
    called = expression if isinstance(expression, CalledMetric) else None

    def build() -> CalledMetric:
        fixed = {} if called is None else {"prevalence": called.prevalence, "beta": called.beta}
        return CalledMetric(new, expression.alias(name), **fixed)

    new = Metric(
        name, aliases=tuple(aliases), formula=formula, direction=direction, lower=float(lower),
        upper=float(upper), undefined_when="its expression is null", build=build, monotone=monotone, own=True,
    )  # fmt: skip
    add(new)


@checked
def metrics() -> pl.DataFrame:
    """Return a table of all metrics.

    Returns
    -------
    A row per metric, sorted by name:

    ============== ============ ====================================================================
    column         dtype        meaning
    ============== ============ ====================================================================
    name           String       name in projections, rankings and charts
    kind           String       "point": of an operating point; "curve": an area over all thresholds
    aliases        List(String) other names for it
    formula        String       in TPR, FPR and eta (the prevalence)
    direction      String       "maximize", "minimize" or "target" (a value to aim at; not ranked)
    lower, upper   Float64      range of values, may be infinite
    undefined_when String       when the value is null
    ============== ============ ====================================================================

    Examples
    --------
    >>> import nci_frames as nf
    >>> nf.metrics().filter(name="precision")["aliases"].item().to_list()
    ['ppv', 'purity']
    >>> nf.metrics().filter(name="log_loss").select("kind", "direction", "upper").rows()
    [('curve', 'minimize', inf)]
    """
    names = ("name", "kind", "aliases", "formula", "direction", "lower", "upper", "undefined_when")
    others = {"aliases": pl.List(pl.String), "lower": pl.Float64(), "upper": pl.Float64()}
    rows = [[getattr(known, name) for name in names] for known in all_metrics()]
    return pl.DataFrame(rows, schema={name: others.get(name, pl.String()) for name in names}, orient="row")
