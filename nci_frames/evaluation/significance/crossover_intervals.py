"""Counts -> the crossovers of pairs of models, with intervals from resampled logs."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from nci_frames.base.arguments import beta_value, check_allowed, value_inside
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Floats, Frame, Over
from nci_frames.evaluation.arrays.histograms import whole_counts
from nci_frames.evaluation.crossovers.contest import check_axis
from nci_frames.evaluation.crossovers.crossovers import find_crossovers
from nci_frames.evaluation.projection.operating_points import select_operating_points
from nci_frames.evaluation.rates.rates import compute_rates
from nci_frames.evaluation.resampling.replicates import Replicates, by_keys, resample
from nci_frames.evaluation.resampling.resampling import Asked, OwnThreshold, Resampling
from nci_frames.schemas import CROSSOVER_INTERVALS, checked


@checked
def crossover_intervals(
    counts: Frame,
    /,
    *,
    metric: Literal["f_beta", "pr_auc"] = "f_beta",
    over: Over = "prevalence",
    prevalence: float | None = None,
    beta: float = 1.0,
    threshold: OwnThreshold = None,
    repeats: int = 1000,
    seed: int = 0,
    units: str | None = None,
    level: float = 0.95,
) -> pl.DataFrame:
    """Return the crossovers of all pairs of models, with intervals from resampled logs.

    Parameters
    ----------
    counts
        A counts frame of whole rows, or rates. F-beta needs one operating point per model: give *threshold*,
        or one row per model.
    metric
        "f_beta" or "pr_auc" (average precision).
    over
        "prevalence": crossovers over the prevalence, for F-beta at a fixed *beta*. "beta": over beta, at a
        fixed *prevalence*.
    prevalence
        P(y=1), in (0, 1); only with *over* "beta".
    beta
        Weight of recall, in (0, inf); only with F-beta over "prevalence".
    threshold
        Threshold of the operating points; or "own": each model's best threshold at each prevalence or beta,
        chosen anew in every resampled log. PR-AUC has none.
    repeats
        Number of resampled logs, 2 to 1,000,000.
    seed
        Seed of the draws.
    units
        None resamples the rows of each model separately. A key, such as the ``bucket`` of ``unit_buckets``,
        resamples the same units for all models.
    level
        Share of the resampled crossovers between the bounds, in (0, 1).

    Returns
    -------
    A row per crossover, sorted by keys, model_a, model_b, prevalence and beta:

    %(columns of crossover intervals)s

    Keys are those of *counts*, without *units*. Bounds are percentiles of the crossover, in the unit of
    *over*, over the resampled logs that have it. ``probability`` is null if a class has fewer than 5 rows, or
    buckets of equal size, which show too little variation; or where resampled logs are not compared.

    Raises
    ------
    ParameterError
        As for ``bootstrap``; if a model has several operating points.
    SchemaError
        If *counts* is not a counts frame, or lacks the key *units*.

    Notes
    -----
    With k = (1-eta)/eta, F-beta falls as (1 + lambda·FPR)/TPR grows, where lambda = k/beta²; two models cross
    at lambda = (TPR_b - TPR_a)/(TPR_a·FPR_b - TPR_b·FPR_a). If the probability is not near 1, it is uncertain
    whether they cross at all; the interval shows only where they cross if they do.

    The crossovers of the log are those of ``find_crossovers``. In resampled logs they are found between
    prevalences 1e-7 and 1 - 1e-7, or beta 1e-3 and 1e3: exactly at fixed thresholds, and for PR-AUC and own
    thresholds interpolated on a grid, with steps of 0.2 in log odds or 0.1 in log beta. Of several crossovers
    of a resampled log in the same direction, the nearest is taken.

    References
    ----------
    Wojciechowski and Woźniak (2024), F-beta-plot, arXiv:2404.08709.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"], "threshold": [0.5, 0.5],
    ...     "tp": [60, 80], "fp": [10, 50], "fn": [40, 20], "tn": [990, 950],
    ... })
    >>> nf.crossover_intervals(counts).select(
    ...     "model_a", "model_b", pl.col("prevalence", "lower", "upper", "probability").round(2)
    ... ).row(0)
    ('a', 'b', 0.1, 0.05, 0.27, 1.0)
    """
    logs = Resampling(units, repeats=repeats, seed=seed, level=level)
    curves = metric == "pr_auc"
    if curves and (over == "beta" or threshold is not None):
        msg = "PR-AUC depends on neither beta nor a threshold"
        given = "over='beta'" if over == "beta" else f"threshold={threshold!r}"
        raise ParameterError(msg, found=given, hint="omit it")
    fixed = _fixed(over, prevalence, beta)
    frame = whole_counts(counts)
    keys = logs.keys(frame)
    pooled = logs.without_units(frame)
    if curves:
        found = area_curves_of(frame, logs)
        crossings = find_crossovers(pooled, metric=metric, over="prevalence")
    else:
        rates = compute_rates(pooled)
        found = own_curves_of(frame, logs, over, fixed, threshold)
        if isinstance(threshold, float | int):
            rates = select_operating_points(rates, threshold=threshold)
        other = {"beta": fixed} if over == "prevalence" else {"prevalence": fixed}
        crossings = find_crossovers(rates, metric=metric, over=over, **other)
    rows = [
        row | border_of(found[tuple(row[key] for key in keys)], row, over, logs)
        for row in crossings.drop("value").iter_rows(named=True)
    ]
    schema = {key: frame.schema[key] for key in keys} | CROSSOVER_INTERVALS.dtypes()
    order = [*keys, "model_a", "model_b", "prevalence", "beta"]
    return CROSSOVER_INTERVALS.finish(pl.DataFrame(rows, schema=schema).sort(order))


def _fixed(over: Over, prevalence: float | None, beta: float) -> float:
    """Return the fixed prevalence or beta."""
    if over == "prevalence":
        check_axis(over, "observed" if prevalence is None else prevalence)
        value = beta_value(beta)
        check_allowed(0 < value < np.inf, "beta", beta, "a finite number > 0")
        return value
    return value_inside("prevalence", prevalence)


#: Grid points between which crossings are interpolated, descending: the odds against a positive, or 1/beta².
#: Along these, the order of two operating points by F-beta is that of two straight lines.
_LINES = {"prevalence": np.exp(np.linspace(16, -16, 161)), "beta": np.exp(np.linspace(14, -14, 141))}

#: Beyond these betas, F-beta is precision or recall to rounding.
_BETAS = 1e-100, 1e100

#: Least rows or buckets of equal size; with fewer, resampled logs vary too little. In simulated logs bounds
#: covered the crossover in 87 % with 3 units of positives, 63 % with 2, and never with 2 or 3 positive rows.
_LEAST = 5
_FEW = f"fewer than {_LEAST} rows of a class, or buckets of equal size that have it"
_BEYOND = "resampled logs are compared at prevalences from 1e-7 to 1 - 1e-7, or betas from 1e-3 to 1e3"
_RARE = "fewer than 2 resampled logs have it"


#: Of each model: values in resampled logs, of shape (logs, grid points), higher is better; and its
#: ``Replicates.sizes``.
Borders = dict[object, tuple[Floats, Sequence[float]]]


def _axis_value(over: Over, places: Floats) -> Floats:
    """Return the prevalence or beta of places on the scale of ``_LINES``."""
    return np.asarray(1 / (1 + places) if over == "prevalence" else places**-0.5)


def _place(axis: Over, value: float) -> float:
    """Return where a prevalence or beta lies on the scale of ``_LINES``."""
    return float(1 / np.float64(value) - 1 if axis == "prevalence" else np.float64(value) ** -2)


def border_of(borders: Borders, crossing: Mapping[str, Any], over: Over, logs: Resampling) -> dict[str, Any]:
    """Return the columns of ``crossover_intervals`` for a crossover of the log."""
    (below, sizes), (above, others) = (borders[crossing[name]] for name in ("model_a", "model_b"))
    place, lines = _place(over, crossing[over]), _LINES[over]
    few = min(*sizes, *others) < _LEAST
    beyond = not lines[-1] <= place <= lines[0]
    drawn = np.empty(0) if beyond else _overtakings(below - above, over, place)
    why = _FEW if few else _BEYOND if beyond else _RARE if len(drawn) < 2 else None
    lower, upper = (None, None) if why else np.quantile(drawn, logs.tails).tolist()
    share = None if few or beyond else len(drawn) / logs.repeats
    return {"lower": lower, "upper": upper, "probability": share, "repeats": len(drawn), "reason": why}


def _overtakings(lead: Floats, over: Over, place: float) -> Floats:
    """Return where a *lead* along the grid ends in the logs where it does, each time nearest to *place*."""
    lines, logs = _LINES[over], np.arange(len(lead))
    before, after = lead[:, :-1], lead[:, 1:]
    places = lines[:-1] + np.diff(lines) * before / (before - after)
    far = np.where((before > 0) & (after <= 0), np.abs(np.log(places / place)), np.inf)
    nearest = far.argmin(axis=1)
    return _axis_value(over, places[logs, nearest][np.isfinite(far[logs, nearest])])


def area_curves_of(frame: pl.DataFrame, logs: Resampling) -> dict[tuple[object, ...], Borders]:
    """Return PR-AUC of the models over prevalence, by the values of the other keys."""
    etas = _axis_value("prevalence", _LINES["prevalence"]).tolist()

    def curve(replicates: Replicates) -> Floats:
        return np.asarray(-1 / replicates.values)

    return _grouped(resample(frame, Asked("pr_auc", etas), logs), curve)


def own_curves_of(
    frame: pl.DataFrame, logs: Resampling, over: Over, fixed: float, threshold: OwnThreshold = "own"
) -> dict[tuple[object, ...], Borders]:
    """Return the models by F-beta along one axis, with the other axis fixed; see ``crossover_intervals``.

    The best threshold of a resampled log is chosen among the thresholds of *frame*.
    """
    scale = _place("beta", np.clip(fixed, *_BETAS)) if over == "prevalence" else _place("prevalence", fixed)
    lambdas = _LINES[over] * scale

    def curve(replicates: Replicates) -> Floats:
        metric = replicates.cases["metric"].to_numpy()
        tpr, fpr = (replicates.values[:, metric == name] for name in ("recall", "fpr"))
        inverse, ratio = 1 / tpr, fpr / tpr
        # F-beta falls as (1 + lambda·FPR)/TPR grows.
        return np.stack([-np.fmin.reduce(inverse + factor * ratio, axis=1) for factor in lambdas], axis=1)

    own = threshold == "own"
    found = resample(frame, Asked(["recall", "fpr"], threshold=None if own else threshold), logs)
    if not own:
        found = itertools.chain.from_iterable(by_keys(found).values())
    return _grouped(found, curve)


def _grouped(
    found: Iterator[Replicates], values: Callable[[Replicates], Floats]
) -> dict[tuple[object, ...], Borders]:
    """Return the values of the models by the values of the other keys."""
    groups: dict[tuple[object, ...], Borders] = {}
    for replicates in found:
        model, *keys = replicates.histogram.group.row(0)
        groups.setdefault(tuple(keys), {})[model] = values(replicates), replicates.sizes
    return groups
