"""Areas at a few prevalences -> PR-AUC of each model at every prevalence between.

Precision at a point, as a function of x = logit(prevalence), is TPR/(TPR + FPR·exp(-x)): analytic for complex
x within a distance of pi from the real axis. Each rule of a PR area is a sum of such functions, however many
thresholds there are, so the polynomial through the area at Chebyshev's points converges geometrically.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl
from numpy.polynomial.chebyshev import chebval, chebvander

from nci_frames.base.typing import Floats, Places
from nci_frames.evaluation.areas.areas import areas_of
from nci_frames.evaluation.areas.pr import PR_AUC
from nci_frames.evaluation.crossovers.meetings import Meetings, curve_meetings
from nci_frames.evaluation.crossovers.search import axis_value, places_along
from nci_frames.schemas import COUNTS

#: The largest error that interpolation between ``area_nodes`` adds to an area.
_TOLERANCE = 1e-11
#: The same as a share of two areas that are compared.
NODES_ROUNDING = 2 * _TOLERANCE
#: Chebyshev's points of the whole range of prevalences: of its logarithm the area has 13 digits between them.
_NODES = 320
_ROUNDING = 1e-13
#: Pairs whose curves are compared at a time: each takes as many numbers as its series has terms.
_PAIRS_AT_A_TIME = 1 << 14
#: Places at which the best is looked up; a model that leads only between two of them is missed.
_PLACES = 4_001


@dataclass(frozen=True, slots=True)
class AreaCurves:
    """PR-AUC of some models, as a function of the logit of the prevalence.

    The area is analytic in the logit within a distance of pi from the real axis, and has no zero there, since
    it is a sum of terms 1/(1 + r·exp(-x)) with positive weights. So the series of its logarithm converges
    geometrically, and a small area is as exact as a large one.
    """

    models: pl.Series
    #: Of each model, coefficients of Chebyshev's polynomials of the logarithm of the area.
    series: Floats
    #: The range of the logit.
    low: float
    high: float
    #: A difference that is a smaller share of the areas has no sign.
    rounding: float

    @classmethod
    def through(cls, areas: pl.DataFrame, low: float, high: float, rounding: float) -> Self:
        """Return the curves through areas at Chebyshev's points between two logits.

        A model without an area has no curve.
        """
        from scipy.fft import dct  # noqa: PLC0415  (slow to import, and seldom needed)

        known = areas.filter(pl.col("value").is_not_null().all().over("model")).sort("model", "prevalence")
        terms = max(known["prevalence"].n_unique(), 1)
        # The points descend as their angles ascend.
        values = known["value"].to_numpy().reshape(-1, terms)[:, ::-1]
        series = dct(np.log(values), type=2, axis=1) / terms
        series[:, 0] /= 2
        models = known["model"].unique(maintain_order=True)
        return cls(models, series, low, high, rounding)

    def _within(self, places: Floats) -> Floats:
        return np.asarray((2 * places - self.low - self.high) / (self.high - self.low))

    def everywhere(self, places: Floats) -> Floats:
        """Return the area of each model (row) at each place."""
        return np.asarray(np.exp(self.series @ chebvander(self._within(places), self.series.shape[1] - 1).T))

    def at(self, model: Places, place: Floats) -> Floats:
        """Return the area of one model at each place."""
        return np.asarray(np.exp(chebval(self._within(place), self.series[model].T, tensor=False)))

    def crossovers(self) -> pl.DataFrame:
        """Return where two models change places: those of ``find_crossovers``, and the area there."""

        def at(model: Places, place: Floats) -> tuple[Floats, Places]:
            return self.at(model, place), model

        best = self.everywhere(places_along("prevalence"))
        found = Meetings.together(curve_meetings(best, at, "prevalence", self.rounding, _PAIRS_AT_A_TIME))
        columns = {
            "model_a": self.models[found.better_below],
            "model_b": self.models[found.better_above],
            "prevalence": found.x,
            "value": self.at(found.row, np.log(found.x) - np.log1p(-found.x)),
        }
        return pl.DataFrame(columns, schema_overrides=dict.fromkeys(("prevalence", "value"), pl.Float64))

    def leaders(self) -> tuple[pl.Series, pl.Series, Floats]:
        """Return the models that lead one after the other, their equals, and where they change."""
        places = np.linspace(self.low, self.high, _PLACES)
        areas = self.everywhere(places)
        # At the first place models may be equal except for rounding; the next one decides.
        best = np.arange(len(areas))
        for column in areas.T:
            best = best[column[best] >= column[best].max() * (1 - self.rounding)]
            if len(best) == 1:
                break
        leaders, borders = [int(best[0])], [self.low]
        for before, place, column in zip(places, places[1:], areas.T[1:], strict=False):
            # More than one model may have led since the place before.
            while len(rivals := np.flatnonzero(column * (1 - self.rounding) > column[leaders[-1]])):
                since = max(before, borders[-1])
                met = [self._overtaking(leaders[-1], rival, since, place) for rival in rivals.tolist()]
                # Of models that draw level at the same point, the one that is farthest ahead.
                first = np.lexsort((-column[rivals], met))[0]
                leaders.append(int(rivals[first]))
                borders.append(met[first])
        tied = []
        for leader, since, until in zip(leaders, borders, [*borders[1:], self.high], strict=True):
            here = areas[:, (places >= since) & (places <= until)]
            apart = np.abs(here - here[leader]) > self.rounding * here[leader]
            equal = ~apart.any(axis=1) if here.size else np.arange(len(areas)) == leader
            tied.append(self.models.filter(pl.Series(equal)).sort())
        names = pl.Series(tied, dtype=pl.List(pl.String))
        return self.models[leaders], names, axis_value("prevalence", np.array(borders[1:]))

    def _overtaking(self, leader: int, rival: int, low: float, high: float) -> float:
        """Return where a rival that is ahead at *high* has overtaken the leader."""
        from scipy.optimize import brentq  # noqa: PLC0415  (slow to import, and seldom needed)

        ends = np.array([self.low, self.high])
        lead = self.series[leader] - self.series[rival]

        def ahead(place: float) -> float:
            return float(chebval((2 * place - ends.sum()) / np.diff(ends)[0], lead))

        return low if ahead(low) <= 0 else float(brentq(ahead, low, high, xtol=1e-14, rtol=1e-15))


def area_curves(counts: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, AreaCurves]]:
    """Yield the keys, one row, and the curves of each of their values; models that lack a class have none."""
    keys = COUNTS.keys(counts.columns)
    low, *_, high = places_along("prevalence").tolist()
    areas = areas_of(counts, _nodes(_NODES, low, high), [PR_AUC])
    for group in areas.partition_by(keys, maintain_order=True) if keys else [areas]:
        curves = AreaCurves.through(group, low, high, _ROUNDING)
        if len(curves.models):
            yield group[:1].select(keys), curves


def area_nodes(low: float, high: float) -> list[float]:
    """Return Chebyshev's points of the logit between two prevalences, as many as areas need, ascending.

    With M a bound of the area on an ellipse around the interval, whose half-axes add up to rho half-lengths,
    the error of n points is at most 4·M/((rho - 1)·rho^(n-1)) (Trefethen, Approximation Theory and
    Approximation Practice, theorem 8.2, doi:10.1137/1.9781611975949).

    >>> len(area_nodes(1e-4, 0.5)), len(area_nodes(1e-9, 0.999))
    (49, 141)
    """
    start, end = (math.log(eta) - math.log1p(-eta) for eta in (low, high))
    half = (end - start) / 2
    # Up to this distance from the real axis |1 + r·exp(-x)| is at least its sine, whatever r is.
    distance = np.linspace(np.pi / 2, np.pi, 200, endpoint=False)
    rho = distance / half + np.hypot(distance / half, 1)
    bound = 4 / (np.sin(distance) * (rho - 1) * _TOLERANCE)
    count = int(np.ceil(1 + np.log(bound) / np.log(rho)).min())
    return _nodes(count, start, end)


def _nodes(count: int, start: float, end: float) -> list[float]:
    """Return the prevalences of so many of Chebyshev's points between two logits, ascending."""
    places = -np.cos((2 * np.arange(count) + 1) * np.pi / (2 * count))
    nodes: list[float] = axis_value("prevalence", (start + end) / 2 + (end - start) / 2 * places).tolist()
    return nodes
