"""Resampled values of several models -> the set that may be the best, with simultaneous error control."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nci_frames.base.typing import Flags, FloatPair, Floats, Places, Rows

#: Least standard error of a difference, as a multiple of the effect of one row.
_ROWS = 2.0
#: A difference of so many times the effect of one row on both values depends on no single row: with 95 %
#: confidence, four rows of a kind are the most that may exist for none in the log, with 99.7 % six.
_CLEAR = 6.0
#: Relative rounding error of values.
_ROUNDING = 1e-12
#: Rounding error of the variance of a constant difference, relative to the sum of the two variances.
_CANCELLED = 1e-13


@dataclass(frozen=True)
class Contenders:
    """The models of one comparison at one prevalence and beta, signed so that higher is better."""

    #: Lead of each model (row) over each other model (column).
    difference: Floats
    #: How much larger that lead may be, for scores between the thresholds of a grid.
    unknown: Floats
    #: Standard errors of the differences, and their degrees of freedom.
    error: Floats
    freedom: Floats
    #: Whether the difference depends on enough rows, and whether its standard error does, too.
    steady: Flags
    bounded: Flags
    #: Deviations of the resampled logs from the log itself, of shape (models, logs).
    deviation: Floats

    @classmethod
    def of(
        cls, value: Floats, drawn: Floats, moved: Floats, freedom: Floats, lost: Floats, unknown: Floats
    ) -> "Contenders":
        """Return the contenders from values in the log and in resampled logs.

        Parameters
        ----------
        value
            Value of each model.
        drawn
            Values in resampled logs, of shape (models, logs).
        moved
            Effect of one row more or less on each value.
        freedom
            Degrees of freedom of each value, at least 1: its number of units minus one.
        lost
            How much unseen rows may take from each value. A smaller lead depends on too few rows.
        unknown
            How much lower (first row) and higher (second row) each value of the log itself may be.
        """
        scale = np.maximum.outer(np.abs(value), np.abs(value))
        difference = value[:, None] - value
        difference = np.where(np.abs(difference) <= _ROUNDING * scale, 0.0, difference)
        # Resampled logs of n units vary as if from one fewer: their variance is (n-1)/n times that of logs.
        deviation = (drawn - value[:, None]) * np.sqrt(1 + 1 / freedom)[:, None]
        # Remove variation that is only rounding.
        deviation = np.where(np.abs(deviation) <= _ROUNDING * np.abs(value)[:, None], 0.0, deviation)
        centred = deviation - deviation.mean(axis=1, keepdims=True)
        covariance = centred @ centred.T / (deviation.shape[1] - 1)
        sums = np.add.outer(np.diag(covariance), np.diag(covariance))
        squares = sums - 2 * covariance
        error = np.sqrt(np.where(squares <= _CANCELLED * sums, 0.0, squares))
        least = np.minimum.outer(freedom, freedom)
        bounded = error >= _ROWS * np.maximum.outer(moved, moved)
        clear = np.abs(difference) >= _CLEAR * np.add.outer(moved, moved)
        kept = np.abs(difference) >= np.where(difference > 0, lost[:, None], lost)
        higher = np.add.outer(unknown[1], unknown[0])
        return cls(difference, higher, error, least, (bounded | clear) & kept, bounded & kept, deviation)

    @property
    def size(self) -> int:
        """Number of models."""
        return len(self.difference)

    def lead(self, *, steady: bool) -> Floats:
        """Return the leads in standard errors; if *steady*, 0 where they depend on too few rows."""
        return np.where(self.steady, self._leads, 0.0) if steady else self._leads

    @cached_property
    def _leads(self) -> Floats:
        """The leads in standard errors, as far as they are certain in the log itself.

        A standard error from few units is uncertain itself. So each lead is replaced by the normal quantile
        with the same tail probability as the lead has in Student's t.
        """
        from scipy.special import ndtr, ndtri, stdtr  # noqa: PLC0415  (what does not need it does not wait)

        least, most = self.difference - self.unknown.T, self.difference + self.unknown
        certain = np.maximum(least, 0) + np.minimum(most, 0)
        lead = np.where(certain == 0, 0.0, certain / self.error)
        size = np.abs(lead)
        # With infinite degrees of freedom, t is the normal distribution.
        endless = np.isinf(self.freedom)
        beyond = np.where(endless, ndtr(-size), stdtr(np.where(endless, 1.0, self.freedom), -size))
        return np.asarray(np.copysign(-ndtri(beyond), lead))

    @cached_property
    def farthest_drawn(self) -> Floats:
        """The largest lead of any model over another in each resampled log, if all models were equal."""
        farthest = np.zeros(self.deviation.shape[1])
        for one in range(self.size):
            leads = np.abs(self.leads_drawn(one, np.arange(one + 1, self.size)))
            np.maximum(farthest, leads.max(axis=0, initial=0), out=farthest)
        return farthest

    def half_width(self, lead: float) -> Floats:
        """Return the half-widths of intervals of *lead* standard errors, corrected as leads are."""
        from scipy.special import ndtr, stdtrit  # noqa: PLC0415  (as above)

        # The t quantile of a large lead may be infinite; without error the width is 0 even then.
        wider = np.copysign(stdtrit(self.freedom, ndtr(-np.abs(lead))), lead)
        return np.where(self.error > 0, wider * self.error, 0.0)

    def leads_drawn(self, one: int, others: Places) -> Floats:
        """Return the leads of one model in resampled logs, if all were equal, of shape (others, logs)."""
        error = self.error[one, others][:, None]
        apart = self.deviation[one] - self.deviation[others]
        return np.asarray(np.divide(apart, error, out=np.zeros_like(apart), where=error > 0))

    def limit_of_one(self, one: int, level: float) -> float:
        """Return the bound, in standard errors, on |leads| of *one* over equal models in *level* of logs."""
        others = np.delete(np.arange(self.size), one)
        drawn = np.abs(self.leads_drawn(one, others)).max(axis=0)
        return float(np.quantile(drawn, level))

    def ranked_groups(self, first: Flags, limit: float) -> Rows:
        """Return the group of each model: 1 for those of *first*, then by the best that is left.

        A later group has its best model, and the models within *limit* standard errors of it.
        """
        lead = self.lead(steady=True)
        groups = np.where(first, 1, 0)
        while len(left := np.flatnonzero(groups == 0)):
            leader = left[self.difference[left, 0].argmax()]
            near = left[lead[leader, left] <= limit]
            groups[near] = groups.max() + 1
        return groups.astype(np.int64)

    def bounds(self, limit: float) -> FloatPair:
        """Return bounds of the difference of each model from the best of the others, from those of pairs."""
        half = self.half_width(limit)
        lower, upper = self.difference - self.unknown.T - half, self.difference + self.unknown + half
        return self._least_of_others(lower), self._least_of_others(upper)

    def _least_of_others(self, bound: Floats) -> Floats:
        """Return the lowest bound against any other model; NaN if it depends on too few rows."""
        if self.size < 2:
            return np.full(self.size, np.nan)
        apart = bound.copy()
        np.fill_diagonal(apart, np.inf)
        other, models = apart.argmin(axis=1), np.arange(self.size)
        equal = (self.error == 0) & (self.difference == 0)
        return np.where((self.bounded | equal)[models, other], apart[models, other], np.nan)


class _Case:
    """The remaining models of one comparison."""

    def __init__(self, contenders: Contenders, *, steady: bool, most: float) -> None:
        self._lead = contenders.lead(steady=steady)
        # Skip models that are farther behind than any resampled difference; with many models, most are.
        self.alive = np.flatnonzero(self._lead.max(axis=0, initial=0) <= most)
        self._first, self._second = (self.alive[side] for side in np.triu_indices(len(self.alive), 1))
        each = enumerate(self.alive.tolist(), 1)
        leads = [np.abs(contenders.leads_drawn(one, self.alive[place:])) for place, one in each]
        #: Leads of each pair in each resampled log; Float32 halves the memory.
        self._pairs = np.concatenate(leads).astype(np.float32)
        self._rank()

    def _rank(self) -> None:
        self.drawn = self._pairs.max(axis=0, initial=0).astype(np.float64)
        #: Lag of each remaining model behind the model that is farthest ahead of it.
        self._behind = self._lead[np.ix_(self.alive, self.alive)].max(axis=0)
        self.largest = float(self._behind.max()) if len(self.alive) > 1 else -np.inf

    def remove(self) -> int:
        """Remove the model that is farthest behind, and return it."""
        place = int(self._behind.argmax())
        gone = int(self.alive[place])
        self.alive = np.delete(self.alive, place)
        kept = (self._first != gone) & (self._second != gone)
        self._first, self._second, self._pairs = self._first[kept], self._second[kept], self._pairs[kept]
        self._rank()
        return gone


def confidence_set(cases: list[Contenders], *, steady: bool = True) -> list[Floats]:
    """Return, for each case and model, the p-value of the hypothesis that the model is one of the best.

    Several cases, such as prevalences, form one comparison: the model that is farthest behind in any case is
    removed first. Its p-value is the highest of all tests up to its removal.
    """
    logs = cases[0].deviation.shape[1]
    # Removing models can only reduce the largest difference in a resampled log.
    most = max(float(case.farthest_drawn.max()) for case in cases)
    left = [_Case(case, steady=steady, most=most) for case in cases]
    highest = 1 / (1 + logs)
    found = [np.full(case.size, highest) for case in cases]
    for p_value, case in zip(found, left, strict=True):
        p_value[case.alive] = 1.0
    while True:
        place = max(range(len(left)), key=lambda case: left[case].largest)
        if left[place].largest <= 0:
            return found
        drawn = np.max([case.drawn for case in left if len(case.alive) > 1], axis=0)
        highest = max(highest, (1 + np.count_nonzero(drawn >= left[place].largest)) / (1 + logs))
        found[place][left[place].remove()] = highest


def pairwise_limit(cases: list[Contenders], level: float) -> float:
    """Return the bound, in standard errors, on leads of all pairs of equal models in *level* of logs."""
    drawn = np.max([case.farthest_drawn for case in cases], axis=0)
    return float(np.quantile(drawn, level))
