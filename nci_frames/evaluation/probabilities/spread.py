"""Counts -> what single rows weigh: how much the shares of classes vary from log to log."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from nci_frames.base.typing import Floats
from nci_frames.counts.strata import weighted_sums
from nci_frames.evaluation.arrays.roc_steps import Curves
from nci_frames.evaluation.arrays.score_bins import ScoreBins
from nci_frames.schemas.columns import WEIGHT


@dataclass(frozen=True, slots=True)
class Spread:
    """The rows of one class by step or block, and the weights of single rows: as shares of the class."""

    share: Floats
    #: The sum of the squares of the weights: the variance of the share, if rows are drawn by themselves.
    squares: Floats
    #: Of each group the largest weight.
    heaviest: Floats

    @property
    def weight(self) -> Floats:
        """The weight of a row, of those of several weights that of a heavy one."""
        return np.divide(self.squares, self.share, out=np.zeros_like(self.share), where=self.share > 0)


def of_rows(curves: Curves, bins: ScoreBins, *, known: bool) -> tuple[Spread, Spread]:
    """Return the weights of rows that all weigh the same; NaN if they are not *known*."""
    with np.errstate(divide="ignore"):
        one = 1.0 if known else np.nan
        positives, negatives = (
            Spread(share, one * share / curves.each_step(rows), one / rows)
            for share, rows in ((bins.positives, curves.positives), (bins.negatives, curves.negatives))
        )
    return positives, negatives


@dataclass(frozen=True, slots=True)
class Weighing:
    """The squares of the weights of the rows of counts with the key ``weight``."""

    #: The sums of the squares, as counts; weights are in units of the largest.
    squares: pl.DataFrame
    unit: float
    #: The largest weight of a positive and of a negative of each group, in these units.
    heaviest: pl.DataFrame

    @classmethod
    def of(cls, counts: pl.DataFrame, keys: list[str]) -> "Weighing":
        """Square the weights of checked counts."""
        unit = float(counts[WEIGHT].max() or 1.0)  # type: ignore[arg-type]
        scaled = counts.with_columns(pl.col(WEIGHT) / unit)
        heaviest = scaled.group_by(keys).agg(
            pl.col(WEIGHT).filter(pl.col(hit) + pl.col(miss) > 0).max().fill_null(0.0).alias(f"__{hit}")
            for hit, miss in (("tp", "fn"), ("fp", "tn"))
        )
        return cls(weighted_sums(scaled.with_columns(pl.col(WEIGHT) ** 2)), unit, heaviest)

    def spread(self, curves: Curves, bins: ScoreBins, squares: Curves) -> tuple[Spread, Spread]:
        """Return the weights of the rows of some groups, of which *squares* are the curves of the squares."""
        keys = curves.groups.columns
        heaviest = curves.groups.join(
            self.heaviest, on=keys, how="left", nulls_equal=True, maintain_order="left"
        )
        found = []
        for share, of_squares, sums, total, name in (
            (bins.positives, squares.tpr1 - squares.tpr0, squares.positives, curves.positives, "__tp"),
            (bins.negatives, squares.fpr1 - squares.fpr0, squares.negatives, curves.negatives, "__fp"),
        ):
            weight = total / self.unit
            with np.errstate(divide="ignore", invalid="ignore"):
                squared = of_squares * curves.each_step(sums / weight**2)
                found.append(Spread(share, squared, heaviest[name].to_numpy() / weight))
        return found[0], found[1]
