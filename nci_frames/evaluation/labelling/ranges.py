"""Many narrow ranges of scores -> a few ranges to draw rows from, and the labels of each."""

import numpy as np

from nci_frames.base.typing import Floats, Rows
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


_HALVINGS = 64


def allocate(spread: Floats, rows: Rows, budget: int, least: int) -> Rows:
    """Return the number of rows of each stratum to label for the smallest variance.

    Parameters
    ----------
    spread
        Rows of each stratum times the standard deviation of the contribution of a row.
    rows
        Rows of each stratum, the most that can be labelled.
    budget
        Total number of labels. If there are fewer rows, all are labelled.
    least
        Least number of labels of each stratum, unless it has fewer rows.

    Notes
    -----
    The variance is the sum of spread²/labels. One label more than n reduces it by spread²/(n(n+1)), so labels
    go where spread/√(n(n+1)) is largest: Neyman's allocation, in whole numbers.

    References
    ----------
    Neyman (1934), doi:10.2307/2342192; Wright (2012), The equivalence of Neyman optimum allocation for
    sampling and equal proportions for apportioning the U.S. House of Representatives,
    doi:10.1080/00031305.2012.733679.
    """
    first = np.minimum(least, rows)
    if budget >= rows.sum():
        return rows.copy()

    def worth(price: float) -> Rows:
        """Return the labels that reduce the variance by more than their price."""
        ratio = np.minimum(spread / price, 1e15)
        most = (np.sqrt(1 + 4 * ratio**2) - 1) / 2
        found: Rows = np.clip(np.ceil(np.minimum(most, rows)).astype(np.int64), first, rows)
        return found

    # The price at which the labels just exceed the budget, on a logarithmic scale.
    low, high = -700.0, 700.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        spent = worth(np.exp(middle)).sum()
        low, high = (middle, high) if spent > budget else (low, middle)
        if spent == budget:
            break
    labels = worth(np.exp(high))
    # Spend the rest one by one; if no label reduces the variance, by size.
    while (left := budget - int(labels.sum())) > 0:
        gain = np.where(labels < rows, spread**2 / (labels * (labels + 1.0)), -1.0)
        if not gain.max() > 0:
            return _shared(labels, rows, left)
        labels[gain.argmax()] += 1
    return labels


def _shared(labels: Rows, rows: Rows, left: int) -> Rows:
    """Add *left* labels in proportion to the unlabelled rows."""
    free = (rows - labels).astype(np.float64)
    whole = np.floor(free * (left / free.sum())).astype(np.int64)
    order = np.argsort(-(free * (left / free.sum()) - whole), kind="stable")
    short = left - int(whole.sum())
    for place in order:
        if short and labels[place] + whole[place] < rows[place]:
            whole[place] += 1
            short -= 1
    return np.asarray(labels + whole)
