"""Bins of scores -> the expected calibration error, plain and corrected, and their bounds."""

import math

import numpy as np

from nci_frames.base.typing import Floats
from nci_frames.evaluation.arrays.score_bins import Scores
from nci_frames.evaluation.probabilities.blocks import Blocks
from nci_frames.evaluation.probabilities.parts import Part
from nci_frames.evaluation.probabilities.recalibration import Measured
from nci_frames.schemas.runs import rows_of_runs


def calibration_errors(
    part: Part, eta: Floats, blocks: Blocks, edges: tuple[Scores, Scores, Scores], z: Floats, *, own: bool
) -> dict[str, Measured]:
    """Return the plain and the corrected error of each group, each with its bounds.

    Parameters
    ----------
    part, eta
        Groups, and the prevalence of each.
    blocks
        The bins.
    edges
        What stands for the scores, and what they are at least and at most.
    z
        Of each group, how many standard deviations the bounds are away.
    own
        Whether the prevalence is that of the rows.
    """
    middle, low, high = edges
    groups, (true, false) = len(eta), part.shares(eta)
    gap = blocks.reduce(np.add, true * middle.q - false * middle.p)
    plain = blocks.sum(np.abs(gap), groups)
    why = np.full(groups, "")
    deviation = np.sqrt(_variances(part, eta, blocks, middle, own=own))
    corrected = np.maximum(blocks.sum(2 * np.abs(gap) - _folded(gap, deviation), groups), 0)
    # The mean distance is a mean of signed ones.
    side = _each_step(part, blocks, np.sign(gap))
    total = np.sqrt(part.variance(eta, side * middle.q, -side * middle.p, own=own)[0])
    chance = math.sqrt(2 / math.pi) * blocks.sum(deviation, groups)
    place = part.curves.sum((true + false) * np.maximum(high.p - middle.p, middle.p - low.p))
    lower = np.maximum(plain - chance - z * total - place, 0)
    upper = np.minimum(corrected + z * total + place, 1)
    return {
        "ece": (plain, lower, np.maximum(upper, plain), why),
        "ece_corrected": (corrected, lower, upper, why),
    }


def _variances(part: Part, eta: Floats, blocks: Blocks, scores: Scores, *, own: bool) -> Floats:
    """Return the variance of the distance of each bin."""
    found = np.zeros(len(blocks.start))
    for share, values, rows in zip((eta, 1 - eta), (scores.q, scores.p), part.spread, strict=True):
        squares = blocks.reduce(np.add, rows.squares * values**2)
        if not own:
            # Rows of other bins have the value 0.
            mean, inside = (blocks.reduce(np.add, each * values) for each in (rows.share, rows.squares))
            squares += mean * (mean * part.curves.sum(rows.squares)[blocks.group] - 2 * inside)
        found += share[blocks.group] ** 2 * np.maximum(squares, 0)
    return found


def _folded(mean: Floats, deviation: Floats) -> Floats:
    """Return the mean of the absolute value of normal variables."""
    from scipy.special import ndtr  # noqa: PLC0415  (SciPy is slow to import, and seldom needed)

    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.abs(mean) / deviation
        found = deviation * math.sqrt(2 / math.pi) * np.exp(-(z**2) / 2) + np.abs(mean) * (1 - 2 * ndtr(-z))
    return np.where(deviation == 0, np.abs(mean), found)


def _each_step(part: Part, blocks: Blocks, of_blocks: Floats) -> Floats:
    """Return the number of each step's bin; 0 where a step is in none."""
    found, size = np.zeros(len(part.curves.tpr1)), blocks.stop - blocks.start
    found[rows_of_runs(blocks.start, size)] = np.repeat(of_blocks, size)
    return found
