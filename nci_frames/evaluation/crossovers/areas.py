"""Counts -> areas of models as functions of the prevalence: PR-AUC as a Chebyshev series, others as lines.

Precision at a point, as a function of x = logit(prevalence), is TPR/(TPR + FPR·exp(-x)): analytic for complex
x within a distance of pi from the real axis. Each rule of PR-AUC is a sum of such functions, so the
polynomial through the area at Chebyshev nodes converges geometrically, for any number of thresholds.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np
import polars as pl
from numpy.polynomial.chebyshev import chebval, chebvander

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Betas, Floats, Over, Places, Prevalences
from nci_frames.evaluation.areas.area import Area
from nci_frames.evaluation.areas.areas import areas_of
from nci_frames.evaluation.areas.pr import PR_AUC
from nci_frames.evaluation.crossovers.contest import Contest, Points
from nci_frames.evaluation.crossovers.meetings import Meetings, axis_value, curve_meetings, places_along
from nci_frames.evaluation.metrics import CalledMetric, curve_asked
from nci_frames.evaluation.metrics.terms import eta_of, positives_said
from nci_frames.schemas import COUNTS

#: Largest interpolation error of an area between ``area_nodes``.
TOLERANCE = 1e-11
#: Chebyshev nodes of the whole range of prevalences; they give the logarithm of the area to 13 digits.
_NODES = 320
_ROUNDING = 1e-13
#: Grid points at which the best is determined; a model that leads only between two of them is missed.
_PLACES = 4_001
#: Significant digits of an area that is compared as a line; and a value larger than any finite area.
_DIGITS, _WORST = 13, 1e300


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
        names = {"model_a": self.models[found.better_below], "model_b": self.models[found.better_above]}
        return pl.DataFrame({**names, "prevalence": found.x, "value": value})

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


def area_asked(metric: str | pl.Expr, over: Over) -> Area | None:
    """Return the area whose crossovers over an axis are asked for; None for a metric of operating points.

    Raises
    ------
    ParameterError
        If they cannot be found.
    UnknownMetricError
        If the metric is unknown.
    """
    area = curve_asked(metric)
    if area is None:
        return None
    if over == "beta":
        msg = f"the metric {area.name!r} does not depend on beta"
        raise ParameterError(msg, found="over='beta'", hint="use over='prevalence'")
    if isinstance(area, Area) and (
        area is PR_AUC or area.linear_in_prevalence or not area.depends_on_prevalence
    ):
        return area
    why = f"it needs {area.needs}" if area.needs else "there is no search for its crossovers"
    msg = f"the crossovers of {area.name!r} cannot be found: {why}"
    hint = f"rank_models({area.computed_by}) ranks the models at given prevalences"
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


def contests_of(
    frame: pl.DataFrame,
    metric: str | pl.Expr,
    area: Area | None,
    over: Over,
    prevalence: Prevalences,
    beta: Betas,
) -> Iterator[list[Contest]]:
    """Yield the contests for each value of the keys: of rates, or of counts by an area that is a line."""
    if area is not None:
        yield from _lines(frame, area)
        return
    for points in Points.of_each(frame):
        yield Contest.of_each(points, metric, over, prevalence, beta)


def _lines(counts: pl.DataFrame, area: Area) -> Iterator[list[Contest]]:
    """Yield the contest of the models that have an area, for each value of the keys.

    The area at prevalence 0 takes the place of the FPR, and that at 1 the place of the TPR: in between it
    changes in proportion to the prevalence, as the share of positive decisions does.
    """
    # Areas that differ by rounding are equal. A model whose area is infinite is worse than all others.
    value = pl.col("value").round_sig_figs(_DIGITS)
    value = pl.when(value.is_infinite().any()).then(_WORST).otherwise(value)
    ends = areas_of(counts, [0.0, 1.0], [area]).group_by("model", *COUNTS.keys(counts.columns))
    models = ends.agg(fpr=value.first(), tpr=value.last(), threshold=pl.lit(None, pl.Float64))
    share = positives_said(eta_of(None if area.depends_on_prevalence else 1.0))
    for points in Points.of_each(models):
        yield [Contest(points, CalledMetric(area, share.alias(area.name)), "prevalence", None, None)]
