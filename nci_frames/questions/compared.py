"""The counts of a log, the question, and the prevalences, betas and threshold of its tables."""

import copy
import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar

import polars as pl

from nci_frames.base.arguments import beta_values, check_allowed, check_repeats, name_list, nearest
from nci_frames.base.typing import Field, Frame
from nci_frames.evaluation.arrays.few_thresholds import near_threshold
from nci_frames.questions import places
from nci_frames.questions.log_counts import LogCounts
from nci_frames.questions.question import Question
from nci_frames.questions.undefined import observed_prevalence, totals
from nci_frames.questions.units import CountSegments, with_names
from nci_frames.schemas import COUNTS, WEIGHT, collect, has_strata, within

T = TypeVar("T")

#: Default threshold, which suits probabilities.
PROBABLE = 0.5


class computed(cached_property[T]):  # noqa: N801 - as functools.cached_property
    """A property computed on first access, from frames that were checked by the constructor."""

    if not TYPE_CHECKING:

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            """Return the value, computed once."""
            with within():
                return super().__get__(instance, owner)


class Compared:
    """The counts of a log, and the question about them."""

    def __init__(
        self,
        counts: Frame,
        *,
        prevalence: float | Sequence[float] | Field | None = None,
        question: Question | None = None,
        beta: float | Sequence[float] = (1.0,),
        threshold: float = PROBABLE,
        segments: str | Sequence[str] = (),
        fold: str | None = None,
        repeat: str | None = None,
        repeats: int = 400,
        unit_counts: Frame | None = None,
        unit_rows: int | None = None,
        count_segments: CountSegments | None = None,
    ) -> None:
        check_repeats(repeats, 2)
        self._counts = with_names(collect(counts, COUNTS, strata=True))
        segments = name_list(segments)
        self._log = LogCounts(self._counts, unit_counts, segments=segments, fold=fold, repeat=repeat)
        #: Prevalence of each segment in the field, and its share of the traffic if known; None if all
        #: segments are compared at the same prevalences.
        self.field: pl.DataFrame | None
        grid, self.field = places.compared(self._counts, prevalence, segments)
        asked = question if question is not None else Question(beta=places.main_beta(beta_values(beta)))
        #: The question.
        self.question: Question = asked
        self._grid, self._betas, self._threshold = grid, beta_values(beta), float(threshold)
        #: Key columns of the segments, such as ("country",); empty if everything is pooled.
        self.segments: tuple[str, ...] = tuple(segments)
        #: Number of buckets of units, which intervals and tests draw whole; None if rows are independent.
        self.buckets: int | None = self._log.drawn.buckets
        #: Number of distinct weights, each a separate stratum; 0 without weights.
        self.strata: int = self._counts[WEIGHT].n_unique() if has_strata(self._counts) else 0
        #: Rows of every unit under every model, if all have the same number, at least two, all of one label,
        #: as in a repeated cross-validation; None otherwise, or if unknown.
        self.unit_rows: int | None = unit_rows
        #: Number of repeats of a cross-validation; areas and own best thresholds are computed within each,
        #: then averaged. None without a key of repeats.
        self.repeat_count: int | None = None if repeat is None else self._counts[repeat].n_unique()
        self._draws, self._count_segments = repeats, count_segments
        check_allowed(not math.isnan(self.threshold), "threshold", self.threshold, "a number")

    def _copy(self, kept: Callable[[str], bool]) -> Self:
        """Return a copy with the attributes that are *kept*."""
        other = copy.copy(self)
        other.__dict__ = {name: value for name, value in self.__dict__.items() if kept(name)}
        return other

    @cached_property
    def rates(self) -> pl.DataFrame:
        """Rates frame of every operating point of every model, pooled over all keys.

        It is not among the ``tables``: it is larger than the counts, and ``compute_rates`` returns it.
        """
        with within():
            return self._log.rates_of(self._summed)

    @computed
    def _summed(self) -> pl.DataFrame:
        """Counts pooled over all keys. Tables compute few rates of them, as all would double the memory."""
        return self._log.summed(self._log.rows.total)

    @computed
    def sizes(self) -> pl.DataFrame:
        """Rows of each model: ``model``, ``positives`` and ``negatives``, or the sums of their weights."""
        return totals(self._near, ()).sort("model")

    @computed
    def observed_prevalence(self) -> float | None:
        """Share of positives among all rows of the log; None if it has no rows."""
        return observed_prevalence(self.sizes)

    @property
    def prevalence(self) -> tuple[float, ...]:
        """Prevalences compared, ascending, with that of the question; the observed one is not added."""
        return places.with_asked(self._grid, self.question.prevalence)

    @property
    def beta(self) -> tuple[float, ...]:
        """Betas compared, ascending, with that of a question about F-beta."""
        return places.with_asked(self._betas, self.question.beta if self.question.f_beta else None)

    @property
    def threshold(self) -> float:
        """Decision threshold of the operating points: that of the question, if it has one."""
        asked = self.question.threshold
        return self._threshold if asked is None else asked

    @property
    def weighted(self) -> bool:
        """Whether the counts are sums of too many weights for intervals and tests."""
        return not self._log.whole

    @property
    def main_beta(self) -> float:
        """Beta of a summary: that of a question about F-beta, or the one compared that is nearest to 1."""
        return self.question.beta if self.question.f_beta else places.main_beta(self.beta)

    @property
    def middle_prevalence(self) -> float:
        """Prevalence of a summary: that of the question.

        Without it, the compared one nearest to the observed prevalence, or the middle one.
        """
        if self.question.prevalence is not None:
            return self.question.prevalence
        grid, observed = self.prevalence, self.observed_prevalence
        return nearest(grid, grid[len(grid) // 2] if observed is None else observed)

    @property
    def asked_prevalence(self) -> float:
        """Prevalence of the answer, in (0, 1): that of the question, the observed or the middle one."""
        etas = (self.question.prevalence, self.observed_prevalence, self.middle_prevalence, 0.5)
        return next(eta for eta in etas if eta is not None and 0 < eta < 1)

    @property
    def main_prevalences(self) -> tuple[float, ...]:
        """Lowest prevalence, that of a summary, and highest."""
        return tuple(sorted({self.prevalence[0], self.middle_prevalence, self.prevalence[-1]}))

    @property
    def prevalence_range(self) -> tuple[float, float]:
        """Range of prevalences in which ``area_nodes`` determines every PR-AUC.

        It lies within (0, 1), is at least a decade wide, and contains all prevalences inside (0, 1).
        """
        observed = self.observed_prevalence
        etas = [*self.prevalence, *([] if observed is None else [observed])]
        inside = [eta for eta in etas if 0 < eta < 1] or [0.1]
        low, high = min(inside), max(inside)
        # A narrow range is widened by the same factor of the odds on both sides.
        wide = max(1.0, (10 / (high * (1 - low) / (low * (1 - high)))) ** 0.5)
        return low / (low + (1 - low) * wide), high * wide / (high * wide + 1 - high)

    @computed
    def _near(self) -> pl.DataFrame:
        """Rates of each model at the threshold, next to it, and at the lowest."""
        return self._log.rates_of(near_threshold(self._summed, self.threshold))
