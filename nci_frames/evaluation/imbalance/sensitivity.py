"""The surface of a metric over TPR and TNR, and how much it changes with the class balance."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from nci_frames.base.arguments import beta_value, check_allowed, check_whole, prevalence_of_ratio
from nci_frames.base.typing import Floats, Metrics
from nci_frames.evaluation.metrics import called_metric
from nci_frames.evaluation.projection.grids import labelled_metrics, require_columns, with_values
from nci_frames.schemas import SENSITIVITY, SURFACE, checked

_TOLERANCE = 1e-7
_MOST_REGIONS = 2_000
#: Columns that a metric can read at a point of a surface.
_SURFACE = ("tpr", "fpr", "prevalence", "observed_prevalence", "beta")


def on_surface(metrics: Metrics) -> dict[str, pl.Expr]:
    """Return the expression of each metric by its label; it may read only ``_SURFACE``.

    Raises
    ------
    ParameterError
        If there is no metric, or two share a label.
    SchemaError
        If an expression reads another column.
    """
    expressions = labelled_metrics(metrics)
    for expression in expressions.values():
        require_columns(expression, _SURFACE, "the points of a surface")
    return expressions


@checked
def metric_surface(
    metric: str | pl.Expr, *, ratio: float = 1.0, resolution: int = 101, beta: float = 1.0
) -> pl.DataFrame:
    """Return the values of a metric over the contingency space, the unit square of TPR and TNR.

    Parameters
    ----------
    metric
        Name or alias of a metric, or a called metric.
    ratio
        Negatives per positive, > 0; the prevalence is 1/(1+ratio).
    resolution
        Points along each axis, both ends included, 2 to 2,001.
    beta
        Weight of recall in [0, inf], if the metric has one.

    Returns
    -------
    A row per point, sorted by tpr and tnr:

    %(columns of metric surface)s

    Raises
    ------
    ParameterError
        If an option is out of range.
    UnknownMetricError
        If the metric is unknown.

    References
    ----------
    Ahmadzadeh and Angryk (2022), Measuring class-imbalance sensitivity of deterministic performance
    evaluation metrics.

    Examples
    --------
    If half of each class is recognised, precision is 0.1 at nine negatives per positive.

    >>> import nci_frames as nf
    >>> surface = nf.metric_surface("precision", ratio=9, resolution=3)
    >>> surface.filter(tpr=0.5, tnr=0.5)["value"].item()
    0.1
    """
    check_whole("resolution", resolution, 2, 2_001)
    (expression,) = on_surface(metric).values()
    weight = beta_value(beta)
    places = np.linspace(0, 1, resolution)
    tpr, tnr = np.repeat(places, resolution), np.tile(places, resolution)
    value = _values(expression, tpr, 1 - tnr, prevalence_of_ratio(ratio), weight)
    return SURFACE.finish(pl.DataFrame({"tpr": tpr, "tnr": tnr, "value": value}, nan_to_null=True))


@checked
def imbalance_sensitivity(
    metrics: Metrics, *, ratios: float | Sequence[float], beta: float = 1.0, rescale: bool = True
) -> pl.DataFrame:
    """Return the volume between the surfaces of a metric at balanced and at imbalanced classes.

    Parameters
    ----------
    metrics
        Names or aliases of metrics, or called metrics.
    ratios
        Negatives per positive, each > 0; below 1, positives are the majority.
    beta
        Weight of recall in [0, inf], for the metrics that have one.
    rescale
        Whether to rescale metrics to [0, 1], so that they can be compared.

    Returns
    -------
    A row per metric and ratio, sorted by both:

    %(columns of sensitivity)s

    ``sensitivity`` is in [0, 1] if rescaled, with an error of up to 1e-6. It is null if the volume is
    infinite, or the range of the metric is infinite and cannot be rescaled.

    Raises
    ------
    ParameterError
        If a ratio or beta is out of range.
    UnknownMetricError
        If a metric is unknown.

    Notes
    -----
    The volume is ∫∫ abs(m(TPR, TNR; 1) - m(TPR, TNR; r)) dTPR dTNR, by adaptive cubature. The square is split
    along both diagonals, with coordinates that expand the corners, where metrics such as precision are
    discontinuous. For accuracy it is (r-1)/(6(r+1)), which tends to 1/6 as r grows; for precision it tends to
    1/2.

    References
    ----------
    Ahmadzadeh and Angryk (2022). (The published sum lacks the area of its
    cells.)

    Examples
    --------
    >>> import nci_frames as nf
    >>> found = nf.imbalance_sensitivity(["accuracy", "recall"], ratios=[3, 99])
    >>> found["sensitivity"].round(6).to_list()
    [0.083333, 0.163333, 0.0, 0.0]
    """
    expressions = on_surface(metrics)
    etas = {r: prevalence_of_ratio(r) for r in sorted({float(r) for r in np.atleast_1d(ratios).tolist()})}
    check_allowed(etas, "ratios", ratios, "at least one number")
    weight = beta_value(beta)
    rows = []
    for label, expression in expressions.items():
        known = called_metric(expression).metric if rescale else None
        width = 1.0 if known is None else known.upper - known.lower
        for ratio, eta in etas.items():
            volume = _volume(expression, eta, weight) if np.isfinite(width) or _agnostic(expression) else None
            rows.append((label, ratio, None if volume is None else volume / width))
    table = pl.DataFrame(rows, schema=SENSITIVITY.dtypes(), orient="row")
    return SENSITIVITY.finish(table.sort("metric", "ratio"))


def _values(expression: pl.Expr, tpr: Floats, fpr: Floats, eta: float | Floats, beta: float) -> Floats:
    """Return the values of a metric, NaN where undefined."""
    etas = np.full(len(tpr), eta)
    axes = {"prevalence": etas, "observed_prevalence": etas, "beta": np.full(len(tpr), beta)}
    points = pl.DataFrame({"tpr": tpr, "fpr": fpr, **axes})
    return with_values(points, value=expression.cast(pl.Float64).fill_null(np.nan))["value"].to_numpy()


def _agnostic(expression: pl.Expr) -> bool:
    return not {"prevalence", "observed_prevalence"} & set(expression.meta.root_names())


def _volume(expression: pl.Expr, eta: float, beta: float) -> float | None:
    """Return the volume between the surfaces at prevalence 1/2 and at *eta*; None if it is infinite."""
    from scipy.integrate import cubature  # noqa: PLC0415  (slow to import, and seldom needed)

    if _agnostic(expression):
        return 0.0

    def integrand(places: Floats) -> Floats:
        # The fourth power puts more nodes near the edges, where surfaces are steep at extreme ratios.
        out, across = places[:, 0], places[:, 1] ** 4
        # The part at the corner (0, 0), between an edge and the diagonal; the other three mirror it.
        near, far = out * (1 - across / 2), out * across / 2
        corners = [(near, far), (far, near), (1 - near, 1 - far), (1 - far, 1 - near)]
        # Evaluate both surfaces in one Polars query, since the overhead of a query dominates.
        tpr, fpr = (np.concatenate(2 * side) for side in zip(*corners, strict=True))
        etas = np.repeat([0.5, eta], len(tpr) // 2)
        balanced, skewed = _values(expression, tpr, fpr, etas, beta).reshape(2, -1)
        between = np.nan_to_num(np.abs(balanced - skewed), nan=0.0, posinf=0.0)
        return np.asarray(between.reshape(4, -1).sum(axis=0) * (out / 2) * 4 * places[:, 1] ** 3)

    found = cubature(
        integrand, [0.0, 0.0], [1.0, 1.0], rule="gk15", rtol=0, atol=_TOLERANCE,
        max_subdivisions=_MOST_REGIONS,
    )  # fmt: skip
    return float(found.estimate) if found.status == "converged" else None
