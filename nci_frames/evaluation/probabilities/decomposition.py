"""Counts -> miscalibration, discrimination and uncertainty of scores, at any prevalence."""

from collections.abc import Iterator
from typing import Literal

import numpy as np
import polars as pl

from nci_frames.base.typing import Field, Floats, Frame, Prevalences
from nci_frames.evaluation.areas.proper_scores import LOSSES, class_losses, mixed, shares
from nci_frames.evaluation.arrays.score_bins import Scores
from nci_frames.evaluation.probabilities.adjust import Logged
from nci_frames.evaluation.probabilities.blocks import Blocks, hull_blocks, isotonic_blocks
from nci_frames.evaluation.probabilities.parts import Part, of_parts
from nci_frames.schemas import SCORE_PARTS, checked


@checked
def decompose_scores(
    counts: Frame,
    /,
    *,
    prevalence: Prevalences | Field,
    metric: Literal["brier", "log_loss"] = "brier",
    adjusted: bool = False,
    logged_prevalence: Logged = "observed",
) -> pl.DataFrame:
    """Return the parts of the Brier score or log loss: miscalibration, discrimination and uncertainty.

    Parameters
    ----------
    counts, prevalence, adjusted, logged_prevalence
        As in ``proper_scores``.
    metric
        "brier" or "log_loss".

    Returns
    -------
    A row per group and prevalence, sorted by model, keys and prevalence:

    %(columns of score parts)s

    Rows between two thresholds of a grid are taken as tied at the middle, which gives the lowest possible
    discrimination. The parts for the original rows lie within the bounds; these equal the part where every
    score is known. If the value is infinite, so is the miscalibration.

    Raises
    ------
    ParameterError
        If scores lie outside [0, 1], a prevalence is out of range, or a segment has none or several.
    SchemaError
        If *counts* is not a counts frame.

    Notes
    -----
    Value = miscalibration - discrimination + uncertainty (CORP). Uncertainty is the loss if every score is
    the prevalence. Miscalibration is the reduction of the loss by isotonic regression of the labels on the
    scores; discrimination is the reduction from the constant prevalence to the regression. The blocks of the
    regression are the segments of the ROC convex hull, so they are the same at every prevalence; a block with
    the share B1 of the positives and B0 of the negatives has the value eta·B1/(eta·B1 + (1-eta)·B0). Only
    miscalibration differs between scores as logged and *adjusted*.

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), Stable reliability diagrams for probabilistic classifiers,
    doi:10.1073/pnas.2016191118; Fawcett and Niculescu-Mizil (2007), PAV and the ROC convex hull,
    doi:10.1007/s10994-007-5011-0.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> parts = nf.decompose_scores(nf.count_confusion(log), prevalence=0.5)
    >>> parts.select(pl.col("value", "miscalibration", "discrimination", "uncertainty").round(4)).row(0)
    (0.1581, 0.0331, 0.125, 0.25)
    """
    loss = LOSSES[metric]

    def make(part: Part) -> Iterator[pl.DataFrame]:
        blocks, groups = isotonic_blocks(part.curves, part.bins), len(part.logged)
        best = blocks if part.bins.exact else hull_blocks(part.curves, best=True)

        def isotonic_loss(blocks: Blocks, eta: Floats) -> Floats:
            share, calibrated = blocks.at(eta)
            return blocks.sum(shares(share, np.nan_to_num(loss.uncertainty(calibrated))), groups)

        for eta in part.etas:
            moved = (eta, part.logged) if adjusted else ()
            value, lower, upper = mixed(*class_losses(part.curves, part.bins, loss, moved=moved), eta)
            least, lowest = isotonic_loss(blocks, eta), isotonic_loss(best, eta)
            uncertainty = np.where(np.isnan(value), np.nan, loss.uncertainty(Scores.of(eta)))
            parts = {
                "value": value,
                "miscalibration": value - least,
                "discrimination": uncertainty - least,
                "uncertainty": uncertainty,
                "value_lower": lower,
                "value_upper": upper,
                "miscalibration_lower": lower - least,
                "miscalibration_upper": upper - lowest,
                "discrimination_lower": uncertainty - least,
                "discrimination_upper": uncertainty - lowest,
            }
            # Only rounding can put a part below 0.
            above = {name: np.maximum(values, 0) for name, values in parts.items()}
            yield part.labelled(np.arange(groups), eta, **above)

    table = of_parts(counts, prevalence, logged_prevalence, make, by=["prevalence"])
    return SCORE_PARTS.finish(table.with_columns(metric=pl.lit(metric)))
