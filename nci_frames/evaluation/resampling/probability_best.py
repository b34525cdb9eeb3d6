"""Counts -> how often each model is the best in resampled logs."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.arguments import Prevalences
from nci_frames.base.typing import Floats
from nci_frames.evaluation.arrays.histograms import whole_counts
from nci_frames.evaluation.metrics import Metric, asked_metric
from nci_frames.evaluation.metrics.directions import better_sign
from nci_frames.evaluation.metrics.rounding import rounding
from nci_frames.evaluation.resampling.replicates import (
    Replicates,
    labelled_cases,
    resample_models,
    takes_own_thresholds,
)
from nci_frames.evaluation.resampling.resampling import Resampling
from nci_frames.evaluation.resampling.supported_values import with_support
from nci_frames.schemas import BEST_MODELS
from nci_frames.schemas.checked import checked

__all__ = ["probability_best", "shares_of_best", "with_reasons"]

#: Rows, or buckets of equal size, that a class needs. Rows are drawn one by one, so that two already differ;
#: buckets differ in size and in kind, and what few of them show is too narrow.
_LEAST_ROWS, _LEAST_BUCKETS = 2, 10
_FEW_BUCKETS = "fewer than 10 buckets of equal size have rows of a class"
_NO_SPREAD = "no resampled log differs: a class has one row, or all of its rows the same decision"
#: Differences are computed from doubles: so much of the values is rounding.
_ROUNDING = 1e-12
_CASE = ("metric", "method", "prevalence", "beta")


@checked
def probability_best(
    counts: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    metric: str | pl.Expr = "f_beta",
    prevalence: Prevalences = "observed",
    beta: float | Sequence[float] = (1.0,),
    threshold: float | Literal["own"] | None = None,
    repeats: int = 1000,
    seed: int = 0,
    units: str | None = None,
    over: str | None = None,
    level: float = 0.95,
) -> pl.DataFrame:
    """Return how often each model is the best in resampled logs, at each prevalence and beta.

    Parameters
    ----------
    counts
        A counts frame of whole rows, or rates. For a metric each model needs one operating point:
        *threshold*, or a frame with one row of each model.
    metric
        A name or alias of a metric, a called metric, or an area: "pr_auc" (average precision), "roc_auc" or
        "pr_gain_auc".
    prevalence
        P(y=1), each in [0, 1]; or "observed": each group's own, held fixed.
    beta
        Weights of recall, each in [0, inf], if the metric has one.
    threshold
        The threshold of the metric; or "own": each model's best one, chosen anew in every resampled log.
        Areas do not depend on it.
    repeats
        Number of resampled logs, 2 to 1,000,000.
    seed
        Seed of the draws.
    units
        None resamples the rows of each model separately, as if the models had scored different rows, which
        hides differences between models of one log. A key such as the ``bucket`` of ``unit_buckets``
        resamples the same units for all models: the paired comparison.
    over
        None, or a key whose values score the same units again, such as the repeats of a cross-validation: the
        metric is taken within each of them and averaged, in the log and in every resampled log. It needs
        *units*.
    level
        A model is distinguishable if its p-value is below 1 - level.

    Returns
    -------
    A row per key, metric and model, sorted by all columns left of ``value``:

    =============== ======= =========================================== ================================
    column          dtype   meaning                                     null where
    =============== ======= =========================================== ================================
    keys                     as in *counts*, without *units* and *over* as in *counts*
    metric          String  the metric's label                          never
    method          String  rule of the PR area                         not pr_auc
    prevalence      Float64 P(y=1) the values belong to                 each model's own, or no part
    beta            Float64 weight of recall                            it plays no part
    model           String  name of the model                           a model of its own
    value           Float64 the metric of the counts themselves         undefined
    probability     Float64 share of the resampled logs in which it is  undefined in all of them, or a class
                            the best; those that tie share              has one row, or is in one bucket
    p_value         Float64 two-sided, of the best *value* against this the best, undefined, or *reason*
                                                                        says why
    distinguishable Boolean whether the best is significantly better    p_value is null, unless the best
    repeats         Int64   resampled logs in which it is defined       never
    supported       Boolean whether the log can tell *value* at this    the prevalence is hidden
                            prevalence
    reason          String  why resampling says nothing of the          neither
                            difference; otherwise why the log cannot
                            tell the value
    =============== ======= =========================================== ================================

    Raises
    ------
    ParameterError
        As for ``bootstrap``, or if a model has several operating points, or if the metric cannot be ranked;
        if *over* is given without *units*.
    UnknownMetricError
        If the direction of a metric is unknown.
    SchemaError
        If *counts* is not a counts frame, or lacks the key *units*, or *over*.

    Notes
    -----
    The p-value is twice the smaller of two shares of resampled logs: those in which the best is not better
    than the model, and those in which it is not worse (each with one added to the number and to the total).
    There is none where a class that the metric depends on has one row, or, with *units*, rows in fewer than
    10 buckets of equal size: few buckets show too little of how much they vary.
    Identical models share their probability, and have p-value 1 with *units*. The probability is that of the
    bootstrap, not a posterior; the p-values are not corrected for the number of models.

    References
    ----------
    Efron and Tibshirani (1993), An Introduction to the Bootstrap, chapter 15, doi:10.1201/9780429246593.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"], "threshold": [0.5, 0.5],
    ...     "tp": [60, 80], "fp": [1, 20], "fn": [40, 20], "tn": [999, 980],
    ... })
    >>> nf.probability_best(counts, prevalence=[0.01, 0.5]).select(
    ...     "prevalence", "model", pl.col("value", "probability").round(2), "distinguishable"
    ... ).rows()
    [(0.01, 'a', 0.71, 1.0, False), (0.01, 'b', 0.42, 0.0, True), (0.5, 'a', 0.75, 0.0, True),
    (0.5, 'b', 0.88, 1.0, False)]
    """
    logs = Resampling(units, over, repeats=repeats, seed=seed, level=level)
    frame = whole_counts(counts)
    table = shares_of_best(frame, logs, metric=metric, prevalence=prevalence, beta=beta, threshold=threshold)
    if table.is_empty():
        return BEST_MODELS.finish(table.drop("__own").with_columns(supported=pl.lit(None, pl.Boolean)))
    at = threshold if takes_own_thresholds(metric, threshold) or threshold != "own" else None
    values = table.select(
        "model", *logs.keys(frame), "metric", pl.col("__own").alias("prevalence"), "beta", "value"
    )
    told = with_support(values, frame, metric, logs, prevalence=prevalence, beta=beta, threshold=at)
    return BEST_MODELS.finish(with_reasons(table.drop("__own"), told))


def shares_of_best(
    frame: pl.DataFrame,
    logs: Resampling,
    *,
    metric: str | pl.Expr,
    prevalence: Prevalences,
    beta: float | Sequence[float] = (1.0,),
    threshold: float | Literal["own"] | None = None,
) -> pl.DataFrame:
    """Return the table of ``probability_best`` before support is told: with ``__own``, without ``supported``.

    *frame* has whole counts; ``__own`` is each model's own prevalence, where they differ.
    """
    groups = resample_models(frame, metric, logs, prevalence=prevalence, beta=beta, threshold=threshold)
    keys = logs.keys(frame)
    if not groups:
        empty = BEST_MODELS.empty(frame.select(keys)).drop("supported")
        return empty.with_columns(__own=pl.lit(None, pl.Float64))
    known = asked_metric(metric)
    table = pl.concat(_compared(models, known, logs.level, by_rows=logs.units is None) for models in groups)
    return table.drop("threshold").sort(*keys, *_CASE, "model")


def with_reasons(table: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    """Add ``supported``, and where there is no other the ``reason``, from a table of the same rows."""
    flags = told.select("supported", why="reason")
    return table.hstack(flags).with_columns(reason=pl.coalesce("reason", "why")).drop("why")


def _compared(models: list[Replicates], metric: Metric, level: float, *, by_rows: bool) -> pl.DataFrame:
    """Compare the models of one group of keys."""
    sign = better_sign(metric)
    value = sign * np.stack([m.value for m in models])  # model, case
    values = sign * np.stack([m.values for m in models])  # model, replicate, case
    defined = ~np.isnan(values)
    comparable = np.where(defined, values, -np.inf)
    highest = comparable.max(axis=0)
    with np.errstate(invalid="ignore"):
        # What differs by rounding ties; the difference of equal infinite values is NaN.
        wins = defined & ~(highest - comparable > rounding(metric, highest))
    decided = defined.any(axis=0).sum(axis=0)
    with np.errstate(invalid="ignore"):
        probability = (wins / np.maximum(wins.sum(axis=0), 1)).sum(axis=1) / decided
    freedom = np.stack([m.freedom for m in models])
    # One row, or one bucket, is the same in every resampled log.
    probability[:, (freedom < 1).any(axis=0)] = np.nan
    own = np.where(np.isnan(value), -np.inf, value)
    most = own.max(axis=0)
    with np.errstate(invalid="ignore"):
        # Of those that tie the first.
        best = np.argmax((own == most) | (most - own <= rounding(metric, most)), axis=0)
    is_best = (np.arange(len(models))[:, None] == best) & ~np.isnan(value)
    of_best = values[best, :, np.arange(len(best))].T
    with np.errstate(invalid="ignore"):
        difference = np.where(of_best == values, 0.0, of_best - values)
        difference[np.abs(difference) <= rounding(metric, of_best)] = 0.0
    both = (~np.isnan(difference)).sum(axis=1)
    fewer = np.minimum((difference <= 0).sum(axis=1), (difference >= 0).sum(axis=1))
    p_value = np.minimum(1, 2 * (1 + fewer) / (1 + both))
    p_value[is_best | (both < 2) | np.isnan(value)] = np.nan
    few = freedom < (_LEAST_ROWS if by_rows else _LEAST_BUCKETS) - 1
    few |= few[best, np.arange(len(best))]
    fixed = ~np.isnan(p_value) & (few | _without_spread(difference, values))
    why = np.where(few & (not by_rows), _FEW_BUCKETS, _NO_SPREAD)
    p_value[fixed] = np.nan
    etas = np.array([m.cases["prevalence"].fill_null(np.nan).to_numpy() for m in models])
    one_eta = (etas == etas[0]).all(axis=0)
    p = pl.Series(p_value.ravel(), nan_to_null=True)
    return labelled_cases(
        models,
        __own="prevalence",
        prevalence=pl.when(pl.Series(np.tile(one_eta, len(models)))).then("prevalence"),
        value=pl.Series(np.concatenate([m.value for m in models]), nan_to_null=True),
        probability=pl.Series(probability.ravel(), nan_to_null=True),
        p_value=p,
        distinguishable=pl.when(pl.Series(is_best.ravel())).then(False).otherwise(p < 1 - level),
        repeats=pl.Series(defined.sum(axis=1).astype(np.int64).ravel()),
        reason=pl.when(pl.Series(fixed.ravel())).then(pl.Series(why.ravel().tolist(), dtype=pl.String)),
    )


def _without_spread(difference: Floats, values: Floats) -> NDArray[np.bool_]:
    """Return whether every resampled log has one difference, other than 0: it tells nothing of its spread."""
    known = np.isfinite(difference)
    highest = np.where(known, difference, -np.inf).max(axis=1)
    lowest = np.where(known, difference, np.inf).min(axis=1)
    rounding = _ROUNDING * np.where(np.isfinite(values), np.abs(values), 0).max(axis=(0, 1))
    one_value = highest - lowest <= rounding
    return np.asarray(one_value & (np.maximum(np.abs(highest), np.abs(lowest)) > rounding))
