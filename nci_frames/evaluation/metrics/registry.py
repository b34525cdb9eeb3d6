"""The registry of metrics: what a metric is, and how one is added."""

import functools
import inspect
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, ParamSpec, cast, get_args

import polars as pl

from nci_frames.errors import ParameterError, SchemaError
from nci_frames.evaluation.metrics.labels import label_of, settings_of

__all__ = [
    "CalledMetric",
    "Direction",
    "Metric",
    "Parameter",
    "metric",
    "metrics",
    "names",
    "register_metric",
    "resolve",
]

Direction = Literal["maximize", "minimize", "target"]
Parameter = float | pl.Expr | None
P = ParamSpec("P")


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """A metric as data: what ``metrics()`` shows, and how it is evaluated and compared."""

    name: str
    aliases: tuple[str, ...]
    formula: str
    direction: Direction
    lower: float
    upper: float
    undefined_when: str
    #: Returns the expression; takes the settings, and prevalence and beta where they play a part.
    build: Callable[..., "CalledMetric"]
    #: What a call may set besides prevalence and beta; the label tells it.
    settings: tuple[str, ...] = ()
    #: Whether the value is exactly linear in the prevalence, so that two models cross at most once.
    linear_in_prevalence: bool = False
    #: Whether it never turns as one rate grows and the other stands still, so that its extremes over a box of
    #: rates are at the corners.
    monotone: bool = True
    #: Whether a user registered it, who may register it again.
    own: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The name and the aliases."""
        return (self.name, *self.aliases)


class CalledMetric(pl.Expr):
    """A metric's expression that knows its metric, and the prevalence and the beta it was called with.

    A projection writes them beside the value, so that no number is without its prevalence. ``alias`` gives
    an ordinary expression, of which nothing is known.
    """

    def __init__(
        self, metric: Metric, expression: pl.Expr, *, prevalence: Parameter = None, beta: Parameter = None
    ) -> None:
        self._pyexpr = expression._pyexpr  # noqa: SLF001  (there is no public way to extend an expression)
        self.metric = metric
        #: Whether the prevalence was left open, so that a grid supplies it.
        self.open = prevalence is None
        self.prevalence = _fixed(prevalence)
        self.beta = _fixed(beta)

    @property
    def label(self) -> str:
        """What tables call it."""
        return self.meta.output_name()


_REGISTRY: dict[str, Metric] = {}


def names() -> list[str]:
    """Return the names of all metrics, sorted."""
    return sorted(_REGISTRY)


def resolve(label: str) -> tuple[Metric, dict[str, float]] | None:
    """Return the metric and the settings that a name, an alias or a label stands for; None if there is none.

    A name may itself have brackets, so it is looked up as it is before it is taken apart.
    """
    by_word = {word: known for known in _REGISTRY.values() for word in known.words}
    if label in by_word:
        return by_word[label], {}
    name, settings = settings_of(label) or ("", {})
    known = by_word.get(name)
    if known is None or not set(settings) <= set(known.settings):
        return None
    return known, settings


def _add(new: Metric) -> None:
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
    """Register the decorated function, and give its expression the metric's label.

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
        parameters = inspect.signature(build).parameters
        settable = tuple(parameter for parameter in parameters if parameter not in ("prevalence", "beta"))

        @functools.wraps(build)
        def call(*args: P.args, **kwargs: P.kwargs) -> CalledMetric:
            settings = {key: _number(key, kwargs[key]) for key in settable if key in kwargs}
            kwargs.update(settings)
            given = {key: cast("Parameter", kwargs.get(key)) for key in ("prevalence", "beta")}
            return CalledMetric(new, build(*args, **kwargs).alias(label_of(name, settings)), **given)

        new = Metric(
            name, aliases, formula, direction, lower, upper, undefined_when, call, settable,
            linear_in_prevalence, monotone,
        )  # fmt: skip
        _add(new)
        return call

    return decorate


def _number(name: str, value: object) -> float:
    """Return a setting as the number that it is evaluated with and that its label tells."""
    if not isinstance(value, numbers.Real):
        raise ParameterError.out_of_range(name, value, "a number")
    return float(value) + 0.0  # -0.0 is 0.0


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
        How the metric is called from now on. If you registered it before, as when a cell of a notebook runs
        again, the new one replaces it.
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
        If a name belongs to a built-in metric or to another one of yours, the range is empty, or the
        direction unknown.
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
        if not (isinstance(word, str) and word):
            raise ParameterError.out_of_range("name", word, "a text that is not empty")
    if not isinstance(expression, pl.Expr):
        raise ParameterError.out_of_range("expression", expression, "a Polars expression")
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
    called = expression if isinstance(expression, CalledMetric) else None

    def build() -> CalledMetric:
        fixed = {} if called is None else {"prevalence": called.prevalence, "beta": called.beta}
        return CalledMetric(new, expression.alias(name), **fixed)

    new = Metric(
        name, tuple(aliases), formula, direction, float(lower), float(upper), "its expression is null", build,
        monotone=monotone, own=True,
    )  # fmt: skip
    _add(new)


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
