"""Counts -> summary measures of calibration, at any prevalence."""

import math
from collections.abc import Iterator

import numpy as np
import polars as pl

from nci_frames.base.typing import Field, Flags, Floats, Frame, Prevalences
from nci_frames.evaluation.arrays.score_bins import Edges, Scores
from nci_frames.evaluation.probabilities.adjust import Logged
from nci_frames.evaluation.probabilities.blocks import Bins, Blocks, bins_of, check_bins
from nci_frames.evaluation.probabilities.parts import Part, of_parts
from nci_frames.evaluation.probabilities.recalibration import Measured, recalibrations
from nci_frames.schemas import CALIBRATION_MEASURES, checked, rows_of_runs

#: Least effective rows of a class for bounds.
_LEAST_ROWS = 20
_FEW = f"a class has fewer than {_LEAST_ROWS} independent rows"
_WEIGHTED = "the counts are sums of weights"
_ANYWHERE = "rows in the outermost bins may have any logit"


@checked
def calibration_measures(
    counts: Frame,
    /,
    *,
    prevalence: Prevalences | Field,
    bins: Bins = 10,
    adjusted: bool = False,
    logged_prevalence: Logged = "observed",
    level: float = 0.95,
) -> pl.DataFrame:
    """Return calibration slope, intercept, calibration in the large and calibration error, with intervals.

    Parameters
    ----------
    counts, prevalence, adjusted, logged_prevalence
        As in ``proper_scores``.
    bins
        Bins of the calibration error, as in ``calibration_curve``: a number of bins of equal shares, or a
        list of edges.
    level
        Confidence of the bounds, in (0, 1).

    Returns
    -------
    A row per group, measure and prevalence, sorted by these:

    %(columns of calibration measures)s

    "slope" and "intercept"
        b and a of the logistic regression logit P(y=1) = a + b·logit(score). Calibrated scores have 1 and 0;
        a slope below 1 means that scores are too extreme.
    "in_the_large"
        a with b fixed at 1: positive if scores are too low overall, in log-odds.
    "ece"
        Expected calibration error: the mean distance between the share of positives in a bin and its mean
        score. It is positive by chance alone.
    "ece_corrected"
        The same, with the estimated part due to chance removed.

    Bounds are null, with a reason, for sums of weights, if a class has fewer than 20 independent rows, and if
    rows that the regression depends on lie in the outermost bins of a grid. With "observed" they
    include the sampling error of the log's prevalence; otherwise the prevalence is taken as known. Rows are
    taken as independent.

    Raises
    ------
    ParameterError
        If scores lie outside [0, 1], an option is out of range, or an edge lies between two thresholds of a
        grid with rows between them.
    SchemaError
        If *counts* is not a counts frame.

    Notes
    -----
    Regression at another prevalence weights the rows of each class by its share. Its bounds use the sandwich
    estimator HC3; with "observed" they are at least as wide as the regression implies, since a log may lack
    heavy rows by chance. Student's t has the degrees of freedom of the smaller class, or fewer if a few rows
    make most of the variance (Satterthwaite). Rows between two thresholds of a grid are placed at the middle;
    bounds are extended for their unknown scores (of the slope and the intercept, to first order).

    With the distance D of a bin and its standard error s, the corrected error is the sum of
    ``2·|D| - E|N(D, s)|``, or 0 if that is negative. For calibrated scores it is still about 0.6 of the plain
    error. The lower bound subtracts the largest effect of chance, s·√(2/π) per bin.

    References
    ----------
    Cox (1958), Two further applications of a model for binary regression, doi:10.1093/biomet/45.3-4.562;
    Van Calster et al. (2019), Calibration: the Achilles heel of predictive analytics,
    doi:10.1186/s12916-019-1466-7; Kumar, Liang and Ma (2019), Verified uncertainty calibration,
    arXiv:1909.10155, for the correction.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({
    ...     "model": "a", "label": [0, 0, 0, 1, 0, 1, 1, 1], "score": [0.1, 0.2, 0.4, 0.4, 0.6, 0.6, 0.7, 0.9]
    ... })
    >>> found = nf.calibration_measures(nf.count_confusion(log), prevalence=0.5, bins=2)
    >>> found.select("measure", pl.col("value").round(2)).rows()
    [('ece', 0.04), ('ece_corrected', 0.0), ('in_the_large', 0.07), ('intercept', 0.09), ('slope', 1.9)]
    """
    from scipy.special import stdtrit  # noqa: PLC0415  (SciPy is slow to import, and seldom needed)

    check_bins(bins)
    own = isinstance(prevalence, str)

    def make(part: Part) -> Iterator[pl.DataFrame]:
        # Effective number of rows of the smaller class.
        rows = np.minimum(*(1 / part.curves.sum(rows.squares) for rows in part.spread))
        few = ~(rows >= _LEAST_ROWS * (1 - 1e-9))
        freedom = np.where(few, np.inf, rows - 1)

        def quantile(known: Floats) -> Floats:
            return np.asarray(stdtrit(np.fmin(freedom, known), (1 + level) / 2))

        for eta in part.etas:
            moved = part.edges(eta, adjusted=adjusted)
            found = calibration_errors(part, eta, bins_of(part, eta, bins), moved, quantile(freedom), own=own)
            found |= recalibrations(part, eta, moved, quantile, own=own)
            yield from (_table(part, eta, few, measure, measured) for measure, measured in found.items())

    by = ["measure", "prevalence"]
    return CALIBRATION_MEASURES.finish(of_parts(counts, prevalence, logged_prevalence, make, by=by))


def _table(part: Part, eta: Floats, few: Flags, measure: str, measured: Measured) -> pl.DataFrame:
    """Return the rows of one measure, without bounds but with a reason if there are too few rows."""
    curves, (value, lower, upper, why) = part.curves, measured
    lower, upper = (np.where(few, np.nan, bound) for bound in (lower, upper))
    reason = np.full(len(eta), "", "U99")
    # Later cases take precedence.
    for holds, words in (
        (np.isnan(lower), _ANYWHERE),
        (few, _WEIGHTED if part.sums else _FEW),
        (why != "", why),
        (~(curves.negatives > 0), "there are no negatives"),
        (~(curves.positives > 0), "there are no positives"),
    ):
        reason = np.where(holds, words, reason)
    return part.labelled(np.arange(len(eta)), eta, value=value, lower=lower, upper=upper).with_columns(
        measure=pl.lit(measure), reason=pl.Series(reason, dtype=pl.String).replace("", None)
    )


def calibration_errors(
    part: Part, eta: Floats, blocks: Blocks, edges: Edges, z: Floats, *, own: bool
) -> dict[str, Measured]:
    """Return the plain and the corrected error of each group, each with its bounds.

    Parameters
    ----------
    part, eta
        Groups, and the prevalence of each.
    blocks
        The bins.
    edges
        Representative, least and greatest score of each step.
    z
        Number of standard errors to the bounds, for each group.
    own
        Whether the prevalence is that of the rows.
    """
    middle, low, high = edges
    groups, (true, false) = len(eta), part.shares(eta)
    gap = blocks.reduce(np.add, true * middle.q - false * middle.p)
    plain = blocks.sum(np.abs(gap), groups)
    why = np.full(groups, "")
    deviation = np.sqrt(_variances(part, eta, blocks, middle, own=own))
    corrected = np.maximum(blocks.sum(2 * np.abs(gap) - _folded(gap, deviation), groups), 0)
    # The mean absolute distance is a mean of signed distances, with fixed signs.
    side = _each_step(part, blocks, np.sign(gap))
    total = np.sqrt(part.variance(eta, side * middle.q, -side * middle.p, own=own)[0])
    chance = math.sqrt(2 / math.pi) * blocks.sum(deviation, groups)
    place = part.curves.sum((true + false) * np.maximum(high.p - middle.p, middle.p - low.p))
    lower = np.maximum(plain - chance - z * total - place, 0)
    upper = np.minimum(corrected + z * total + place, 1)
    of_plain = plain, lower, np.maximum(upper, plain), why
    return {"ece": of_plain, "ece_corrected": (corrected, lower, upper, why)}


def _variances(part: Part, eta: Floats, blocks: Blocks, scores: Scores, *, own: bool) -> Floats:
    """Return the variance of the distance of each bin."""
    found = np.zeros(len(blocks.start))
    for share, values, rows in zip((eta, 1 - eta), (scores.q, scores.p), part.spread, strict=True):
        squares = blocks.reduce(np.add, rows.squares * values**2)
        if not own:
            # Rows in other bins have the value 0.
            mean, inside = (blocks.reduce(np.add, each * values) for each in (rows.share, rows.squares))
            squares += mean * (mean * part.curves.sum(rows.squares)[blocks.group] - 2 * inside)
        found += share[blocks.group] ** 2 * np.maximum(squares, 0)
    return found


def _folded(mean: Floats, deviation: Floats) -> Floats:
    """Return the mean absolute value of normal variables."""
    from scipy.special import ndtr  # noqa: PLC0415  (SciPy is slow to import, and seldom needed)

    z = np.abs(mean) / deviation
    found = deviation * math.sqrt(2 / math.pi) * np.exp(-(z**2) / 2) + np.abs(mean) * (1 - 2 * ndtr(-z))
    return np.where(deviation == 0, np.abs(mean), found)


def _each_step(part: Part, blocks: Blocks, of_blocks: Floats) -> Floats:
    """Return the value of each step's bin; 0 if a step is in none."""
    found, size = np.zeros(len(part.curves.tpr1)), blocks.stop - blocks.start
    found[rows_of_runs(blocks.start, size)] = np.repeat(of_blocks, size)
    return found
