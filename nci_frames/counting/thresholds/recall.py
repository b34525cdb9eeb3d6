"""Thresholds that cut the positives of every model into small parts.

A bin contributes at most its share of the positives to the width of the certified bounds of an area, and
nothing if all of them have the same score. To that of average precision, it contributes about this share
times the relative change of recall along it. For a given number of bins, their sum is smallest if shares grow
with the root of recall. So such thresholds bound ROC-AUC, and average precision at every prevalence, whatever
the negatives are. Rare positives also fit into memory.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.arguments import MOST_THRESHOLDS
from nci_frames.base.typing import Floats
from nci_frames.counting.engine.batch import row_groups_ahead
from nci_frames.counting.engine.grid import successors
from nci_frames.counting.engine.memory import Budget
from nci_frames.counting.logs.reading import Scan
from nci_frames.counting.logs.rows import REASON, score_name

#: The ascending scores of the positives of each model that has any.
Positives = list[NDArray[np.floating]]

#: Positives may take at most this fraction (1/8) of the memory for counts.
_PART_OF_MEMORY = 8
_BYTES = 16
#: Positives inspected per share, if a model has more; bins then hold 1/16 less than allowed.
_PARTS_OF_A_SHARE = 16


def read_positives(scan: Scan, budget: Budget) -> Positives | None:
    """Return the scores of the positives; None if there are none, or too many for the memory."""
    most = budget.limit / _PART_OF_MEMORY / _BYTES
    wide = len(scan.models) > 1
    log = scan.prepare(scan.source.frame, wide=True) if wide else scan.raw
    names = [score_name(place) for place in range(len(scan.models))] if wide else ["model", "score"]
    wanted = (pl.col(REASON) == 0) & (pl.col("label").cast(pl.UInt8) == 1)
    found: dict[str | None, list[pl.Series]] = {}
    scores = 0
    with row_groups_ahead(1, local=bool(scan.source.files)):
        for batch in scan.batches(log.filter(wanted).select(names), maintain_order=False):
            for model, mine in zip(scan.models, batch, strict=True) if wide else _each_model(batch):
                found.setdefault(model, []).append(mine)
                scores += len(mine)
            if scores > most:
                return None
    if not scores:
        return None
    # In the order of counts; adding zero turns -0.0 into 0.0.
    in_order = sorted(found.items(), key=lambda item: (item[0] is not None, item[0] or ""))
    known = [pl.concat(mine).drop_nulls().drop_nans().to_numpy() for _, mine in in_order]
    return [np.sort(mine + 0) for mine in known if len(mine)]


def _each_model(batch: pl.DataFrame) -> Iterator[tuple[str | None, pl.Series]]:
    """Yield the scores of each model of a batch."""
    names = batch["model"]
    # Most batches have a single model, and this comparison is faster than groups.
    if len(names) and names.eq_missing(names[:1]).all():
        yield names[0], batch["score"]
        return
    for (model,), mine in batch.partition_by("model", as_dict=True).items():
        yield model, mine["score"]


def cut_positives(positives: Positives, share: float, most: int = MOST_THRESHOLDS) -> Floats | None:
    """Return thresholds with at most *share*·√recall of the positives of each model between two of them.

    Recall is that of the lower one; bins need not be smaller than share/8. Tied positives may exceed this;
    they get a bin of their own, up to the next float. Return None if more than *most* thresholds are needed.
    """
    thinned, ends = zip(*(_thinned(mine, share) for mine in positives), strict=True)
    scores = np.concatenate(thinned)
    order = np.argsort(scores, kind="stable")
    scores, rows = scores[order], len(order)
    in_order = np.empty(rows, np.int64)
    in_order[order] = np.arange(rows)
    # For a bin that begins at a row: the row with which the first model exceeds its share.
    beyond = np.full(rows + 1, rows)
    for mine, last in zip(np.split(in_order, np.cumsum([*map(len, thinned)])), ends, strict=False):
        some = last < len(mine)
        beyond[mine[some]] = mine[last[some]]
    beyond = np.minimum.accumulate(beyond[::-1])[::-1]
    starts = np.append(np.flatnonzero(np.append(True, scores[1:] != scores[:-1])), rows)
    lowest, highest = min(mine[0] for mine in positives), max(mine[-1] for mine in positives)
    # Separate negatives above all positives from the highest positive.
    grid = [lowest, highest, *successors(np.array([highest]), scores.dtype.type)]
    at, row = lowest, int(beyond[0])
    while row < rows:
        if len(grid) == most:
            return None
        run = int(starts.searchsorted(row, "right"))
        if scores[row] > at:
            at, begin = scores[row], starts[run - 1]
        else:  # ties may hold more than a share
            at, begin = successors(scores[row : row + 1], scores.dtype.type)[0], starts[run]
        grid.append(at)
        row = int(beyond[begin])
    return np.unique(grid).astype(np.float64)


def _thinned(mine: NDArray[np.floating], share: float) -> tuple[NDArray[np.floating], NDArray[np.int64]]:
    """Return ascending scores thinned at regular steps, and where a bin that begins at each must end."""
    most = max(share * len(mine), 1)
    step = max(int(most) // _PARTS_OF_A_SHARE, 1)
    scores = mine[step - 1 :: step]
    places = np.arange(len(scores))
    recall = np.maximum(1 - (places + 1) * step / len(mine), 0)
    return scores, places + np.maximum((most * np.sqrt(recall) + 1) // step - 1, 1).astype(np.int64)


def cut_wide(
    grid: Floats, positives: Positives, widths: Floats, of_models: Floats, tolerance: float
) -> Floats:
    """Return a grid with more thresholds in the bins that contribute much to the widths of the areas.

    A bin cut into p parts contributes about 1/p of its previous contribution. So, for a given number of
    thresholds, the total is smallest if each p is proportional to the square root of the contribution.

    Parameters
    ----------
    widths
        Largest contribution of each bin to an area of each model; the first bin is below the grid.
    of_models
        Largest width of an area of each model.
    tolerance
        Target for the sum of each area.
    """
    added = [grid]
    for mine, of_bins, width in zip(positives, widths[:, 1:], of_models, strict=True):
        roots = np.sqrt(of_bins)
        ends = np.append(np.searchsorted(mine, grid), len(mine))
        rows = np.diff(ends)
        parts = np.minimum(np.ceil(roots * roots.sum() / tolerance).astype(np.int64), rows)
        cuts = np.maximum(parts - 1, 0) * (width > tolerance)
        of = np.repeat(np.arange(len(grid)), cuts)
        which = 1 + np.arange(len(of)) - np.repeat(np.cumsum(cuts) - cuts, cuts)
        cut = mine[ends[of] + which * rows[of] // parts[of]]
        # The bin after tied scores begins at the next float.
        tied = cut[1:][cut[1:] == cut[:-1]]
        added += [cut.astype(np.float64), successors(tied, mine.dtype.type).astype(np.float64)]
    return np.unique(np.concatenate(added))
