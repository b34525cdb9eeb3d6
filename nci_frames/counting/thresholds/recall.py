"""The positives of a log -> thresholds between which every model has few of them.

What a bin adds to the width of the certified bounds of an area is at most its share of the positives, and
nothing if they all have one score. So thresholds that cut the positives evenly bound ROC-AUC, and average
precision at every prevalence, whatever the negatives are; and positives are few where they are rare.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.arguments import MOST_THRESHOLDS
from nci_frames.base.typing import Floats
from nci_frames.counting.engine.batches import BATCH_ROWS
from nci_frames.counting.engine.grid import successors
from nci_frames.counting.engine.memory import Budget
from nci_frames.counting.logs.reading import Scan
from nci_frames.counting.logs.rows import REASON

#: The scores of the positives of each model that has any, ascending.
Positives = list[NDArray[np.floating]]

#: Positives take at most so large a part of the memory for counts.
_PART_OF_MEMORY = 8
_BYTES = 16


def read_positives(scan: Scan, budget: Budget) -> Positives | None:
    """Return the scores of the positives; None if there are none, or too many to be kept."""
    most = budget.limit / _PART_OF_MEMORY / _BYTES
    wanted = (pl.col(REASON) == 0) & (pl.col("label").cast(pl.UInt8) == 1)
    found, rows = [], 0
    for batch in scan.batches(
        scan.raw.filter(wanted).select("model", "score"), chunk_size=BATCH_ROWS, maintain_order=False
    ):
        found.append(batch)
        rows += len(batch)
        if rows > most:
            return None
    if not rows:
        return None
    by_model = pl.concat(found).partition_by("model", as_dict=True).items()
    # In the order of counts; adding zero turns -0.0 into 0.0.
    in_order = sorted(by_model, key=lambda item: (item[0][0] is not None, item[0][0] or ""))
    return [np.sort(rows["score"].to_numpy() + 0) for _, rows in in_order]


def cut_evenly(positives: Positives, share: float) -> Floats | None:
    """Return thresholds from each of which to the next no model has more than a share of its positives.

    The only exception are positives with one score, from which to the next number there is a bin of its own.
    None if the thresholds are too many.
    """
    dtype = positives[0].dtype.type
    sizes = np.array([len(mine) for mine in positives])
    scores, stops = np.concatenate(positives), np.cumsum(sizes)
    most = np.maximum((share * sizes).astype(np.int64), 1)
    places = stops - sizes  # of each model, its first positive that reaches the last threshold
    grid = [scores[places].min()]
    while len(grid) < MOST_THRESHOLDS and np.isfinite(grid[-1]) | (len(grid) == 1):
        at = grid[-1]
        near = np.minimum(places + most + 1, stops)
        places = _first_reaching(scores, places, near, at)
        # Ties may hold more than a share.
        far = np.flatnonzero((places == near) & (near < stops))
        if len(far):
            places[far] = _first_reaching(scores, places[far], stops[far], at)
        ends = places + most
        ends = ends[ends < stops]
        if not len(ends):
            # Negatives above all positives are apart from the last of these.
            highest = np.array([scores.max()])
            return np.unique(np.append(grid, successors(highest, dtype))).astype(np.float64)
        end = scores[ends].min()
        grid.append(end if end > at else successors(np.array([at]), dtype)[0])
    return None if len(grid) >= MOST_THRESHOLDS else np.array(grid, np.float64)


def _first_reaching(
    scores: NDArray[np.floating], low: NDArray[np.int64], high: NDArray[np.int64], at: np.floating
) -> NDArray[np.int64]:
    """Return, for each range of ascending scores, the place of the first that reaches *at*, or its end."""
    low, high = low.copy(), high.copy()
    while len(left := np.flatnonzero(low < high)):
        middle = (low[left] + high[left]) >> 1
        below = scores[middle] < at
        low[left[below]] = middle[below] + 1
        high[left[~below]] = middle[~below]
    return low


def cut_wide(grid: Floats, positives: Positives, widths: Floats, tolerance: float) -> Floats:
    """Return a grid with more thresholds in the bins that add much to the widths of the areas.

    A bin that is cut into p parts adds about the p-th part of what it added. So the sum of all is least, for
    so many thresholds, if each p is proportional to the square root of what the bin adds.

    Parameters
    ----------
    widths
        What each bin adds to each area, of shape (areas, models, bins); the first bin is below the grid.
    tolerance
        What the sum of each area shall be.
    """
    added = [grid]
    for mine, of_model in zip(positives, widths.swapaxes(0, 1)[..., 1:], strict=True):
        roots = np.sqrt(of_model.max(axis=0))
        ends = np.append(np.searchsorted(mine, grid), len(mine))
        rows = np.diff(ends)
        parts = np.minimum(np.ceil(roots * roots.sum() / tolerance).astype(np.int64), rows)
        cuts = np.maximum(parts - 1, 0) * (of_model.sum(axis=1).max() > tolerance)
        of = np.repeat(np.arange(len(grid)), cuts)
        which = 1 + np.arange(len(of)) - np.repeat(np.cumsum(cuts) - cuts, cuts)
        cut = mine[ends[of] + which * rows[of] // parts[of]]
        # Where scores are tied, the bin after them begins with the next number.
        tied = cut[1:][cut[1:] == cut[:-1]]
        added += [cut.astype(np.float64), successors(tied, mine.dtype.type).astype(np.float64)]
    return np.unique(np.concatenate(added))
