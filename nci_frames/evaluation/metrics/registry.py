"""The registry of metrics: what a metric is, and how one is added and found."""

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, ParamSpec, cast, get_args

import polars as pl

from nci_frames.errors import ParameterError, SchemaError, UnknownMetricError

__all__ = [
    "CalledMetric",
    "Direction",
    "Metric",
    "Parameter",
    "find_metric",
    "metric",
    "metrics",
    "register_metric",
]

Direction = Literal["maximize", "minimize", "target"]
Parameter = float | pl.Expr | None
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric as data: what ``metrics()`` shows and ``project_rates`` evaluates."""

    name: str
    aliases: tuple[str, ...]
    formula: str
    direction: Direction
    lower: float
    upper: float
    undefined_when: str
    #: Whether the value is exactly linear in the prevalence, so that two models cross at most once.
    linear_in_prevalence: bool
    expression: "CalledMetric"
    #: Whether it never turns as one rate grows and the other stands still, so that its extremes over a box of
    #: rates are at the corners.
    monotone: bool = True


class CalledMetric(pl.Expr):
    """A metric's expression that remembers the prevalence and the beta it was called with.

    A projection writes them beside the value, so that no number is without its prevalence. ``alias`` gives
    an ordinary expression.
    """

    def __init__(self, expression: pl.Expr, *, prevalence: Parameter = None, beta: Parameter = None) -> None:
        self._pyexpr = expression._pyexpr  # noqa: SLF001  (there is no public way to extend an expression)
        #: Whether the prevalence was left open, so that a grid supplies it.
        self.open = prevalence is None
        self.prevalence = _fixed(prevalence)
        self.beta = _fixed(beta)


_REGISTRY: dict[str, Metric] = {}


def _add(new: Metric) -> None:
    taken = {word for other in _REGISTRY.values() for word in (other.name, *other.aliases)}
    clash = [word for word in (new.name, *new.aliases) if word in taken]
    if clash:
        msg = f"the metric name {clash[0]!r} is taken"
        raise ParameterError(msg, hint="choose another name; nci_frames.metrics() lists them all")
    _REGISTRY[new.name] = new


def metric(
    *,
    formula: str,
    undefined_when: str,
    aliases: tuple[str, ...] = (),
    direction: Direction = "maximize",
    lower: float = 0.0,
    upper: float = 1.0,
    linear_in_prevalence: bool = False,
    monotone: bool = True,
) -> Callable[[Callable[P, pl.Expr]], Callable[P, CalledMetric]]:
    """Register the decorated function, and give its expression the metric's name.

    Parameters
    ----------
    formula
        In TPR, FPR and eta, for people to read.
    undefined_when
        When the expression is null.
    aliases
        Other names.
    direction
        "maximize", "minimize", or "target" (not ranked).
    lower, upper
        Range of the values.
    linear_in_prevalence
        Whether the value is exactly linear in eta at fixed TPR and FPR.
    monotone
        Whether it rises or falls all the way as one rate grows, whatever the other is.
    """

    def decorate(build: Callable[P, pl.Expr]) -> Callable[P, CalledMetric]:
        name = build.__name__
        others = [p for p in inspect.signature(build).parameters if p not in ("prevalence", "beta")]

        @functools.wraps(build)
        def call(*args: P.args, **kwargs: P.kwargs) -> CalledMetric:
            settings = ", ".join(f"{key}={kwargs[key]:g}" for key in others if key in kwargs)
            label = f"{name}({settings})" if settings else name
            given = {key: cast("Parameter", kwargs.get(key)) for key in ("prevalence", "beta")}
            return CalledMetric(build(*args, **kwargs).alias(label), **given)

        _add(
            Metric(
                name, aliases, formula, direction, lower, upper, undefined_when, linear_in_prevalence,
                call(),  # type: ignore[call-arg]
                monotone,
            )
        )  # fmt: skip
        return call

    return decorate


def _fixed(parameter: Parameter) -> float | None:
    return None if parameter is None or isinstance(parameter, pl.Expr) else float(parameter)


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
    """Add a metric of your own; it then works wherever a metric's name does.

    Parameters
    ----------
    name
        How the metric is called from now on.
    expression
        Polars expression over ``tpr``, ``fpr`` and, where they play a part, ``prevalence`` and ``beta``.
        Let it be null, not NaN, where it is undefined.
    range
        Smallest and largest possible value; either may be infinite.
    direction
        "maximize" (more is better), "minimize", or "target" (neither: such a metric is not ranked).
    aliases
        Other names for it.
    formula
        For people to read.
    monotone
        Whether it rises or falls all the way as one rate grows, whatever the other is. Only then can a
        projection tell its band from the bounds of the rates.

    Raises
    ------
    ParameterError
        If a name is taken, the range is empty, or the direction unknown.
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
    lower, upper = range
    if not lower < upper:
        raise ParameterError.out_of_range("range", range, "(lower, upper) with lower < upper")
    if direction not in get_args(Direction):
        raise ParameterError.unknown_choice("direction", direction, get_args(Direction))
    known = ("tpr", "fpr", "prevalence", "beta")
    strange = [column for column in expression.meta.root_names() if column not in known]
    if strange:
        raise SchemaError.wrong_type(
            strange[0], f"the expression of the metric {name!r}", "another column", f"one of {known}"
        )
    _add(
        Metric(
            name, tuple(aliases), formula, direction, float(lower), float(upper),
            "its expression is null", False, CalledMetric(expression.alias(name)), monotone,
        )
    )  # fmt: skip


def find_metric(label: str) -> Metric:
    """Return the metric of a name, an alias, or the label of a called metric such as ``name(c=1)``.

    Raises
    ------
    UnknownMetricError
        If there is none.
    """
    name = label.split("(", 1)[0]
    for known in _REGISTRY.values():
        if name == known.name or name in known.aliases:
            return known
    raise UnknownMetricError.from_name(label, sorted(_REGISTRY))


def metrics() -> pl.DataFrame:
    """Return the registry of metrics.

    Returns
    -------
    A row per metric, sorted by name:

    ============== ============ ====================================================================
    column         dtype        meaning
    ============== ============ ====================================================================
    name           String       how projections, rankings and charts call it
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
    """
    schema: dict[str, pl.DataType | type[pl.DataType]] = {
        "name": pl.String,
        "aliases": pl.List(pl.String),
        "formula": pl.String,
        "direction": pl.String,
        "lower": pl.Float64,
        "upper": pl.Float64,
        "undefined_when": pl.String,
    }
    rows = [[getattr(known, column) for column in schema] for known in _REGISTRY.values()]
    return pl.DataFrame(rows, schema=schema, orient="row").sort("name")
