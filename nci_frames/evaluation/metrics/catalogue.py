"""The public side of the registry: the table of metrics, and user-defined metrics."""

from collections.abc import Sequence

import polars as pl

from nci_frames.base.arguments import check_utf8
from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.evaluation.metrics.metric import CalledMetric, Direction, Metric
from nci_frames.evaluation.metrics.registry import add, all_metrics
from nci_frames.schemas import checked

__all__ = ["metrics", "register_metric"]


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
    >>> nf.metrics().filter(kind="curve")["name"].to_list()
    ['brier', 'log_loss', 'partial_roc_auc', 'pr_auc', 'roc_auc']
    """
    schema: dict[str, pl.DataType | type[pl.DataType]] = {
        "name": pl.String,
        "kind": pl.String,
        "aliases": pl.List(pl.String),
        "formula": pl.String,
        "direction": pl.String,
        "lower": pl.Float64,
        "upper": pl.Float64,
        "undefined_when": pl.String,
    }
    rows = [[getattr(known, column) for column in schema] for known in all_metrics()]
    return pl.DataFrame(rows, schema=schema, orient="row")
