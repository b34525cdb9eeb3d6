"""A metric that a log does not support -> the number of labels that would, well chosen and at random."""

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.evaluation.labelling.goals import Cells, moves
from nci_frames.evaluation.labelling.ranges import LEAST_LABELS, uniform_deviation

#: Largest relative standard error of a supported value (``support.rule``).
_ENOUGH = 0.1
#: Least number of labels: a plan takes some from each side of the threshold.
_LEAST = 2 * LEAST_LABELS
#: A plan that needs more than this share of the random rows is not worthwhile.
_WORTH_PLANNING = 0.95
#: Rows of the traffic; large, so that the added half rows do not matter.
_TRAFFIC = 1e9


def labels_that_tell(
    metric: str | pl.Expr, *, recall: float, fpr: float, prevalence: float, beta: float = 1.0
) -> tuple[int, int] | None:
    """Return the numbers of planned and of random labels for a relative standard error of a tenth.

    The first number is for the best division between flagged and other rows; ranges of scores
    (``plan_labels``) need no more. None if the metric is undefined, 0, or known without labels, e.g. if no
    negative is flagged.

    >>> labels_that_tell("precision", recall=0.6, fpr=0.001, prevalence=0.0001)
    (1667, 1572292)
    """
    flagged = prevalence * recall + (1 - prevalence) * fpr
    if not (0 < prevalence < 1 and 0 < recall <= 1 and 0 < fpr < 1 and flagged < 1):
        return None
    rows = _TRAFFIC * np.array([1 - flagged, flagged])
    positive = np.array([prevalence * (1 - recall) / (1 - flagged), prevalence * recall / flagged])
    cells = Cells(rows, positive, np.array([[False, True]]))
    try:
        moved = moves(cells, metric, beta)
    except ParameterError:
        return None
    # The added half rows make more than 0 of a value that is 0, such as the cost if no positive is missed.
    least = 10 / _TRAFFIC * float((rows * np.abs(moved.positive)).sum())
    goal = _ENOUGH * abs(moved.value) if abs(moved.value) > least else 0.0
    spread = float((rows * np.abs(moved.positive) * np.sqrt(positive * (1 - positive))).sum())
    if not (goal > 0 and spread > 0):
        return None
    labels, random = (spread / goal) ** 2, (uniform_deviation(cells, moved, 1) / goal) ** 2
    return max(int(np.ceil(labels)), _LEAST), max(int(np.ceil(random)), _LEAST)


def labels_in_words(found: tuple[int, int] | None) -> str:
    """Return a sentence with the number of labels that would do; empty if it is unknown.

    >>> labels_in_words((1667, 1573050))
    'labels of about 1,700 rows that nci-frames plan-labels chooses would do (or of 1,600,000 random ones)'
    >>> labels_in_words((998_759, 1_010_000))
    'labels of about 1,000,000 random rows would do'
    """
    if found is None:
        return ""
    labels, random = (f"{float(f'{number:.2g}'):,.0f}" for number in found)
    if found[0] > _WORTH_PLANNING * found[1]:
        return f"labels of about {random} random rows would do"
    rows = f"labels of about {labels} rows that nci-frames plan-labels chooses would do"
    return f"{rows} (or of {random} random ones)"
