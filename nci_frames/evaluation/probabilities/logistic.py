"""Weighted logistic regression of many groups at once."""

from collections.abc import Sequence

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


def fitted(curves: Curves, columns: Sequence[Floats], offset: Floats, hits: Floats, rows: Floats) -> Floats:
    """Return the coefficients of each group, of shape (groups, columns), by Newton's method.

    Parameters
    ----------
    curves
        The steps of the groups.
    columns
        What the logit of each step is made from.
    offset
        What is added to the logit of each step.
    hits, rows
        The weight of the positives, and of all rows, of each step. Groups whose rows weigh nothing get 0.
    """

    def logits(theta: Floats) -> Floats:
        of_steps = (curves.each_step(each) * column for each, column in zip(theta.T, columns, strict=True))
        return np.asarray(sum(of_steps, offset))

    def likelihood(theta: Floats) -> Floats:
        logit = logits(theta)
        return curves.sum(hits * logit - rows * (np.maximum(logit, 0) + np.log1p(np.exp(-np.abs(logit)))))

    theta = np.zeros((len(curves.start), len(columns)))
    if not len(theta):
        return theta
    reached = likelihood(theta)
    for _ in range(_MOST_STEPS):
        p = logistic(logits(theta))
        slopes = np.stack([curves.sum((hits - rows * p) * column) for column in columns], axis=-1)
        step = np.linalg.solve(curvature(curves, columns, rows * p * (1 - p)), slopes[..., np.newaxis])[
            ..., 0
        ]
        for _ in range(_MOST_STEPS):
            found = likelihood(theta + step)
            # What rounding takes away is none.
            worse = found < reached - 1e-14 * np.abs(reached)
            if not worse.any():
                break
            step[worse] /= 2
        theta, reached = theta + step, found
        if (np.abs(step) <= _NOTHING * (1 + np.abs(theta))).all():
            break
    return theta


def curvature(curves: Curves, columns: Sequence[Floats], weight: Floats) -> Floats:
    """Return the matrix of the sums of products of columns, of each group; the identity where all are 0."""
    sums = np.stack([np.stack([curves.sum(weight * a * b) for a in columns], -1) for b in columns], -2)
    sums[~(np.abs(sums) > 0).any(axis=(1, 2))] = np.eye(len(columns))
    return sums
