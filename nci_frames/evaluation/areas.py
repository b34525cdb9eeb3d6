"""Counts -> areas under the ROC and PR curves, at any prevalence, with certified bounds.

Between two thresholds of a grid the curve is unknown, but it is monotone. The best case puts all positives of
the bin first, the worst all negatives; whatever the rows were, the area lies between the two.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Self, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.errors import ParameterError
from nci_frames.evaluation.grids import Prevalences, prevalence_values
from nci_frames.schemas import AREAS, COUNTS, collect

__all__ = ["compute_areas"]

Method = Literal["average_precision"]
Floats = NDArray[np.float64]

_ROWS_AT_A_TIME = 1 << 20


def compute_areas(
    counts: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    prevalence: Prevalences,
    method: Method = "average_precision",
) -> pl.DataFrame:
    """Return ROC-AUC, and PR-AUC at each prevalence, of every group of counts.

    Parameters
    ----------
    counts
        A counts frame. The rows between two thresholds are taken as tied, which they are where
        ``resolution`` is "exact".
    prevalence
        P(y=1), each in [0, 1]; or "observed": each group's own.
    method
        "average_precision": the step sum of precision over recall, as in scikit-learn, without
        interpolation and without an anchor point.

    Returns
    -------
    A row per group, metric and prevalence, sorted by all columns left of ``value``:

    =========== ======= ====================================== ==========================================
    column      dtype   meaning                                null where
    =========== ======= ====================================== ==========================================
    model, keys          as in *counts*                        as in *counts*
    metric      String  "roc_auc" or "pr_auc"                  never
    method      String  rule of the PR area                    roc_auc, which knows one rule
    prevalence  Float64 P(y=1) the area belongs to             roc_auc, which does not depend on it
    value       Float64 area, in [0, 1]                        the group lacks a class; or 0/0, where
                                                               prevalence is 0 and a recall has FPR 0
    lower,      Float64 the area of the rows behind the counts as for value
    upper               lies between them, whatever they were;
                        equal to value where exact
    =========== ======= ====================================== ==========================================

    Raises
    ------
    ParameterError
        If a prevalence is outside [0, 1] or the method unknown.
    SchemaError
        If *counts* is not a counts frame.

    Notes
    -----
    With k = (1-eta)/eta, precision is TPR/(TPR + k·FPR), and average precision the sum of precision times
    the step in TPR. ROC-AUC counts ties as half.

    References
    ----------
    Brabec et al. (2020), section 4.2, doi:10.1007/978-3-030-50423-6_6; Davis and Goadrich (2006),
    doi:10.1145/1143844.1143874.

    Examples
    --------
    Scores 0.1 and 0.35 are negatives', 0.4 a negative's, 0.8 and 0.35 positives' (scikit-learn's example).

    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> counts = nf.count_confusion(nf.scan_predictions(log), thresholds="exact")
    >>> nf.compute_areas(counts, prevalence=0.5).select("metric", "value").rows()
    [('pr_auc', 0.8333333333333333), ('roc_auc', 0.75)]
    """
    if method not in get_args(Method):
        raise ParameterError.unknown_choice("method", method, get_args(Method))
    frame = collect(counts, COUNTS)
    keys = ["model", *COUNTS.keys(frame.columns)]
    grid = prevalence_values(prevalence)
    tables = [
        table for groups, curves in _curves(frame, keys) for table in _tables(groups, curves, grid, method)
    ]
    if not tables:
        return _tables(frame.select(keys), _Curves.none(), [], method)[0]
    areas = pl.concat(tables).sort(*keys, "metric", "method", "prevalence", maintain_order=True)
    AREAS.check(areas)
    return areas


def _tables(
    groups: pl.DataFrame, curves: "_Curves", grid: list[float] | None, method: Method
) -> list[pl.DataFrame]:
    """Return the areas of some groups: a table for ROC-AUC, and one for PR-AUC at each prevalence."""

    def table(
        metric: str, rule: str | None, eta: Floats, areas: tuple[Floats, Floats, Floats]
    ) -> pl.DataFrame:
        value, lower, upper = (pl.Series(area, nan_to_null=True) for area in areas)
        return groups.with_columns(
            pl.lit(metric).alias("metric"),
            pl.lit(rule, pl.String).alias("method"),
            pl.Series("prevalence", eta, nan_to_null=True),
            value.alias("value"),
            lower.alias("lower"),
            upper.alias("upper"),
        )

    fixed = [np.full(len(groups), eta) for eta in grid or []]
    etas = [curves.observed_prevalence] if grid is None else fixed
    return [
        table("roc_auc", None, np.full(len(groups), np.nan), curves.roc_auc()),
        *(table("pr_auc", method, eta, curves.average_precision(eta)) for eta in etas),
    ]


@dataclass(frozen=True, slots=True)
class _Curves:
    """The ROC steps of all groups, end to end: from one point to the next as the threshold falls.

    A group without positives has NaN for every TPR, one without negatives for every FPR; both end as null.
    """

    start: NDArray[np.int64]  # first step of each group
    size: NDArray[np.int64]  # number of steps of each group
    tpr0: Floats
    tpr1: Floats
    fpr0: Floats
    fpr1: Floats
    exact: NDArray[np.bool_]  # of each step: its rows have one score
    observed_prevalence: Floats  # of each group

    @classmethod
    def none(cls) -> Self:
        """Return the curves of no groups."""
        floats, whole = np.empty(0), np.empty(0, np.int64)
        return cls(whole, whole, floats, floats, floats, floats, np.empty(0, np.bool_), floats)

    def _sum(self, steps: Floats) -> Floats:
        return np.add.reduceat(steps, self.start) if len(self.start) else steps

    def _bounded(self, value: Floats, lower: Floats, upper: Floats) -> tuple[Floats, Floats, Floats]:
        """Make the bounds equal to the value where it is exact, and proof against rounding elsewhere."""
        total = self._sum(value)
        lower = self._sum(np.where(self.exact, value, np.minimum(lower, value)))
        upper = self._sum(np.where(self.exact, value, np.maximum(upper, value)))
        return total, lower, upper

    def roc_auc(self) -> tuple[Floats, Floats, Floats]:
        width = self.fpr1 - self.fpr0
        return self._bounded(width * (self.tpr0 + self.tpr1) / 2, width * self.tpr0, width * self.tpr1)

    def average_precision(self, eta: Floats) -> tuple[Floats, Floats, Floats]:
        eta = np.repeat(eta, self.size)
        recall = self.tpr1 - self.tpr0
        end = (1 - eta) * self.fpr1
        value = _weighted(recall, eta * self.tpr1, end)
        if self.exact.all():
            total = self._sum(value)
            return total, total, total
        upper = _weighted(recall, eta * self.tpr1, (1 - eta) * self.fpr0)
        return self._bounded(value, _integral(recall, eta * self.tpr0, eta * self.tpr1, end), upper)


def _weighted(recall: Floats, true: Floats, false: Floats) -> Floats:
    """Return recall times precision; a step without recall is worth 0 even where precision is 0/0."""
    with np.errstate(invalid="ignore"):
        return np.where(recall > 0, recall * (true / (true + false)), recall)


def _integral(recall: Floats, true0: Floats, true1: Floats, false: Floats) -> Floats:
    """Return the integral of precision over recall while only true positives come in.

    With x = (true1-true0)/(true0+false) it is recall·(true0 + false·g(x))/(true0+false), where
    g(x) = 1 - log1p(x)/x; written so, nothing cancels when the step is short.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        x = (true1 - true0) / (true0 + false)
        area = recall * (true0 + false * _one_minus_log1p_over(x)) / (true0 + false)
        # From (0, 0) without false positives precision is 1 all the way; 0/0 stays where eta is 0.
        area = np.where((true0 + false == 0) & (true1 > 0), recall, area)
        return np.where(recall > 0, area, recall)


def _one_minus_log1p_over(x: Floats) -> Floats:
    """Return 1 - log1p(x)/x for x >= 0, by its series where the difference would cancel."""
    near = x < 0.02
    series = np.zeros_like(x)
    small = np.where(near, x, 0.0)
    for power in range(9, 0, -1):
        series = small * (1 / (power + 1) - series)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(near, series, np.where(np.isinf(x), 1.0, 1 - np.log1p(x) / x))


def _curves(frame: pl.DataFrame, keys: list[str]) -> Iterator[tuple[pl.DataFrame, _Curves]]:
    """Yield some groups at a time and their ROC steps, each group ending at (1, 1)."""
    first = _group_starts(frame, keys)
    if not _is_sorted(frame, keys, first):
        frame = frame.sort(*keys, "threshold", maintain_order=True)
        first = _group_starts(frame, keys)
    if frame.is_empty():
        return
    # Whole groups, together about so many rows: the arrays of one part are made at a time.
    parts = np.flatnonzero(np.diff(first // _ROWS_AT_A_TIME, prepend=-1))
    for begin, end in zip(first[parts], [*first[parts[1:]], len(frame)], strict=True):
        yield _steps(frame[int(begin) : int(end)].reverse(), keys)


def _group_starts(frame: pl.DataFrame, keys: list[str]) -> NDArray[np.int64]:
    changed = pl.any_horizontal(pl.col(key).ne_missing(pl.col(key).shift()) for key in keys)
    starts = frame.select(changed).to_series().to_numpy().copy()
    starts[:1] = True
    return np.flatnonzero(starts).astype(np.int64)


def _is_sorted(frame: pl.DataFrame, keys: list[str], first: NDArray[np.int64]) -> bool:
    """Tell whether every group is one run of rows with ascending thresholds, as counting leaves them."""
    thresholds = frame["threshold"].to_numpy()
    ascending = np.append(True, thresholds[1:] > thresholds[:-1])[: len(frame)]
    ascending[first] = True
    return bool(ascending.all()) and bool(frame[first].select(keys).is_unique().all())


def _steps(descending: pl.DataFrame, keys: list[str]) -> tuple[pl.DataFrame, _Curves]:
    """Return the groups of rows whose thresholds descend, and their ROC steps."""
    columns = {name: descending[name].to_numpy().astype(np.float64) for name in ("tp", "fp", "fn", "tn")}
    if "resolution" in descending.columns:
        exact = (descending["resolution"] == "exact").fill_null(value=False).to_numpy()
    else:
        exact = np.zeros(len(descending), dtype=bool)
    first = _group_starts(descending, keys)
    groups = descending[first].select(keys)

    # One more step per group: from the lowest threshold to "everything is positive".
    last = np.append(first[1:], len(descending))
    positives = (columns["tp"] + columns["fn"])[first]
    negatives = (columns["fp"] + columns["tn"])[first]
    size = last - first + 1
    start = first + np.arange(len(first))
    with np.errstate(invalid="ignore", divide="ignore"):
        tpr = np.insert(columns["tp"], last, positives) / np.repeat(positives, size)
        fpr = np.insert(columns["fp"], last, negatives) / np.repeat(negatives, size)
        observed = positives / (positives + negatives)
    tpr0, fpr0 = (np.concatenate([[0.0], rate[:-1]]) for rate in (tpr, fpr))
    tpr0[start] = fpr0[start] = 0.0
    tied = np.insert(exact, last, (tpr[start + size - 2] == 1) & (fpr[start + size - 2] == 1))
    return groups, _Curves(start, size, tpr0, tpr, fpr0, fpr, tied, observed)
