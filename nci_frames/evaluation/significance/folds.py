"""Rates of folds -> mean metrics, and tests of which models are significantly worse than the best."""

from typing import Literal

import numpy as np
import polars as pl

from nci_frames.base.arguments import check_whole
from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import quantity
from nci_frames.base.typing import Betas, Flags, Frame, Names, Prevalences
from nci_frames.evaluation.metrics import better_sign, called_metric
from nci_frames.evaluation.resampling.resampling import Resampling
from nci_frames.evaluation.significance.corrections import holm
from nci_frames.evaluation.significance.fold_values import FoldValues, bootstrap_test, t_test, without_spread
from nci_frames.evaluation.support.reasons import first_reason
from nci_frames.schemas import FOLD_COMPARISONS, checked

Test = Literal["paired_t", "corrected_t", "bootstrap"]
#: With fewer folds the bootstrap has too many false findings.
_LEAST_FOR_BOOTSTRAP = 10
#: A single key with ten values may mean ten folds, or two repeats of five; the latter needs more correction.
_MOST_ASSUMED = 5


@checked
def compare_folds(
    rates: Frame,
    /,
    *,
    metric: str | pl.Expr = "f_beta",
    beta: Betas = (1.0,),
    prevalence: Prevalences = "observed",
    over: Names = "fold",
    ddof: int = 1,
    test: Test = "corrected_t",
    test_train_ratio: float | None = None,
    correction: Literal["none", "holm"] = "holm",
    level: float = 0.95,
    repeats: int = 10_000,
    seed: int = 0,
) -> pl.DataFrame:
    """Test, at each prevalence and beta, which models are significantly worse than the best.

    Parameters
    ----------
    rates
        A rates frame with one operating point per model, fold and other keys. All models have the same folds.
    metric
        Name or alias of a metric, or a called metric.
    beta
        Weights of recall, each in [0, inf], if the metric has one.
    prevalence
        P(y=1), each in [0, 1]; or "observed": each fold's own.
    over
        Key or keys that identify the folds.
    ddof
        Delta degrees of freedom of ``std``: 1, or 0 as in the F-beta plot. The t-tests always use 1.
    test
        "corrected_t": Nadeau and Bengio's two-sided paired t-test, for folds that share training rows, as in
        a cross-validation. "paired_t": Student's, as in the F-beta plot; it finds far too many differences if
        folds share rows. "bootstrap": resamples folds (bootstrap-t); needs ten or more, independent.
    test_train_ratio
        Test rows per training row of a fold, > 0, for "corrected_t" only. The default is 1/(k-1). With
        several keys (repeats first, then folds), k is the number of values of the last key within the others.
        With one key, which may number the folds of several repeats, k is the number of its values, at most 5.
    correction
        "holm" corrects for the number of models compared with the best, at each prevalence and beta;
        or "none".
    level
        Confidence, in (0, 1). A model is distinguishable if its p-value is below 1 - level.
    repeats
        Number of resampled sets of folds, 100 to 1,000,000; for "bootstrap" only.
    seed
        Seed of the resampling.

    Returns
    -------
    A row per key, metric, prevalence, beta and model, sorted by these:

    %(columns of fold comparisons)s

    Keys are those of *rates*, without *over*. ``p_value`` is corrected if requested.

    The models with ``distinguishable`` false are the best and those not significantly worse than it.

    Raises
    ------
    ParameterError
        If an option is out of range, there are fewer than two folds (ten for "bootstrap"), or a fold has two
        operating points of a model.
    UnknownMetricError
        If the metric is unknown, or its direction is.
    SchemaError
        If *rates* is not a rates frame, or lacks a key of *over*.

    Notes
    -----
    With d the differences from the best in the n folds that define both, and s their standard deviation (ddof
    1), t = mean(d) / (s·sqrt(1/n + r)) with n-1 degrees of freedom; r is 0, or the test-train ratio in the
    corrected test. There n is at most 1 + 1/r, the folds of one repeat, since further repeats of a
    cross-validation test the same rows again (Bouckaert). If all differences are 0, the p-value is 1. If they
    are equal but not 0, up to rounding, their spread is unknown and there is no test. The p-value is not
    corrected for the choice of the best on the same folds, nor for the number of prevalences and betas.

    No test can tell from one log how much other training rows would change the models. The result holds for
    these models on this training data: two linear discriminants with equally good features differed
    significantly in F1 in 2 % of simulated logs, and in 15 % where F1 depends most on the training rows
    (docs/honesty.md).

    References
    ----------
    Wojciechowski and Woźniak (2024), F-beta-plot, arXiv:2404.08709; Nadeau and Bengio (2003),
    doi:10.1023/A:1024068626366; Bouckaert (2003), Choosing between two learning algorithms based on
    calibrated tests, ICML, 51-58; Holm (1979), https://www.jstor.org/stable/4615733.

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
    [('a', 0.812, 0.082, None, False), ('b', 0.681, 0.155, 0.186, False)]
    """
    ratio = test_train_ratio
    if ratio is not None and (test != "corrected_t" or not 0 < ratio < np.inf):
        msg = "test_train_ratio must be a number > 0, and is used with test='corrected_t' only"
        raise ParameterError(msg, found=repr(ratio), hint="1/(k-1) in k-fold cross-validation")
    logs = Resampling(repeats=repeats, seed=seed, level=level, least_repeats=100)
    called = called_metric(metric)
    sign = better_sign(called.metric)
    values = FoldValues.of(rates, called, prevalence, beta, over)
    check_whole("ddof", ddof, 0, 1)
    least = _LEAST_FOR_BOOTSTRAP if test == "bootstrap" else 2
    if values.values.size and len(values.folds) < least:
        msg = f"test={test!r} needs at least {least} folds"
        hint = "use test='corrected_t'" if least > 2 else None
        raise ParameterError(msg, found=quantity(len(values.folds), "fold"), hint=hint)
    table = values.table(ddof)
    shape = values.values.shape[:2]
    mean = sign * table["mean"].fill_null(np.nan).to_numpy().reshape(shape)
    best = np.argmax(np.where(np.isnan(mean), -np.inf, mean), axis=1) if mean.size else np.zeros(0, int)
    is_best = (np.arange(shape[1]) == best[:, None]) & ~np.isnan(mean)
    best_values = np.take_along_axis(values.values, best[:, None, None], axis=1)
    # The difference of two infinite values is NaN.
    differences = sign * (best_values - values.values)
    shared = np.sum(~np.isnan(differences), axis=2)
    if test == "bootstrap":
        p_value = bootstrap_test(differences, logs)
    else:
        ratio = (ratio or _ratio(values)) if test == "corrected_t" else 0.0
        p_value = t_test(differences, ratio)
    equal, constant = without_spread(differences, values.values)
    p_value[equal] = 1
    p_value[is_best | constant | (shared < least)] = np.nan
    if correction == "holm":
        p_value = holm(p_value)
    found = pl.Series(p_value.ravel(), nan_to_null=True)
    itself, few = pl.Series(is_best.ravel()), "two" if least == 2 else "ten"
    compared = table.with_columns(
        p_value=found,
        distinguishable=pl.when(itself).then(pl.lit(value=False)).otherwise(found < 1 - level),
        reason=first_reason(
            (_column(np.isnan(mean)), "undefined in every fold"),
            (_column((shared < least) & ~is_best), f"fewer than {few} folds define it and the best"),
            (_column(constant & ~is_best), "it differs from the best by the same amount in every fold"),
            (pl.lit(found.is_null() & ~itself), "infinite in a fold"),
        ),
    ).filter(values.exists.any(axis=2).ravel())
    return FOLD_COMPARISONS.finish(compared.sort(*values.cases.columns, "model"))


def _column(flags: Flags) -> pl.Expr:
    return pl.lit(pl.Series(flags.ravel()))


def _ratio(values: FoldValues) -> float:
    """Return the test rows per training row of a k-fold cross-validation, possibly repeated."""
    folds = values.folds
    if folds.width > 1:
        *repeats, _ = folds.columns
        k = max(folds.group_by(repeats).len("__folds")["__folds"], default=1)
    else:
        k = min(len(folds), _MOST_ASSUMED)
    return 1 / max(k - 1, 1)
