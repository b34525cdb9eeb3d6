"""Counts -> the share of positives by score, at any prevalence."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from nci_frames.base.arguments import Prevalences, check_level
from nci_frames.base.typing import Floats
from nci_frames.evaluation.arrays.score_bins import Scores, thresholds_of
from nci_frames.evaluation.field.prevalences import Field
from nci_frames.evaluation.probabilities.adjust import Logged
from nci_frames.evaluation.probabilities.bands import isotonic_bounds, own_bounds
from nci_frames.evaluation.probabilities.blocks import Bins, Blocks, bins_of, check_bins, isotonic_blocks
from nci_frames.evaluation.probabilities.parts import Part, of_parts
from nci_frames.evaluation.probabilities.spread import Spread
from nci_frames.schemas import CALIBRATION, checked


@checked
def calibration_curve(
    counts: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    prevalence: Prevalences | Field,
    bins: Bins | None = None,
    adjusted: bool = False,
    logged_prevalence: Logged = "observed",
    level: float = 0.95,
) -> pl.DataFrame:
    """Return how often positives occur among rows with similar scores, at each prevalence.

    Parameters
    ----------
    counts, prevalence, adjusted, logged_prevalence
        As in ``proper_scores``.
    bins
        None: the blocks of isotonic regression, which need no choice of bins and do not fall. A number of
        bins, 1 to 10,000, that have equal shares of the rows at the prevalence, as far as equal scores allow.
        Or their edges, ascending within [0, 1]: a bin has the scores from an edge to before the next, the
        last one with its end.
    level
        Confidence of the bounds, in (0, 1).

    Returns
    -------
    A row per group, prevalence and bin that has rows, sorted by model, keys, prevalence and score:

    %(columns of calibration)s

    A group that lacks a class has no rows. Bounds of given bins hold for each of them; those of isotonic
    blocks for all blocks at once, if the share of positives does not fall with the score.

    Raises
    ------
    ParameterError
        If scores lie outside [0, 1]; if an option is out of range; if an edge lies between two thresholds of
        a grid that have rows between them.
    SchemaError
        If *counts* is not a counts frame.

    Notes
    -----
    The blocks are the segments of the ROC convex hull, so they are the same at every prevalence. A bin with
    the share B1 of the positives and B0 of the negatives has the observed share eta·B1/(eta·B1 + (1-eta)·B0).

    Bounds are exact (Clopper-Pearson) for the rows of the log, and moved to the prevalence as scores are.
    Rows of counts with the key ``weight`` count as so many of one weight, which is that of the bin with one
    more row, the heaviest of the class. Bounds of blocks come from intervals of all runs of up to 40 groups
    of rows, which labels do not choose, with Bonferroni's correction.

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), doi:10.1073/pnas.2016191118, for the blocks; Dimitriadis,
    Dümbgen, Henzi, Puke and Ziegel (2023), doi:10.1093/biomet/asac068, for their band.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> curve = nf.calibration_curve(nf.count_confusion(log), prevalence=0.5)
    >>> curve.select("score_lower", "score_upper", "predicted", "observed", "share").rows()
    [(0.1, 0.1, 0.1, 0.0, 0.25), (0.35, 0.4, 0.375, 0.5, 0.5), (0.8, 0.8, 0.8, 1.0, 0.25)]
    """
    check_level(level)
    if bins is not None:
        check_bins(bins)

    def make(part: Part) -> Iterator[pl.DataFrame]:
        blocks = None
        for eta in part.etas:
            if blocks is None or isinstance(bins, int):
                blocks = isotonic_blocks(part.curves, part.bins) if bins is None else bins_of(part, eta, bins)
                bounds = _bounds(part, blocks, level, isotonic=bins is None)
            yield _table(part, blocks, eta, bounds, adjusted=adjusted)

    by = ["prevalence", "score_lower"]
    return CALIBRATION.finish(of_parts(counts, prevalence, logged_prevalence, make, by=by))


def _bounds(part: Part, blocks: Blocks, level: float, *, isotonic: bool) -> tuple[Floats, Floats]:
    """Return bounds of the share of positives in each block, at prevalence 1/2."""
    unknown = np.full(len(blocks.start), np.nan)
    if part.sums or not len(unknown):
        return unknown, unknown
    if not isotonic:
        of_class = [
            Spread(
                blocks.reduce(np.add, rows.share),
                blocks.reduce(np.add, rows.squares),
                rows.heaviest[blocks.group],
            )
            for rows in part.spread
        ]
        return own_bounds(of_class, level)
    lower, upper = unknown, unknown.copy()
    for group, begin in enumerate(part.curves.start):
        end, mine = begin + part.curves.size[group], blocks.group == group
        # Steps descend, and the bounds take them ascending.
        last = end - 1 - blocks.start[mine]
        first = np.append(last[1:] + 1, 0)
        of_class = [
            Spread(rows.share[begin:end][::-1], rows.squares[begin:end][::-1], rows.heaviest[[group]])
            for rows in part.spread
        ]
        if all(np.isfinite(rows.share).all() for rows in of_class):
            lower[mine], upper[mine] = isotonic_bounds(of_class, first, last, level)
    return lower, upper


def _table(
    part: Part, blocks: Blocks, eta: Floats, bounds: tuple[Floats, Floats], *, adjusted: bool
) -> pl.DataFrame:
    share, calibrated = blocks.at(eta)
    kept = np.flatnonzero(share > 0)
    weight, scores = np.add(*part.shares(eta)), part.edges(eta, adjusted=adjusted)[0]
    group, observed = blocks.group[kept], calibrated.p[kept]
    low, high = (np.clip(each, 0, 1) for each in thresholds_of(part.curves))
    high, rows = np.where(part.curves.tied, low, high), weight > 0
    mean = blocks.reduce(np.add, weight * scores.p)[kept]
    lowest = blocks.reduce(np.minimum, np.where(rows, low, np.inf))[kept]
    highest = blocks.reduce(np.maximum, np.where(rows, high, -np.inf))[kept]
    # Where the order of the scores is wrong a band may miss what was observed.
    moved = [Scores.of(bound[kept]).moved(eta[group], 0.5).p for bound in bounds]
    return part.labelled(
        group,
        eta,
        score_lower=lowest,
        score_upper=highest,
        predicted=np.clip(mean / share[kept], 0, 1),
        observed=observed,
        share=share[kept],
        lower=np.minimum(moved[0], observed),
        upper=np.maximum(moved[1], observed),
    )
