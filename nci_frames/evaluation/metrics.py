"""The registry of metrics: each one Polars expression of tpr, fpr, prevalence (and beta).

To add a metric, write its function here; projection, ranking, charts and ``metrics()`` follow by themselves.
"""

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
    "accuracy",
    "f_beta",
    "find_metric",
    "metrics",
    "pos_fraction",
    "precision",
    "recall",
    "register_metric",
]

Direction = Literal["maximize", "minimize", "target"]
Parameter = float | pl.Expr | None
P = ParamSpec("P")

_TPR = pl.col("tpr")
_FPR = pl.col("fpr")


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
    expression: "CalledMetric"


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


def _add(metric: Metric) -> None:
    taken = {word for other in _REGISTRY.values() for word in (other.name, *other.aliases)}
    clash = [word for word in (metric.name, *metric.aliases) if word in taken]
    if clash:
        msg = f"the metric name {clash[0]!r} is taken"
        raise ParameterError(msg, hint="choose another name; nci_frames.metrics() lists them all")
    _REGISTRY[metric.name] = metric


def _metric(
    *,
    formula: str,
    undefined_when: str,
    aliases: tuple[str, ...] = (),
    direction: Direction = "maximize",
    lower: float = 0.0,
    upper: float = 1.0,
) -> Callable[[Callable[P, pl.Expr]], Callable[P, CalledMetric]]:
    """Register the decorated function and give its expression the metric's name."""

    def decorate(build: Callable[P, pl.Expr]) -> Callable[P, CalledMetric]:
        name = build.__name__
        others = [p for p in inspect.signature(build).parameters if p not in ("prevalence", "beta")]

        @functools.wraps(build)
        def call(*args: P.args, **kwargs: P.kwargs) -> CalledMetric:
            settings = ", ".join(f"{key}={kwargs[key]:g}" for key in others if key in kwargs)
            label = f"{name}({settings})" if settings else name
            given = {key: cast("Parameter", kwargs.get(key)) for key in ("prevalence", "beta")}
            return CalledMetric(build(*args, **kwargs).alias(label), **given)

        _add(Metric(name, aliases, formula, direction, lower, upper, undefined_when, call()))  # type: ignore[call-arg]
        return call

    return decorate


def _fixed(parameter: Parameter) -> float | None:
    return None if parameter is None or isinstance(parameter, pl.Expr) else float(parameter)


def _eta(prevalence: Parameter) -> pl.Expr:
    """Return P(y=1) as an expression: the column ``prevalence`` unless given."""
    if isinstance(prevalence, pl.Expr):
        return prevalence
    if prevalence is None:
        return pl.col("prevalence")
    if not 0 <= prevalence <= 1:
        raise ParameterError.out_of_range("prevalence", prevalence, "within [0, 1]")
    return pl.lit(float(prevalence))


def _beta(beta: Parameter) -> pl.Expr:
    """Return beta as an expression: the column ``beta`` unless given."""
    if isinstance(beta, pl.Expr):
        return beta
    if beta is None:
        return pl.col("beta")
    if not beta >= 0:
        raise ParameterError.out_of_range("beta", beta, "a number >= 0 (inf is recall)")
    return pl.lit(float(beta))


def _ratio(numerator: pl.Expr, denominator: pl.Expr) -> pl.Expr:
    """Divide, with 0/0 null instead of NaN; both are non-negative and x/0 does not occur."""
    return pl.when(denominator > 0).then(numerator / denominator)


@_metric(
    aliases=("ppv", "purity"),
    formula="eta·TPR / (eta·TPR + (1-eta)·FPR)",
    undefined_when="no row is predicted positive: eta·TPR + (1-eta)·FPR = 0",
)
def precision(*, prevalence: Parameter = None) -> pl.Expr:
    """Positive predictive value: P(y=1 | predicted positive).

    Parameters
    ----------
    prevalence
        P(y=1) in [0, 1], or an expression; the column ``prevalence`` unless given.

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in [0, 1]; null where nothing is predicted positive. At
    prevalence 0 it is 0 and at 1 it is 1, unless that is 0/0.

    Raises
    ------
    ParameterError
        If the prevalence is outside [0, 1].

    References
    ----------
    Brabec et al. (2020), eq. 8, doi:10.1007/978-3-030-50423-6_6 (arXiv:2001.05571).

    Examples
    --------
    Fig. 1 of the paper: TPR 0.6 and FPR 0.001, at one positive in a thousand.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.6], "fpr": [0.001]})
    >>> round(rates.select(nf.precision(prevalence=0.001)).item(), 4)
    0.3752
    """
    eta = _eta(prevalence)
    found = eta * _TPR
    return _ratio(found, found + (1 - eta) * _FPR)


@_metric(
    aliases=("tpr", "sensitivity", "hit_rate"),
    formula="TPR",
    undefined_when="there are no positives",
)
def recall() -> pl.Expr:
    """True-positive rate: P(predicted positive | y=1). It does not depend on the prevalence.

    Returns
    -------
    Expression over ``tpr``, Float64 in [0, 1]; null where there are no positives.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> pl.DataFrame({"tpr": [0.6], "fpr": [0.001]}).select(nf.recall()).item()
    0.6
    """
    return _TPR


@_metric(
    formula="(1+beta²)·eta·TPR / (beta²·eta + eta·TPR + (1-eta)·FPR)",
    undefined_when="there are no positives and none is predicted; at beta = 0 as precision",
)
def f_beta(*, beta: Parameter = None, prevalence: Parameter = None) -> pl.Expr:
    """Weighted harmonic mean of precision and recall, recall counting beta times as much.

    Defined by counts, so a classifier that never says positive scores 0. At beta = 0 it is precision (null
    where precision is), at beta = inf recall.

    Parameters
    ----------
    beta
        Weight of recall in [0, inf], or an expression; the column ``beta`` unless given.
    prevalence
        P(y=1) in [0, 1], or an expression; the column ``prevalence`` unless given.

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in [0, 1]; null where it is 0/0.

    Raises
    ------
    ParameterError
        If beta is negative or NaN, or the prevalence outside [0, 1].

    References
    ----------
    Wojciechowski and Woźniak (2024), F-beta-plot, eq. 5, arXiv:2404.08709.

    Examples
    --------
    The orchard of a textbook: 5 ripe apples picked, 2 left, 1 unripe picked, 2 left: F1 = 10/13.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [5 / 7], "fpr": [1 / 3]})
    >>> round(rates.select(nf.f_beta(beta=1, prevalence=0.7)).item(), 4)
    0.7692
    """
    eta, beta = _eta(prevalence), _beta(beta)
    # Shares of precision and recall that sum to 1 keep beta = 0 and beta = inf free of special cases.
    precision_share = 1 / (1 + beta.pow(2))
    recall_share = 1 / (1 + beta.pow(-2))
    found = eta * _TPR
    value = _ratio(found, recall_share * eta + precision_share * (found + (1 - eta) * _FPR))
    return pl.when(precision_share == 0).then(_TPR).otherwise(value)


@_metric(
    formula="eta·TPR + (1-eta)·(1-FPR)",
    undefined_when="there are no positives or no negatives",
)
def accuracy(*, prevalence: Parameter = None) -> pl.Expr:
    """Share of right decisions.

    Parameters
    ----------
    prevalence
        P(y=1) in [0, 1], or an expression; the column ``prevalence`` unless given.

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in [0, 1]; null where either is.

    Raises
    ------
    ParameterError
        If the prevalence is outside [0, 1].

    Examples
    --------
    A classifier that always says positive is right as often as there are positives.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> pl.DataFrame({"tpr": [1.0], "fpr": [1.0]}).select(nf.accuracy(prevalence=0.2)).item()
    0.2
    """
    eta = _eta(prevalence)
    return eta * _TPR + (1 - eta) * (1 - _FPR)


@_metric(
    aliases=("posfrac",),
    formula="eta·TPR + (1-eta)·FPR",
    undefined_when="there are no positives or no negatives",
    direction="target",
)
def pos_fraction(*, prevalence: Parameter = None) -> pl.Expr:
    """Share of rows predicted positive: the work that the classifier makes for those who follow up.

    Parameters
    ----------
    prevalence
        P(y=1) in [0, 1], or an expression; the column ``prevalence`` unless given.

    Returns
    -------
    Expression over ``tpr`` and ``fpr``, Float64 in [0, 1]; null where either is.

    Raises
    ------
    ParameterError
        If the prevalence is outside [0, 1].

    References
    ----------
    Landgrebe et al. (2004), Cost-based classifier evaluation for imbalanced problems, eq. 5,
    doi:10.1007/978-3-540-27868-9_74.

    Examples
    --------
    Table 2 of the paper, Highleyman and LDC: TPR 0.8 and POSfrac 0.5214 at prevalence 0.5 give FPR 0.2428,
    and with it 0.2985 at prevalence 0.1.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = pl.DataFrame({"tpr": [0.8], "fpr": [0.2428]})
    >>> round(rates.select(nf.pos_fraction(prevalence=0.1)).item(), 4)
    0.2985
    """
    eta = _eta(prevalence)
    return eta * _TPR + (1 - eta) * _FPR


def register_metric(
    name: str,
    expression: pl.Expr,
    *,
    range: tuple[float, float],  # noqa: A002  (the word that users look for)
    direction: Direction = "maximize",
    aliases: Sequence[str] = (),
    formula: str = "",
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
            "its expression is null", CalledMetric(expression.alias(name)),
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
    for metric in _REGISTRY.values():
        if name == metric.name or name in metric.aliases:
            return metric
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
    rows = [[getattr(metric, column) for column in schema] for metric in _REGISTRY.values()]
    return pl.DataFrame(rows, schema=schema, orient="row").sort("name")
