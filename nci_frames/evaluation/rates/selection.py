"""Select one operating point per group, in all groups at once."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from nci_frames.base.typing import Flags, FloatPair, Floats, Rows
from nci_frames.counts.resolution import in_precision_of, runs_with_every_score
from nci_frames.evaluation.rates.criteria import Wish
from nci_frames.evaluation.rates.hull import between_others
from nci_frames.evaluation.rates.rates import BOUNDS
from nci_frames.evaluation.rates.strata import WORTH
from nci_frames.schemas import RATES, group_starts, is_sorted

#: A prevalence, or the column that has it; None if the criterion does not use it.
Eta = float | str | None

#: Rows at which an expression is evaluated together: few calls for many prevalences of few rows.
_ROWS_AT_ONCE = 1 << 20


class Runs(NamedTuple):
    """Rates by model, keys and threshold: the rows of a group are consecutive."""

    frame: pl.DataFrame
    keys: list[str]
    start: Rows  # first row of each group
    size: Rows
    #: The requested threshold of each group, if any; and the same in the precision of its scores.
    asked: FloatPair | None = None

    @classmethod
    def of(cls, rates: pl.DataFrame, wish: Wish) -> "Runs":
        """Sort rates, and add to exact groups the threshold above every score, where no decision is positive.

        Only the first row of each group and the rows that may be selected are kept.
        """
        keys = ["model", *RATES.keys(rates.columns)]
        start = group_starts(rates, keys)
        order = rates[start].select(keys)
        if not (is_sorted(rates, keys, start) and order.equals(order.sort(keys))):
            rates = _by_threshold(rates, keys)
            start = group_starts(rates, keys)
        every = runs_with_every_score(rates, start)
        asked = None
        if wish.take == "at":
            wanted = wish.thresholds(rates["model"][start])
            at = np.where(every, in_precision_of(rates["threshold"].to_numpy(), wanted), wanted)
            asked, (rates, start) = (wanted, at), _near(rates, start, at)
        elif wish.extreme_fpr:
            rates, start = _without_between(rates, start)
        frame = rates.with_columns(__exact=pl.Series(np.repeat(every, np.diff(start, append=len(rates)))))
        if every.any():
            never = frame[start[every]].with_columns(**_never_positive(frame.columns))
            ends = np.append(start[1:], len(frame))[every]
            # An infinite score is the row before this one.
            places = np.insert(np.arange(len(frame)), ends, len(frame) + np.arange(len(ends)))
            # Of counts that were read from elsewhere, some columns may be Float64 and others Int64.
            frame = pl.concat([frame, never], how="vertical_relaxed")[places]
            start = start + np.cumsum(every) - every
        return cls(frame, keys, start, np.diff(start, append=len(frame)), asked)

    def values(self, expression: pl.Expr, eta: Eta, beta: float) -> Floats:
        """Return the value of an expression for each row; null becomes NaN."""
        at = pl.col(eta) if isinstance(eta, str) else pl.lit(eta, pl.Float64)
        axes = {"beta": pl.lit(beta)} | ({} if eta is None else {"prevalence": at})
        value = expression.cast(pl.Float64).fill_null(np.nan).alias("value")
        return self.frame.lazy().with_columns(**axes).select(value).collect()["value"].to_numpy()

    def values_at(self, expression: pl.Expr, etas: Sequence[Eta], beta: float) -> Iterator[Floats]:
        """Yield the values of an expression at each prevalence."""
        rows = len(self.frame)
        together = max(_ROWS_AT_ONCE // rows, 1)
        for begin in range(0, len(etas), together):
            some = etas[begin : begin + together]
            if len(some) == 1:
                yield self.values(expression, some[0], beta)
                continue
            each = pl.Series("__eta", np.repeat(np.asarray(some, np.float64), rows))
            every = self._replace(frame=pl.concat([self.frame] * len(some)).with_columns(each))
            yield from every.values(expression, "__eta", beta).reshape(-1, rows)

    def last(self, holds: Flags) -> Rows:
        """Return the last row of each group that meets a condition; -1 if there is none."""
        return self._one_each(np.flatnonzero(holds))

    def first(self, holds: Flags) -> Rows:
        """Return the first row of each group that meets a condition; -1 if there is none."""
        return self._one_each(np.flatnonzero(holds)[::-1])

    def _one_each(self, rows: Rows) -> Rows:
        found = np.full(len(self.start), -1)
        # If a group has several such rows, the last one written stays.
        found[np.searchsorted(self.start, rows, side="right") - 1] = rows
        return found

    def laid_out(self, rows: Rows, reason: pl.Expr) -> pl.DataFrame:
        """Return the given row of each group, once or several times; nulls and a reason where it is -1."""
        found = pl.Series(rows >= 0)
        lacking = [c for c in self.frame.columns if c not in (*self.keys, "__exact")]
        return self.frame[np.where(rows >= 0, rows, np.resize(self.start, len(rows)))].with_columns(
            pl.when(found).then(pl.col(lacking)), reason=pl.when(~found).then(reason)
        )


def picked_points(runs: Runs, wish: Wish, etas: Sequence[Eta]) -> pl.DataFrame:
    """Return the counted point of each group that meets the criterion best, prevalence by prevalence."""
    if runs.asked is not None:
        return _at_threshold(runs, *runs.asked)
    tpr = runs.values(pl.col("tpr"), None, wish.beta)
    every = runs.values_at(wish.margin + wish.slack, etas, wish.beta)
    rows = [_picked(runs, wish, tpr, value) for value in every]
    return runs.laid_out(np.concatenate(rows), wish.unattained)


def _picked(runs: Runs, wish: Wish, tpr: Floats, value: Floats) -> Rows:
    """Return the row of each group that meets the criterion best; -1 if there is none."""
    if wish.take == "best":
        # NaN is never the best value, since it reaches nothing.
        best = np.fmax.reduceat(value, runs.start)
        return runs.last(value >= np.repeat(best - wish.rounding(best), runs.size))
    holds = value >= 0
    if wish.name == "precision":  # no predicted positives, no precision
        holds &= runs.values(pl.col("tpr") + pl.col("fpr"), None, wish.beta) > 0
    if wish.take == "highest":
        return runs.last(holds)
    lowest = runs.first(holds)
    # Lower thresholds with the same TPR only add false positives: take the highest.
    return runs.last(holds & (tpr == np.repeat(np.where(lowest >= 0, tpr[lowest], np.nan), runs.size)))


def _at_threshold(runs: Runs, asked: Floats, wanted: Floats) -> pl.DataFrame:
    target = np.repeat(wanted, runs.size)
    at = runs.frame["threshold"].to_numpy()
    # In an exact group, a threshold between two neighbouring scores gives the decisions of the upper score.
    holds = np.where(runs.frame["__exact"].to_numpy(), at >= target, at == target)
    why = pl.Series([f"{one:g} is not one of the counted thresholds" for one in asked], dtype=pl.String)
    return runs.laid_out(runs.first(holds), pl.lit(why)).with_columns(threshold=pl.Series(asked))


def interpolated_points(runs: Runs, wish: Wish, eta: Eta) -> pl.DataFrame:
    """Return the point of each group's ROC polyline, from (0, 0) to (1, 1), that meets the target exactly."""
    frame = runs.frame
    ends = pl.concat(
        frame[runs.start].with_columns(pl.col("tpr", "fpr") * 0 + rate, threshold=pl.lit(threshold))
        for threshold, rate in ((-np.inf, 1.0), (np.inf, 0.0))
    )
    whole = _by_threshold(pl.concat([frame, ends]), runs.keys)
    size = runs.size + 2
    line = Runs(whole, runs.keys, np.cumsum(size) - size, size)
    margin = line.values(wish.margin, eta, wish.beta)
    # The target lies between the last point that meets the criterion and its neighbour that does not.
    last = line.start + size - 1
    if wish.take == "highest":
        inside = line.last(margin >= 0)
        outside = np.minimum(inside + 1, last)
    else:
        serves = margin >= 0
        serves[last] = wish.name != "precision"  # at (0, 0) precision is 0/0
        serves &= ~np.isnan(line.values(pl.col("tpr") + pl.col("fpr"), None, wish.beta))
        inside = line.first(serves)
        outside = np.maximum(inside - 1, line.start)
    at_inside, at_outside = margin[inside], margin[outside]
    share = np.where(at_inside > at_outside, at_inside / (at_inside - at_outside), 0.0)
    found = line.laid_out(inside, wish.unattained)
    rates = {}
    for rate in ("tpr", "fpr"):
        values = line.values(pl.col(rate), None, wish.beta)
        between = values[inside] + share * (values[outside] - values[inside])
        rates[rate] = pl.Series(np.where(inside >= 0, between, np.nan), nan_to_null=True)
    classes = ("positives", "negatives", "observed_prevalence", *WORTH)
    kept = (*runs.keys, "__exact", *classes, "resolution", "reason")
    lost = [column for column in found.columns if column not in kept]
    nothing = (pl.lit(None, found.schema[column]).alias(column) for column in lost)
    return found.with_columns(nothing).with_columns(**rates)


def _near(rates: pl.DataFrame, start: Rows, at: Floats) -> tuple[pl.DataFrame, Rows]:
    """Return the first row of each group, and the row with the lowest threshold >= *at*."""
    of_each = np.repeat(at, np.diff(start, append=len(rates)))
    reaching = np.append(np.flatnonzero(rates["threshold"].to_numpy() >= of_each), len(rates))
    lowest = reaching[np.searchsorted(reaching, start)]
    more = (lowest > start) & (lowest < np.append(start[1:], len(rates)))
    rows = np.insert(start, np.flatnonzero(more) + 1, lowest[more])
    return rates[rows], np.arange(len(start)) + np.cumsum(more) - more


def _without_between(rates: pl.DataFrame, start: Rows) -> tuple[pl.DataFrame, Rows]:
    """Drop points between others of the same TPR, unless a metric may be undefined at the next one."""
    fpr = rates["fpr"].to_numpy()
    kept = ~between_others(rates, start)
    kept[:-1] |= (fpr[:-1] > 0) & ~(fpr[1:] > 0)
    return rates.filter(pl.Series(kept)), (np.cumsum(kept) - 1)[start]


def _by_threshold(frame: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Sort by threshold; then, if an infinite score equals "above every score", by falling rates."""
    by = [*keys, "threshold", "tpr", "fpr"]
    return frame.sort(by, descending=[name in ("tpr", "fpr") for name in by], maintain_order=True)


def _never_positive(columns: list[str]) -> dict[str, pl.Expr]:
    """Return expressions that turn a row of rates into the row of a threshold above every score."""
    none = {name: pl.col(name) * 0 for name in ("tp", "fp", "tpr", "fpr")}
    every = {"threshold": pl.lit(np.inf), "fn": pl.col("positives"), "tn": pl.col("negatives")}
    return none | every | {name: pl.lit(None, pl.Float64) for name in BOUNDS if name in columns}
