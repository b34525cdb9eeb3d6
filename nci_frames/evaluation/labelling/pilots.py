"""Counts of a labelled log -> the distributions of its positives and negatives over cells of traffic."""

from typing import NamedTuple, Self

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import listed
from nci_frames.base.typing import Floats, Places
from nci_frames.counts.pooling import pooled_counts
from nci_frames.evaluation.rates.hull import roc_convex_hull
from nci_frames.evaluation.rates.rates import compute_rates
from nci_frames.schemas import COUNTS, PAIRS, collect


class Pilot(NamedTuple):
    """The shares of positives and negatives in cells of traffic."""

    #: Lower ends of ranges of scores, ascending from -inf; the ratio of the shares rises with them.
    begins: Floats
    positives: Floats
    negatives: Floats
    #: Number of its positives and of its negatives.
    sizes: Floats

    @classmethod
    def of_scores(cls, counts: pl.DataFrame, model: object) -> Self:
        """Return the distributions of the scores of a model: the segments of its ROC hull.

        Raises
        ------
        ParameterError
            If the counts lack the model, or it lacks a class.
        SchemaError
            If *counts* is not a counts frame.
        """
        frame = collect(counts, COUNTS, strata=True)
        mine = frame.filter(pl.col("model").eq_missing(pl.lit(model)))
        if mine.is_empty():
            known = listed(map(repr, frame["model"].unique().sort().to_list()), 20)
            raise ParameterError(f"the pilot has no model {model!r}", found=f"models {known}")
        # Rates of a weighted sample are those of the sums of weights.
        keys = [*COUNTS.keys(mine.columns), *({"weight"} & set(mine.columns))]
        rates = compute_rates(pooled_counts(mine, over=keys) if keys else mine)
        hull = roc_convex_hull(rates)
        if hull.is_empty():
            msg = "the pilot must have positives and negatives"
            raise ParameterError(msg, found=str(rates.select("positives", "negatives").row(0, named=True)))
        tpr, fpr = (np.concatenate([[1.0], hull[name].to_numpy(), [0.0]]) for name in ("tpr", "fpr"))
        begins = np.append(-np.inf, hull["threshold"].to_numpy())
        sizes = rates.select("positives", "negatives").head(1).to_numpy()[0]
        return cls(begins, -np.diff(tpr), -np.diff(fpr), sizes)

    @classmethod
    def of_pairs(cls, pairs: pl.DataFrame, models: tuple[str, str]) -> Self:
        """Return the distributions of the decisions of two models: both, the first, the second, none flag.

        Raises
        ------
        ParameterError
            If the pairs lack the two models, or a class.
        SchemaError
            If *pairs* is not a pairs frame.
        """
        frame = collect(pairs, PAIRS)
        laws = np.zeros((2, 4))
        for order, cells in ((models, "both a b none"), (models[::-1], "both b a none")):
            mine = frame.filter(model_a=order[0], model_b=order[1])
            names = [f"{kind}_{cell}" for kind in ("tp", "fp") for cell in cells.split()]
            laws += mine.select(names).sum().to_numpy().reshape(2, 4)
        if not laws.any(axis=1).all():
            msg = "the pilot must have positives and negatives that both models scored"
            known = frame.select("model_a", "model_b").unique().sort("model_a", "model_b").rows()
            raise ParameterError(msg, found=f"pairs {listed(map(repr, known), 20)}")
        sizes = laws.sum(axis=1)
        positives, negatives = laws / sizes[:, None]
        return cls(np.empty(0), positives, negatives, sizes)

    def cells_of(self, borders: Floats) -> Places:
        """Return the index of the range of the pilot in which each range between *borders* begins."""
        return np.searchsorted(self.begins, borders[:-1], side="right") - 1
