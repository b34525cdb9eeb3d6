"""Lines -> which is lowest where, exactly, and where two piecewise linear functions cross."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nci_frames.typing import Floats

__all__ = ["Crossings", "Envelope", "Places", "crossings", "lower_envelope"]

Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Envelope:
    """The lowest of some lines over x from 0 to infinity: line ``lines[i]`` from ``starts[i]`` on."""

    lines: Places
    starts: Floats
    intercepts: Floats
    slopes: Floats

    def at(self, x: Floats) -> Places:
        """Return the place, within this envelope, of the line that is lowest at each x."""
        return np.searchsorted(self.starts, x, side="right") - 1


def lower_envelope(intercepts: Floats, slopes: Floats) -> Envelope:
    """Return the lower envelope of lines over x >= 0, in O(n log n).

    Of equal lines the first counts. A line that is lowest in a single point is not part of it.

    Parameters
    ----------
    intercepts, slopes
        Of each line, finite.
    """
    order = np.lexsort((slopes, intercepts))
    # Whoever starts higher must fall faster than all who start lower.
    ordered = slopes[order]
    least_before = np.append(np.inf, np.minimum.accumulate(ordered)[:-1])
    lines = order[ordered < least_before]
    while True:
        meets = np.diff(intercepts[lines]) / -np.diff(slopes[lines])
        # A line that is overtaken before it overtakes lies above its two neighbours everywhere, and so do all
        # such lines at once, above the envelope.
        hidden = meets[1:] <= meets[:-1]
        if not hidden.any():
            return Envelope(lines, np.append(0.0, meets)[: len(lines)], intercepts[lines], slopes[lines])
        lines = lines[np.append(np.append(True, ~hidden), True)]


@dataclass(frozen=True, slots=True)
class Crossings:
    """Where two envelopes change places, ascending."""

    x: Floats
    first: Places  # line of the first envelope there
    second: Places  # line of the second
    first_was_lower: NDArray[np.bool_]


def crossings(first: Envelope, second: Envelope, end: float) -> Crossings:
    """Return where two envelopes cross between 0 and an end, touching left out.

    Parameters
    ----------
    first, second
        The envelopes.
    end
        Where to stop; may be infinite.

    Returns
    -------
    Where the two coincide for a while and part on other sides, the crossing is where they begin to.
    """
    starts = np.union1d(first.starts, second.starts)
    starts = starts[starts < end]
    i, j = first.at(starts), second.at(starts)
    level = first.intercepts[i] - second.intercepts[j]
    slope = first.slopes[i] - second.slopes[j]
    # The difference is linear from each start to the next; at infinity the last slope decides.
    nodes, piece = starts, np.arange(len(starts))
    if np.isfinite(end):
        nodes, piece = np.append(starts, end), np.append(piece, piece[-1])
    difference = level[piece] + slope[piece] * nodes
    size = (np.abs(first.intercepts[i]) + np.abs(second.intercepts[j]))[piece]
    size += (np.abs(first.slopes[i]) + np.abs(second.slopes[j]))[piece] * nodes
    difference[np.abs(difference) <= 8 * np.finfo(float).eps * size] = 0
    signs = np.sign(difference if np.isfinite(end) else np.append(difference, slope[-1] or level[-1]))
    # Where they coincide or touch there is no sign: what counts is the last before and the next after.
    told = np.flatnonzero(signs)
    pieces = told[:-1][np.diff(signs[told]) != 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        x = np.where(slope[pieces] == 0, starts[pieces], -level[pieces] / slope[pieces])
    x = np.clip(x, starts[pieces], np.append(starts[1:], end)[pieces])
    return Crossings(x, first.lines[i[pieces]], second.lines[j[pieces]], signs[pieces] < 0)
