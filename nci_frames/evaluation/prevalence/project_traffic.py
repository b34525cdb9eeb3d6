"""Rates with bounds and the estimated prevalence of traffic -> metrics in that traffic, with bounds."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from nci_frames.base.errors import SchemaError
from nci_frames.base.typing import Betas, FloatPair, Floats, Frame, Metrics
from nci_frames.evaluation.metrics import CalledMetric
from nci_frames.evaluation.prevalence.mixtures import check_key_types
from nci_frames.evaluation.projection.grids import labelled_metrics, require_bounds
from nci_frames.evaluation.projection.projection import project_checked
from nci_frames.evaluation.significance.propagation import changes_of
from nci_frames.schemas import PREVALENCES, PROJECTION, RATES, beside, checked, collect, need_in_bounds

_NO_ESTIMATE = "the prevalence of the traffic was not estimated"


@checked
def project_traffic(
    rates: Frame, prevalences: Frame, /, *, metrics: Metrics, beta: Betas = (1.0,)
) -> pl.DataFrame:
    """Return the metrics of operating points in traffic with an estimated prevalence, with bounds.

    Parameters
    ----------
    rates
        A rates frame with bounds: ``compute_rates(..., interval="wilson")``.
    prevalences
        The result of ``estimate_prevalence``. All models score the same traffic, so all get one estimate: the
        median of the estimates of several models, and of their bounds. To use the interval of one model, keep
        only its rows, but choose the model beforehand: the narrowest of many misses the truth too often.
    metrics, beta
        As in ``project_rates``.

    Returns
    -------
    A row per operating point, keys of the traffic, metric and beta, sorted by the columns left of ``value``:

    %(columns of projection)s

    Keys are those of *rates* and of *prevalences*. ``prevalence`` is the estimate, also null without one.
    Bounds are null where the metric is not monotone in each rate. ``supported`` is false without an estimate,
    or if the log does not support the value.

    The result is a projection frame: ``rank_models`` ranks the models of each traffic.

    Raises
    ------
    ParameterError, UnknownMetricError
        As in ``project_rates``.
    SchemaError
        If a frame is of another kind, rates have no bounds, a prevalence is outside its bounds, the frames
        have no group in common, or a key has different types.

    Notes
    -----
    At a prevalence, TPR and FPR are each moved to their bounds while the other stays fixed; the changes,
    which come from different rows, are added as squares. Rates and prevalence may share the sampling error of
    one reference, so the bounds are the extremes over the interval of the prevalence.

    References
    ----------
    Zou and Donner (2008), doi:10.1002/sim.3095; Gasparin and Ramdas (2024), Merging uncertainty sets via
    majority vote, doi:10.48550/arXiv.2401.09379.

    Examples
    --------
    About 20 % of the traffic is positive, so two thirds of the alerts are correct.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> labelled = pl.DataFrame({
    ...     "model": "a", "threshold": [0.5], "tp": [80], "fp": [100], "fn": [20], "tn": [900],
    ... })
    >>> traffic = pl.DataFrame({"model": "a", "threshold": [0.5], "above": [2400], "below": [7600]})
    >>> rates = nf.compute_rates(labelled, interval="wilson")
    >>> found = nf.project_traffic(rates, nf.estimate_prevalence(labelled, traffic), metrics="precision")
    >>> found.select(pl.col("prevalence", "value", "lower", "upper").round(2)).row(0)
    (0.2, 0.67, 0.57, 0.75)
    """
    frame = collect(rates, RATES).drop("prevalence", "reason", strict=False)
    require_bounds(frame)
    points = _in_traffic(frame, collect(prevalences, PREVALENCES))
    expressions = labelled_metrics(metrics)

    def projected(*, flagged: bool = True, **moved: pl.Expr) -> pl.DataFrame:
        plain = points.with_columns(**moved).drop(name for name in points.columns if name.startswith("__"))
        return project_checked(plain, metrics=metrics, prevalence="selected", beta=beta, flagged=flagged)

    def values(**moved: pl.Expr) -> Floats:
        return projected(flagged=False, **moved)["value"].to_numpy()

    def reach(eta: pl.Expr) -> FloatPair:
        """Return the least and the largest value at a prevalence, over the errors of the rates."""
        here = values(prevalence=eta)
        ends = [
            np.stack([values(prevalence=eta, **{rate: pl.col(f"{rate}_{side}")}) for side in _ENDS])
            for rate in ("tpr", "fpr")
        ]
        down, up = (np.hypot(*sides) for sides in zip(*(changes_of(here, end) for end in ends), strict=True))
        # The value itself may be undefined there, such as a precision without positives.
        every = np.concatenate(ends)
        return np.fmin(here - down, np.fmin.reduce(every)), np.fmax(here + up, np.fmax.reduce(every))

    table = projected()
    # The metric need not be monotone in the prevalence, so evaluate it half-way to the bounds, too.
    eta = pl.col("prevalence")
    between = (pl.col(side) * part + eta * (1 - part) for side in _SIDES for part in (0.5, 1))
    lows, highs = zip(*map(reach, (eta, *between)), strict=True)
    known = np.where(table["value"].is_null(), np.nan, 0)
    lower, upper = np.fmin.reduce(lows) + known, np.fmax.reduce(highs) + known
    least, most = (
        table["metric"].replace_strict(list(expressions), limits, return_dtype=pl.Float64).to_numpy()
        for limits in zip(*map(_range, expressions.values()), strict=True)
    )
    columns = {"lower": np.clip(lower, least, most), "upper": np.clip(upper, least, most)}
    estimated = points.select(*_identity(points), __known="__reason")
    bounded = table.with_columns(pl.Series(name, side, nan_to_null=True) for name, side in columns.items())
    told = beside(bounded, estimated, _identity(points))
    unknown = pl.col("__known").is_not_null()
    supported = pl.when(unknown).then(pl.lit(value=False)).otherwise("supported")
    found = told.with_columns(supported=supported, reason=pl.coalesce("__known", "reason"))
    return PROJECTION.finish(found.drop("__known"))


_SIDES = ("__lower", "__upper")
_ENDS = ("lower", "upper")


def _identity(points: pl.DataFrame) -> list[str]:
    return ["model", *RATES.keys([name for name in points.columns if not name.startswith("__")]), "threshold"]


def _in_traffic(frame: pl.DataFrame, estimates: pl.DataFrame) -> pl.DataFrame:
    """Return the operating points for each traffic with matching keys, with its prevalence."""
    keys = PREVALENCES.keys(estimates.columns)
    need_in_bounds(estimates, "prevalence", "an estimated prevalence")
    best = pooled_estimates(estimates, keys).select(
        *keys,
        "prevalence",
        __lower="lower",
        __upper="upper",
        __reason=pl.when(pl.col("prevalence").is_null()).then(pl.coalesce("reason", pl.lit(_NO_ESTIMATE))),
    )
    shared = [key for key in keys if key in frame.columns]
    check_key_types(frame, best, shared)
    if shared:
        points = frame.join(best, on=shared, how="inner", nulls_equal=True, maintain_order="left")
    else:
        points = frame.join(best, how="cross", maintain_order="left")
    if len(frame) and points.is_empty():
        hint = "estimate_prevalence(reference, traffic, by=...) keeps some keys of the traffic"
        raise SchemaError("the rates and the estimated prevalences have no group in common", hint=hint)
    return points.sort(_identity(points))


def pooled_estimates(estimates: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return one estimate with bounds for each traffic: the medians over its models.

    The bounds fail only if more than half of the models' intervals fail, for any dependence between the
    models (Gasparin and Ramdas).
    """
    known = pl.col("prevalence").is_not_null()
    number = known.sum().cast(pl.Int64)
    lower, upper = (pl.col(side).filter(known).sort() for side in ("lower", "upper"))
    pooled = {
        "prevalence": pl.col("prevalence").median(),
        "lower": lower.get((number - 1) // 2, null_on_oob=True),
        "upper": upper.get(number // 2, null_on_oob=True),
        "reason": pl.col("reason").first(),
    }
    sorted_ = estimates.sort(*keys, "model")
    return sorted_.group_by(keys, maintain_order=True).agg(**pooled) if keys else sorted_.select(**pooled)


def _range(expression: pl.Expr) -> tuple[float, float]:
    """Return the range of a metric; NaN if it need not be extreme at the bounds of the rates."""
    if isinstance(expression, CalledMetric) and expression.metric.monotone:
        return expression.metric.lower, expression.metric.upper
    return np.nan, np.nan
