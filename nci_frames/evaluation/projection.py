"""Rates -> metrics at any prevalence and beta."""

from collections.abc import Sequence

import polars as pl

from nci_frames.errors import ParameterError, SchemaError
from nci_frames.evaluation.grids import Prevalences, beta_values, prevalence_values
from nci_frames.evaluation.metrics import CalledMetric, find_metric
from nci_frames.schemas import RATES, collect

__all__ = ["project_rates"]


def project_rates(
    rates: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    metrics: str | pl.Expr | Sequence[str | pl.Expr],
    prevalence: Prevalences,
    beta: float | Sequence[float] = (1.0,),
) -> pl.DataFrame:
    """Say what each operating point is worth at other class balances.

    TPR and FPR do not depend on the class balance, and every metric is a function of them and of the
    prevalence; this is that function on a grid.

    Parameters
    ----------
    rates
        A rates frame.
    metrics
        Names or aliases of metrics (``nci_frames.metrics()`` lists them), or called metrics such as
        ``nci_frames.f_beta(beta=2)``, which stand for themselves and ignore the grid in what they fix. The
        label of a called metric is its output name.
    prevalence
        P(y=1), each in [0, 1]; or "observed": each row's own ``observed_prevalence``.
    beta
        Weights of recall, each in [0, inf], for the metrics that have one.

    Returns
    -------
    A row per operating point, metric, prevalence and beta, sorted by all columns left of ``value``:

    =============== ======= ======================================= =============================
    column          dtype   meaning                                 null where
    =============== ======= ======================================= =============================
    model, keys              as in *rates*
    threshold       Float64 as in *rates*                           as in *rates*
    metric          String  name of the metric, or label            never
    prevalence      Float64 P(y=1) the value belongs to             an aliased expression hides it
    beta            Float64 weight of recall                        it plays no part
    value           Float64 value of the metric                     undefined (see ``metrics()``)
    =============== ======= ======================================= =============================

    Raises
    ------
    ParameterError
        If a prevalence is outside [0, 1], a beta negative or NaN, or two metrics share a label.
    UnknownMetricError
        If a name is neither a metric nor an alias.
    SchemaError
        If *rates* is not a rates frame, or an expression reads a column that it lacks.

    References
    ----------
    Brabec et al. (2020), eq. 8, doi:10.1007/978-3-030-50423-6_6.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a"], "threshold": [0.5], "tp": [60], "fp": [1], "fn": [40], "tn": [999]
    ... })
    >>> nf.project_rates(
    ...     nf.compute_rates(counts), metrics="precision", prevalence=[0.001, 0.1]
    ... )["value"].round(4).to_list()
    [0.3752, 0.9852]
    """
    frame = collect(rates, RATES)
    grid, betas = prevalence_values(prevalence), beta_values(beta)
    expressions = _labelled([metrics] if isinstance(metrics, str | pl.Expr) else metrics)
    identity = ["model", *RATES.keys(frame.columns), "threshold"]

    parts = []
    for label, expression in expressions.items():
        reads = set(expression.meta.root_names())
        called = expression if isinstance(expression, CalledMetric) else None
        part = frame.lazy()
        if "prevalence" not in reads if called is None else not called.open:
            fixed = None if called is None else called.prevalence
            part = part.with_columns(prevalence=pl.lit(fixed, pl.Float64))
        elif grid is None:
            part = part.with_columns(prevalence="observed_prevalence")
        else:
            part = part.join(pl.LazyFrame({"prevalence": grid}), how="cross")
        if "beta" in reads:
            part = part.join(pl.LazyFrame({"beta": betas}), how="cross")
        else:
            part = part.with_columns(beta=pl.lit(None if called is None else called.beta, pl.Float64))
        missing = reads - {*frame.columns, "prevalence", "beta"}
        if missing:
            raise SchemaError.missing_column(
                min(missing), "column", f"the rates, for the metric {label!r}", frame.columns
            )
        name, value = pl.lit(label).alias("metric"), expression.cast(pl.Float64).alias("value")
        parts.append(part.select(*identity, name, "prevalence", "beta", value))
    return pl.concat(parts).sort(*identity, "metric", "prevalence", "beta", maintain_order=True).collect()


def _labelled(metrics: Sequence[str | pl.Expr]) -> dict[str, pl.Expr]:
    """Return the expression of each metric by its label."""
    expressions: dict[str, pl.Expr] = {}
    for metric in metrics:
        expression = find_metric(metric).expression if isinstance(metric, str) else metric
        label = expression.meta.output_name()
        if label in expressions:
            msg = f"two metrics have the label {label!r}"
            raise ParameterError(msg, hint=f"name one of them, e.g. with .alias({label + '_2'!r})")
        expressions[label] = expression
    if not expressions:
        raise ParameterError.out_of_range("metrics", metrics, "at least one metric")
    return expressions
