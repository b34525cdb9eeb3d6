"""Class counts -> metrics and confusion matrix at any mix of the classes."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
import polars as pl

from nci_frames.base.typing import Floats, Frame, Names
from nci_frames.counts.class_counts import Priors, one_mix
from nci_frames.evaluation.classes.class_log import ClassLog, some_of, why_not
from nci_frames.evaluation.classes.intervals import bounds_at, resampled
from nci_frames.evaluation.classes.mixes import Mixes, read_mixes
from nci_frames.evaluation.metrics import by_label
from nci_frames.evaluation.metrics.classes import RECALL, ClassMetric, class_metric
from nci_frames.evaluation.resampling.resampling import Resampling
from nci_frames.schemas import CLASS_PROJECTION, checked


@checked
def project_classes(
    class_counts: Frame,
    /,
    *,
    priors: Priors,
    metrics: Names,
    beta: float = 1.0,
    cost: Mapping[Any, float] | None = None,
    interval: Literal["bootstrap", "delta"] | None = None,
    level: float = 0.95,
    repeats: int = 1000,
    seed: int = 0,
) -> pl.DataFrame:
    """Evaluate metrics of decisions among classes at any mix of the classes.

    The shares R of the decisions among the rows of a class do not depend on the mix. All metrics follow from
    J = diag(priors)·R.

    Parameters
    ----------
    class_counts
        Class counts of a labelled log. Rows are weighted if there are weights, and summed over ``bucket``.
    priors
        The mix: "observed", that of each group; "uniform", equal shares of all classes with rows; or
        ``{class: share}``. Several mixes: ``{scenario: mix}``, or a frame with the columns scenario, class
        and prior. Counts with scenarios take the mix of the same name, or a single mix.
    metrics
        Of all classes: "accuracy", "balanced_accuracy", "macro_precision", "macro_recall", "macro_f_beta",
        "weighted_f_beta", "kappa", "mcc", "expected_cost". Of each class: "precision", "recall", "f_beta",
        "pos_fraction" (also of other decisions, such as "abstain").
    beta
        Weight of recall against precision, in [0, inf].
    cost
        For "expected_cost": ``{(label, decision): cost}``, the cost of a decision about a row of a class.
        Others cost 0.
    interval
        None: bounds are null. "delta": the delta method. "bootstrap": from resampled logs, by whole buckets
        if the counts have the key ``bucket`` (``unit_buckets``).
    level
        Confidence of the interval, in (0, 1).
    repeats, seed
        For "bootstrap": number of resampled logs, 2 to 1,000,000, and seed of the draws.

    Returns
    -------
    A row per group, scenario and metric (and class, for metrics of each class), sorted:

    %(columns of class projection)s

    Keys are those of *class_counts*, without ``bucket``. Classes are those with rows in some group, or named
    in *priors*. Means are over the classes whose value is defined (``reason`` lists the others), and null if
    a class of positive prior has no row.

    Raises
    ------
    ParameterError
        If *priors* lack a class or are not shares; an option is out of range; costs are missing, or name
        unknown classes; or there are fewer than 20 buckets.
    UnknownMetricError
        If a metric is unknown.
    SchemaError
        If *class_counts* are not class counts of a labelled log.

    Notes
    -----
    "delta" bounds are computed on the logit of the metric's range, and extended to those of three similar
    logs, since a decision that a class never got may be rare: with one more row of each class, spread over
    all decisions; with as many wrong decisions, spread as in that log; and with one row of the decision that
    a class never got and that would harm the metric most. Where weights differ within a class, a row has the
    weight of the heaviest row with the decision.
    "bootstrap" bounds are percentiles of logs drawn within each class (with several weights, within each
    weight), extended to the "delta" bounds where these are wider: percentiles alone covered the precision of
    a rare class in 0.78 of the logs with 20 to 100 rows of a class.

    If *priors* are a frame with ``lower`` and ``upper``, such as that of ``estimate_class_priors`` at the
    same level, bounds include the error of the priors: for any dependence between the errors of the shares,
    they allow for the largest change of the metric (to first order; exact for two classes), and include the
    values where one share is at its bound. Other priors are taken as known.

    References
    ----------
    Efron and Tibshirani (1993), doi:10.1201/9780429246593; Cohen (1960), doi:10.1177/001316446002000104;
    Gorodkin (2004), doi:10.1016/j.compbiolchem.2004.09.006 (the MCC of several classes).

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": "a", "label": ["cat", "cat", "dog", "dog"], "decision": ["cat", "dog"] * 2,
    ...     "rows": [90, 10, 30, 70],
    ... })
    >>> mix = {"test": {"cat": 0.5, "dog": 0.5}, "field": {"cat": 0.1, "dog": 0.9}}
    >>> nf.project_classes(counts, priors=mix, metrics="precision").select(
    ...     "scenario", "metric", "class", pl.col("value").round(3)
    ... ).filter(pl.col("class") != "dog").rows()
    [('field', 'precision', 'cat', 0.25), ('test', 'precision', 'cat', 0.75)]
    """
    draws = Resampling(repeats=repeats, seed=seed, level=level)
    named = by_label(metrics, class_metric, lambda metric: metric.name, "name it once").values()
    logs, asked = read_mixes(class_counts, priors, [*named], beta=beta, cost=cost)
    if interval is not None:
        logs.check_buckets()
    bounded = interval is not None and logs.whole
    unbounded = "no bounds: rows are sums of more than 1,000 weights" if interval and not bounded else None

    def rows(models: list[ClassLog]) -> Iterator[dict[str, Any]]:
        for log in models:
            mixes = asked.of(log)
            drawn = resampled(log, draws) if bounded and interval == "bootstrap" else None
            for metric in named:
                value = mixes.value(metric, log.rates)
                lower, upper = bounds_at(log, metric, mixes, draws, drawn) if bounded else (np.nan, np.nan)
                # An undefined value has no bounds, although the log with one more row has some.
                found = np.stack([value, np.minimum(lower, value), np.maximum(upper, value)])
                yield from _rows(log, logs.names.to_list(), metric, mixes, found, unbounded)

    return logs.table(CLASS_PROJECTION, rows, "model", "scenario", "metric", "class")


def _rows(
    log: ClassLog, names: list[Any], metric: ClassMetric, mixes: Mixes, found: Floats, remark: str | None
) -> Iterator[dict[str, Any]]:
    """Yield value, bounds and reason at each mix, for all classes together or for each class."""
    shown = mixes.classes | (log.total.any(axis=0) if metric.name == "pos_fraction" else False)
    averaged = mixes.value(metric.averages or metric, log.rates)
    for place, (scenario, priors) in enumerate(zip(mixes.names, mixes.priors, strict=True)):
        matters, meant = priors != 0, mixes.classes & (metric.averages is not None)
        if metric.name == "weighted_f_beta":
            meant &= matters
        skipped = np.isnan(averaged[place]) & meant
        skips = f"mean without {some_of(names, skipped)}, whose value is undefined" if skipped.any() else None
        if metric.averages is RECALL:  # its mean includes classes that the mix lacks
            matters |= meant & ~skipped
        for number in np.flatnonzero(shown) if metric.of_each else [0]:
            # The recall of a class depends on its own rows only.
            own, name = np.arange(len(names)) == number, names[number] if metric.of_each else None
            reason = why_not(log, names, own if metric.name == "recall" else matters)
            value, lower, upper = found[:, place, number].tolist()
            if np.isnan(value) and reason is None:
                one = "all rows have one decision" if metric.averages is None else "no class is ever decided"
                reason = f"{name!r} is never decided" if metric.of_each else one
            at = {"scenario": scenario, "metric": metric.name, "class": name}
            told = {"supported": reason is None, "reason": reason or skips or remark}
            yield log.group | at | {"value": value, "lower": lower, "upper": upper} | told


def matrix_at(class_counts: Frame, priors: Any) -> tuple[pl.DataFrame, list[str], list[str]]:
    """Return rows, share of the class and share of the mix by model, class and decision; names; and doubts.

    Rows are not weighted, unless they are sums of weights.

    Raises
    ------
    ParameterError
        If the counts have keys or scenarios, or there are several mixes.
    """
    logs, asked = read_mixes(class_counts, priors)
    logs.need_no_keys("the matrix")
    one_mix("priors", dict.fromkeys(asked.names))
    names = logs.names.cast(pl.String)
    texts, numbers = dict.fromkeys(("model", "label", "decision"), pl.String), ("rows", "rate", "share")
    tables, doubts = [pl.DataFrame(schema=texts | dict.fromkeys(numbers, pl.Float64))], []
    for log in (log for models in logs.groups for log in models):
        (shares,), rates, rows = asked.of(log).priors, log.rates, log.rows.sum(axis=0)
        doubts.append(why_not(log, logs.names.to_list(), shares != 0))
        one, other = np.nonzero(np.outer(asked.classes, asked.classes | (log.total.sum(axis=0) > 0)))
        tables.append(pl.DataFrame({
            "model": pl.Series([log.group["model"]] * len(one), dtype=pl.String),
            "label": names.gather(one), "decision": names.gather(other), "rows": rows[one, other],
            "rate": rates[one, other], "share": shares[one] * rates[one, other],
        }))  # fmt: skip
    table = pl.concat(tables).with_columns(pl.col("rate", "share").fill_nan(None))
    return table, names.to_list(), [why for why in dict.fromkeys(doubts) if why is not None]
