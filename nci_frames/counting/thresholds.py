"""Threshold grids: the scores at which decisions are counted."""

from collections.abc import Sequence
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from nci_frames.errors import ParameterError

__all__ = ["Thresholds", "check_thresholds", "logit_thresholds", "uniform_thresholds"]

Thresholds = Sequence[float] | Literal["auto", "exact"]

#: More thresholds than this are better counted as "exact".
MOST_THRESHOLDS = 65_535


def uniform_thresholds(n: int) -> list[float]:
    """Return *n* thresholds evenly spaced over [0, 1], both ends included.

    Parameters
    ----------
    n
        Number of thresholds, 2 to 65,535.

    Raises
    ------
    ParameterError
        If *n* is outside that range.

    Examples
    --------
    >>> import nci_frames as nf
    >>> nf.uniform_thresholds(5)
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    return cast("list[float]", np.linspace(0.0, 1.0, _number(n)).tolist())


def logit_thresholds(n: int, *, smallest: float = 1e-6) -> list[float]:
    """Return *n* thresholds evenly spaced in log-odds, and so dense near 0 and 1.

    Scores of imbalanced problems crowd there: a grid even in probability spends most of its thresholds
    where there is nothing to tell apart.

    Parameters
    ----------
    n
        Number of thresholds, 2 to 65,535.
    smallest
        The first threshold, in (0, 0.5); the last is one minus that.

    Raises
    ------
    ParameterError
        If *n* or *smallest* is outside its range.

    Examples
    --------
    >>> import nci_frames as nf
    >>> [round(t, 4) for t in nf.logit_thresholds(5, smallest=0.001)]
    [0.001, 0.0307, 0.5, 0.9693, 0.999]
    """
    if not 0 < smallest < 0.5:
        raise ParameterError.out_of_range("smallest", smallest, "within (0, 0.5)")
    end = np.log(smallest) - np.log1p(-smallest)
    return cast("list[float]", (1 / (1 + np.exp(-np.linspace(end, -end, _number(n))))).tolist())


def _number(n: int) -> int:
    if not 2 <= n <= MOST_THRESHOLDS:
        raise ParameterError.out_of_range("n", n, f"within 2 to {MOST_THRESHOLDS:,}")
    return int(n)


def check_thresholds(thresholds: Sequence[float] | str) -> NDArray[np.float64]:
    """Return the thresholds as an array, or raise what is wrong with them.

    Raises
    ------
    ParameterError
        If there are none or too many, or they are not numbers, NaN, or not strictly ascending.
    """
    try:
        grid = np.asarray(thresholds, dtype=np.float64)
    except (TypeError, ValueError):
        grid = np.empty((0, 0))
    if grid.ndim != 1:
        raise ParameterError.out_of_range("thresholds", thresholds, 'a list of numbers, "exact" or "auto"')
    if not 1 <= len(grid) <= MOST_THRESHOLDS:
        msg = f"thresholds must be 1 to {MOST_THRESHOLDS:,} numbers"
        raise ParameterError(msg, found=f"{len(grid):,} of them", hint='"exact" takes every distinct score')
    if np.isnan(grid).any():
        msg = "thresholds must be numbers"
        raise ParameterError(msg, found=f"NaN at position {int(np.isnan(grid).argmax())}")
    wrong = np.flatnonzero(np.diff(grid) <= 0)
    if len(wrong):
        at = int(wrong[0])
        before, after = float(grid[at]), float(grid[at + 1])
        msg = "thresholds must be strictly ascending"
        raise ParameterError(
            msg,
            found=f"{before!r} {'twice' if before == after else f'before {after!r}'}, at position {at}",
            hint="sorted(set(thresholds)) mends that",
        )
    return grid
