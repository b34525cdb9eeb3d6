"""Counts -> where the average precisions of two models change places, with nothing missed.

With t = logit eta, precision p grows by p·(1-p) per unit of t, so average precision by at most 1/4, by at
most itself, and by at most what it lacks to 1. A stretch is proven free of crossovers where the difference at
its ends is too large to come down to zero and back; every other stretch is cut in two.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.errors import ParameterError
from nci_frames.evaluation.areas.replicated import average_precisions
from nci_frames.evaluation.crossovers.contest import Over
from nci_frames.evaluation.crossovers.search import axis_value
from nci_frames.schemas import COUNTS, CROSSOVERS, collect
from nci_frames.typing import Floats

__all__ = ["auc_crossovers"]

#: Searched is logit eta from minus this to this: eta from 1e-12 on.
_END = float(-np.log(1e-12))
_FIRST_PLACES = 257
#: Stretches of logit eta in which the difference stays undecided are given up below this.
_SHORTEST = 1e-5


@dataclass(frozen=True, slots=True)
class _Curve:
    """A model of one comparison: its average precision at any place of logit eta."""

    model: str | None
    positives: NDArray[np.int64]
    negatives: NDArray[np.int64]

    def at(self, places: Floats) -> Floats:
        eta = axis_value("prevalence", places)
        areas: Floats = average_precisions(self.positives, self.negatives, eta.tolist())[0]
        return areas


def auc_crossovers(counts: pl.DataFrame | pl.LazyFrame, over: Over) -> list[pl.DataFrame]:
    """Return the crossovers of every two models, group by group.

    Raises
    ------
    ParameterError
        If *over* is "beta", which average precision does not have.
    SchemaError
        If *counts* is not a counts frame.
    """
    if over != "prevalence":
        msg = "the metric 'pr_auc' does not depend on beta"
        raise ParameterError(msg, found=f"over={over!r}", hint="ask over='prevalence'")
    frame = collect(counts, COUNTS)
    keys = COUNTS.keys(frame.columns)
    groups = frame.partition_by(keys, maintain_order=True) if keys else [frame]
    found = []
    for group in groups:
        curves = list(_curves(group))
        crossings = [
            (*pair, eta, value)
            for a, b in itertools.combinations(curves, 2)
            for *pair, eta, value in _crossings(a, b)
        ]
        schema = {name: CROSSOVERS.dtypes()[name] for name in ("model_a", "model_b", "prevalence", "value")}
        table = pl.DataFrame(crossings, schema=schema, orient="row").with_columns(
            *(pl.lit(group[key][0], group.schema[key]).alias(key) for key in keys),
            metric=pl.lit("pr_auc"),
            beta=pl.lit(None, pl.Float64),
        )
        found.append(table)
    return found


def _curves(group: pl.DataFrame) -> Iterator[_Curve]:
    """Yield the models that have both classes."""
    ordered = group.sort("model", -pl.col("threshold"), maintain_order=True)
    for part in ordered.partition_by("model", maintain_order=True):
        classes = [
            np.diff(part[reached].to_numpy(), prepend=0, append=part[reached][0] + part[missed][0])
            for reached, missed in (("tp", "fn"), ("fp", "tn"))
        ]
        if all(rows.sum() > 0 for rows in classes):
            yield _Curve(part["model"][0], *(rows[np.newaxis] for rows in classes))


def _crossings(a: _Curve, b: _Curve) -> Iterator[tuple[str | None, str | None, float, float]]:
    """Yield who is better below, who above, the prevalence, and the area of both there."""
    places = np.linspace(-_END, _END, _FIRST_PLACES)
    at_a, at_b = a.at(places), b.at(places)
    difference = at_a - at_b
    # Below the rounding of a sum of precisions, a difference tells nothing.
    told = np.abs(difference) > 1e-13 * (at_a + at_b)
    ends = np.stack([places, difference, np.maximum(at_a, at_b), np.minimum(at_a, at_b)])[:, told]
    low, high = ends[:, :-1], ends[:, 1:]
    found = [np.empty((3, 0))]
    while low.shape[1]:
        length = high[0] - low[0]
        same = np.sign(low[1]) == np.sign(high[1])
        steepest = np.minimum(0.25, np.minimum(high[2], 1 - low[3]))
        proven = same & (np.abs(low[1]) + np.abs(high[1]) > length * steepest)
        settled = proven | (same & (length < _SHORTEST)) | (length < 1e-12)
        found.append(np.stack([low[0], high[0], low[1]])[:, settled & ~same])
        low, high = low[:, ~settled], high[:, ~settled]
        places = (low[0] + high[0]) / 2
        at_a, at_b = a.at(places), b.at(places)
        # A zero counts as the sign before it.
        difference = np.where(at_a == at_b, np.sign(low[1]) * np.finfo(float).tiny, at_a - at_b)
        middle = np.stack([places, difference, np.maximum(at_a, at_b), np.minimum(at_a, at_b)])
        low, high = np.hstack([low, middle]), np.hstack([middle, high])
    for left, right, before in np.hstack(found).T:
        place = np.array([(left + right) / 2])
        below, above = (a, b) if before > 0 else (b, a)
        yield below.model, above.model, float(axis_value("prevalence", place)[0]), float(a.at(place)[0])
