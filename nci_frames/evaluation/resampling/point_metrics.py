"""Counts of many resampled logs -> metrics at fixed thresholds, or at the best threshold of each log."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from nci_frames.base.typing import Floats, Rows
from nci_frames.evaluation.arrays.histograms import Histogram
from nci_frames.evaluation.metrics import CalledMetric, called_metric
from nci_frames.evaluation.projection.grids import MetricGrid, metric_grids, require_columns
from nci_frames.evaluation.projection.projection import points_on_grids
from nci_frames.evaluation.rates.criteria import ROUNDING
from nci_frames.evaluation.rates.quotients import rates_of

#: Rows, or sums of weights.
RowSums = Rows | Floats
#: Of each log: true and false positives at some thresholds; all positives and all negatives, one column each.
Cells = tuple[RowSums, RowSums, RowSums, RowSums]

#: Columns that identify the values of a group.
CASES = dict.fromkeys(("threshold", "metric", "method", "prevalence", "beta"), pl.Float64) | {
    "metric": pl.String, "method": pl.String,
}  # fmt: skip
_CELLS_AT_A_TIME, _F_BETAS_AT_A_TIME = 1 << 21, 1 << 20


def unseen_shares(rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
    """Draw the part of an unseen row in each log: 0 with probability 1/2, else exponential with mean 1.

    Always exponential, the bounds would be Clopper and Pearson's; always 0, those of the rows found. With one
    half of each they are mid-P bounds. 97.5 % of the logs have up to three rows of a kind that was not found.

    References
    ----------
    Fay and Feuer (1997), doi:10.1002/(SICI)1097-0258(19970415)16:7<791::AID-SIM500>3.0.CO;2-#, for the
    heaviest weight; Lancaster (1961), doi:10.1080/01621459.1961.10482105, for mid-P.
    """
    return rng.exponential(size=size) * (rng.random(size) < 1 / 2)


def with_unseen_rows(cells: Cells, above: Floats, below: Floats, rng: np.random.Generator) -> Cells:
    """Add rows that strata lack, perhaps by chance: a random part of the heaviest row to each of four counts.

    *above* and *below* are the weights of the heaviest row that may lie above or below each threshold.
    """
    tp, fp, positives, negatives = cells
    heaviest = np.stack([above, above, below, below])
    hits, false, misses, right = unseen_shares(rng, (4, len(tp), 1)) * heaviest[:, None]
    return tp + hits, fp + false, positives + hits + misses, negatives + false + right


class PointMetrics(NamedTuple):
    """The metrics of a group to compute for each resampled log."""

    thresholds: list[float]
    #: Number of bins decided positive at each threshold.
    reached: Rows
    grids: list[MetricGrid]
    #: The prevalence of the group; None for that of each log.
    prevalence: float | None
    #: For the best of all thresholds only: 1 if higher is better, -1 if lower is. Else 0.
    own: int
    #: Prevalences and betas, if F-beta is the only metric, at the best threshold, and none is a limit case.
    f_betas: tuple[list[float], list[float]] | None
    #: The cases, and their values in the log itself.
    cases: pl.DataFrame
    value: Floats
    #: Weights of the heaviest rows that may lie above and below each threshold, if strata may lack rows.
    unseen: tuple[Floats, Floats, np.random.Generator] | None = None

    @classmethod
    def of(
        cls,
        histogram: Histogram,
        thresholds: Floats,
        metrics: Sequence[str | pl.Expr],
        grid: list[float] | None,
        prevalence: float,
        betas: list[float],
        own: int,
        *,
        never: bool,
    ) -> "PointMetrics":
        """Prepare metrics at thresholds of a log, or at the best of them if *own* is not 0.

        With *never* no positive decision at all is one more of these.
        """
        points, reached = thresholds.tolist(), histogram.reached(thresholds)
        if never:
            points, reached = [*points, np.inf], np.append(reached, 0)
        itself = reaching(histogram.positives[None], histogram.negatives[None], reached)
        rates = _rates(points, itself, prevalence)
        grids = metric_grids(rates, metrics, "observed" if grid is None else grid, betas, band=False)
        cases = points_on_grids(rates, ["threshold"], grids, band=False, flagged=False)
        value = cases["value"].to_numpy()[None]
        if own:
            value = _best_of(value, len(points), own)
            cases = cases.head(value.shape[1]).with_columns(threshold=pl.lit(None, pl.Float64))
        cases = cases.with_columns(method=pl.lit(None, pl.String)).select(*CASES)
        etas = [prevalence] if grid is None else grid
        # A Polars expression must not be compared with a string.
        one = metrics[0] if len(metrics) == 1 else None
        quick = own and isinstance(one, str) and one == "f_beta" and has_no_limits(etas, betas)
        return cls(points, reached, grids, prevalence, own, (etas, betas) if quick else None, cases, value[0])

    def values(self, positives: RowSums, negatives: RowSums) -> Floats:
        """Return the values of the cases in each log, of shape (logs, cases)."""
        cells = reaching(positives, negatives, self.reached)
        if self.unseen is not None:
            cells = with_unseen_rows(cells, *self.unseen)
        if self.f_betas is not None:
            return best_f_beta(cells, *self.f_betas)
        size = len(self.thresholds) * sum(grid.size for grid in self.grids)
        values = []
        for part in np.array_split(np.arange(len(positives)), -(-len(positives) * size // _CELLS_AT_A_TIME)):
            rates = _rates(self.thresholds, [rows[part] for rows in cells], self.prevalence)
            table = points_on_grids(rates, ["threshold"], self.grids, band=False, flagged=False)
            # The rows are ordered by log, so the values are already in matrix order.
            found = table["value"].to_numpy().reshape(len(part), -1)
            values.append(_best_of(found, len(self.thresholds), self.own) if self.own else found)
        return np.concatenate(values)


def reaching(positives: RowSums, negatives: RowSums, reached: Rows) -> Cells:
    """Return tp and fp of each log, with *reached* bins positive, and its positives and negatives."""
    true, false = (np.insert(rows.cumsum(axis=1), 0, 0, axis=1) for rows in (positives, negatives))
    return true[:, reached], false[:, reached], true[:, -1:], false[:, -1:]


def _rates(thresholds: list[float], cells: Sequence[RowSums], prevalence: float | None) -> pl.DataFrame:
    """Return the rates of many logs at the same thresholds, one log after another."""
    tp, fp, positives, negatives = cells
    counts = {"tp": tp, "fp": fp, "fn": positives - tp, "tn": negatives - fp}
    columns = {name: rows.ravel() for name, rows in counts.items()}
    rates = rates_of(pl.DataFrame({"threshold": np.tile(thresholds, len(tp)), **columns}))
    if prevalence is None:
        return rates
    return rates.with_columns(observed_prevalence=pl.lit(prevalence).fill_nan(None))


def _best_of(values: Floats, thresholds: int, sign: int) -> Floats:
    """Return the best value of each case over all thresholds of a log; NaN if all are undefined."""
    signed = sign * values.reshape(len(values), thresholds, -1)
    best = np.where(np.isnan(signed), -np.inf, signed).max(axis=1)
    return np.where(np.isneginf(best), np.nan, sign * best)


def has_no_limits(prevalence: Sequence[float], beta: Sequence[float]) -> bool:
    """Return whether no F-beta is a limit case: the formula of its definition holds everywhere.

    Nor may the square of beta over- or underflow.
    """
    return all(0 < eta <= 1 and 0 < weight * weight * eta < np.inf for eta in prevalence for weight in beta)


def best_f_beta(cells: Cells, prevalence: Sequence[float], beta: Sequence[float]) -> Floats:
    """Return the highest F-beta of each log at each prevalence and beta.

    Parameters
    ----------
    cells
        As ``reaching`` returns them.
    prevalence, beta
        As in ``has_no_limits``.

    Returns
    -------
    Array of shape (logs, prevalences x betas), the betas fastest; NaN where a class is missing.
    """
    true, false, positives, negatives = cells
    values = np.full((len(true), len(prevalence) * len(beta)), np.nan)
    some = max(1, _F_BETAS_AT_A_TIME // max(true.size // max(len(true), 1), 1))
    for start in range(0, len(true), some):
        logs = slice(start, start + some)
        tpr, fpr = true[logs] / positives[logs], false[logs] / negatives[logs]
        for place, (eta, weight) in enumerate((e, b) for e in prevalence for b in beta):
            squared = weight * weight
            found = (1 + squared) * eta * tpr / (squared * eta + eta * tpr + (1 - eta) * fpr)
            # A NaN is at every threshold, so the maximum propagates it correctly.
            values[logs, place] = found.max(axis=1)
    return values


#: Largest share of positive decisions, in multiples of the budget plus rows, at which a resampled log may
#: have its threshold.
_MULTIPLES, _ROWS = 4, 20


def near_budget(histogram: Histogram, share: float | Sequence[float], etas: list[float]) -> Floats:
    """Return the thresholds that resampled logs may choose within the budget, ascending."""
    tp, fp = (rows.cumsum()[:-1] for rows in histogram.classes)
    positives, negatives = (max(size, 1) for size in histogram.sizes)
    each = zip(etas, np.broadcast_to(share, len(etas)), strict=True)
    over = [eta * tp / positives + (1 - eta) * fp / negatives - _MULTIPLES * most for eta, most in each]
    far = np.min(over, axis=0) > _ROWS / min(positives, negatives)
    many = int(np.argmax(far)) if far.any() else len(far)
    return histogram.thresholds[: max(many, 1)][::-1]


class WithinBudget(NamedTuple):
    """A metric of a group, at the lowest threshold within a budget of positive decisions."""

    reached: Rows
    share: Floats
    etas: list[float]
    beta: float
    metric: CalledMetric
    #: The cases, and their values in the log itself.
    cases: pl.DataFrame
    value: Floats

    @classmethod
    def of(
        cls,
        histogram: Histogram,
        thresholds: Floats,
        metric: str | pl.Expr,
        etas: list[float],
        beta: float,
        share: float | Sequence[float],
    ) -> "WithinBudget":
        """Prepare the metric of a log at each prevalence."""
        called = called_metric(metric)
        require_columns(called, {"tpr", "fpr", "prevalence", "beta"}, "resampled logs")
        weight = beta if "beta" in called.meta.root_names() else None
        cases = pl.DataFrame(
            [(None, called.label, None, eta, weight) for eta in etas], schema=CASES, orient="row"
        )
        most, none = np.broadcast_to(np.asarray(share, np.float64), len(etas)), np.zeros(len(etas))
        made = cls(histogram.reached(thresholds), most, etas, beta, called, cases, none)
        return made._replace(value=made.values(histogram.positives[None], histogram.negatives[None])[0])

    def values(self, positives: RowSums, negatives: RowSums) -> Floats:
        """Return the values in each log, of shape (logs, cases); NaN if no threshold is within the budget."""
        tp, fp, of_positives, of_negatives = reaching(positives, negatives, self.reached)
        tpr, fpr = tp / of_positives, fp / of_negatives
        # Highest threshold first, so that the rates rise, and with them the share of positive decisions.
        tpr, fpr, etas = tpr[:, ::-1], fpr[:, ::-1], np.array(self.etas)
        log, most = np.arange(len(tpr))[:, None], tpr.shape[1]
        # The number of thresholds within the budget is searched by bisection.
        kept, end = (np.full((len(tpr), len(etas)), number) for number in (0, most))
        for _ in range(most.bit_length()):
            middle = np.minimum((kept + end) // 2, most - 1)
            within = etas * tpr[log, middle] + (1 - etas) * fpr[log, middle] <= self.share * (1 + ROUNDING)
            kept, end = np.where(within, middle + 1, kept), np.where(within, end, middle)
        # Of equal TPR, the first one has the fewest false positives.
        rises = np.diff(tpr, axis=1, prepend=-1) > 0
        first = np.maximum.accumulate(np.where(rises, np.arange(most), 0), axis=1)
        at = first[log, np.maximum(kept - 1, 0)]
        found = np.where(kept > 0, [tpr[log, at], fpr[log, at]], np.nan)
        return self.metric.at(found, etas, self.beta)
