"""Rates of folds -> their means, and which models are not significantly worse than the best."""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import polars as pl

from nci_frames.arguments import Prevalences, check_level, check_repeats, check_seed, check_whole
from nci_frames.errors import ParameterError
from nci_frames.evaluation.metrics import called_metric
from nci_frames.evaluation.metrics.directions import better_sign
from nci_frames.evaluation.significance.corrections import holm
from nci_frames.evaluation.significance.fold_values import CASE, SUMMARY, FoldValues, Metrics
from nci_frames.evaluation.significance.paired_tests import bootstrap_test, t_test
from nci_frames.schemas import FOLD_COMPARISONS, FOLD_SUMMARIES

__all__ = ["compare_folds", "summarise_folds"]

Test = Literal["paired_t", "corrected_t", "bootstrap"]
Correction = Literal["none", "holm"]


def summarise_folds(
    rates: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    metrics: Metrics,
    prevalence: Prevalences = "observed",
    beta: float | Sequence[float] = (1.0,),
    over: str | Sequence[str] = "fold",
    ddof: int = 1,
) -> pl.DataFrame:
    """Average metrics over folds, next to the metric of the pooled rows of all folds.

    Parameters
    ----------
    rates
        A rates frame with one operating point for each model, fold and further keys. The thresholds may
        differ.
    metrics
        Names or aliases of metrics, or called metrics.
    prevalence
        P(y=1), each in [0, 1]; or "observed": each fold's own.
    beta
        Weights of recall, each in [0, inf], for the metrics that have one.
    over
        The key or keys that identify the folds.
    ddof
        The squared deviations are divided by the number of folds minus *ddof*: 1 or 0.

    Returns
    -------
    A row per model, key, metric, prevalence and beta, sorted by these:

    =========== ======= ========================================== ====================================
    column      dtype   meaning                                    null where
    =========== ======= ========================================== ====================================
    model, keys          as in *rates*, without *over*             as in *rates*
    metric      String  name of the metric, or label               never
    prevalence  Float64 P(y=1) the values belong to                each fold's own, or it plays no part
    beta        Float64 weight of recall                           it plays no part
    mean        Float64 mean over the folds where it is defined    no fold defines it
    std         Float64 standard deviation over the same folds     there are no more of them than *ddof*
    folds       Int64   folds where the metric is defined          never
    skipped     Int64   folds where it is not, or has no point     never
    pooled      Float64 the metric of all folds' counts together   it is undefined
    =========== ======= ========================================== ====================================

    Raises
    ------
    ParameterError
        If an option is out of range, or a fold has two operating points of a model.
    UnknownMetricError
        If a name is neither a metric nor an alias.
    SchemaError
        If *rates* is not a rates frame, or lacks a key of *over*.

    Notes
    -----
    Every fold has the same weight, however many rows it has. The pooled value weighs rows instead, and at
    "observed" it belongs to the prevalence of all rows. For a metric that is not linear in the counts, such
    as F-beta, the two differ even if all folds have one size.

    References
    ----------
    Forman and Scholz (2010), doi:10.1145/1882471.1882479.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> folds = pl.DataFrame({
    ...     "model": "a", "fold": ["1", "2", "3"], "threshold": 0.5,
    ...     "tp": [6, 4, 0], "fp": [2, 0, 0], "fn": [4, 6, 10], "tn": [98, 100, 100],
    ... })
    >>> nf.summarise_folds(nf.compute_rates(folds), metrics="precision").select(
    ...     "mean", "std", "folds", "skipped", "pooled"
    ... ).row(0)
    (0.875, 0.1767766952966369, 2, 1, 0.8333333333333334)
    """
    values = FoldValues.of(rates, metrics, prevalence, beta, over)
    _check_ddof(ddof)
    group = [*values.keys, "model"]
    table = values.table(ddof).filter(values.exists.any(axis=2).ravel()).select(*group, *CASE, *SUMMARY)
    pooled = values.pooled.rename({"value": "pooled"})
    joined = table.join(pooled, on=[*group, *CASE], how="left", nulls_equal=True)
    first = ["model", *values.keys, *CASE]
    return FOLD_SUMMARIES.finish(joined.sort(first))


def compare_folds(
    rates: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    metric: str | pl.Expr = "f_beta",
    beta: float | Sequence[float] = (1.0,),
    prevalence: Prevalences = "observed",
    over: str | Sequence[str] = "fold",
    ddof: int = 1,
    test: Test = "paired_t",
    test_train_ratio: float | None = None,
    correction: Correction = "none",
    level: float = 0.95,
    repeats: int = 10_000,
    seed: int = 0,
) -> pl.DataFrame:
    """Test, at each prevalence and beta, which models are significantly worse than the best.

    Parameters
    ----------
    rates
        A rates frame with one operating point for each model, fold and further keys. All models are
        measured on the same folds.
    metric
        Name or alias of a metric, or a called metric.
    beta
        Weights of recall, each in [0, inf], if the metric has one.
    prevalence
        P(y=1), each in [0, 1]; or "observed": each fold's own.
    over
        The key or keys that identify the folds.
    ddof
        For the column ``std``: 1, or 0 as in the F-beta plot. The t-tests always use 1.
    test
        "paired_t": Student's, two-sided, as in the F-beta plot; in a cross-validation, whose folds share
        training rows, it finds too many differences. "corrected_t": Nadeau and Bengio's, which corrects for
        that. "bootstrap": resamples the folds' differences; it assumes no distribution but needs about ten
        folds or more.
    test_train_ratio
        Test rows per training row of a fold, for "corrected_t" only: 1/(k-1) in k-fold cross-validation,
        however often it is repeated.
    correction
        "none", or "holm", which corrects for the number of models compared with the best, at each prevalence
        and beta.
    level
        A model is distinguishable if its p-value is below 1 - level.
    repeats
        Number of resampled sets of folds, for "bootstrap" only.
    seed
        Seed of the resampling.

    Returns
    -------
    A row per key, metric, prevalence, beta and model, sorted by these:

    =============== ======= ======================================== =================================
    column          dtype   meaning                                  null where
    =============== ======= ======================================== =================================
    keys                     as in *rates*, without *over*           as in *rates*
    metric          String  name of the metric, or label             never
    prevalence      Float64 P(y=1) the values belong to              each fold's own, or plays no part
    beta            Float64 weight of recall                         it plays no part
    model           String  name of the model                        a model of its own
    mean            Float64 mean over the folds where it is defined  no fold defines it
    std             Float64 standard deviation over the same folds   no more of them than *ddof*
    folds           Int64   folds where the metric is defined        never
    skipped         Int64   folds where it is not, or has no point   never
    p_value         Float64 two-sided, of the best mean against this the best itself, and where *reason*
                            one, corrected if requested              says why
    distinguishable Boolean whether the best is significantly better *reason* says why
    reason          String  why there is no test                     there is one, or it is the best
    =============== ======= ======================================== =================================

    The models with ``distinguishable`` false are the best and those not significantly worse than it.

    Raises
    ------
    ParameterError
        If an option is out of range, there are fewer than two folds, or a fold has two operating points of
        a model.
    UnknownMetricError
        If the metric is unknown, or its direction is.
    SchemaError
        If *rates* is not a rates frame, or lacks a key of *over*.

    Notes
    -----
    With d the differences from the best in the n folds that define both, and s their standard deviation (ddof
    1), t = mean(d) / (s·sqrt(1/n + r)), where r is 0, or the test-train ratio in the corrected test; it has
    n-1 degrees of freedom. If all differences are 0, the p-value is 1. The p-value is not corrected for the
    choice of the best on the same folds.

    References
    ----------
    Wojciechowski and Wozniak (2024), the F-beta plot, arXiv:2404.08709; Nadeau and Bengio (2003),
    doi:10.1023/A:1024068626366; Holm (1979), https://www.jstor.org/stable/4615733.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> folds = pl.DataFrame({
    ...     "model": ["a"] * 3 + ["b"] * 3, "fold": ["1", "2", "3"] * 2, "threshold": 0.5,
    ...     "tp": [8, 7, 9, 6, 4, 8], "fp": [2, 2, 1, 2, 1, 1], "fn": [2, 3, 1, 4, 6, 2], "tn": [98] * 6,
    ... })
    >>> nf.compare_folds(nf.compute_rates(folds)).select(
    ...     "model", pl.col("mean", "std", "p_value").round(3), "distinguishable"
    ... ).rows()
    [('a', 0.812, 0.082, None, False), ('b', 0.681, 0.155, 0.089, False)]
    """
    _check_options(test, correction, test_train_ratio)
    check_level(level)
    check_repeats(repeats, 100)
    check_seed(seed)
    called = called_metric(metric)
    sign = better_sign(called.metric)
    values = FoldValues.of(rates, called, prevalence, beta, over)
    _check_ddof(ddof)
    if values.values.size and values.values.shape[2] < 2:
        msg = "a comparison over folds needs at least two folds"
        raise ParameterError(msg, found=f"{values.values.shape[2]} value of {over!r}")
    table = values.table(ddof)
    shape = values.values.shape[:2]
    mean = sign * table["mean"].fill_null(np.nan).to_numpy().reshape(shape)
    best = np.argmax(np.where(np.isnan(mean), -np.inf, mean), axis=1) if mean.size else np.zeros(0, int)
    is_best = (np.arange(shape[1]) == best[:, None]) & ~np.isnan(mean)
    best_values = np.take_along_axis(values.values, best[:, None, None], axis=1)
    differences = sign * (best_values - values.values)
    shared = np.sum(~np.isnan(differences), axis=2)
    if test == "bootstrap":
        p_value = bootstrap_test(differences, repeats, seed)
    else:
        p_value = t_test(differences, test_train_ratio or 0.0)
    p_value[is_best | (shared < 2)] = np.nan
    if correction == "holm":
        p_value = holm(p_value)
    found = pl.Series(p_value.ravel(), nan_to_null=True)
    untested = pl.Series(((shared < 2) & ~is_best).ravel())
    undefined = pl.Series(np.isnan(mean).ravel())
    first = [*values.keys, *CASE, "model"]
    compared = (
        table.with_columns(
            p_value=found,
            distinguishable=pl.when(pl.Series(is_best.ravel())).then(False).otherwise(found < 1 - level),
            reason=pl.when(undefined)
            .then(pl.lit("undefined in every fold"))
            .when(untested)
            .then(pl.lit("fewer than two folds define it and the best")),
        )
        .filter(values.exists.any(axis=2).ravel())
        .sort(first)
    )
    return FOLD_COMPARISONS.finish(compared)


def _check_ddof(ddof: object) -> None:
    check_whole("ddof", ddof, 0, 1)


def _check_options(test: str, correction: str, ratio: float | None) -> None:
    if test not in get_args(Test):
        raise ParameterError.unknown_choice("test", test, get_args(Test))
    if correction not in get_args(Correction):
        raise ParameterError.unknown_choice("correction", correction, get_args(Correction))
    if (test == "corrected_t") != (ratio is not None) or (ratio is not None and not 0 < ratio < np.inf):
        msg = "test_train_ratio must be a number > 0 with test='corrected_t', and is not used otherwise"
        raise ParameterError(msg, found=repr(ratio), hint="1/(k-1) in k-fold cross-validation")
