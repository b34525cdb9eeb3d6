"""Counts -> how much a metric varies between logs: the bootstrap."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from nci_frames.base.typing import Betas, Field, Frame, Metrics, Prevalences
from nci_frames.evaluation.arrays.histograms import whole_counts
from nci_frames.evaluation.resampling.honest_bounds import with_honest_bounds
from nci_frames.evaluation.resampling.replicates import Replicates, resample
from nci_frames.evaluation.resampling.resampling import Asked, Resampling
from nci_frames.schemas import BOOTSTRAP, checked


@checked
def bootstrap(
    counts: Frame,
    /,
    *,
    metric: Metrics,
    prevalence: Prevalences | Field = "observed",
    beta: Betas = (1.0,),
    threshold: float | Sequence[float] | None = None,
    repeats: int = 1000,
    seed: int = 0,
    units: str | None = None,
    level: float = 0.95,
) -> pl.DataFrame:
    """Resample the log behind the counts many times, and return how much metrics vary.

    Rows between the same two thresholds are interchangeable, so counts are enough to resample a log. A
    replicate costs the same for a thousand rows and for a billion.

    Parameters
    ----------
    counts
        A counts frame of whole rows, or rates, such as selected operating points.
    metric
        Names or aliases of metrics, called metrics, areas such as "pr_auc" (average precision), or a list of
        these. Areas over a range, such as "partial_roc_auc", cannot be resampled.
    prevalence
        P(y=1), each in [0, 1]; or "observed": the group's own, held fixed, except for strata, where each
        resampled log has its own (see Notes); or a prevalence per segment, as in ``project_rates``.
    beta
        Weights of recall, each in [0, inf], for the metrics that have one.
    threshold
        Threshold of the metrics; by default every threshold of the counts. Areas do not depend on it.
    repeats
        Number of resampled logs, 2 to 1,000,000.
    seed
        Seed of the draws. The draws of a group depend on its keys, not on the other groups.
    units
        None resamples rows, separately for positives and negatives, or stratum by stratum if the counts have
        the key ``weight``. A key with at least 20 values, such as the ``bucket`` of ``unit_buckets``,
        resamples whole values, so that related rows stay together; all models get the same draws.
    level
        Share of the replicates between the bounds, in (0, 1).

    Returns
    -------
    A row per group and metric, sorted by all columns left of ``value``:

    %(columns of bootstrap)s

    Keys are those of *counts*, without *units* and ``weight``. Bounds are also null where one bucket has all
    rows of a class. ``interval`` "percentile" means percentiles of the replicates. "band" means wider bounds:

    - Metrics of rates: extended to the band of the rates' Wilson intervals, if one of the four counts is
      below 20 or the rows of a class are in fewer than 20 buckets of equal size.
    - ROC-AUC: extended to the "score" interval of ``auc_interval``.
    - Other areas: extended for kinds of rows that the log may lack (see Notes).
    - PR-AUC, if it is not supported, or a class has fewer than 20 rows or buckets: the interval of
      ``compute_areas(interval="simultaneous")``.

    If ``resolution`` says that scores lie between thresholds, intervals of areas are wider by the distances
    from the value to the certified bounds of ``compute_areas``.

    Raises
    ------
    ParameterError
        If an option is out of range, a threshold was not counted, an area cannot be resampled, the counts are
        sums of weights, or *units* has too few values.
    UnknownMetricError
        If a metric is unknown.
    SchemaError
        If *counts* is not a counts frame, or lacks the key *units*.

    Notes
    -----
    The rows of a class per bin of a resampled log follow a multinomial distribution with the shares of the
    counts; this is exactly the row bootstrap of binned scores. The interval is the percentile interval.

    A kind of row that a log of n rows lacks by chance may be a share s = -log((1 - level)/2)/n of the
    population, 3.7/n at 95 %, and may score above or below all others. So intervals of areas are extended by
    how far the value moves if a share s of the positives, or of the negatives, moves there; the distances are
    added as squares. If one negative in 1,000 scores above most positives, the interval of PR-AUC covers the
    truth in 71 % of logs without this extension, and in 99 % or more with it.

    With the key ``weight``, each stratum is a sample. Unless each class has one weight, percentiles of
    metrics of rates need no extension: resampled logs have Dirichlet shares of the kinds of rows in a
    stratum, and half of them a random part of a heavy row of a kind that the log may lack. For one stratum
    these are mid-P bounds. The observed prevalence is then an estimate that varies between resampled logs,
    and ``supported`` is also true if ``std`` is at most a tenth of the value.

    References
    ----------
    Efron and Tibshirani (1993), An Introduction to the Bootstrap, chapter 13, doi:10.1201/9780429246593;
    Newcombe (2006), Statistics in Medicine 25(4), 559-573, doi:10.1002/sim.2324; Rubin (1981), The Bayesian
    bootstrap, doi:10.1214/aos/1176345338; Fay and Feuer (1997), for weights,
    doi:10.1002/(SICI)1097-0258(19970415)16:7<791::AID-SIM500>3.0.CO;2-#.

    Examples
    --------
    TPR 0.6 of 100 positives and FPR 0.001 of 1,000 negatives (the paper's Fig. 1): at one positive in a
    thousand the precision is very uncertain.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a"], "threshold": [0.5], "tp": [60], "fp": [1], "fn": [40], "tn": [999]
    ... })
    >>> nf.bootstrap(counts, metric="precision", prevalence=0.001).select(
    ...     pl.col("value", "lower", "upper").round(2)
    ... ).row(0)
    (0.38, 0.07, 1.0)
    """
    logs = Resampling(units, repeats=repeats, seed=seed, level=level)
    frame = whole_counts(counts)
    asked = Asked(metric, prevalence, beta, threshold)
    # Group by group: the replicates of all groups would take too much memory.
    tables = [_summary(replicates, logs.tails) for replicates in resample(frame, asked, logs, unseen=True)]
    if not tables:
        return BOOTSTRAP.empty(frame.select("model", *logs.keys(frame)))
    return BOOTSTRAP.finish(with_honest_bounds(pl.concat(tables), frame, asked, logs))


def _summary(replicates: Replicates, tails: list[float]) -> pl.DataFrame:
    values = replicates.values
    defined = (~np.isnan(values)).sum(axis=0)
    lower, upper, std = np.full((3, len(defined)), np.nan)
    # Most values are defined everywhere, and plain percentiles are much faster.
    for some, quantile, deviation in (
        (defined == len(values), np.quantile, np.std),
        ((defined >= 2) & (defined < len(values)), np.nanquantile, np.nanstd),
    ):
        if some.any():
            between = quantile(values[:, some], tails, axis=0)
            if np.isnan(between).any():  # between two infinite values, or a finite one and itself
                nearest = quantile(values[:, some], tails, axis=0, method="nearest")
                between = np.where(np.isnan(between), nearest, between)
            lower[some], upper[some] = between
            std[some] = deviation(values[:, some], axis=0, ddof=1)
    numbers = {"value": replicates.value, "lower": lower, "upper": upper, "std": std}
    columns = pl.DataFrame({**numbers, "repeats": defined.astype(np.int64)}, nan_to_null=True)
    return replicates.histogram.labelled(replicates.cases.hstack(columns))
