"""Lines -> which is lowest where, exactly, and where two piecewise linear functions cross."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nci_frames.base.typing import Floats

__all__ = ["Crossings", "Envelope", "Places", "crossings", "lower_envelope"]

Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Envelope:
    """The lowest of some lines over x from 0 to infinity: line ``lines[i]`` begins at ``starts[i]``."""

    lines: Places
    starts: Floats
    intercepts: Floats
    slopes: Floats

    def at(self, x: Floats) -> Places:
        """Return the position, within this envelope, of the lowest line at each x."""
        return np.searchsorted(self.starts, x, side="right") - 1


def lower_envelope(intercepts: Floats, slopes: Floats) -> Envelope:
    """Return the lower envelope of lines over x >= 0, in O(n log n).

    Of equal lines the first is kept. A line that is lowest only at a single point is not part of the
    envelope.

    Parameters
    ----------
    intercepts, slopes
        Of each line, finite.
    """
    order = np.lexsort((slopes, intercepts))
    # A line that starts higher must fall faster than all lines that start lower.
    ordered = slopes[order]
    least_before = np.append(np.inf, np.minimum.accumulate(ordered)[:-1])
    lines = order[ordered < least_before]
    while True:
        meets = np.diff(intercepts[lines]) / -np.diff(slopes[lines])
        # A line that is overtaken before it overtakes is nowhere below both neighbours: drop all such lines
        # at once.
        hidden = meets[1:] <= meets[:-1]
        if not hidden.any():
            return Envelope(lines, np.append(0.0, meets)[: len(lines)], intercepts[lines], slopes[lines])
        lines = lines[np.append(np.append(True, ~hidden), True)]


@dataclass(frozen=True, slots=True)
class Crossings:
    """Where pairs of envelopes change places."""

    pair: Places  # which pair, by place
    x: Floats
    first: Places  # line of the pair's first envelope there
    second: Places  # line of its second
    first_was_lower: NDArray[np.bool_]


def crossings(envelopes: Sequence[Envelope], first: Places, second: Places, end: float) -> Crossings:
    """Return where the envelopes of pairs cross between 0 and an end; touching is not crossing.

    All pairs at once, in O(n log n) for n lines in all their envelopes.

    Parameters
    ----------
    envelopes
        The envelopes; each begins at 0.
    first, second
        The pairs, as positions among the envelopes.
    end
        Where to stop; may be infinite.

    Returns
    -------
    If the two coincide over a range and separate on opposite sides, the crossing is where the range begins.
    """
    lines, starts, intercepts, slopes = (
        np.concatenate([getattr(envelope, name) for envelope in envelopes])
        for name in ("lines", "starts", "intercepts", "slopes")
    )
    size = np.array([len(envelope.lines) for envelope in envelopes])
    offset = np.cumsum(size) - size
    # The difference of two envelopes is linear from each start of a line, in either, to the next.
    of_first = size[first]
    of_both = of_first + size[second]
    pair = np.repeat(np.arange(len(first)), of_both)
    place = np.arange(len(pair)) - (np.cumsum(of_both) - of_both)[pair]
    in_first = place < of_first[pair]
    source = np.where(in_first, offset[first[pair]] + place, offset[second[pair]] + place - of_first[pair])
    order = np.lexsort((starts[source], pair))
    x = starts[source[order]]
    # So many lines of the first envelope have started, and the others are of the second.
    started = np.cumsum(in_first[order]) - (np.cumsum(of_first) - of_first)[pair]
    i, j = offset[first[pair]] + started - 1, offset[second[pair]] + place - started
    # Of lines that start at the same x, the last one has both envelopes up to date.
    last = np.append((np.diff(pair) != 0) | (np.diff(x) != 0), True)[: len(pair)]
    pair, x, i, j = pair[last], x[last], i[last], j[last]
    level, slope = intercepts[i] - intercepts[j], slopes[i] - slopes[j]
    height = np.abs(intercepts[i]) + np.abs(intercepts[j])
    steepness = np.abs(slopes[i]) + np.abs(slopes[j])
    signs = _signs(level + slope * x, height + steepness * x)
    closing = np.flatnonzero(np.append(np.diff(pair) != 0, True)[: len(pair)])
    at_end = (
        _signs(level[closing] + slope[closing] * end, height[closing] + steepness[closing] * end)
        if np.isfinite(end)
        # At infinity the slope decides.
        else np.sign(np.where(slope[closing] != 0, slope[closing], level[closing]))
    )
    stop = np.full(len(pair), end)
    stop[:-1][np.diff(pair) == 0] = x[1:][np.diff(pair) == 0]
    signs = np.insert(signs, closing + 1, at_end)
    piece = np.insert(np.arange(len(pair)), closing + 1, closing)
    # The sign is 0 where they coincide or touch: the last sign before is compared with the next one after.
    told = np.flatnonzero(signs)
    changed = (np.diff(signs[told]) != 0) & (np.diff(pair[piece[told]]) == 0)
    found = piece[told[:-1][changed]]
    with np.errstate(invalid="ignore", divide="ignore"):
        meet = np.where(slope[found] == 0, x[found], -level[found] / slope[found])
    meet = np.clip(meet, x[found], stop[found])
    return Crossings(pair[found], meet, lines[i[found]], lines[j[found]], signs[told[:-1][changed]] < 0)


def _signs(difference: Floats, size: Floats) -> Floats:
    """Return the sign of differences of numbers of some size; 0 within the rounding error."""
    return np.where(np.abs(difference) <= 8 * np.finfo(float).eps * size, 0.0, np.sign(difference))
