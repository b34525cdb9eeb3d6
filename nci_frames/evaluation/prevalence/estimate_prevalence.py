"""Counts of a labelled log, score counts of traffic -> the prevalence of the traffic."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl

from nci_frames.base.arguments import name_list
from nci_frames.base.errors import SchemaError
from nci_frames.base.normal import normal_quantile
from nci_frames.base.typing import Frame
from nci_frames.counts.pooling import pooled_to
from nci_frames.counts.scores_as_counts import scores_as_counts
from nci_frames.evaluation.arrays.histograms import whole_counts
from nci_frames.evaluation.prevalence.mixtures import Bins, Mixtures, check_key_types, common_bins
from nci_frames.evaluation.significance.corrections import holm
from nci_frames.evaluation.support.reasons import first_reason
from nci_frames.schemas import COUNTS, PREVALENCES, WEIGHT, beside, checked, has_strata

_MISFIT = (
    "the scores are no mixture of the two classes: "
    "positives or negatives score otherwise than in the reference"
)


@checked
def estimate_prevalence(
    reference: Frame,
    traffic: Frame,
    /,
    *,
    method: Literal["em", "adjusted_count", "matching"] = "em",
    by: str | Sequence[str] | None = None,
    level: float = 0.95,
) -> pl.DataFrame:
    """Estimate the share of positives in unlabelled traffic.

    The scores of the traffic are modelled as a mixture of the scores of positives and of negatives in a
    labelled log. The fit is tested; without a fit there is no estimate.

    Parameters
    ----------
    reference
        A counts frame of the labelled log, of whole rows. Keys that the traffic also has are matched by
        value; other keys are pooled.
    traffic
        The result of ``count_scores``, of whole rows. It must share thresholds with the reference, unless the
        reference is exact.
    method
        "em": maximum likelihood over bins of scores. "adjusted_count": from TPR and FPR at the threshold
        where they differ most. "matching": the mixture with the least squared distance.
    by
        Keys of the traffic to keep; the others are pooled. None keeps all.
    level
        Confidence of the interval, in (0, 1). A mixture does not fit if its adjusted p-value is below
        1 - level.

    Returns
    -------
    A row per model and kept keys of the traffic, sorted:

    %(columns of prevalences)s

    Keys are those of *traffic*. The interval includes the sampling error of the reference. ``fit_p_value`` is
    not adjusted.

    Raises
    ------
    ParameterError
        If *level* is not in (0, 1), or the counts are sums of weights.
    SchemaError
        If a frame is of another kind, *by* is not a key of the traffic, or a key has different types.

    Notes
    -----
    Positives are assumed to score in the traffic as in the reference, and so are negatives (prior probability
    shift): only their shares differ. The fit test can contradict this, but not prove it: positives that score
    like negatives look like fewer positives.

    All methods solve sum over bins of w (t - eta p - (1 - eta) n) = 0, where t, p and n are the shares of the
    bins in traffic, positives and negatives, and w is (p - n) / (eta p + (1 - eta) n) for "em",
    0 or 1 for "adjusted_count", (p - n) / (p + n) for "matching". The interval has every eta for which the
    sum is within its standard errors, as Fieller's does. Up to 13 bins are made, at quantiles of the classes.

    The test of fit is a likelihood-ratio test of both logs together, in which the shares of the bins in
    either class are unknown. It splits the highest bin into up to three, to detect positives that score
    higher than in the reference. p-values are adjusted by Holm's method over the rows of the table.

    With weights, the shares are those of the sums of weights. The interval has the linearised variance of
    the reference, with rows drawn independently. For the test of fit, and for the traffic, a class counts as
    its sum of weights over the largest mean weight of a bin (mean by weight): so no bin is overestimated.

    References
    ----------
    Saerens, Latinne and Decaestecker (2002), doi:10.1162/089976602753284446; Rogan and Gladen (1978),
    doi:10.1093/oxfordjournals.aje.a112510; Forman (2008), doi:10.1007/s10618-008-0097-y; Fieller (1954),
    doi:10.1111/j.2517-6161.1954.tb00159.x.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> labelled = pl.DataFrame({
    ...     "model": "a", "threshold": [0.5], "tp": [80], "fp": [100], "fn": [20], "tn": [900],
    ... })
    >>> traffic = pl.DataFrame({"model": "a", "threshold": [0.5], "above": [2400], "below": [7600]})
    >>> found = nf.estimate_prevalence(labelled, traffic)
    >>> found.select(pl.col("prevalence", "lower", "upper").round(3)).row(0)
    (0.2, 0.169, 0.236)
    """
    field, labelled = (_weighing(whole_counts(given)) for given in (scores_as_counts(traffic), reference))
    keys = _keys(field)
    kept = keys if by is None else name_list(by)
    for key in kept:
        if key not in keys:
            raise SchemaError.missing_column(key, "by", "the keys of the traffic", keys)
    field = pooled_to(field, (*kept, WEIGHT))
    shared = [key for key in kept if key in _keys(labelled)]
    check_key_types(labelled, field, shared)
    labelled = pooled_to(labelled, (*shared, WEIGHT))
    groups, found = common_bins(labelled, field, shared=shared, kept=kept)
    numbers = _numbers([bins for bins in found if not isinstance(bins, str)], method, level)
    reason = pl.Series("reason", [bins if isinstance(bins, str) else None for bins in found], pl.String)
    table = groups.with_columns(reason)
    known = table.filter(pl.col("reason").is_null()).select(groups.columns).hstack(numbers)
    return PREVALENCES.finish(_refused(beside(table, known, groups.columns), level))


def _keys(counts: pl.DataFrame) -> list[str]:
    return [key for key in COUNTS.keys(counts.columns) if key != WEIGHT]


def _weighing(counts: pl.DataFrame) -> pl.DataFrame:
    """Drop rows of weight 0."""
    return counts.filter(pl.col(WEIGHT) > 0) if has_strata(counts) else counts


def _numbers(groups: Sequence[Bins], method: str, level: float) -> pl.DataFrame:
    """Return the estimate and the test of fit of each group that has bins."""
    from scipy.special import chdtrc  # noqa: PLC0415  (SciPy is slow to import, and seldom needed)

    mixtures = Mixtures.of([bins.estimated for bins in groups], [bins.spread for bins in groups])
    found = mixtures.estimates(method, normal_quantile(level))
    columns = dict(zip(("prevalence", "lower", "upper"), found, strict=True))
    finer = Mixtures.of([bins.tested for bins in groups])
    statistic, freedom = finer.misfits()
    tested = (finer.used.sum(axis=1) > 2) & ~np.isnan(columns["prevalence"])
    columns["fit_statistic"] = np.where(tested, statistic, np.nan)
    columns["fit_p_value"] = np.where(tested, chdtrc(np.maximum(freedom, 1), statistic), np.nan)
    return pl.DataFrame(columns, nan_to_null=True)


def _refused(table: pl.DataFrame, level: float) -> pl.DataFrame:
    """Remove the estimates of groups that no mixture fits, and add the reasons for missing estimates."""
    adjusted = holm(table["fit_p_value"].cast(pl.Float64).fill_null(np.nan).to_numpy())
    misfits = pl.Series(np.nan_to_num(adjusted, nan=1.0) < 1 - level)
    alike = (pl.col("prevalence").is_null(), "the scores do not separate the classes of the reference")
    reason = pl.coalesce(first_reason((pl.lit(misfits), _MISFIT)), "reason", first_reason(alike))
    numbers = pl.when(~misfits).then(pl.col("prevalence", "lower", "upper"))
    told = table.with_columns(numbers, reason=reason)
    return told.with_columns(supported=pl.col("prevalence").is_not_null())
