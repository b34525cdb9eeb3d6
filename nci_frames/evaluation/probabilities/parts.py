"""Counts -> a table of measures of probabilities, some groups at a time."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from nci_frames.base.typing import Field, FloatPair, Floats, Frame, Prevalences, Rows
from nci_frames.counts.strata import weighted_sums
from nci_frames.evaluation.arrays.roc_steps import Curves, of_all_parts
from nci_frames.evaluation.arrays.score_bins import Edges, ScoreBins
from nci_frames.evaluation.field.prevalences import group_prevalences
from nci_frames.evaluation.probabilities.adjust import Logged, check_logged
from nci_frames.schemas import COUNTS, WEIGHT, beside, collect, has_strata


class Spread(NamedTuple):
    """The rows of one class by step or block, as shares of the class, with their squared weights."""

    share: Floats
    #: Sum of squared weights: the variance of the share if rows are drawn independently.
    squares: Floats
    #: Largest weight of each group.
    heaviest: Floats

    @property
    def weight(self) -> Floats:
        """Mean weight of a row, weighted by weight."""
        return np.divide(self.squares, self.share, out=np.zeros_like(self.share), where=self.share > 0)


def of_rows(curves: Curves, bins: ScoreBins, *, known: bool) -> Sequence[Spread]:
    """Return the spread of unweighted rows; NaN if counts are sums of weights (not *known*)."""
    one = 1.0 if known else np.nan
    return [
        Spread(share, one * share / curves.each_step(rows), one / rows)
        for share, rows in ((bins.positives, curves.positives), (bins.negatives, curves.negatives))
    ]


class Weighing(NamedTuple):
    """The squared weights of the rows of counts with the key ``weight``."""

    #: Sums of squared weights, as counts; weights are in units of the largest.
    squares: pl.DataFrame
    unit: float
    #: Largest weight of a positive and of a negative of each group, in these units.
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

    def spread(self, curves: Curves, bins: ScoreBins, squares: Curves) -> Sequence[Spread]:
        """Return the spread of the rows of some groups; *squares* are the curves of the squared weights."""
        heaviest = beside(curves.groups, self.heaviest, curves.groups.columns)
        found = []
        for share, of_squares, sums, total, name in (
            (bins.positives, squares.tpr1 - squares.tpr0, squares.positives, curves.positives, "__tp"),
            (bins.negatives, squares.fpr1 - squares.fpr0, squares.negatives, curves.negatives, "__fp"),
        ):
            weight = total / self.unit
            squared = of_squares * curves.each_step(sums / weight**2)
            found.append(Spread(share, squared, heaviest[name].to_numpy() / weight))
        return found


class Part(NamedTuple):
    """Some groups of counts, with the requested prevalences."""

    curves: Curves
    bins: ScoreBins
    #: Prevalences; each is an array with one number per group.
    etas: list[Floats]
    #: Prevalence at which the scores of each group are calibrated.
    logged: Floats
    #: Spread of the positives and of the negatives.
    spread: Sequence[Spread]
    #: Whether counts are sums of weights, so that the weights of single rows are unknown.
    sums: bool

    def each_step(self, of_groups: Floats) -> Floats:
        """Return the value of each step's group."""
        return self.curves.each_step(of_groups)

    def edges(self, eta: Floats, *, adjusted: bool) -> Edges:
        """Return the representative, least and greatest score of each step; moved to *eta* if *adjusted*."""
        if not adjusted:
            return self.bins.edges
        return self.bins.moved(self.each_step(eta), self.each_step(self.logged))

    def shares(self, eta: Floats, rows: slice = slice(None)) -> FloatPair:
        """Return the positives and the negatives of some steps at a prevalence, as shares of all rows."""
        of_step = self.each_step(eta)[rows]
        return of_step * self.bins.positives[rows], (1 - of_step) * self.bins.negatives[rows]

    def variance(self, eta: Floats, of_positive: Floats, of_negative: Floats, *, own: bool) -> FloatPair:
        """Return the variance of eta·(mean over positives) + (1-eta)·(mean over negatives) of each group.

        Also return its degrees of freedom (Satterthwaite), which are low if few rows make most of it.

        Parameters
        ----------
        eta
            Prevalence of each group.
        of_positive, of_negative
            Value of the positives and of the negatives of each step.
        own
            Whether the prevalence is that of the rows and varies with them; the overall mean is then 0.
        """
        total, squares = np.zeros(len(eta)), np.zeros(len(eta))
        for share, values, rows in zip((eta, 1 - eta), (of_positive, of_negative), self.spread, strict=True):
            mean = 0.0 if own else self.each_step(self.curves.sum(rows.share * values))
            moved = self.each_step(share**2) * (values - mean) ** 2
            total += self.curves.sum(rows.squares * moved)
            squares += self.curves.sum(rows.squares * (rows.weight * moved) ** 2)
        return total, np.maximum(total**2 / squares, 1.0)

    def labelled(self, places: Rows, eta: Floats, **columns: Floats) -> pl.DataFrame:
        """Return a table with keys, prevalence and columns, with a row for each group index in *places*."""
        numbers = pl.DataFrame({"prevalence": eta[places], **columns}, nan_to_null=True)
        return self.curves.groups[places].hstack(numbers)


def of_parts(
    counts: Frame,
    prevalence: Prevalences | Field,
    logged: Logged,
    make: Callable[[Part], Iterable[pl.DataFrame]],
    *,
    by: Sequence[str],
) -> pl.DataFrame:
    """Return the tables that *make* yields for parts of the groups as one, sorted by model, keys and *by*.

    Raises
    ------
    ParameterError
        If *logged* is out of range, or as in ``proper_scores``.
    """
    check_logged(logged)
    given = collect(counts, COUNTS, strata=True)
    frame = weighted_sums(given)
    keys = ["model", *COUNTS.keys(frame.columns)]
    etas_of = group_prevalences(prevalence, frame, keys[1:])
    weighing = Weighing.of(given, keys) if has_strata(given) else None
    sums = weighing is None and not frame.schema["tp"].is_integer()

    def of_curves(curves: Curves, *squares: Curves) -> pl.DataFrame:
        observed = curves.observed_prevalence
        etas = [np.broadcast_to(eta, observed.shape) for eta in etas_of(curves.groups, observed)]
        holds = observed if isinstance(logged, str) else np.full(len(observed), float(logged))
        bins = ScoreBins.of(curves)
        spread = of_rows(curves, bins, known=not sums)
        if weighing is not None and squares:
            spread = weighing.spread(curves, bins, squares[0])
        return pl.concat(make(Part(curves, bins, etas, holds, spread, sums)))

    frames = [frame] if weighing is None else [frame, weighing.squares]
    tables = of_all_parts(of_curves, frames, keys, of_scores=True)
    return pl.concat(tables).sort(*keys, *by, maintain_order=True)
