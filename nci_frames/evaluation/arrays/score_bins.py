"""ROC steps -> bins of scores that are probabilities; and scores moved to another prevalence.

All measures of the scores themselves, such as the Brier score, start from these bins.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import named_values
from nci_frames.base.typing import Flags, FloatPair, Floats
from nci_frames.evaluation.arrays.roc_steps import Curves

_HINT = (
    "count probabilities: of logits l that is 1/(1 + exp(-l)), of any other score the value of a calibration "
    "map; clip what rounding has put outside"
)


class ScoreBins(NamedTuple):
    """The steps of some curves as bins of scores in [0, 1]: groups end to end, each from its highest score.

    Scores are pairs (p, 1 - p), since p alone loses precision near 1.
    """

    #: Shares of the positives and of the negatives of the group; NaN without such rows.
    positives: Floats
    negatives: Floats
    #: The least, the representative and the greatest score of each bin.
    low: "Scores"
    middle: "Scores"
    high: "Scores"

    @classmethod
    def of(cls, curves: Curves) -> Self:
        """Return the bins of curves made with scores.

        Raises
        ------
        ParameterError
            If a score lies outside [0, 1].
        """
        positives, negatives = curves.tpr1 - curves.tpr0, curves.fpr1 - curves.fpr0
        low, high = thresholds_of(curves)
        rows = (positives > 0) | (negatives > 0)
        reached = (curves.tpr1 > 0) | (curves.fpr1 > 0)
        below = np.where(curves.tied, low < 0, high <= 0) & rows
        wrong = np.flatnonzero(below | (reached & (low > 1)))
        if len(wrong):
            group = curves.groups.row(int(np.searchsorted(curves.start, wrong[0], "right")) - 1, named=True)
            side = "below 0" if below[wrong[0]] else f"of {low[wrong[0]]:g} or more"
            msg = "the scores are not probabilities: some lie outside [0, 1]"
            raise ParameterError(msg, where=named_values(group), found=f"scores {side}", hint=_HINT)
        return cls(positives, negatives, *edges_of(low, high, curves.tied))

    @property
    def edges(self) -> "Edges":
        """The representative, the least and the greatest score of each bin."""
        return self.middle, self.low, self.high

    def moved(self, eta: float | Floats, logged: float | Floats) -> "Edges":
        """Return the edges moved from the prevalence *logged* of each step to *eta*."""
        if self.exact:
            return (self.middle.moved(eta, logged),) * 3
        middle, low, high = (edge.moved(eta, logged) for edge in self.edges)
        return middle, low, high

    @property
    def exact(self) -> bool:
        """Whether each bin has a single score."""
        return self.low is self.high


@dataclass(frozen=True, slots=True)
class Scores:
    """Probabilities p, with q = 1 - p."""

    p: Floats
    q: Floats

    @classmethod
    def of(cls, p: Floats) -> Self:
        """Return the scores of probabilities in [0, 1]."""
        return cls(p, 1 - p)

    def __getitem__(self, rows: slice | Flags) -> "Scores":
        """Return some of the scores."""
        return Scores(self.p[rows], self.q[rows])

    def moved(self, eta: float | Floats, logged: float | Floats) -> "Scores":
        """Return the scores moved from prevalence *logged* to *eta*: odds times the ratio of the prior odds.

        Scores of 0 and 1 stay the same, even where the other class does not occur.
        """
        up, down = self.p * (eta * (1 - logged)), self.q * ((1 - eta) * logged)
        total = up + down
        if total.all():
            return Scores(up / total, down / total)
        certain = total == 0
        return Scores(
            np.where(certain, self.p.round(), up / total), np.where(certain, self.q.round(), down / total)
        )


#: Three scores of each of some bins.
Edges = tuple[Scores, Scores, Scores]


def thresholds_of(curves: Curves) -> FloatPair:
    """Return the threshold of each step and the next higher one; infinite where there is none."""
    high = np.full_like(curves.score, np.inf)
    high[1:] = curves.score[:-1]
    high[curves.start] = np.inf
    return curves.score, high


def edges_of(low: Floats, high: Floats, tied: Flags) -> Edges:
    """Return the least, the middle and the greatest score of bins in [0, 1].

    Parameters
    ----------
    low, high
        The threshold of each bin and the next higher one; infinite where there is none.
    tied
        Whether all rows of the bin have the score *low*.
    """
    low = np.clip(low, 0, 1)
    if tied.all():
        exact = Scores.of(low)
        return exact, exact, exact
    high = np.where(tied, low, np.clip(high, 0, 1))
    middle = Scores.of(np.where(tied, low, (low + high) / 2))
    # Float32 scores are compared with thresholds rounded to Float32, which may differ slightly.
    rounded = (edge.astype(np.float32).astype(np.float64) for edge in (low, high))
    least, most = np.minimum(low, next(rounded)), np.maximum(high, next(rounded))
    return Scores.of(np.where(tied, low, least)), middle, Scores.of(np.where(tied, low, most))
