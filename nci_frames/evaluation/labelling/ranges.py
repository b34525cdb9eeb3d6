"""Many narrow ranges of scores -> a few ranges to draw rows from, and the labels of each."""

import numpy as np

from nci_frames.base.typing import Floats, Rows
from nci_frames.evaluation.labelling.allocation import allocate
from nci_frames.evaluation.labelling.goals import Cells, Moves

#: Most ranges, and labels per range: more ranges would leave few labels for what the pilot did not know.
MOST_RANGES, _LABELS_EACH = 16, 10
#: Least labels of a range, and the least as a part (1/200) of the budget. With ten rows, an interval knows
#: the scores of a range, hence that its heavy rows are not flagged.
LEAST_LABELS, _LEAST_PART = 10, 200
#: Cap of the expected share of positives.
_HIGHEST = 0.9


def spread_of(cells: Cells, weight: Floats, division: tuple[float, float, float]) -> Floats:
    """Return the proportions in which to label the cells.

    *weight* is the effect of a positive of each cell on the value. *division* has the powers of the weight
    and of the variance of a row, which are (1, 1/2) for Neyman's allocation; and the least density of labels,
    relative to a uniform sample, which protects against wrong expected shares of positives.
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
    """Return shares proportional to *known*, but none below *least*, whose sum is less than one."""
    raised = np.zeros(len(known), np.bool_)
    while True:
        part = np.where(raised, least, known * ((1 - least[raised].sum()) / known[~raised].sum()))
        # Raising some shares lowers the others, so more may fall below their least.
        if not (below := part < least).any():
            return np.asarray(part)
        raised |= below


def cut(cells: Cells, spread: Floats, budget: int) -> Rows:
    """Return the first cells of ranges of about equal spread; a range is flagged as a whole, or not at all.

    Every range has rows, unless all rows, or none, are flagged.

    Notes
    -----
    This is the rule of Dalenius and Hodges for a known standard deviation: ranges of equal rows times
    deviation get equal labels.

    References
    ----------
    Dalenius and Hodges (1959), Minimum variance stratification, doi:10.1080/01621459.1959.10501501.
    """
    # The threshold divides one of them.
    several = max(1, min(MOST_RANGES, budget // _LABELS_EACH - 1))
    total = spread.sum()
    number = np.floor((np.cumsum(spread) - spread / 2) / total * several) if total > 0 else 0 * spread
    # Cells without rows join the next one with rows, or the last one before the threshold.
    kept, sides = np.flatnonzero(cells.rows > 0), cells.flagged[0]
    ends = kept[:-1][(np.diff(number[kept]) != 0) & (sides[kept[1:]] == sides[kept[:-1]])]
    return np.unique(np.concatenate([[0], 1 + ends, 1 + np.flatnonzero(np.diff(sides))]))


def joined(cells: Cells, first: Rows) -> Cells:
    """Merge the cells from each of *first* to before the next."""
    rows = np.add.reduceat(cells.rows, first)
    found = np.add.reduceat(cells.rows * cells.positive, first)
    share = np.divide(found, rows, out=np.zeros(len(rows)), where=rows > 0)
    return Cells(rows, np.minimum(share, 1.0), cells.flagged[:, first])


def labels_of(cells: Cells, spread: Floats, budget: int) -> Rows:
    """Return the number of labels of each cell."""
    least = max(min(LEAST_LABELS, budget // len(cells.rows)), budget // _LEAST_PART)
    return allocate(spread, cells.rows.astype(np.int64), budget, least)


def uniform_deviation(cells: Cells, moved: Moves, labels: int) -> float:
    """Return the standard error with labels of a uniform sample."""
    share = cells.rows / cells.rows.sum()
    # The effect of any row, and the additional effect of a positive; the sample counts flagged rows, too.
    row = moved.row
    mean = (share * (row + moved.positive * cells.positive)).sum()
    square = (share * ((row + moved.positive) ** 2 * cells.positive + row**2 * (1 - cells.positive))).sum()
    return float(cells.rows.sum() * np.sqrt(max(square - mean**2, 0.0) / labels))
