"""Counts -> how often each model is the best in resampled logs."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from nci_frames.base.typing import Betas, Frame, Prevalences
from nci_frames.evaluation.areas.area import area_of
from nci_frames.evaluation.areas.areas import areas_of
from nci_frames.evaluation.areas.pr import PR_AUC
from nci_frames.evaluation.arrays.histograms import whole_counts
from nci_frames.evaluation.metrics import Metric, asked_metric, better_sign, called_metric, rounding
from nci_frames.evaluation.projection.operating_points import select_operating_points
from nci_frames.evaluation.projection.projection import project_checked
from nci_frames.evaluation.rates.clusters import class_worth
from nci_frames.evaluation.rates.rates import compute_rates, with_worth
from nci_frames.evaluation.resampling.replicates import CASE, Replicates, labelled_cases, resample_models
from nci_frames.evaluation.resampling.resampling import Asked, OwnThreshold, Resampling
from nci_frames.evaluation.support.rule import defined_flags
from nci_frames.schemas import BEST_MODELS, COUNTS, beside, checked, has_strata

#: Rows, or buckets of equal size, that a class needs. Two rows already vary. Buckets differ in size and in
#: kind, so few of them show too little variation.
_LEAST_ROWS, _LEAST_BUCKETS = 2, 10
_FEW_BUCKETS = "fewer than 10 buckets of equal size have rows of a class"
_ONE_ROW = "no resampled log differs: a class has one row"


@checked
def probability_best(
    counts: Frame,
    /,
    *,
    metric: str | pl.Expr = "f_beta",
    prevalence: Prevalences = "observed",
    beta: Betas = (1.0,),
    threshold: OwnThreshold = None,
    repeats: int = 1000,
    seed: int = 0,
    units: str | None = None,
    over: str | None = None,
) -> pl.DataFrame:
    """Return how often each model is the best in resampled logs, at each prevalence and beta.

    Parameters
    ----------
    counts
        A counts frame of whole rows, or rates. A metric of rates needs one operating point per model: give
        *threshold*, or one row per model.
    metric
        Name or alias of a metric or an area, such as "pr_auc" (average precision), or a called metric.
    prevalence
        P(y=1), each in [0, 1]; or "observed": each group's own, held fixed.
    beta
        Weights of recall, each in [0, inf], if the metric has one.
    threshold
        Threshold of the metric; or "own": each model's best one, chosen anew in every resampled log. Areas do
        not depend on it.
    repeats
        Number of resampled logs, 2 to 1,000,000.
    seed
        Seed of the draws.
    units
        None resamples the rows of each model separately, as if the models had scored different rows; this
        hides differences between models of one log. A key, such as the ``bucket`` of ``unit_buckets``,
        resamples the same units for all models: a paired comparison.
    over
        None, or a key whose values score the same units again, such as the repeats of a cross-validation. The
        metric is computed within each value and averaged, in the log and in every resampled log. Needs
        *units*.

    Returns
    -------
    A row per key, metric and model, sorted by all columns left of ``value``:

    %(columns of best models)s

    Keys are those of *counts*, without *over* and *units*. Models that tie in a resampled log share it.
    ``probability`` is null if the value is undefined in all logs, or a class has only one row or bucket.

    Raises
    ------
    ParameterError
        As for ``bootstrap``; if a model has several operating points, the metric cannot be ranked, or *over*
        is given without *units*.
    UnknownMetricError
        If the direction of a metric is unknown.
    SchemaError
        If *counts* is not a counts frame, or lacks the key *units*, or *over*.

    Notes
    -----
    Identical models share their probability. This is a bootstrap probability, neither a posterior nor a test:
    of ten equal models one is often far ahead. ``compare_best`` tests which models may be the best.

    Resampling shows too little variation where a class that the metric depends on has one row or, with
    *units*, rows in fewer than 10 buckets of equal size.

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
    ...     "prevalence", "model", pl.col("value", "probability").round(2)
    ... ).rows()
    [(0.01, 'a', 0.71, 1.0), (0.01, 'b', 0.42, 0.0), (0.5, 'a', 0.75, 0.0), (0.5, 'b', 0.88, 1.0)]
    """
    logs = Resampling(units, over, repeats=repeats, seed=seed)
    frame = whole_counts(counts)
    asked = Asked(metric, prevalence, beta, threshold)
    table = shares_of_best(frame, asked, logs)
    return with_support(table, _told(table, frame, asked, logs), ["model", *logs.keys(frame)])


def shares_of_best(frame: pl.DataFrame, asked: Asked, logs: Resampling) -> pl.DataFrame:
    """Return the table of ``probability_best`` with ``__own``, before ``with_support``.

    *frame* has whole counts. ``__own`` is each model's own prevalence, ``prevalence`` null if these differ.
    """
    groups = resample_models(frame, asked, logs)
    keys = logs.keys(frame)
    if not groups:
        empty = BEST_MODELS.empty(frame.select(keys)).drop("supported")
        return empty.with_columns(__own=pl.lit(None, pl.Float64))
    return shares_among(groups, asked_metric(asked.metrics[0]), keys, by_rows=logs.units is None)


def shares_among(
    groups: Sequence[list[Replicates]], metric: Metric, keys: Sequence[str] = (), *, by_rows: bool
) -> pl.DataFrame:
    """Return the table of ``shares_of_best`` from resampled logs: a list of models per value of *keys*."""
    table = pl.concat(_compared(models, metric, by_rows=by_rows) for models in groups)
    return table.drop("threshold").sort(*keys, *CASE, "model")


def with_support(table: pl.DataFrame, told: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Add ``supported`` and, where there is none yet, ``reason``, from a table of values of the models.

    All values of *told* with the same *keys*, prevalence and, if it has one, beta must be supported.
    """
    # The own prevalence of a model is a quotient of sums of weights, which may be rounded in two ways.
    several = told.select(pl.col("__own").n_unique().over(keys).max() > 1).item()
    at = [*keys, *(["__own"] if several else []), *(["beta"] if "beta" in told.columns else [])]
    flags = told.group_by(at, maintain_order=True).agg(
        pl.col("supported").all(ignore_nulls=False), why=pl.col("reason").drop_nulls().first()
    )
    found = beside(table, flags, at)
    return BEST_MODELS.finish(found.with_columns(reason=pl.coalesce("reason", "why")).drop("why", "__own"))


def _compared(models: list[Replicates], metric: Metric, *, by_rows: bool) -> pl.DataFrame:
    """Compare the models of one group of keys."""
    values = better_sign(metric) * np.stack([m.values for m in models])  # model, replicate, case
    defined = ~np.isnan(values)
    comparable = np.where(defined, values, -np.inf)
    highest = comparable.max(axis=0)
    # Values that differ by rounding tie; the difference of equal infinite values is NaN.
    wins = defined & ~(highest - comparable > rounding(metric, highest))
    decided = defined.any(axis=0).sum(axis=0)
    probability = (wins / np.maximum(wins.sum(axis=0), 1)).sum(axis=1) / decided
    freedom = np.stack([m.freedom for m in models])
    # One row, or one bucket, does not vary between resampled logs.
    probability[:, (freedom < 1).any(axis=0)] = np.nan
    few = (freedom < (_LEAST_ROWS if by_rows else _LEAST_BUCKETS) - 1).any(axis=0)
    value = np.concatenate([m.value for m in models])
    return labelled_cases(
        models,
        __own="prevalence",
        value=pl.Series(value, nan_to_null=True),
        probability=pl.Series(probability.ravel(), nan_to_null=True),
        repeats=pl.Series(defined.sum(axis=1).astype(np.int64).ravel()),
        # An undefined value gets its own reason from ``with_support``.
        reason=pl.when(pl.Series(np.tile(few, len(models)) & ~np.isnan(value))).then(
            pl.lit(_ONE_ROW if by_rows else _FEW_BUCKETS)
        ),
    )


def _told(table: pl.DataFrame, counts: pl.DataFrame, asked: Asked, logs: Resampling) -> pl.DataFrame:
    """Return whether whole *counts* support the metric at ``__own``, the prevalence of each value of *table*.

    With ``logs.over`` there is a row for each of its values, since each must support the metric.
    """
    worth = None if logs.units is None else class_worth(counts, logs.units)
    pooled, own = logs.without_units(counts), pl.col("prevalence").alias("__own")
    several = pooled.select("model", *COUNTS.keys(pooled.columns)).is_duplicated().any()
    (metric,), prevalence = asked.metrics, asked.prevalence
    area = area_of(metric, "resampled")
    # With one threshold there is nothing to choose.
    if area is None and asked.threshold == "own" and several:
        called = called_metric(metric)
        if called.needs_fpr is False:
            return table.with_columns(**defined_flags(pl.col("value")))
        # The best of all thresholds is supported where PR-AUC is.
        area, prevalence = PR_AUC, prevalence if called.prevalence is None else called.prevalence
    if area is not None:
        return areas_of(pooled, prevalence, [area], worth=worth).with_columns(own)
    # The pooled counts of strata are already rates, with effective numbers of rows.
    rates = with_worth(pooled if has_strata(counts) else compute_rates(pooled), worth)
    if isinstance(asked.fixed, float | int):
        rates = select_operating_points(rates, threshold=asked.fixed)
    return project_checked(rates, metrics=[metric], prevalence=prevalence, beta=asked.beta).with_columns(own)
