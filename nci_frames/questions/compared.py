"""The counts of a log, what is asked of them, and the prevalences, betas and threshold of its tables."""

import copy
import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar

import polars as pl

from nci_frames.base.arguments import beta_values, check_repeats, nearest
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Field
from nci_frames.evaluation.arrays.few_thresholds import near_threshold
from nci_frames.questions import places
from nci_frames.questions.log_counts import LogCounts
from nci_frames.questions.question import Question
from nci_frames.questions.undefined import observed_prevalence
from nci_frames.questions.units import SegmentUnits
from nci_frames.schemas import COUNTS, WEIGHT, collect, has_strata, within

T = TypeVar("T")

#: The threshold that suits probabilities, and that nobody chose who left it to the default.
PROBABLE = 0.5


class computed(cached_property[T]):  # noqa: N801 - as functools.cached_property
    """A property that is computed when first asked for, of frames that were checked at the beginning."""

    if not TYPE_CHECKING:

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            """Return the value, which is kept from then on."""
            with within():
                return super().__get__(instance, owner)


class Compared:
    """The counts of a log, and what is asked of them."""

    def __init__(
        self,
        counts: pl.DataFrame | pl.LazyFrame,
        *,
        prevalence: float | Sequence[float] | Field,
        question: Question | None = None,
        beta: float | Sequence[float] = (1.0,),
        threshold: float = PROBABLE,
        segments: str | Sequence[str] = (),
        fold: str | None = None,
        repeat: str | None = None,
        repeats: int = 400,
        unit_counts: pl.DataFrame | pl.LazyFrame | None = None,
        unit_rows: int | None = None,
        segment_units: SegmentUnits | None = None,
    ) -> None:
        check_repeats(repeats, 2)
        self._counts = collect(counts, COUNTS, strata=True)
        segments = [segments] if isinstance(segments, str) else list(segments)
        self._log = LogCounts.of(self._counts, unit_counts, segments=segments, fold=fold, repeat=repeat)
        #: The prevalence of each segment in the field, and perhaps its share of the traffic; None where all
        #: segments are compared at the same prevalences.
        self.field: pl.DataFrame | None
        grid, self.field = places.compared(self._counts, prevalence, segments)
        asked = question if question is not None else Question(beta=places.main_beta(beta_values(beta)))
        #: What is asked.
        self.question: Question = asked
        self._grid, self._betas, self._threshold = grid, beta_values(beta), float(threshold)
        #: The key columns that were kept, e.g. ("country",); empty when everything is pooled.
        self.segments: tuple[str, ...] = tuple(segments)
        #: Buckets of units, which intervals and tests draw whole; None where rows are taken as independent.
        self.buckets: int | None = self._log.drawn.buckets
        #: How many weights the rows have, each of which is a sample by itself; 0 without weights.
        self.strata: int = self._counts[WEIGHT].n_unique() if has_strata(self._counts) else 0
        #: Rows that every unit has under every model, where all have as many, at least two of one label each,
        #: as in a repeated cross-validation; None otherwise, or where that is not known.
        self.unit_rows: int | None = unit_rows
        #: Repeats of a cross-validation, within each of which areas and own best thresholds are taken before
        #: they are averaged; None without a key of repeats.
        self.repeat_count: int | None = None if repeat is None else self._counts[repeat].n_unique()
        self._draws, self._segment_units = repeats, segment_units
        if math.isnan(self.threshold):
            raise ParameterError.out_of_range("threshold", self.threshold, "a number")

    def _copy(self, kept: Callable[[str], bool]) -> Self:
        """Return the same with some of what is known of it."""
        other = copy.copy(self)
        other.__dict__ = {name: value for name, value in self.__dict__.items() if kept(name)}
        return other

    @cached_property
    def rates(self) -> pl.DataFrame:
        """Every operating point of every model, pooled over all keys: a rates frame.

        It is not among the ``tables``: ``compute_rates`` makes it of the counts, and it is larger than they.
        """
        with within():
            return self._log.rates_of(self._summed)

    @computed
    def _summed(self) -> pl.DataFrame:
        """The counts of all rows. Tables take the rates of few: those of all take as much memory again."""
        return self._log.summed(self._log.total)

    @computed
    def observed_prevalence(self) -> float | None:
        """Positives among all rows of the log; None if a log has no rows."""
        return observed_prevalence(self._near)

    @property
    def prevalence(self) -> tuple[float, ...]:
        """The prevalences compared, ascending, with that of the question; the observed one is not added."""
        return places.with_asked(self._grid, self.question.prevalence)

    @property
    def beta(self) -> tuple[float, ...]:
        """The betas compared, ascending, with that of a question of F-beta."""
        return places.with_asked(self._betas, self.question.beta if self.question.f_beta else None)

    @property
    def threshold(self) -> float:
        """The decision threshold of the operating points: that of the question, if it has one."""
        asked = self.question.threshold
        return self._threshold if asked is None else asked

    @property
    def weighted(self) -> bool:
        """Whether the counts are sums of too many weights, which have neither intervals nor tests."""
        return not self._log.whole

    @property
    def main_beta(self) -> float:
        """The beta of a summary: that of the question, or the one compared that is nearest to 1."""
        return self.question.beta if self.question.f_beta else places.main_beta(self.beta)

    @property
    def middle_prevalence(self) -> float:
        """The prevalence of a summary: that of the question.

        Without one the nearest to the log's own, or the middle one.
        """
        if self.question.prevalence is not None:
            return self.question.prevalence
        grid, observed = self.prevalence, self.observed_prevalence
        return nearest(grid, grid[len(grid) // 2] if observed is None else observed)

    @property
    def asked_prevalence(self) -> float:
        """The prevalence of the answer; a log of one class has no prevalence of the field."""
        etas = (self.question.prevalence, self.observed_prevalence, self.middle_prevalence, 0.5)
        return next(eta for eta in etas if eta is not None and 0 < eta < 1)

    @property
    def main_prevalences(self) -> tuple[float, ...]:
        """The lowest prevalence, that of the summary, and the highest."""
        return tuple(sorted({self.prevalence[0], self.middle_prevalence, self.prevalence[-1]}))

    @property
    def prevalence_range(self) -> tuple[float, float]:
        """The prevalences between which ``area_nodes`` determines every PR-AUC.

        A range within (0, 1), at least a decade wide, that contains all prevalences inside (0, 1).
        """
        observed = self.observed_prevalence
        etas = [*self.prevalence, *([] if observed is None else [observed])]
        inside = [eta for eta in etas if 0 < eta < 1] or [0.1]
        low, high = min(inside), max(inside)
        # Too narrow a range is widened: its odds are spread by the same factor on both sides.
        wide = max(1.0, (10 / (high * (1 - low) / (low * (1 - high)))) ** 0.5)
        return low / (low + (1 - low) * wide), high * wide / (high * wide + 1 - high)

    @computed
    def _near(self) -> pl.DataFrame:
        return self._log.rates_of(near_threshold(self._summed, self.threshold))
