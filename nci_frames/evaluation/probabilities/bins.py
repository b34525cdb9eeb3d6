"""Steps of scores -> bins of scores: of equal share of the rows, or between given edges."""

from collections.abc import Sequence

import numpy as np

from nci_frames.base.arguments import check_whole, threshold_grid
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Floats
from nci_frames.counts.resolution import in_precision_of
from nci_frames.evaluation.arrays.score_bins import thresholds_of
from nci_frames.evaluation.probabilities.blocks import Blocks, Places
from nci_frames.evaluation.probabilities.parts import Part

#: More bins than a picture could show.
_MOST_BINS = 10_000

#: A number of bins, or their edges.
Bins = int | Sequence[float]


def check_bins(bins: Bins) -> None:
    """Raise ParameterError unless bins are a number of them, or their edges in [0, 1]."""
    if isinstance(bins, int):
        check_whole("bins", bins, 1, _MOST_BINS)
        return
    edges = threshold_grid(bins)
    if len(edges) < 2 or not (edges[0] >= 0 and edges[-1] <= 1):
        raise ParameterError.out_of_range("bins", bins, "a number of bins, or at least two edges in [0, 1]")


def bins_of(part: Part, eta: Floats, bins: Bins) -> Blocks:
    """Return the bins of each group at a prevalence, which only bins of equal share depend on.

    Raises
    ------
    ParameterError
        If a step has rows on either side of an edge.
    """
    return _equal_shares(part, eta, bins) if isinstance(bins, int) else _between(part, threshold_grid(bins))


def _equal_shares(part: Part, eta: Floats, number: int) -> Blocks:
    """Return bins that have about equal shares of the rows; equal scores stay together."""
    shares = np.nan_to_num(part.shares(eta))
    above = np.cumsum(shares) - shares
    # Of each group it begins with 0.
    above -= part.each_step(above[part.curves.start])
    place = np.minimum((number * (above + shares / 2)).astype(np.int64), number - 1)
    return Blocks.of(part.curves, part.bins, _changes(part, place))


def _between(part: Part, edges: Floats) -> Blocks:
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
