"""Counts -> areas that are lines over the prevalence, and exactly where one of two of them becomes better."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
import polars as pl

from nci_frames.base.typing import Floats
from nci_frames.evaluation.areas.area import Area
from nci_frames.evaluation.areas.areas import areas_of
from nci_frames.evaluation.crossovers.envelope import lower_envelope
from nci_frames.evaluation.metrics import Metric, better_sign
from nci_frames.evaluation.metrics.rounding import rounding
from nci_frames.schemas import COUNTS


def is_linear(metric: Metric) -> TypeGuard[Area]:
    """Say whether a metric is an area that is linear in the prevalence, or does not depend on it."""
    return isinstance(metric, Area) and (metric.linear_in_prevalence or not metric.depends_on_prevalence)


@dataclass(frozen=True, slots=True)
class LinearAreas:
    """An area of some models, as lines over the prevalence of which the lowest is the best."""

    models: pl.Series
    #: 1 if more is better, -1 if less is.
    sign: int
    #: Of each model, at prevalence 0 and at prevalence 1; negated if more is better.
    at_0: Floats
    at_1: Floats
    #: By how much rounding may have moved a line at either end.
    rounding: Floats

    def leaders(self) -> tuple[pl.Series, pl.Series, Floats]:
        """Return the models that lead one after the other, their equals, and where they change.

        A model whose area is infinite leads only if those of all are.
        """
        finite = np.isfinite(self.at_0) & np.isfinite(self.at_1)
        if not finite.any():
            return self.models[:1], self.models.sort().implode(), np.empty(0)
        rows = np.flatnonzero(finite)
        found = lower_envelope(self.at_0[rows], (self.at_1 - self.at_0)[rows])
        inside = found.starts < 1
        leaders, borders = rows[found.lines[inside]], found.starts[inside][1:]
        tied = [self.models.filter(pl.Series(self._equal(leader))).sort() for leader in leaders]
        return self.models[leaders], pl.Series(tied, dtype=pl.List(pl.String)), borders

    def _equal(self, leader: int) -> Floats:
        """Return whether each line is that of a leader."""
        with np.errstate(invalid="ignore"):
            apart = (np.abs(end - end[leader]) > self.rounding[leader] for end in (self.at_0, self.at_1))
            equal = ~(next(apart) | next(apart))
        return np.asarray(equal & (np.isfinite(self.at_0) == np.isfinite(self.at_0[leader])))

    def crossovers(self) -> pl.DataFrame:
        """Return where two models change places: those of ``find_crossovers``, and the area there."""
        one, other = np.triu_indices(len(self.models), 1)
        with np.errstate(invalid="ignore"):
            before, after = self.at_0[one] - self.at_0[other], self.at_1[one] - self.at_1[other]
            least = np.maximum(self.rounding[one], self.rounding[other])
            cross = (before * after < 0) & (np.minimum(np.abs(before), np.abs(after)) > least)
        cross &= np.isfinite(before) & np.isfinite(after)
        x = before[cross] / (before - after)[cross]
        better = np.where(before[cross] < 0, one[cross], other[cross])
        worse = np.where(before[cross] < 0, other[cross], one[cross])
        value = -self.sign * ((1 - x) * self.at_0[better] + x * self.at_1[better])
        return pl.DataFrame(
            {"model_a": self.models[better], "model_b": self.models[worse], "prevalence": x, "value": value}
        )


def linear_areas(counts: pl.DataFrame, area: Area) -> Iterator[tuple[pl.DataFrame, LinearAreas]]:
    """Yield the keys, one row, and the lines of the models that have an area, for each value of the keys."""
    keys, sign = COUNTS.keys(counts.columns), better_sign(area)
    known = areas_of(counts, [0.0, 1.0], [area]).filter(
        pl.col("value").is_not_null().all().over("model", *keys)
    )
    for group in known.partition_by(keys, maintain_order=True) if keys else [known]:
        if len(group):
            ordered = group.sort("model", "prevalence", maintain_order=True)
            models = ordered["model"].unique(maintain_order=True)
            # One value at both ends, or one that does not depend on the prevalence.
            ends = ordered["value"].to_numpy().reshape(len(models), -1)
            moved = rounding(area, ends).max(axis=1)
            lines = LinearAreas(models, sign, -sign * ends[:, 0], -sign * ends[:, -1], moved)
            yield group[:1].select(keys), lines
