"""Counts -> the share of positives by score, at any prevalence."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from nci_frames.base.typing import Field, FloatPair, Floats, Frame, Places, Prevalences
from nci_frames.evaluation.arrays.score_bins import Scores, thresholds_of
from nci_frames.evaluation.probabilities.adjust import Logged
from nci_frames.evaluation.probabilities.blocks import Bins, Blocks, bins_of, check_bins, isotonic_blocks
from nci_frames.evaluation.probabilities.parts import Part, Spread, of_parts
from nci_frames.evaluation.rates.intervals import rate_interval
from nci_frames.schemas import CALIBRATION, checked


@checked
def calibration_curve(
    counts: Frame,
    /,
    *,
    prevalence: Prevalences | Field,
    bins: Bins | None = None,
    adjusted: bool = False,
    logged_prevalence: Logged = "observed",
    level: float = 0.95,
) -> pl.DataFrame:
    """Return the share of positives among rows with similar scores, at each prevalence.

    Parameters
    ----------
    counts, prevalence, adjusted, logged_prevalence
        As in ``proper_scores``.
    bins
        None: the blocks of isotonic regression, which need no choice of bins and give a non-decreasing curve.
        A number, 1 to 10,000: bins with about equal shares of the rows at the prevalence; equal scores stay
        together. A list: edges, ascending within [0, 1]; bins include their lower edge, the last one also its
        upper edge.
    level
        Confidence of the bounds, in (0, 1).

    Returns
    -------
    A row per group, prevalence and bin that has rows, sorted by model, keys, prevalence and score:

    %(columns of calibration)s

    A group without a class has no rows. Bounds of given bins hold for each bin. Bounds of isotonic blocks
    hold for all blocks at once, if the share of positives does not fall with the score.

    Raises
    ------
    ParameterError
        If scores lie outside [0, 1], an option is out of range, or an edge lies between two thresholds of a
        grid with rows between them.
    SchemaError
        If *counts* is not a counts frame.

    Notes
    -----
    The blocks are the segments of the ROC convex hull, so they are the same at every prevalence. A bin with
    the share B1 of the positives and B0 of the negatives has the observed share eta·B1/(eta·B1 + (1-eta)·B0).

    Bounds are exact (Clopper-Pearson) for the rows of the log, and moved to the prevalence as scores are.
    With the key ``weight``, they use effective rows: those of the bin with one more row, the heaviest of the
    class. Bounds of blocks come from intervals for all runs of up to 40 groups of rows, chosen without the
    labels, with Bonferroni's correction.

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
    if bins is not None:
        check_bins(bins)

    def make(part: Part) -> Iterator[pl.DataFrame]:
        blocks = None
        for eta in part.etas:
            if blocks is None or isinstance(bins, int):
                blocks = isotonic_blocks(part.curves, part.bins) if bins is None else bins_of(part, eta, bins)
                bounds = _bounds(part, blocks, level, isotonic=bins is None)
                classes = _scored(part, blocks)
            yield _table(part, blocks, classes, eta, bounds, adjusted=adjusted)

    by = ["prevalence", "score_lower"]
    return CALIBRATION.finish(of_parts(counts, prevalence, logged_prevalence, make, by=by))


def _bounds(part: Part, blocks: Blocks, level: float, *, isotonic: bool) -> FloatPair:
    """Return bounds of the share of positives in each block, for prevalence 1/2."""
    unknown = np.full(len(blocks.start), np.nan)
    if part.sums or not len(unknown):
        return unknown, unknown
    if not isotonic:
        share = [blocks.reduce(np.add, rows.share) for rows in part.spread]
        squares = [blocks.reduce(np.add, rows.squares) for rows in part.spread]
        heaviest = [rows.heaviest[blocks.group] for rows in part.spread]
        return own_bounds([*map(Spread, share, squares, heaviest)], level)
    lower, upper = unknown, unknown.copy()
    for group, begin in enumerate(part.curves.start):
        end, mine = begin + part.curves.size[group], blocks.group == group
        # Steps descend by score; the bounds need ascending scores.
        last = end - 1 - blocks.start[mine]
        first = np.append(last[1:] + 1, 0)
        of_class = [
            Spread(rows.share[begin:end][::-1], rows.squares[begin:end][::-1], rows.heaviest[[group]])
            for rows in part.spread
        ]
        if all(np.isfinite(rows.share).all() for rows in of_class):
            lower[mine], upper[mine] = isotonic_bounds(of_class, first, last, level)
    return lower, upper


def _scored(part: Part, blocks: Blocks) -> list[tuple[Floats, Floats, Floats]]:
    """Return the lowest score, the highest score and the sum of scores of each block, by class.

    They do not depend on the prevalence. In sums, rows count as shares of their class.
    """
    low, high = (np.clip(each, 0, 1) for each in thresholds_of(part.curves))
    high = np.where(part.curves.tied, low, high)
    return [
        (
            blocks.reduce(np.minimum, np.where(rows > 0, low, np.inf)),
            blocks.reduce(np.maximum, np.where(rows > 0, high, -np.inf)),
            blocks.reduce(np.add, rows * part.bins.middle.p),
        )
        for rows in (part.bins.positives, part.bins.negatives)
    ]


def _table(
    part: Part, blocks: Blocks, both: Sequence[Sequence[Floats]], eta: Floats, bounds: Sequence[Floats], *,
    adjusted: bool,
) -> pl.DataFrame:  # fmt: skip
    share, calibrated = blocks.at(eta)
    kept = np.flatnonzero(share > 0)
    group, observed = blocks.group[kept], calibrated.p[kept]
    of_class = eta[blocks.group], 1 - eta[blocks.group]
    if adjusted:
        at, logged, pieces = part.each_step(eta), part.each_step(part.logged), part.curves.pieces()
        moved = (part.bins.middle[rows].moved(at[rows], logged[rows]).p for rows in pieces)
        scores = [np.add(*part.shares(eta, rows)) * each for rows, each in zip(pieces, moved, strict=True)]
        total = blocks.reduce(np.add, np.concatenate(scores))
    else:
        total = np.add(*(one * rows for one, (_, _, rows) in zip(of_class, both, strict=True)))
    # A class with share 0 contributes no scores.
    there = [(one > 0, *scores) for one, scores in zip(of_class, both, strict=True)]
    lowest = np.minimum(*(np.where(some, low, np.inf) for some, low, _, _ in there))
    highest = np.maximum(*(np.where(some, high, -np.inf) for some, _, high, _ in there))
    # If the order of the scores is wrong, the band may miss the observed share; extend it.
    lower, upper = (Scores.of(bound[kept]).moved(eta[group], 0.5).p for bound in bounds)
    return part.labelled(
        group,
        eta,
        score_lower=lowest[kept],
        score_upper=highest[kept],
        predicted=np.clip(total[kept] / share[kept], 0, 1),
        observed=observed,
        share=share[kept],
        lower=np.minimum(lower, observed),
        upper=np.maximum(upper, observed),
    )


#: Numbers of groups of rows for a band: of equal size, and of decreasing size towards the highest scores,
#: where rare positives are.
_EVEN, _TOP = 16, 24


def own_bounds(classes: Sequence[Spread], level: float) -> FloatPair:
    """Return bounds of the share of positives in bins, for prevalence 1/2, from the rows of either class.

    They are exact (Clopper-Pearson) if all rows of a class have one weight. Otherwise they use effective rows
    of the bin with one more row, the heaviest of the class, since a bin may lack heavy rows by chance.
    """
    each = [(rows.squares + rows.heaviest**2) / (rows.share + rows.heaviest) for rows in classes]
    hits, misses = (np.nan_to_num(rows.share / one) for rows, one in zip(classes, each, strict=True))
    bounds = rate_interval("clopper_pearson", pl.col("hits"), pl.col("trials"), level=level)
    found = pl.DataFrame({"hits": hits, "trials": hits + misses}).select(lower=bounds[0], upper=bounds[1])
    # Without rows any share is possible.
    lower, upper = found["lower"].fill_null(0.0).to_numpy(), found["upper"].fill_null(1.0).to_numpy()
    return _evenly(lower, each), _evenly(upper, each)


def _evenly(share: Floats, each: Sequence[Floats]) -> Floats:
    """Return the weighted share for a share of rows, with the weight of a row of each class in *each*."""
    true, false = share * each[0], (1 - share) * each[1]
    return true / (true + false)


def isotonic_bounds(classes: Sequence[Spread], first: Places, last: Places, level: float) -> FloatPair:
    """Return simultaneous bounds of the share of positives in blocks of scores, for prevalence 1/2.

    They hold for any choice of blocks, if the share does not fall with the score: the lower bound of a run of
    groups of rows, which are chosen without the labels, bounds all blocks with scores as high or higher.

    Parameters
    ----------
    classes
        The positives and the negatives of each step, scores ascending.
    first, last
        First and last step of each block.
    level
        Confidence that all bounds hold.

    References
    ----------
    Dimitriadis, Dümbgen, Henzi, Puke and Ziegel (2023), Honest calibration assessment for binary outcome
    predictions, doi:10.1093/biomet/asac068.
    """
    above = np.cumsum(sum(rows.share / rows.squares.sum() for rows in classes))
    total, steps = above[-1], len(above)
    cuts = [total * np.arange(1, _EVEN) / _EVEN, total - total ** (np.arange(_TOP) / _TOP)]
    # Rounding decides no cut.
    ends = np.unique(np.append(np.searchsorted(above, np.concatenate(cuts) - 1e-9 * total), steps - 1))
    ends = ends[ends < steps]
    begins = np.append(0, ends[:-1] + 1)
    runs = np.triu_indices(len(begins))
    of_runs = []
    for rows in classes:
        share, squares = (_sums(np.add.reduceat(each, begins), runs) for each in (rows.share, rows.squares))
        of_runs.append(Spread(share, squares, rows.heaviest))
    lows, highs = own_bounds(of_runs, 1 - (1 - level) / len(runs[0]))
    least, most = np.zeros((2, len(begins) + 1, len(begins) + 1))
    most[:] = 1.0
    # Indices are shifted by one, so that a block without a run below (above) it gets the bound 0 (1).
    least[1:, 1:][runs], most[:-1, :-1][runs] = lows, highs
    least = np.maximum.accumulate(np.maximum.accumulate(least, axis=0), axis=1)
    most = np.minimum.accumulate(np.minimum.accumulate(most[::-1, ::-1], axis=0), axis=1)[::-1, ::-1]
    lower = least[np.searchsorted(begins, first, "right"), np.searchsorted(ends, last, "right")]
    return lower, most[np.searchsorted(begins, first), np.searchsorted(ends, last)]


def _sums(values: Floats, runs: tuple[Places, Places]) -> Floats:
    total = np.append(0.0, np.cumsum(values))
    return np.asarray(total[runs[1] + 1] - total[runs[0]])
