"""The registry of metrics: how one is added, what a caller's name or expression stands for, and the table."""

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar, cast

import polars as pl

from nci_frames.base.arguments import check_utf8
from nci_frames.base.docstrings import documented
from nci_frames.base.errors import ParameterError, SchemaError, UnknownMetricError
from nci_frames.base.messages import nearest_name
from nci_frames.evaluation.metrics.metric import CalledMetric, Direction, Metric
from nci_frames.evaluation.metrics.terms import Parameter
from nci_frames.schemas import checked

P = ParamSpec("P")
M = TypeVar("M")

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
        The name of the metric. A user-defined metric of that name is replaced, e.g. if a notebook cell is run
        again.
    expression
        Polars expression over ``tpr``, ``fpr`` and, if it depends on them, ``prevalence`` and ``beta``. It
        should be null, not NaN, where it is undefined.
    range
        Smallest and largest possible value; either may be infinite.
    direction
        "maximize" (higher is better), "minimize", or "target" (neither: such a metric is not ranked).
    aliases
        Other names for it.
    formula
        For display only.
    monotone
        Whether it is monotone in each rate, whatever the other is. Only then can a projection derive its band
        from the bounds of the rates.

    Raises
    ------
    ParameterError
        If a name belongs to a built-in metric or to another user-defined one, the range is empty, or the
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
        if not word:
            raise ParameterError.out_of_range("name", word, "a non-empty string")
        check_utf8("name", word)
    lower, upper = range
    if not lower < upper:
        raise ParameterError.out_of_range("range", range, "(lower, upper) with lower < upper")
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
    """Return the registry of metrics.

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


__all__ = [
    "asked_metric",
    "by_label",
    "called_metric",
    "curve_asked",
    "find_metric",
    "title_of",
    "value_expression",
]

_F_SCORE = re.compile(r"f[-_ ]?(\d+(?:\.\d+)?)(?:[-_ ]?score)?", re.IGNORECASE)
_WANTED = "the name of a metric, or a called metric such as nci_frames.f_beta(beta=2)"


def find_metric(label: str) -> Metric:
    """Return the metric of a name, an alias, or the label of a called metric such as ``name(c=1)``.

    Raises
    ------
    UnknownMetricError
        If there is none.
    """
    return _found(label)[0]


def curve_asked(asked: str | pl.Expr) -> Metric | None:
    """Return the metric if it is an area that is asked for; None if it is one of operating points.

    Raises
    ------
    UnknownMetricError
        If there is none of the name.
    """
    if isinstance(asked, pl.Expr):
        return None
    found, _ = _found(asked)
    return found if found.kind == "curve" else None


def asked_metric(asked: str | pl.Expr) -> Metric:
    """Return the metric that is asked for, of operating points or of curves.

    Raises
    ------
    UnknownMetricError
        As ``called_metric`` does.
    """
    return curve_asked(asked) or called_metric(asked).metric


def title_of(label: str) -> str:
    """Return how a metric is written in print; what a call has set stays in it."""
    found = resolve(label)
    return found[0].title if found and found[0].title and label in found[0].words else label


def called_metric(asked: str | pl.Expr) -> CalledMetric:
    """Return the metric that is asked for, ready to be evaluated and compared.

    Parameters
    ----------
    asked
        A name, an alias or a label; a called metric; or the expression that was registered under its name.

    Raises
    ------
    ParameterError
        If it is an area.
    UnknownMetricError
        If there is none, or if an expression is not a metric's, so that its direction is unknown.
    """
    if isinstance(asked, CalledMetric):
        return asked
    if isinstance(asked, pl.Expr):
        label = _output_name(asked)
        known = _registered_as(asked, label)
        if known is not None:
            return known
        hint = "an expression has no direction: register_metric gives it one; a called metric needs no alias"
        raise _unknown(label, hint)
    found, settings = _found(asked)
    if found.build is None:
        raise ParameterError(
            f"the metric {found.name!r} is one of all scores: it has no value at an operating point",
            hint=f"{found.computed_by} computes it",
        )
    return found.build(**settings)


def by_label(asked: Any, found: Callable[[Any], M], label: Callable[[M], str], hint: str) -> dict[str, M]:
    """Return what is found of each metric that is asked for, one or several, by its label.

    Raises
    ------
    ParameterError
        If there is none, or two share a label; the *hint* may name it.
    """
    named: dict[str, M] = {}
    for metric in map(found, [asked] if isinstance(asked, str | pl.Expr) else asked):
        name = label(metric)
        if name in named:
            raise ParameterError(f"two metrics have the label {name!r}", hint=hint.format(name))
        named[name] = metric
    if not named:
        raise ParameterError.out_of_range("metrics", asked, "at least one metric")
    return named


def value_expression(asked: str | pl.Expr) -> pl.Expr:
    """Return the expression of the requested metric; any other expression must not have a metric's name.

    Raises
    ------
    ParameterError
        If an expression has the name of a metric that it is not.
    UnknownMetricError
        If a name is that of no metric.
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
    raise ParameterError(
        f"the label {label!r} belongs to the metric {registered[0].name!r}, not to this expression",
        found=str(asked),
        hint="give the expression another name with .alias(...), or ask for the metric by its name",
    )


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
        raise _unknown(label, f"did you mean 'f_beta', with beta={score[1]}?" if score else None)
    return found


def _unknown(label: str, hint: str | None) -> UnknownMetricError:
    """Return the error for a name that no metric has; the nearest known name is told if *hint* is None."""
    known = [] if hint else [each.name for each in all_metrics()]
    return unknown_metric(label, known, hint or "nci_frames.metrics() lists them all")


def unknown_metric(
    label: str, known: Iterable[str], hint: str, found: str | None = None
) -> UnknownMetricError:
    """Return the error for a name that no metric has, with the nearest known name, or a hint without one."""
    close = nearest_name(label, known)
    hint = f"did you mean {close!r}?" if close else hint
    return UnknownMetricError(f"unknown metric {label!r}", found=found, hint=hint)


def _output_name(expression: pl.Expr) -> str:
    try:
        return expression.meta.output_name()
    except pl.exceptions.ComputeError:
        raise ParameterError.out_of_range("metric", str(expression), _WANTED) from None
