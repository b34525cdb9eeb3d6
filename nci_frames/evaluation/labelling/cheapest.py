"""What a log cannot tell -> how many labels of other rows would tell it, well chosen and at random."""

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.evaluation.labelling.goals import Cells, moves
from nci_frames.evaluation.labelling.ranges import uniform_deviation

#: The standard error, as a share of the value, with which a log supports it (``support.rule``).
_ENOUGH = 0.1
#: A plan that needs more of the random rows than this share of them is not worth it.
_WORTH_PLANNING = 0.95
#: Rows of the traffic; with so many, half a row more of each kind makes no difference.
_TRAFFIC = 1e9


def labels_that_tell(
    metric: str | pl.Expr, *, recall: float, fpr: float, prevalence: float, beta: float = 1.0
) -> tuple[int, int] | None:
    """Return how many labels bring the standard error of a metric to a tenth of it, and how many at random.

    The first number is that of the best division between flagged rows and others; ranges of scores
    (``plan_labels``) need no more. None where the metric is undefined, 0, or known without labels, as where
    no negative is flagged.

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
    goal = _ENOUGH * abs(moved.value)
    spread = float((rows * np.abs(moved.positive) * np.sqrt(positive * (1 - positive))).sum())
    if not (goal > 0 and spread > 0):
        return None
    labels, random = (spread / goal) ** 2, (uniform_deviation(cells, moved, 1) / goal) ** 2
    return int(np.ceil(labels)), int(np.ceil(random))


def labels_in_words(found: tuple[int, int] | None) -> str:
    """Say how many labels would do; nothing where that is not known.

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
