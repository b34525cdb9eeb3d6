"""Many narrow ranges of scores -> a few ranges, of which rows are drawn, and the labels of each."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.typing import Floats
from nci_frames.evaluation.labelling.allocation import Rows, allocate
from nci_frames.evaluation.labelling.goals import Cells, Moves

#: Ranges, and labels for each: with more of them, few labels are left for what the pilot did not know.
MOST_RANGES, _LABELS_EACH = 16, 10
#: Labels that each range gets, if it has so many rows: with them an interval knows that its rows are of a
#: range of scores, so that those of a heavy one are not flagged; and this part of the budget.
LEAST_LABELS, _LEAST_PART = 10, 200
#: The highest expected share of positives that is believed.
_HIGHEST = 0.9


def spread_of(cells: Cells, weight: Floats, division: tuple[float, float, float]) -> Floats:
    """Return in what proportion to label the rows of each cell.

    *weight* is how much a positive of the cell moves the value. The *division* has the powers of the weight
    and of the variance of a row: with (1, 1/2) it is its rows times the standard deviation of what one adds
    to the value; and how densely any row is labelled at least, as a share of the density of a uniform sample.
    So no range is left nearly without labels, however wrong the expected shares of positives are.
    """
    of_weight, of_variance, sparsest = division
    effect = np.abs(weight)
    size = cells.rows * effect
    if not size.any():
        return size
    believed = np.minimum(cells.positive, _HIGHEST)
    known = cells.rows * (effect / effect.max()) ** of_weight * (believed * (1 - believed)) ** of_variance
    if not known.any():
        return np.asarray(size / size.sum())
    return _with_least(known / known.sum(), sparsest * size / size.sum())


def _with_least(known: Floats, least: Floats) -> Floats:
    """Return shares in proportion to known ones, but none below the least, which add up to less than one."""
    raised = np.zeros(len(known), np.bool_)
    while True:
        part = np.where(raised, least, known * ((1 - least[raised].sum()) / known[~raised].sum()))
        # What is raised is taken from the others, so that more of them may be below theirs.
        if not (below := part < least).any():
            return np.asarray(part)
        raised |= below


def cut(cells: Cells, spread: Floats, budget: int) -> NDArray[np.int64]:
    """Return the first cells of ranges with about equal spread, in which the same rows are flagged.

    A range has rows, unless none is flagged, or all are.

    Notes
    -----
    The rule of Dalenius and Hodges for a variable whose deviation is known: ranges of equal rows times
    deviation get equal labels.

    References
    ----------
    Dalenius and Hodges (1959), Minimum variance stratification, doi:10.1080/01621459.1959.10501501.
    """
    several = max(1, min(MOST_RANGES, budget // _LABELS_EACH))
    total = spread.sum()
    number = np.floor((np.cumsum(spread) - spread / 2) / total * several) if total > 0 else 0 * spread
    named = pl.DataFrame({"number": np.where(cells.rows > 0, number, np.nan), "flagged": cells.flagged[0]})
    # Cells without rows belong to their neighbours.
    filled = pl.col("number").fill_nan(None).backward_fill().forward_fill().over("flagged")
    runs = named.select(pl.struct(filled, "flagged").rle_id()).to_series().to_numpy()
    return np.append(0, 1 + np.flatnonzero(np.diff(runs)))


def joined(cells: Cells, first: NDArray[np.int64]) -> Cells:
    """Return cells together, from each of *first* to before the next."""
    rows = np.add.reduceat(cells.rows, first)
    found = np.add.reduceat(cells.rows * cells.positive, first)
    share = np.divide(found, rows, out=np.zeros(len(rows)), where=rows > 0)
    return Cells(rows, np.minimum(share, 1.0), cells.flagged[:, first])


def labels_of(cells: Cells, spread: Floats, budget: int) -> Rows:
    """Return how many rows of each cell to label."""
    least = max(2, min(LEAST_LABELS, budget // len(cells.rows)), budget // _LEAST_PART)
    return allocate(spread, cells.rows.astype(np.int64), budget, least)


def uniform_deviation(cells: Cells, moved: Moves, labels: int) -> float:
    """Return the standard error with so many labels of rows that are drawn from all alike."""
    share = cells.rows / cells.rows.sum()
    # What a row adds, and what it adds besides if it is positive; the sample counts flagged rows, too.
    row = moved.row
    mean = (share * (row + moved.positive * cells.positive)).sum()
    square = (share * ((row + moved.positive) ** 2 * cells.positive + row**2 * (1 - cells.positive))).sum()
    return float(cells.rows.sum() * np.sqrt(max(square - mean**2, 0.0) / labels))
