"""Class counts by bucket of units -> paired tests of which models differ at a mix of classes."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Floats, Frame
from nci_frames.counts.class_counts import Priors
from nci_frames.evaluation.classes.class_log import ClassLog, rates_of, why_not
from nci_frames.evaluation.classes.intervals import influences, stratum_sums
from nci_frames.evaluation.classes.mixes import Mixes, read_mixes
from nci_frames.evaluation.metrics.classes import ClassMetric, metric_of_all
from nci_frames.evaluation.significance.corrections import holm
from nci_frames.schemas import CLASS_COMPARISONS, checked

#: Differences up to this are rounding, if the standard error is 0.
_EQUAL = 1e-12


@checked
def compare_class_models(
    class_counts: Frame,
    /,
    *,
    metric: str,
    priors: Priors,
    beta: float = 1.0,
    cost: Mapping[Any, float] | None = None,
    level: float = 0.95,
) -> pl.DataFrame:
    """Test for all pairs of models whether they differ in a metric of all classes at a mix.

    Parameters
    ----------
    class_counts
        Class counts of a labelled log with the key ``bucket`` of ``unit_buckets``: a bucket has the rows of
        its units under every model.
    metric
        A metric of all classes, as in ``project_classes``.
    priors, beta, cost
        As in ``project_classes``.
    level
        Confidence of the interval, in (0, 1). Models are distinguishable if the adjusted p-value is below
        1 - level.

    Returns
    -------
    A row per scenario, two models and other keys, sorted:

    %(columns of class comparisons)s

    Keys are those of *class_counts*, without ``bucket``.

    Raises
    ------
    ParameterError
        If there is no key ``bucket``, or it has fewer than 20 values; if rows are sums of many weights; if
        the metric is one of each class, or another option is out of range.
    UnknownMetricError
        If the metric is unknown.
    SchemaError
        If *class_counts* are not class counts of a labelled log.

    Notes
    -----
    The variance of the difference is that of a sum over buckets of the contributions of their rows, by the
    derivatives of the metric; equal decisions of both models cancel. It is the larger of two: with each model
    at its own rates, and both at the rates of their rows together, as in a score test. A model without any
    false decision for a rare class has no variance of its own. The test is Student's t, with one degree
    of freedom fewer than buckets. p-values are adjusted by Holm's method over all pairs of models of a mix.

    References
    ----------
    Efron and Tibshirani (1993), doi:10.1201/9780429246593; Holm (1979), https://www.jstor.org/stable/4615733.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> label = [0, 1, 2, 1] * 50
    >>> log = pl.DataFrame({"unit": range(200), "label": label, "good": label, "poor": [0, 1, 1, 1] * 50})
    >>> scan = nf.scan_classes(log, decision={"good": "good", "poor": "poor"}, unit="unit")
    >>> counts = nf.count_classes(nf.unit_buckets(scan, buckets=50))
    >>> found = nf.compare_class_models(counts, metric="accuracy", priors={0: 0.1, 1: 0.8, 2: 0.1})
    >>> found.select("model_a", "model_b", pl.col("difference").round(3)).row(0)
    ('good', 'poor', 0.1)
    """
    known = metric_of_all(metric)
    logs, asked = read_mixes(class_counts, priors, [known], beta=beta, cost=cost)
    if logs.buckets is None:
        hint = "count by unit_buckets(predictions), so that the rows of a unit are compared"
        raise ParameterError("models are compared on the same units", found="no key 'bucket'", hint=hint)
    if not logs.whole:
        raise ParameterError("models are compared by rows", found="sums of more than 1,000 weights")
    logs.check_buckets()
    tested = partial(_pairs, known, asked, logs.names.to_list(), level)
    return logs.table(CLASS_COMPARISONS, tested, "scenario", "model_a", "model_b")


def _pairs(
    metric: ClassMetric, asked: Mixes, classes: list[Any], level: float, models: list[ClassLog]
) -> Iterator[dict[str, Any]]:
    """Yield a row for each pair of models at each mix."""
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415  (SciPy is slow to import, and seldom needed)

    at = [(log, asked.of(log)) for log in models]
    values = np.array([mix.value(metric, log.rates)[:, 0] for log, mix in at])
    moved = np.array([_moved(metric, log, mix, log.rates) for log, mix in at])
    one, other = np.triu_indices(len(models), 1)
    difference, alike = values[one] - values[other], np.empty((len(one), *moved.shape[1:]))
    for place, (a, b) in enumerate(zip(one, other, strict=True)):
        pooled = rates_of(models[a].total + models[b].total)
        alike[place] = _moved(metric, *at[a], pooled) - _moved(metric, *at[b], pooled)
    both = np.stack([moved[one] - moved[other], alike])
    spread = (both - both.mean(axis=-1, keepdims=True)) ** 2
    of_own, of_pooled = spread.sum(axis=-1)
    squares, buckets = np.where((of_pooled > of_own)[..., None], *spread[::-1]), both.shape[-1]
    together = squares.sum(axis=-1)
    error = np.sqrt(together * buckets / (buckets - 1))
    # If a few rows of a rare class cause most of the variance, its estimate has few degrees of freedom.
    of_all = together[..., None]
    shares = np.divide(squares, of_all, out=np.ones_like(squares), where=of_all > 0)
    freedom = np.maximum(1 / (shares**2).sum(axis=-1), 2) - 1
    half = stdtrit(freedom, (1 + level) / 2) * error
    p_value = 2 * stdtr(freedom, -np.abs(difference) / error)
    p_value = np.where(error == 0, np.abs(difference) < _EQUAL, p_value)
    why = np.array([[why_not(log, classes, shares > 0) for shares in mix.priors] for log, mix in at], object)
    gap = np.where(np.isnan(difference), "the metric is undefined for one of the models", "").astype(object)
    reason = np.logical_or(np.logical_or(why[one], why[other]), gap)
    told = ~reason.astype(np.bool_)
    adjusted = holm(np.where(told, p_value, np.nan).T).T
    tested = {"lower": difference - half, "upper": difference + half, "p_value": p_value,
              "adjusted": adjusted, "distinguishable": adjusted < 1 - level}  # fmt: skip
    for pair, place in np.ndindex(difference.shape):
        a, b = (models[side[pair]].group["model"] for side in (one, other))
        shown = {name: found[pair, place].item() for name, found in tested.items() if told[pair, place]}
        yield {
            "scenario": at[0][1].names[place], "metric": metric.name, "model_a": a, "model_b": b,
            "difference": difference[pair, place], "supported": told[pair, place].item(),
            "reason": reason[pair, place] or None, **shown,
        }  # fmt: skip


def _moved(metric: ClassMetric, log: ClassLog, mixes: Mixes, rates: Floats) -> Floats:
    """Return the contributions of each bucket to a metric at *rates*, of shape (mixes, buckets)."""
    return stratum_sums(log, influences(log, metric, mixes, rates))[:, 0]
