"""Counts -> the share of positives by score, at any prevalence."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from nci_frames.base.arguments import Prevalences, check_level, check_whole, threshold_grid
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Floats
from nci_frames.counts.resolution import in_precision_of
from nci_frames.evaluation.arrays.score_bins import Scores, thresholds_of
from nci_frames.evaluation.field.prevalences import Field
from nci_frames.evaluation.probabilities.adjust import Logged, check_logged
from nci_frames.evaluation.probabilities.bands import isotonic_bounds, own_bounds
from nci_frames.evaluation.probabilities.blocks import Blocks, Places, isotonic_blocks
from nci_frames.evaluation.probabilities.parts import Part, of_parts
from nci_frames.schemas import CALIBRATION
from nci_frames.schemas.checked import checked

#: More bins than a picture could show.
_MOST_BINS = 10_000


@checked
def calibration_curve(
    counts: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    prevalence: Prevalences | Field,
    bins: int | Sequence[float] | None = None,
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
    Those of blocks come from intervals of all runs of up to 40 groups of rows, which labels do not choose,
    with Bonferroni's correction.

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
    check_logged(logged_prevalence)
    edges = None if bins is None or isinstance(bins, int) else _edges(bins)
    if isinstance(bins, int):
        check_whole("bins", bins, 1, _MOST_BINS)

    def make(part: Part) -> pl.DataFrame:
        fixed = _between(part, edges) if edges is not None else isotonic_blocks(part.curves, part.bins)
        bounds = _bounds(part, fixed, level, isotonic=bins is None)
        tables = []
        for eta in part.etas:
            if isinstance(bins, int):
                fixed = _equal_shares(part, eta, bins)
                bounds = _bounds(part, fixed, level, isotonic=False)
            tables.append(_table(part, fixed, eta, bounds, adjusted=adjusted))
        return pl.concat(tables)

    table, keys = of_parts(counts, prevalence, logged_prevalence, make)
    return CALIBRATION.finish(table.sort(*keys, "prevalence", "score_lower", maintain_order=True))


def _edges(bins: Sequence[float]) -> Floats:
    edges = threshold_grid(bins)
    if len(edges) < 2 or not (edges[0] >= 0 and edges[-1] <= 1):
        raise ParameterError.out_of_range("bins", bins, "a number of bins, or at least two edges in [0, 1]")
    return edges


def _equal_shares(part: Part, eta: Floats, number: int) -> Blocks:
    """Return bins that have about equal shares of the rows; equal scores stay together."""
    shares = np.nan_to_num(part.shares(eta))
    above = np.cumsum(shares) - shares
    # Of each group it begins with 0.
    above -= part.each_step(above[part.curves.start])
    place = np.minimum((number * (above + shares / 2)).astype(np.int64), number - 1)
    return Blocks.of(part.curves, part.bins, _changes(part, place))


def _between(part: Part, edges: Floats) -> Blocks:
    """Return the bins between edges.

    Raises
    ------
    ParameterError
        If a step has rows on either side of an edge.
    """
    low, high = thresholds_of(part.curves)
    low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
    at = in_precision_of(low, edges) if part.bins.exact else edges
    place = np.searchsorted(at, low, "right") - 1
    ends = np.where(part.curves.tied, place, np.searchsorted(at, high, "left") - 1)
    split = np.flatnonzero((place < ends) & ((part.bins.positives > 0) | (part.bins.negatives > 0)))
    if len(split):
        between = f"{low[split[0]]:g} and {high[split[0]]:g}"
        raise ParameterError(
            f"the edge {edges[place[split[0]] + 1]:g} of a bin is not one of the counted thresholds",
            found=f"rows between the thresholds {between}",
            hint='use counted thresholds as edges, or count with thresholds="exact"',
        )
    # The last bin has its end.
    place[(low == at[-1]) & (part.curves.tied | (high <= at[-1]))] = len(edges) - 2
    begins = _changes(part, place)
    inside = (place[begins] >= 0) & (place[begins] < len(edges) - 1)
    return Blocks.of(part.curves, part.bins, begins).only(np.flatnonzero(inside))


def _changes(part: Part, place: Places) -> Places:
    begins = np.append(True, place[1:] != place[:-1]) if len(place) else np.zeros(0, np.bool_)
    begins[part.curves.start] = True
    return np.flatnonzero(begins)


def _bounds(part: Part, blocks: Blocks, level: float, *, isotonic: bool) -> tuple[Floats, Floats]:
    """Return bounds of the share of positives in each block, at the prevalence of the log."""
    curves = part.curves
    unknown = np.full(len(blocks.start), np.nan)
    if not part.whole or not len(unknown):
        return unknown, unknown
    true = np.rint(np.nan_to_num(part.bins.positives) * part.each_step(curves.positives))
    rows = true + np.rint(np.nan_to_num(part.bins.negatives) * part.each_step(curves.negatives))
    if not isotonic:
        return own_bounds(blocks.reduce(np.add, true), blocks.reduce(np.add, rows), level)
    lower, upper = unknown, unknown.copy()
    for group, begin in enumerate(curves.start):
        end, mine = begin + curves.size[group], blocks.group == group
        # Steps descend, and the bounds take them ascending.
        last = end - 1 - blocks.start[mine]
        first = np.append(last[1:] + 1, 0)
        if rows[begin:end].any():
            found, every = true[begin:end][::-1], rows[begin:end][::-1]
            lower[mine], upper[mine] = isotonic_bounds(found, every, first, last, level)
    return lower, upper


def _table(
    part: Part, blocks: Blocks, eta: Floats, bounds: tuple[Floats, Floats], *, adjusted: bool
) -> pl.DataFrame:
    share, calibrated = blocks.at(eta)
    kept = np.flatnonzero(share > 0)
    weight, scores = part.shares(eta), part.edges(eta, adjusted=adjusted)[0]
    group, observed = blocks.group[kept], calibrated.p[kept]
    low, high = (np.clip(each, 0, 1) for each in thresholds_of(part.curves))
    high, rows = np.where(part.curves.tied, low, high), weight > 0
    mean = blocks.reduce(np.add, weight * scores.p)[kept]
    lowest = blocks.reduce(np.minimum, np.where(rows, low, np.inf))[kept]
    highest = blocks.reduce(np.maximum, np.where(rows, high, -np.inf))[kept]
    # Where the order of the scores is wrong a band may miss what was observed.
    moved = [
        Scores.of(bound[kept]).moved(eta[group], part.curves.observed_prevalence[group]).p for bound in bounds
    ]
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
