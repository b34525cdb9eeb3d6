"""What resampling cannot see where rows are few: a row more or less, and rates of 0."""

from collections.abc import Iterator

import numpy as np

from nci_frames.base.typing import Flags, Floats, Rows
from nci_frames.evaluation.arrays.histograms import Histogram

#: Jeffreys' prior of a rate: half a row on either side of the threshold.
_PRIOR = 0.5
#: So many positives of the highest scores have a step of recall each; later steps grow by a share of this.
_SINGLE = 192
#: So many thresholds are all kept.
FEW_THRESHOLDS = 1024


def one_row_apart(
    histogram: Histogram, *, unseen: bool, row: tuple[float, float] = (1, 1)
) -> tuple[Rows, Rows]:
    """Return the logs that have one row more or less than a log, at the highest or at the lowest scores.

    Parameters
    ----------
    histogram
        The rows of the log.
    unseen
        Whether the row may be where the log has none: on the empty side of a threshold. Of a whole curve, a
        row beyond all others would move the area more than rows of a log do.

    Returns
    -------
    Positives and negatives of each log, of shape (logs, bins); in the first half of the logs positives
    differ, in the second half negatives.
    """
    logs = []
    for of_class in (0, 1):
        rows = histogram.classes[of_class]
        occupied = np.flatnonzero(rows)
        whole = [0, len(rows) - 1]
        ends = [int(occupied[0]), int(occupied[-1])] if len(occupied) else whole
        changes = [*((end, 1) for end in (whole if unseen else ends)), *((end, -1) for end in ends)]
        for place, change in changes:
            log = [histogram.positives.copy(), histogram.negatives.copy()]
            log[of_class][place] = max(log[of_class][place] + change * row[of_class], 0)
            logs.append(log)
    positives, negatives = (np.stack(column) for column in zip(*logs, strict=True))
    return positives, negatives


def with_prior(
    drawn: Iterator[tuple[Rows, Rows]], rng: np.random.Generator, row: tuple[float, float] = (1, 1)
) -> Iterator[tuple[Rows, Rows]]:
    """Add half a row, on average, to the highest and to the lowest bin of each class of each log.

    A *row* is a positive, or a negative, and weighs so much.
    """
    for classes in drawn:
        more = [rows.astype(np.float64) for rows in classes]
        for rows, weight in zip(more, row, strict=True):
            rows[:, [0, -1]] += weight * rng.gamma(_PRIOR, size=(len(rows), 2))
        yield more[0], more[1]  # type: ignore[misc]


def steps_of_recall(histogram: Histogram) -> list[float]:
    """Return thresholds among which is the best of a log, or one that is nearly as good.

    Of the thresholds that reach the same positives the highest has the fewest false positives. Of the first
    positives each has a step of its own; after them a step is a fixed share of the positives before it.
    """
    kept = np.diff(step_of_recall(histogram.positives.cumsum()[:-1]), prepend=-1) > 0
    kept[-1:] = True
    return _of_many(histogram, kept)


def steps_of_score(histogram: Histogram) -> list[float]:
    """Return thresholds between which the logits of scores differ by less than 1/256.

    So do the log losses of the scores of a bin, and their Brier scores by less.
    """
    share = histogram.thresholds.clip(0, 1)
    with np.errstate(divide="ignore"):
        step = np.floor(256 * (np.log(share) - np.log1p(-share)))
    return _of_many(histogram, np.append(step[1:] != step[:-1], True))


def _of_many(histogram: Histogram, kept: Flags) -> list[float]:
    """Return the thresholds that are kept, ascending; all of them if they are few."""
    few = len(histogram.thresholds) <= FEW_THRESHOLDS
    thresholds: list[float] = histogram.thresholds[... if few else kept][::-1].tolist()
    return thresholds


def step_of_recall(true: Rows) -> Floats:
    """Return the number of the step that so many true positives belong to."""
    beyond = np.log(np.maximum(true, _SINGLE) / _SINGLE)
    return np.asarray(np.minimum(true, _SINGLE) + np.floor(_SINGLE * beyond))
