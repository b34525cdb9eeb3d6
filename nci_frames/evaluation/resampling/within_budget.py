"""Counts of many resampled logs -> a metric at the threshold that keeps a budget in each log anew."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from nci_frames.base.typing import Floats
from nci_frames.evaluation.arrays.histograms import Histogram
from nci_frames.evaluation.metrics import called_metric
from nci_frames.evaluation.metrics.metric import CalledMetric
from nci_frames.evaluation.projection.grids import require_columns
from nci_frames.evaluation.rates.criteria import ROUNDING
from nci_frames.evaluation.resampling.point_metrics import CASES, Rows, reaching

#: So far beyond the budget of the log itself, in multiples of it and in rows, the threshold of a resampled
#: log may lie.
_MULTIPLES, _ROWS = 4, 20


def near_budget(histogram: Histogram, share: float, etas: list[float]) -> list[float]:
    """Return the thresholds that a resampled log may choose, ascending."""
    tp, fp = (rows.cumsum()[:-1] for rows in histogram.classes)
    positives, negatives = (max(size, 1) for size in histogram.sizes)
    said = np.min([eta * tp / positives + (1 - eta) * fp / negatives for eta in etas], axis=0)
    far = said > _MULTIPLES * share + _ROWS / min(positives, negatives)
    some: list[float] = histogram.thresholds[
        : max(int(np.argmax(far)) if far.any() else len(far), 1)
    ].tolist()
    return some[::-1]


@dataclass(frozen=True, slots=True)
class WithinBudget:
    """A metric of a group, at the lowest threshold that keeps a share of positive decisions."""

    reached: Rows
    share: float
    etas: list[float]
    beta: float
    metric: CalledMetric
    #: Of the log itself: what its values belong to, and the values.
    cases: pl.DataFrame
    value: Floats

    @classmethod
    def of(
        cls,
        histogram: Histogram,
        thresholds: list[float],
        metric: str | pl.Expr,
        etas: list[float],
        beta: float,
        share: float,
    ) -> "WithinBudget":
        """Prepare the metric of a log at each prevalence."""
        called = called_metric(metric)
        require_columns(called, {"tpr", "fpr", "prevalence", "beta"}, "resampled logs")
        weight = beta if "beta" in called.meta.root_names() else None
        cases = pl.DataFrame(
            [(None, called.label, None, eta, weight) for eta in etas], schema=CASES, orient="row"
        )
        made = cls(histogram.reached(thresholds), share, etas, beta, called, cases, np.zeros(len(etas)))
        return replace(made, value=made.values(histogram.positives[None], histogram.negatives[None])[0])

    def values(self, positives: Rows, negatives: Rows) -> Floats:
        """Return the values of the cases in each log, of shape (logs, cases); NaN where no threshold is."""
        tp, fp, of_positives, of_negatives = reaching(positives, negatives, self.reached)
        with np.errstate(invalid="ignore", divide="ignore"):
            tpr, fpr = tp / of_positives, fp / of_negatives
        # From the highest threshold down: of those that reach the same positives it has the fewest negatives.
        tpr, fpr = tpr[:, ::-1], fpr[:, ::-1]
        log, found = np.arange(len(tpr)), []
        for eta in self.etas:
            kept = eta * tpr + (1 - eta) * fpr <= self.share * (1 + ROUNDING)
            at = np.where(kept, tpr, -1.0).argmax(axis=1)
            found.append(np.where(kept[log, at], [tpr[log, at], fpr[log, at]], np.nan))
        rates = np.stack(found, axis=-1).reshape(2, -1)
        frame = pl.DataFrame({"tpr": rates[0], "fpr": rates[1]}).with_columns(
            pl.all().fill_nan(None),
            prevalence=pl.Series(np.tile(self.etas, len(tpr))),
            beta=pl.lit(self.beta, pl.Float64),
        )
        values = frame.select(value=self.metric.cast(pl.Float64)).to_series().fill_null(np.nan)
        return values.to_numpy().reshape(len(tpr), -1)
