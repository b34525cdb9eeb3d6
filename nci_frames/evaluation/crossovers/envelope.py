"""Lines -> which is lowest where, exactly, and where two piecewise linear functions cross."""

from dataclasses import dataclass

import numpy as np

from nci_frames.base.typing import Flags, Floats, Places


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

    x: Floats
    first: Places  # line of the first envelope there
    second: Places  # line of the second
    first_was_lower: Flags


def crossings(one: Envelope, other: Envelope, end: float) -> Crossings:
    """Return where two envelopes cross between 0 and an end, which may be infinite; touching is not crossing.

    If the two coincide over a range and separate on opposite sides, the crossing is where the range begins.
    """
    # The difference is linear from each start of a line, in either, to the next.
    x = np.union1d(one.starts, other.starts)
    i, j = one.at(x), other.at(x)
    level, slope = one.intercepts[i] - other.intercepts[j], one.slopes[i] - other.slopes[j]
    height = np.abs(one.intercepts[i]) + np.abs(other.intercepts[j])
    steepness = np.abs(one.slopes[i]) + np.abs(other.slopes[j])
    # At infinity the slope decides.
    at_end = (
        _signs(level[-1] + slope[-1] * end, height[-1] + steepness[-1] * end)
        if np.isfinite(end)
        else np.sign(slope[-1] or level[-1])
    )
    signs = np.append(_signs(level + slope * x, height + steepness * x), at_end)
    # The sign is 0 where they coincide or touch: the last sign before is compared with the next one after.
    told = np.flatnonzero(signs)
    changed = np.flatnonzero(np.diff(signs[told]))
    found = told[changed]
    with np.errstate(invalid="ignore", divide="ignore"):
        meet = np.where(slope[found] == 0, x[found], -level[found] / slope[found])
    meet = np.clip(meet, x[found], np.append(x[1:], end)[found])
    return Crossings(meet, one.lines[i[found]], other.lines[j[found]], signs[found] < 0)


def _signs(difference: Floats | float, size: Floats | float) -> Floats:
    """Return the sign of differences of numbers of some size; 0 within the rounding error."""
    return np.where(np.abs(difference) <= 8 * np.finfo(float).eps * size, 0.0, np.sign(difference))
