"""Counts -> areas of each model as functions of the prevalence: lines if linear, else Chebyshev series.

Precision at a point, as a function of x = logit(prevalence), is TPR/(TPR + FPR·exp(-x)): analytic for complex
x within a distance of pi from the real axis. Each rule of PR-AUC is a sum of such functions, so the
polynomial through the area at Chebyshev nodes converges geometrically, for any number of thresholds.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple, Self, TypeGuard

import numpy as np
import polars as pl
from numpy.polynomial.chebyshev import chebval, chebvander

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Floats, Over, Places
from nci_frames.evaluation.areas.area import Area
from nci_frames.evaluation.areas.areas import areas_of
from nci_frames.evaluation.areas.pr import PR_AUC
from nci_frames.evaluation.crossovers.lines import lower_envelope
from nci_frames.evaluation.crossovers.meetings import Meetings, axis_value, curve_meetings, places_along
from nci_frames.evaluation.metrics import Metric, better_sign, rounding
from nci_frames.schemas import COUNTS

#: Largest interpolation error of an area between ``area_nodes``.
TOLERANCE = 1e-11
#: Chebyshev nodes of the whole range of prevalences; they give the logarithm of the area to 13 digits.
_NODES = 320
_ROUNDING = 1e-13
#: Grid points at which the best is determined; a model that leads only between two of them is missed.
_PLACES = 4_001


class AreaCurves(NamedTuple):
    """PR-AUC of some models, as a function of the logit of the prevalence.

    The area is analytic in the logit within a distance of pi from the real axis, and has no zero there, since
    it is a sum of terms 1/(1 + r·exp(-x)) with positive weights. So the series of its logarithm converges
    geometrically, and a small area is as exact as a large one.
    """

    models: pl.Series
    #: Chebyshev coefficients of the logarithm of the area, of each model.
    series: Floats
    #: Range of the logit.
    low: float
    high: float
    #: Smallest relative difference of areas that counts.
    rounding: float

    @classmethod
    def through(cls, areas: pl.DataFrame, low: float, high: float, rounding: float) -> Self:
        """Return the curves through areas at the Chebyshev nodes between two logits.

        Models without an area are omitted.
        """
        from scipy.fft import dct  # noqa: PLC0415  (slow to import, and seldom needed)

        known = areas.filter(pl.col("value").is_not_null().all().over("model")).sort("model", "prevalence")
        terms = max(known["prevalence"].n_unique(), 1)
        # Chebyshev nodes descend as their angles ascend.
        values = known["value"].to_numpy().reshape(-1, terms)[:, ::-1]
        series = dct(np.log(values), type=2, axis=1) / terms
        series[:, 0] /= 2
        return cls(known["model"].unique(maintain_order=True), series, low, high, rounding)

    def _within(self, places: Floats) -> Floats:
        return np.asarray((2 * places - self.low - self.high) / (self.high - self.low))

    def everywhere(self, places: Floats) -> Floats:
        """Return the area of each model (row) at each logit."""
        return np.asarray(np.exp(self.series @ chebvander(self._within(places), self.series.shape[1] - 1).T))

    def at(self, model: Places, place: Floats) -> Floats:
        """Return the area of the given model at each logit."""
        return np.asarray(np.exp(chebval(self._within(place), self.series[model].T, tensor=False)))

    def crossovers(self) -> pl.DataFrame:
        """Return the crossovers of all pairs of models, and the area there."""

        def at(model: Places, place: Floats) -> tuple[Floats, Places]:
            return self.at(model, place), model

        best = self.everywhere(places_along("prevalence"))
        found = Meetings.together(curve_meetings(best, at, "prevalence", self.rounding))
        value = self.at(found.row, np.log(found.x) - np.log1p(-found.x))
        return _table(self.models, found.better_below, found.better_above, found.x, value)

    def leaders(self) -> tuple[pl.Series, pl.Series, Floats]:
        """Return the successive best models, the models tied with each, and the prevalences between them."""
        places = np.linspace(self.low, self.high, _PLACES)
        areas = self.everywhere(places)
        # At the first grid point models may tie; the next points decide.
        best = np.arange(len(areas))
        for column in areas.T:
            best = best[column[best] >= column[best].max() * (1 - self.rounding)]
            if len(best) == 1:
                break
        leaders, borders = [int(best[0])], [self.low]
        for before, place, column in zip(places, places[1:], areas.T[1:], strict=False):
            # Several models may have led since the previous grid point.
            while len(rivals := np.flatnonzero(column * (1 - self.rounding) > column[leaders[-1]])):
                since = max(before, borders[-1])
                met = [self._overtaking(leaders[-1], rival, since, place) for rival in rivals.tolist()]
                # Of models that overtake at the same point, take the one farthest ahead.
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
        """Return the logit at which a rival that is ahead at *high* overtakes the leader."""
        from scipy.optimize import brentq  # noqa: PLC0415  (slow to import, and seldom needed)

        ends = np.array([self.low, self.high])
        lead = self.series[leader] - self.series[rival]

        def ahead(place: float) -> float:
            return float(chebval((2 * place - ends.sum()) / np.diff(ends)[0], lead))

        return low if ahead(low) <= 0 else float(brentq(ahead, low, high, xtol=1e-14, rtol=1e-15))


def check_curve(metric: Metric, over: Over) -> None:
    """Raise ParameterError if the crossovers of an area over an axis cannot be found."""
    if over == "beta":
        msg = f"the metric {metric.name!r} does not depend on beta"
        raise ParameterError(msg, found="over='beta'", hint="use over='prevalence'")
    if metric is not PR_AUC and not is_linear(metric):
        why = f"it needs {metric.needs}" if metric.needs else "there is no search for its crossovers"
        msg = f"the crossovers of {metric.name!r} cannot be found: {why}"
        hint = f"rank_models({metric.computed_by}) ranks the models at given prevalences"
        raise ParameterError(msg, hint=hint)


def area_curves(counts: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, AreaCurves]]:
    """Yield keys (one row) and PR-AUC curves for each value of the keys, without models that lack a class."""
    keys = COUNTS.keys(counts.columns)
    low, *_, high = places_along("prevalence").tolist()
    areas = areas_of(counts, _nodes(_NODES, low, high), [PR_AUC])
    for group in areas.partition_by(keys, maintain_order=True) if keys else [areas]:
        curves = AreaCurves.through(group, low, high, _ROUNDING)
        if len(curves.models):
            yield group[:1].select(keys), curves


def area_nodes(low: float, high: float) -> list[float]:
    """Return the Chebyshev nodes of the logit between two prevalences that ``TOLERANCE`` needs, ascending.

    Let M bound the area on an ellipse around the interval, whose half-axes sum to rho half-lengths. The error
    of n nodes is at most 4·M/((rho - 1)·rho^(n-1)) (Trefethen, Approximation Theory and Approximation
    Practice, theorem 8.2, doi:10.1137/1.9781611975949).

    >>> len(area_nodes(1e-4, 0.5)), len(area_nodes(1e-9, 0.999))
    (49, 141)
    """
    start, end = (math.log(eta) - math.log1p(-eta) for eta in (low, high))
    half = (end - start) / 2
    # Up to this distance from the real axis |1 + r·exp(-x)| is at least its sine, for any r.
    distance = np.linspace(np.pi / 2, np.pi, 200, endpoint=False)
    rho = distance / half + np.hypot(distance / half, 1)
    bound = 4 / (np.sin(distance) * (rho - 1) * TOLERANCE)
    count = int(np.ceil(1 + np.log(bound) / np.log(rho)).min())
    return _nodes(count, start, end)


def _nodes(count: int, start: float, end: float) -> list[float]:
    """Return the prevalences of *count* Chebyshev nodes between two logits, ascending."""
    places = -np.cos((2 * np.arange(count) + 1) * np.pi / (2 * count))
    nodes: list[float] = axis_value("prevalence", (start + end) / 2 + (end - start) / 2 * places).tolist()
    return nodes


def is_linear(metric: Metric) -> TypeGuard[Area]:
    """Return whether a metric is an area that is linear in the prevalence, or does not depend on it."""
    return isinstance(metric, Area) and (metric.linear_in_prevalence or not metric.depends_on_prevalence)


class LinearAreas(NamedTuple):
    """An area of some models, as lines over the prevalence; the lowest line is the best."""

    models: pl.Series
    #: 1 if higher is better, -1 if lower is.
    sign: int
    #: Area of each model at prevalence 0 and at prevalence 1; negated if higher is better.
    at_0: Floats
    at_1: Floats
    #: Rounding error of each line at its ends.
    rounding: Floats

    def leaders(self) -> tuple[pl.Series, pl.Series, Floats]:
        """Return the successive best models, the models tied with each, and the prevalences between them.

        A model with an infinite area leads only if all areas are infinite.
        """
        finite = np.isfinite(self.at_0) & np.isfinite(self.at_1)
        if not finite.any():
            return self.models[:1], self.models.sort().implode(), np.empty(0)
        rows = np.flatnonzero(finite)
        found = lower_envelope(self.at_0[rows], self.at_1[rows] - self.at_0[rows])
        inside = found.starts < 1
        leaders, borders = rows[found.lines[inside]], found.starts[inside][1:]
        tied = [self.models.filter(pl.Series(self._equal(leader))).sort() for leader in leaders]
        return self.models[leaders], pl.Series(tied, dtype=pl.List(pl.String)), borders

    def _equal(self, leader: int) -> Floats:
        """Return which lines equal that of the leader."""
        apart = (np.abs(end - end[leader]) > self.rounding[leader] for end in (self.at_0, self.at_1))
        equal = ~(next(apart) | next(apart))
        return np.asarray(equal & (np.isfinite(self.at_0) == np.isfinite(self.at_0[leader])))

    def crossovers(self) -> pl.DataFrame:
        """Return the crossovers of all pairs of models, and the area there."""
        one, other = np.triu_indices(len(self.models), 1)
        before, after = self.at_0[one] - self.at_0[other], self.at_1[one] - self.at_1[other]
        least = np.maximum(self.rounding[one], self.rounding[other])
        cross = (before * after < 0) & (np.minimum(np.abs(before), np.abs(after)) > least)
        cross &= np.isfinite(before) & np.isfinite(after)
        before, after, one, other = before[cross], after[cross], one[cross], other[cross]
        x = before / (before - after)
        better, worse = np.where(before < 0, [one, other], [other, one])
        value = -self.sign * ((1 - x) * self.at_0[better] + x * self.at_1[better])
        return _table(self.models, better, worse, x, value)


def _table(models: pl.Series, below: Places, above: Places, x: Floats, value: Floats) -> pl.DataFrame:
    return pl.DataFrame({"model_a": models[below], "model_b": models[above], "prevalence": x, "value": value})


#: An area of some models as a function of the prevalence.
AreasAlong = AreaCurves | LinearAreas


def curves_of(counts: pl.DataFrame, metric: Metric) -> Iterator[tuple[pl.DataFrame, AreasAlong]]:
    """Yield keys (one row) and an area of the models at every prevalence, for each value of the keys.

    Models without a class are omitted.
    """
    return linear_areas(counts, metric) if is_linear(metric) else area_curves(counts)


def linear_areas(counts: pl.DataFrame, area: Area) -> Iterator[tuple[pl.DataFrame, LinearAreas]]:
    """Yield keys (one row) and the lines of the models that have an area, for each value of the keys."""
    keys, sign = COUNTS.keys(counts.columns), better_sign(area)
    known = areas_of(counts, [0.0, 1.0], [area]).filter(
        pl.col("value").is_not_null().all().over("model", *keys)
    )
    for group in known.partition_by(keys, maintain_order=True) if keys else [known]:
        if len(group):
            ordered = group.sort("model", "prevalence", maintain_order=True)
            models = ordered["model"].unique(maintain_order=True)
            # Two values per model, or one if it does not depend on the prevalence.
            ends = ordered["value"].to_numpy().reshape(len(models), -1)
            moved = rounding(area, ends).max(axis=1)
            lines = LinearAreas(models, sign, -sign * ends[:, 0], -sign * ends[:, -1], moved)
            yield group[:1].select(keys), lines
