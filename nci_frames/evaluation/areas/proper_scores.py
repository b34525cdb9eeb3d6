"""The Brier score and the log loss: the mean loss of the scores themselves, linear in the prevalence."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from nci_frames.base.typing import Floats, Rows
from nci_frames.evaluation.areas.area import LACKS, Area, Areas, Etas, Logs
from nci_frames.evaluation.arrays.roc_steps import Curves
from nci_frames.evaluation.arrays.score_bins import ScoreBins, Scores, edges_of
from nci_frames.evaluation.support.rule import SupportRule


class Loss(NamedTuple):
    """A proper loss of one score."""

    #: Loss of a positive, which falls with the score; the loss of a negative is that of 1 - score.
    of_positive: Callable[[Scores], Floats]
    #: Mean loss if every score is the share of positives: the lowest mean loss of a constant score.
    uncertainty: Callable[[Scores], Floats]

    def of_negative(self, scores: Scores) -> Floats:
        """Return the loss of negatives with these scores."""
        return self.of_positive(Scores(scores.q, scores.p))


def _minus_log(scores: Scores) -> Floats:
    # Near p = 1 the logarithm is precise only as log1p(-q).
    low = scores.p < 0.5
    logs = np.log(scores.p, where=low, out=np.empty_like(scores.p))
    return -np.log1p(-scores.q, where=~low, out=logs)


def _entropy(scores: Scores) -> Floats:
    either = (scores, Scores(scores.q, scores.p))
    return np.asarray(sum(shares(side.p, _minus_log(side)) for side in either))


LOSSES = {
    "brier": Loss(lambda scores: scores.q**2, lambda scores: scores.p * scores.q),
    "log_loss": Loss(_minus_log, _entropy),
}


def shares(share: float | Floats, loss: Floats) -> Floats:
    """Return share times loss; 0 where the share is 0, even if the loss is infinite."""
    if np.isfinite(loss).all():
        return np.asarray(share * loss)
    return np.where((share == 0) & ~np.isnan(loss), 0.0, share * loss)


def class_losses(
    curves: Curves, bins: ScoreBins, loss: Loss, *, moved: Sequence[float | Floats] = ()
) -> tuple[Areas, Areas]:
    """Return the mean loss of positives and of negatives in each group: value, lower and upper.

    *moved* has the prevalences to which and from which scores are moved, each a number or one per group.
    """
    edges = bins.edges[: 1 if bins.exact else None]
    # Only a single group comes in pieces, and all its steps share its prevalences.
    etas = moved if len(curves.start) == 1 else [curves.each_step(eta) for eta in moved]

    def lost(rows: slice) -> Floats:
        scores = [edge[rows] for edge in edges]
        if etas:
            scores = [each.moved(*etas) for each in scores]
        classes = (bins.positives[rows], loss.of_positive), (bins.negatives[rows], loss.of_negative)
        return np.stack([[shares(share, of_one(each)) for each in scores] for share, of_one in classes])

    # min and max include the value, which rounding could put outside the bounds.
    of_positives, of_negatives = (
        (ends[0], ends.min(axis=0), ends.max(axis=0)) for ends in curves.sum_pieces(lost)
    )
    return of_positives, of_negatives


def _certified(curves: Curves, etas: Etas, loss: Loss) -> list[Areas]:
    of_positives, of_negatives = class_losses(curves, ScoreBins.of(curves), loss)
    return [mixed(of_positives, of_negatives, eta) for eta in etas]


def mixed(of_positives: Areas, of_negatives: Areas, eta: float | Floats) -> Areas:
    """Return the mean loss of all rows at a prevalence, from those of the two classes."""
    value, lower, upper = (
        # A class with share 0 has no effect, but its loss must be defined.
        shares(eta, one) + shares(1 - eta, other)
        for one, other in zip(of_positives, of_negatives, strict=True)
    )
    return value, lower, upper


def _replicated(logs: Logs, prevalence: Sequence[float], loss: Loss) -> Floats:
    positives, negatives, histogram = logs
    low, tied = np.append(histogram.thresholds, -np.inf), np.full(positives.shape[1], histogram.every_score)
    _, middle, _ = edges_of(low, np.append(np.inf, low[:-1]), tied)
    of_positives = _means(positives, loss.of_positive(middle))
    of_negatives = _means(negatives, loss.of_negative(middle))
    etas = np.asarray(prevalence, np.float64)
    return shares(etas, of_positives[:, np.newaxis]) + shares(1 - etas, of_negatives[:, np.newaxis])


def _means(rows: Rows, losses: Floats) -> Floats:
    """Return the mean loss of the rows of each log; NaN without rows."""
    finite = np.isfinite(losses)
    mean = rows @ np.where(finite, losses, 0.0) / rows.sum(axis=1)
    return np.where(rows[:, ~finite].any(axis=1), np.inf, mean)


#: A mean over the rows of each class is supported at every prevalence, if both classes have rows.
_SUPPORT = SupportRule(
    lambda curves, _: np.where((curves.positives > 0) & (curves.negatives > 0), 0.0, np.nan), "undefined"
)

BRIER, LOG_LOSS = (
    Area(
        name,
        aliases=aliases,
        title=title,
        formula=formula,
        direction="minimize",
        upper=upper,
        undefined_when=LACKS,
        computed_by="proper_scores(counts, prevalence=...)",
        linear_in_prevalence=True,
        certified=partial(_certified, loss=LOSSES[name]),
        replicated=partial(_replicated, loss=LOSSES[name]),
        of_scores=True,
        support=_SUPPORT,
    )
    for name, aliases, title, formula, upper in (
        ("brier", ("brier_score",), "Brier score", "eta·mean (1-s)² + (1-eta)·mean s²", 1.0),
        ("log_loss", ("cross_entropy",), "log loss", "-eta·mean log(s) - (1-eta)·mean log(1-s)", np.inf),
    )
)
