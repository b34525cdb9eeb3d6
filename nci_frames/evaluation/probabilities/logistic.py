"""Weighted logistic regression of many groups at once."""

import numpy as np

from nci_frames.base.typing import Floats
from nci_frames.evaluation.arrays.roc_steps import Curves

#: Newton's steps; a regression that has a solution needs about ten.
_MOST_STEPS = 100
#: A change of the coefficients by this share is none.
_NOTHING = 1e-13


def logistic(logit: Floats) -> Floats:
    """Return the probabilities of logits."""
    small = np.exp(-np.abs(logit))
    return np.asarray(np.where(logit >= 0, 1, small) / (1 + small))


def fitted(
    curves: Curves, columns: Floats, offset: Floats, hits: Floats, rows: Floats
) -> tuple[Floats, Floats]:
    """Return the coefficients of each group, by Newton's method, and the inverse of the curvature there.

    Their shapes are (columns, groups) and (columns, columns, groups).

    Parameters
    ----------
    curves
        The steps of the groups.
    columns
        What the logit of each step is made from, of shape (columns, steps).
    offset
        What is added to the logit of each step.
    hits, rows
        The weight of the positives, and of all rows, of each step. Groups whose rows weigh nothing get 0.
    """

    def logits(theta: Floats) -> Floats:
        return np.asarray(offset + (curves.each_step(theta) * columns).sum(axis=0))

    def likelihood(theta: Floats) -> Floats:
        logit = logits(theta)
        return curves.sum(hits * logit - rows * np.logaddexp(0, logit))

    def inverse(p: Floats) -> Floats:
        sums = np.moveaxis(curves.sum(rows * p * (1 - p) * columns * columns[:, np.newaxis]), -1, 0)
        sums[~(np.abs(sums) > 0).any(axis=(1, 2))] = np.eye(len(columns))
        return np.moveaxis(np.asarray(np.linalg.inv(sums), np.float64), 0, -1)

    theta = np.zeros((len(columns), len(curves.start)))
    reached = likelihood(theta)
    for _ in range(_MOST_STEPS):
        p = logistic(logits(theta))
        step = np.einsum("jkg,kg->jg", inverse(p), curves.sum((hits - rows * p) * columns))
        for _ in range(_MOST_STEPS):
            found = likelihood(theta + step)
            # What rounding takes away is none.
            worse = found < reached - 1e-14 * np.abs(reached)
            if not worse.any():
                break
            step[:, worse] /= 2
        theta, reached = theta + step, found
        if (np.abs(step) <= _NOTHING * (1 + np.abs(theta))).all():
            break
    return theta, inverse(logistic(logits(theta)))
