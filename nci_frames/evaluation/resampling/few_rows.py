"""What resampling misses where rows are few: one row more or less, and rates of 0."""

from collections.abc import Iterator, Sequence

import numpy as np

from nci_frames.base.typing import Flags, Floats, Rows
from nci_frames.evaluation.arrays.histograms import Histogram

#: Jeffreys' prior of a rate: half a row on either side of the threshold.
_PRIOR = 0.5
#: The first positives, each of which is a step of recall; later steps grow by a factor of about 1 + 1/192.
_SINGLE = 192
#: Up to this number, all thresholds are kept.
FEW_THRESHOLDS = 1024


def one_row_apart(histogram: Histogram, *, unseen: bool, row: Sequence[float]) -> Rows:
    """Return the logs with one row more or less at the highest or the lowest scores.

    Parameters
    ----------
    histogram
        The rows of the log.
    unseen
        Whether the row may be added beyond all rows of the log, on the empty side of a threshold. False for
        areas, which such a row would move more than other rows do.
    row
        Weight of the added positive and of the added negative.

    Returns
    -------
    Positives and negatives of each log, of shape (2, logs, bins). Positives differ in the first half of the
    logs, negatives in the second half.
    """
    logs, whole = [], [0, len(histogram.positives) - 1]
    for of_class in (0, 1):
        occupied = np.flatnonzero(histogram.classes[of_class])
        ends = occupied[[0, -1]].tolist() if len(occupied) else whole
        changes = [*((end, 1) for end in (whole if unseen else ends)), *((end, -1) for end in ends)]
        for place, change in changes:
            log = np.stack(histogram.classes)
            log[of_class, place] = max(log[of_class, place] + change * row[of_class], 0)
            logs.append(log)
    return np.stack(logs, axis=1)


def with_prior(
    drawn: Iterator[Sequence[Rows]], rng: np.random.Generator, row: Sequence[float]
) -> Iterator[Sequence[Rows]]:
    """Add half a row, on average, to the highest and the lowest bin of each class of each log.

    *row* is the weight of a positive and of a negative.
    """
    for classes in drawn:
        more = [rows.astype(np.float64) for rows in classes]
        for rows, weight in zip(more, row, strict=True):
            rows[:, [0, -1]] += weight * rng.gamma(_PRIOR, size=(len(rows), 2))
        yield more  # type: ignore[misc]


def steps_of_positives(histogram: Histogram) -> Floats:
    """Return the thresholds beside bins with positives; areas are the same wherever the negatives are."""
    return histogram.thresholds[_beside_positives(histogram)]


def steps_of_areas(histogram: Histogram, *, single: int = _SINGLE // 2) -> tuple[Floats, bool]:
    """Return thresholds that determine areas over recall, and whether they do so only approximately.

    Of many positives, each of the first and of the last *single* ones is a step; steps between grow by a
    factor of about 1 + 1/single from either end.
    """
    positives, beside = histogram.positives, _beside_positives(histogram)
    if beside.sum() <= FEW_THRESHOLDS:
        return histogram.thresholds[beside], False
    true = positives.cumsum() / positives[positives > 0].min()
    step = step_of_recall(true[:-1], single) - step_of_recall(true[-1] - true[:-1], single)
    return histogram.thresholds[np.diff(step, prepend=-np.inf) > 0], True


def _beside_positives(histogram: Histogram) -> Flags:
    lone = histogram.positives == 0
    return np.asarray(~(lone[:-1] & lone[1:]))


def steps_of_recall(histogram: Histogram) -> Floats:
    """Return a few thresholds that contain the best of the log, or one nearly as good.

    The highest threshold with a given number of true positives has the fewest false positives. Each of the
    first positives is a step; later steps are a fixed share of the positives before them.
    """
    kept = np.diff(step_of_recall(histogram.positives.cumsum()[:-1]), prepend=-1) > 0
    kept[-1:] = True
    return _of_many(histogram, kept)


def steps_of_score(histogram: Histogram) -> Floats:
    """Return thresholds between which the logits of scores differ by less than 1/256.

    The log losses of the scores of a bin then differ by less than 1/256, too; Brier scores differ by less.
    """
    share = histogram.thresholds.clip(0, 1)
    step = np.floor(256 * (np.log(share) - np.log1p(-share)))
    return _of_many(histogram, np.append(step[1:] != step[:-1], True))


def _of_many(histogram: Histogram, kept: Flags) -> Floats:
    """Return the thresholds to keep, ascending; all if they are few."""
    few = len(histogram.thresholds) <= FEW_THRESHOLDS
    return histogram.thresholds[... if few else kept][::-1]


def step_of_recall(true: Rows, single: int = _SINGLE) -> Floats:
    """Return the number of the recall step for each number of true positives."""
    beyond = np.log(np.maximum(true, single) / single)
    return np.asarray(np.minimum(true, single) + np.floor(single * beyond))
