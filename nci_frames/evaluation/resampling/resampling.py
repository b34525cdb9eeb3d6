"""The options of all functions that resample: what to compute, and how to draw."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, InitVar, dataclass
from typing import Literal, NamedTuple

import polars as pl

from nci_frames.base.arguments import check_repeats
from nci_frames.base.typing import Betas, Field, Metrics, Prevalences
from nci_frames.counts.pooling import pooled_counts
from nci_frames.evaluation.metrics import asked_metric, better_sign
from nci_frames.evaluation.rates.strata import summed_counts
from nci_frames.schemas import COUNTS, WEIGHT

#: The threshold of a metric; "own" is the best of each log; None means all thresholds.
OwnThreshold = float | Literal["own"] | None


class Asked(NamedTuple):
    """What to compute for each log, from the options of public functions."""

    metric: Metrics
    prevalence: Prevalences | Field = "observed"
    beta: Betas = 1.0
    #: "own" is chosen anew in every resampled log.
    threshold: OwnThreshold | Sequence[float] = None
    #: Largest share of positive decisions, or one for each prevalence, in ascending order; each log has the
    #: lowest threshold within it.
    pos_fraction: float | Sequence[float] | None = None

    @property
    def metrics(self) -> list[str | pl.Expr]:
        """The metrics as a list."""
        return [self.metric] if isinstance(self.metric, str | pl.Expr) else list(self.metric)

    @property
    def own(self) -> int:
        """1 or -1 for the best of all thresholds only: 1 if higher is better, -1 if lower is; else 0."""
        if not isinstance(self.threshold, str):
            return 0
        (known,) = map(asked_metric, self.metrics)
        return better_sign(known) * (known.kind == "point")

    @property
    def fixed(self) -> float | Sequence[float] | None:
        """The thresholds, if they are numbers."""
        return None if isinstance(self.threshold, str) else self.threshold


@dataclass(frozen=True, slots=True)
class Resampling:
    """What to draw, how often, and the level of bounds, from the options of public functions.

    Raises
    ------
    ParameterError
        If there are fewer repeats than *least_repeats*.
    """

    #: None draws rows, class by class; a key such as ``bucket`` draws whole values of it.
    units: str | None = None
    #: Key to average metrics over, in the log and in every resampled log.
    over: str | None = None
    _: KW_ONLY
    repeats: int = 1000
    seed: int = 0
    level: float = 0.95
    least_repeats: InitVar[int] = 2

    def __post_init__(self, least_repeats: int) -> None:
        check_repeats(self.repeats, least_repeats)

    @property
    def tails(self) -> list[float]:
        """The quantiles that enclose *level* of the resampled logs."""
        return [(1 - self.level) / 2, (1 + self.level) / 2]

    def keys(self, counts: pl.DataFrame) -> list[str]:
        """Return the keys of the counts that results keep.

        Raises
        ------
        SchemaError
            If the counts lack the key ``units`` or ``over``.
        """
        COUNTS.need_keys(counts, [self.over], "over")
        keys = COUNTS.need_keys(counts, [self.units], "units")
        return [key for key in keys if key not in (self.units, self.over, WEIGHT)]

    def without_units(self, counts: pl.DataFrame) -> pl.DataFrame:
        """Return the counts summed over units; strata become rates of their weighted sums."""
        return summed_counts(counts if self.units is None else pooled_counts(counts, over=self.units))
