"""Counts of the reviewed rows, and scores of all rows -> the rates of all rows."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np
import polars as pl

from nci_frames.base.arguments import check_allowed
from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.base.messages import quantity
from nci_frames.base.normal import normal_quantile, two_sided_p_values
from nci_frames.base.typing import FloatPair, Floats, Frame
from nci_frames.counts.resolution import in_precision_of
from nci_frames.counts.scores_as_counts import scores_as_counts
from nci_frames.evaluation.arrays.buckets import StrataCounts, strata_counts
from nci_frames.evaluation.arrays.histograms import Histogram, whole_counts
from nci_frames.evaluation.rates.quotients import rates_of
from nci_frames.evaluation.rates.strata import WORTH, effective_number
from nci_frames.schemas import COUNTS, RATES, WEIGHT, checked, has_strata


@checked
def correct_partial_labels(
    counts: Frame,
    scored: Frame | None = None,
    /,
    *,
    shares: Mapping[float, float] | None = None,
    level: float = 0.95,
) -> pl.DataFrame:
    """Return the rates of a log in which only some rows have labels, such as the alerts and a sample.

    If mostly high scores are reviewed, the labels lack positives with low scores, and recall looks far too
    good. Here each labelled row represents all rows with similar scores.

    Parameters
    ----------
    counts
        A counts frame of the labelled rows, of whole rows. With the key ``weight``: of rows drawn for
        labelling, where ``weight`` is the number of rows that each represents.
    scored
        The result of ``count_scores`` for all rows, labelled or not, with the same keys and thresholds.
    shares
        Instead of *scored*, the share of labelled rows, in (0, 1], if the review design fixed it. An item
        {threshold: share} holds from that threshold up to the next; ``-math.inf`` is the lowest.
    level
        Confidence of each rate's interval, in (0, 1).

    Returns
    -------
    A row per group and threshold, sorted, with the columns of ``compute_rates``:

    =================== ======= =========================================== =================
    column              dtype   meaning                                     null where
    =================== ======= =========================================== =================
    model, keys                 as in *counts*                              as there
    threshold           Float64 as in *counts*                              never
    tp, fp, fn, tn      Float64 expected counts, if all rows had labels     never
    positives           Float64 tp + fn                                     never
    negatives           Float64 fp + tn                                     never
    observed_prevalence Float64 the expected share of positives among all   there are no rows
    tpr, fpr            Float64 rates of all rows                           no row of the class
    tpr_lower,          Float64 bounds of the true rates                    no row of the class
    tpr_upper,
    fpr_lower,
    fpr_upper
    effective_positives Float64 as of weighted rows, by the rows with       no row of the class
    effective_negatives         labels
    =================== ======= =========================================== =================

    The result is a rates frame with bounds, for projections, areas, operating points and rankings. Functions
    that resample rows refuse it, since expected counts do not vary as counts do.

    Raises
    ------
    ParameterError
        If there are rows but no labels between two thresholds, more labels than rows, a share outside (0, 1]
        or at no threshold, not exactly one of *scored* and *shares*, or a level outside (0, 1).
    SchemaError
        If a frame is of another kind, or the two have different groups or thresholds.

    Notes
    -----
    With N rows between two thresholds, m of them labelled and k of these positive, N·k/m positives are
    expected; with *shares*, k / share. TPR at a threshold is the expected positives above it over all
    expected positives; FPR is the same for negatives.

    The review is assumed to depend on the score alone: between two neighbouring thresholds, labelled rows are
    like the others. This fails if reviewers pick rows by other knowledge, or by the score of another model.

    The positives above and below a threshold are weighted sums of Poisson variables. Each has Fay and Feuer's
    bounds, which hold for few rows and for none. The bounds of a rate combine those of the two sums (MOVER).
    They bound the true rates, since all rows are taken as a sample of more traffic.

    References
    ----------
    Begg and Greenes (1983), Assessment of diagnostic tests when disease verification is subject to selection
    bias, doi:10.2307/2530820; Fay and Feuer (1997), Confidence intervals for directly standardized rates,
    doi:10.1002/(SICI)1097-0258(19970415)16:7<791::AID-SIM500>3.0.CO;2-#; Zou and Donner (2008),
    doi:10.1002/sim.3095.

    Examples
    --------
    All 200 rows with a score of 0.5 or more were reviewed, and 100 of the 9,800 others.

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> labelled = pl.DataFrame({
    ...     "model": "a", "threshold": [0.5], "tp": [120], "fp": [80], "fn": [1], "tn": [99],
    ... })
    >>> scored = pl.DataFrame({"model": "a", "threshold": [0.5], "above": [200], "below": [9800]})
    >>> nf.compute_rates(labelled)["tpr"].round(3).item()
    0.992
    >>> nf.correct_partial_labels(labelled, scored).select(pl.col("tpr", "fn", "fpr").round(3)).row(0)
    (0.55, 98.0, 0.008)
    """
    frame = whole_counts(counts)
    if shares is not None and has_strata(frame):
        msg = "the weights of labelled rows already say what each of them stands for"
        hint = (
            "compute_rates(counts) takes them; correct_partial_labels(counts, scored) adds what all rows tell"
        )
        raise ParameterError(msg, found="the key 'weight', and shares", hint=hint)
    group = ["model", *(key for key in COUNTS.keys(frame.columns) if key != WEIGHT)]
    labelled = [_Bins.of(of_group) for of_group in strata_counts(frame)]
    if scored is not None and shares is None:
        every, steps = _all_rows(labelled, scores_as_counts(scored), group), None
    elif scored is None and shares is not None:
        every, steps = labelled, _steps(shares)
    else:
        msg = "the share of the rows with labels is given by the score counts of all rows, or by shares"
        found = "neither" if shares is None else "both"
        hint = "count_scores(predictions, thresholds=...) counts all rows"
        raise ParameterError(msg, found=found, hint=hint)
    z = normal_quantile(level)
    names = ("tp", "fn", "tpr_lower", "tpr_upper", "fp", "tn", "fpr_lower", "fpr_upper", *WORTH)
    none = dict.fromkeys(names, pl.lit(None, pl.Float64))
    parts = [frame.clear().select(*group, "threshold", **none)]
    for labels, rows in zip(labelled, every, strict=True):
        if steps is None:
            weights = _seen(labels, rows)
            spread = [_spread(labels, rows, weights, of_class) for of_class in (0, 1)]
        else:
            weights, spread = _designed(labels.thresholds, *steps), [np.ones(1), np.ones(1)]
        parts.append(labels.histogram.labelled(_expected(labels, weights, spread, z)))
    return RATES.finish(rates_of(pl.concat(parts)))


class _Bins(NamedTuple):
    """The rows of a group between its thresholds, lowest scores first: one bin more than thresholds."""

    histogram: Histogram
    thresholds: Floats
    #: Sums of weights, and of squared weights, of positives and negatives; of shape (2, bins).
    sums: Floats
    squares: Floats
    #: Unweighted number of rows of each bin, and the largest weight.
    rows: Floats
    heaviest: Floats

    @classmethod
    def of(cls, counts: StrataCounts) -> Self:
        """Return the bins of a group."""
        weights, histogram = counts.weights, counts.histogram
        rows = np.stack([of_class.toarray()[:, ::-1] for of_class in counts.classes])
        every, sums, squares = rows.sum(axis=0), weights @ rows, weights**2 @ rows
        heaviest = (weights[:, None] * (every > 0)).max(axis=0, initial=0.0)
        return cls(histogram, histogram.thresholds[::-1], sums, squares, every.sum(axis=0), heaviest)

    @property
    def known(self) -> Floats:
        """Total weight of each bin."""
        return np.asarray(self.sums.sum(axis=0))


def _all_rows(labelled: Sequence[_Bins], scored: pl.DataFrame, group: list[str]) -> list[_Bins]:
    """Return the bins of all rows in the order of those with labels."""
    msg = "the counts of labelled rows and those of all rows have different"
    keys = ["model", *(key for key in COUNTS.keys(scored.columns) if key != WEIGHT)]
    if sorted(keys) != sorted(group):
        hint = "count both with the same keys, or sum a key away with pool_counts"
        raise SchemaError(f"{msg} keys", found=f"{', '.join(group)}; {', '.join(keys)}", hint=hint)
    every = [_Bins.of(counts) for counts in strata_counts(scored.select(*group, pl.exclude(group)))]
    if len(every) != len(labelled) or not all(
        mine.histogram.group.equals(other.histogram.group)
        and np.array_equal(mine.thresholds, other.thresholds)
        for mine, other in zip(every, labelled, strict=True)
    ):
        hint = "count both with the same list of thresholds, and all rows of each group"
        raise SchemaError(f"{msg} groups or thresholds", hint=hint)
    return every


def _seen(labels: _Bins, rows: _Bins) -> Floats:
    """Return the number of rows that each labelled row of a bin represents, as a factor of its weight."""
    more, none = labels.rows > rows.rows, (labels.known == 0) & (rows.known > 0)
    if more.any():
        msg, place = "there are more labels than rows", int(more.argmax())
        hint = "score counts are those of all rows, with labels and without"
    elif none.any():
        msg, place = "there are rows, but no labels, between two thresholds", int(none.argmax())
        hint = "count at fewer thresholds, or give shares=, if the design of the review fixed them"
    else:
        return np.divide(rows.known, labels.known, out=np.zeros(len(rows.known)), where=labels.known > 0)
    ends = ["-inf", *(f"{threshold:g}" for threshold in labels.thresholds), "inf"]
    where = f"{labels.histogram.where}, scores from {ends[place]} to {ends[place + 1]}"
    found = f"{quantity(int(rows.rows[place]), 'row')}, {quantity(int(labels.rows[place]), 'label')}"
    raise ParameterError(msg, where=where, found=found, hint=hint)


def _spread(labels: _Bins, rows: _Bins, weights: Floats, of_class: int) -> Floats:
    """Return the variance of the rows of a class in each bin, relative to a Poisson variable.

    N·p rows are expected, with N rows in the bin and p the weighted share of the class among the labels. With
    weights w of the labels and their sum W, the variance is (N/W)² times the sum of w²·(1-p)² over the class
    and of w²·p² over the others, plus p² times the variance of N, since the rows are a sample, too.
    """
    own, every = labels.squares[of_class], labels.squares.sum(axis=0)
    share = np.divide(labels.sums[of_class], labels.known, out=np.zeros(len(own)), where=labels.known > 0)
    drawn = rows.squares.sum(axis=0)
    poisson = weights**2 * own
    others = np.divide(share * every, own, out=np.zeros(len(own)), where=own > 0)
    size = np.divide(share * drawn, poisson, out=np.zeros(len(own)), where=poisson > 0)
    # Add one row, so that a bin with few labels, all of one class, does not appear certain.
    heavier = labels.known + np.maximum(labels.heaviest, 1e-300)
    return np.asarray(np.maximum(1 - labels.sums[of_class] / heavier * (2 - others - size), 0.0))


def _steps(shares: Mapping[float, float]) -> FloatPair:
    """Return the thresholds at which the share of labelled rows changes, ascending, and the shares."""
    for share in shares.values():
        check_allowed(0 < share <= 1, "shares", share, "within (0, 1]")
    allowed = "given from the lowest score on, with the key -math.inf"
    check_allowed(-math.inf in shares, "shares", dict(shares), allowed)
    begins = sorted(shares)
    return np.array(begins, np.float64), np.array([shares[begin] for begin in begins], np.float64)


def _designed(thresholds: Floats, begins: Floats, shares: Floats) -> Floats:
    """Return the number of rows that each labelled row of a bin represents by design."""
    lowest, begins = np.append(-np.inf, thresholds), in_precision_of(thresholds, begins)
    unknown = np.setdiff1d(begins, lowest)
    if len(unknown):
        raise ParameterError.out_of_range("shares", unknown.tolist()[0], "given at thresholds of the counts")
    return np.asarray(1 / shares[np.searchsorted(begins, lowest, side="right") - 1])


def _expected(labels: _Bins, weights: Floats, spread: Sequence[Floats], z: float) -> pl.DataFrame:
    """Return the expected counts of a group at its thresholds, and the bounds of its rates."""
    found: dict[str, Floats] = {"threshold": labels.thresholds}
    # With a design, one more labelled row is possible even in bins without labels.
    largest = weights * np.where(labels.rows > 0, labels.heaviest, 1.0)
    names, worth = (("tp", "fn", "tpr"), ("fp", "tn", "fpr")), []
    for sums, squares, part, (reached, missed, rate) in zip(
        labels.sums, labels.squares, spread, names, strict=True
    ):
        variance = weights**2 * part * squares
        above, below, lower, upper = split_sums(weights * sums, variance, largest, z)
        found |= {reached: above, missed: below, f"{rate}_lower": lower, f"{rate}_upper": upper}
        worth.append(_effective(above, below, variance, largest))
    return pl.DataFrame(found | dict(zip(WORTH, worth, strict=True)), nan_to_null=True)


def _effective(above: Floats, below: Floats, variance: Floats, largest: Floats) -> Floats:
    """Return the effective number of rows of a class at each threshold, from bins as in ``split_sums``."""
    squares = variance[::-1].cumsum()[-2::-1], variance.cumsum()[:-1]
    heaviest = np.maximum.accumulate(largest[::-1])[-2::-1], np.maximum.accumulate(largest)[:-1]
    return effective_number((above, below), squares, heaviest)


def split_sums(
    sums: Floats, variance: Floats, largest: Floats, z: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the weighted rows above and below each threshold, and the bounds of the share above.

    Parameters
    ----------
    sums
        Number of rows that the rows of each bin represent, lowest scores first; one bin more than thresholds.
    variance
        Variance of each sum.
    largest
        Largest number that one row of each bin may represent; 0 if the bin cannot have rows.
    z
        Normal quantile of the confidence.

    Notes
    -----
    Both sums have the bounds of Fay and Feuer (1997) for weighted sums of Poisson variables. Moving a sum to
    a bound moves the share; moves in the same direction are added as squares (Zou and Donner 2008).
    """
    every = (sums, variance, largest)
    above, above_lower, above_upper = (
        side[::-1] for side in _running(*(of_bin[::-1] for of_bin in every), z=z)
    )
    below, below_lower, below_upper = _running(*every, z=z)
    share = _share(above, below)
    down = np.hypot(share - _share(above_lower, below), share - _share(above, below_upper))
    up = np.hypot(_share(above_upper, below) - share, _share(above, below_lower) - share)
    return above, below, np.clip(share - down, 0, 1), np.clip(share + up, 0, 1)


def _running(sums: Floats, variances: Floats, weights: Floats, *, z: float) -> tuple[Floats, Floats, Floats]:
    """Return the sums of the first bins, from one to all but the last, and their bounds."""
    from scipy.special import gammainccinv, gammaincinv  # noqa: PLC0415  (slow to import, and seldom needed)

    tail = float(two_sided_p_values(np.array([z]))[0]) / 2
    total, variance = sums.cumsum()[:-1], variances.cumsum()[:-1]
    largest = np.maximum.accumulate(weights)[:-1]
    lower = variance / total * gammaincinv(total**2 / variance, tail)
    more, wider = total + largest, variance + largest**2
    upper = wider / more * gammainccinv(more**2 / wider, tail)
    # Without rows the upper bound is still positive, unless the bins cannot have rows.
    return total, np.where(total > 0, lower, 0.0), np.where(largest > 0, upper, 0.0)


def _share(above: Floats, below: Floats) -> Floats:
    return above / (above + below)
