"""Threshold grids: the scores at which decisions are counted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from nci_frames.base.arguments import MOST_THRESHOLDS, even_numbers, grid_numbers, number_list, threshold_grid
from nci_frames.base.errors import ParameterError
from nci_frames.schemas import checked


@dataclass(frozen=True, slots=True)
class AutoThresholds:
    """A request for thresholds as fine as certain areas need; made by ``auto_thresholds``."""

    tolerance: float
    prevalence: tuple[float, ...]
    also: tuple[float, ...]


Thresholds = Sequence[float] | AutoThresholds | Literal["auto", "exact"]


@checked
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
    >>> nf.uniform_thresholds(11)[3:5]
    [0.3, 0.4]
    """
    return cast("list[float]", even_numbers(0, 1, _number(n)).tolist())


@checked
def logit_thresholds(n: int, *, smallest: float = 1e-6) -> list[float]:
    """Return *n* thresholds evenly spaced in log-odds, hence dense near 0 and 1.

    Scores of imbalanced problems cluster there. Most thresholds of a uniform grid would lie where there are
    no scores.

    Parameters
    ----------
    n
        Number of thresholds, 2 to 65,535.
    smallest
        The first threshold, in (0, 0.5); the last one is 1 - *smallest*.

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


@checked
def auto_thresholds(
    *,
    tolerance: float = 1e-3,
    prevalence: float | Sequence[float] = (1e-4, 1e-3, 1e-2, 1e-1, 0.5),
    also: Sequence[float] = (),
) -> AutoThresholds:
    """Request thresholds fine enough to bound the areas of every model within a tolerance.

    The result is an argument of ``count_confusion``. A log of up to 2 million rows is counted at every
    distinct score. A larger log is read two or three times: first the scores of its positives, then all rows,
    at thresholds that cut the positives of every model into small parts. If the certified bounds of ROC-AUC,
    or of average precision at a prevalence, are too wide, the parts that contribute most are cut again, and
    the rows are counted once more. Thresholds that neither the tolerance nor the choice of an operating point
    needs are dropped: from one to the next, the root of the recall of a model changes by at most 0.0025,
    unless rows are tied. If the positives would take more than an eighth of the memory for counts, a fine
    grid is refined pass by pass instead. A log with so many groups that a grid would give more counts than
    rows is counted at every distinct score.

    Parameters
    ----------
    tolerance
        Maximum width of the certified bounds of each area of a model over all its rows, in (0, 1). Bounds for
        its folds and segments are wider.
    prevalence
        P(y=1) at which average precision is bounded, each in (0, 1].
    also
        Additional thresholds to count at.

    Returns
    -------
    The equivalent of ``thresholds="auto"`` with these settings.

    Raises
    ------
    ParameterError
        If an argument is outside its range.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> counts = nf.count_confusion(log, thresholds=nf.auto_thresholds(tolerance=0.01, prevalence=0.001))
    >>> counts["threshold"].to_list()
    [0.1, 0.35, 0.4, 0.8]
    """
    if not 0 < tolerance < 1:
        raise ParameterError.out_of_range("tolerance", tolerance, "within (0, 1)")
    etas = number_list(prevalence)
    for eta in etas:
        if not 0 < eta <= 1:
            raise ParameterError.out_of_range("prevalence", eta, "within (0, 1]")
    fixed = check_thresholds(sorted(set(also))).tolist() if len(also) else []
    return AutoThresholds(float(tolerance), tuple(etas), tuple(fixed))


def _number(n: int) -> int:
    if not 2 <= n <= MOST_THRESHOLDS:
        raise ParameterError.out_of_range("n", n, f"within 2 to {MOST_THRESHOLDS:,}")
    return int(n)


def check_thresholds(thresholds: Sequence[float]) -> NDArray[np.float64]:
    """Return the thresholds as an array.

    Raises
    ------
    ParameterError
        If there are none or too many, one is NaN, or they are not strictly ascending.
    """
    return threshold_grid(thresholds, '"exact" takes every distinct score')


def named_thresholds(text: str) -> list[float] | Literal["exact"]:
    """Parse thresholds from a string.

    Raises
    ------
    ParameterError
        Unless the string is "exact", like "logit:501", "uniform:101" or start:stop:lin:count, or a list of
        ascending numbers separated by commas.

    Examples
    --------
    >>> named_thresholds("uniform:3")
    [0.0, 0.5, 1.0]
    >>> named_thresholds("-1:1:lin:3")
    [-1.0, 0.0, 1.0]
    >>> named_thresholds("0.1, 0.5")
    [0.1, 0.5]
    """
    if text == "exact":
        return "exact"
    makers = {"logit": logit_thresholds, "uniform": uniform_thresholds}
    kind, _, number = text.partition(":")
    if kind in makers and number.isdigit():
        if not 2 <= int(number) <= MOST_THRESHOLDS:
            raise ParameterError(f"a grid has 2 to {MOST_THRESHOLDS:,} thresholds", found=repr(text))
        return makers[kind](int(number))
    try:
        numbers = grid_numbers(text)
    except ValueError as error:
        msg = (
            'thresholds are "exact", "logit:501", "uniform:101", start:stop:lin:count or numbers separated '
            "by commas"
        )
        raise ParameterError(msg, found=repr(text)) from error
    check_thresholds(numbers)
    return numbers
