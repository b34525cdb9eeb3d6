"""The criterion for operating points, as an expression that tells which points meet it."""

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
import polars as pl

from nci_frames.base.arguments import beta_value, check_allowed, check_budget, check_confidence
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Floats
from nci_frames.evaluation.metrics import better_sign, called_metric, rounding

_TPR, _FPR, _ETA = pl.col("tpr"), pl.col("fpr"), pl.col("prevalence")

#: Bounds that replace the rates where a target must hold with confidence.
SURE_TPR, SURE_FPR = "__sure_tpr", "__sure_fpr"

#: Relative rounding error of a rate, which is a quotient, and of a share of rows, which is a sum of products.
ROUNDING = 8 * sys.float_info.epsilon


@dataclass(frozen=True, slots=True)
class Wish:
    """A criterion for operating points."""

    name: str
    #: A number; for thresholds, optionally one per model.
    target: float | Mapping[str, float]
    #: Which point to take: the highest or lowest threshold that meets the target, the best value, or the
    #: threshold itself.
    take: Literal["highest", "lowest", "best", "at"]
    #: Linear in TPR and FPR, >= 0 where a point meets the target; for "best", the value itself.
    margin: pl.Expr
    beta: float
    #: Confidence that the population meets the target, too; None requires it of these rows only.
    confidence: float | None = None
    #: Largest rounding error of the margin of a point that meets the target exactly.
    slack: pl.Expr = field(default_factory=lambda: pl.lit(0.0))
    #: Whether the selected point has the lowest or the highest FPR of all points with its TPR.
    extreme_fpr: bool = False
    #: Returns the largest rounding error of best values.
    rounding: Callable[[Floats], Floats] = lambda values: ROUNDING * np.abs(values)

    @property
    def needs_prevalence(self) -> bool:
        """Whether the criterion depends on the prevalence."""
        return "prevalence" in self.margin.meta.root_names()

    @property
    def unattained(self) -> pl.Expr:
        """Reason why no point of a group meets the criterion."""
        if self.take == "best":
            return pl.lit(f"{self.name} is undefined at every threshold")
        side = "at least" if self.name in ("tpr", "precision") else "at most"
        target = f"a {self.name} of {side} {self.target:g}"
        if self.confidence is None:
            missed = f"no counted threshold has {target}"
        else:
            missed = f"no counted threshold is known to have {target} with this confidence"
        needed = ["positives"] if self.name == "tpr" else ["positives", "negatives"]
        lacks = (pl.when(pl.col(rows) == 0).then(pl.lit(f"there are no {rows}")) for rows in needed)
        return pl.coalesce(*lacks, pl.lit(missed))

    def thresholds(self, models: pl.Series) -> Floats:
        """Return the threshold of each model."""
        if not isinstance(self.target, Mapping):
            return np.full(len(models), self.target)
        hint = "give the threshold of each model, or one of all"
        for one, other, what in (
            ({*models}, {*self.target}, "a model has no threshold"),
            ({*self.target}, {*models}, "a threshold is of a model that the rates lack"),
        ):
            if one - other:
                raise ParameterError(what, found=repr(min(one - other, key=str)), hint=hint)
        return np.array([self.target[model] for model in models], np.float64)


def wish_for(
    given: Mapping[str, Any], volume: float | None, beta: float, interpolate: bool, confidence: float | None
) -> Wish:
    """Return the criterion of ``select_operating_points`` that is not None.

    Raises
    ------
    ParameterError
        If there is not exactly one, or a number is out of range.
    UnknownMetricError
        If the metric is unknown.
    """
    asked = [name for name, value in given.items() if value is not None]
    if len(asked) != 1:
        msg = "operating points are selected by exactly one criterion"
        hint = f"one of {', '.join(given)}"
        raise ParameterError(msg, found=" and ".join(asked) if asked else "none", hint=hint)
    (name,), target = asked, given[asked[0]]
    if (name != "alerts") != (volume is None):
        msg = "an alert budget needs both the alerts and the volume"
        raise ParameterError(msg, hint="e.g. alerts=50, volume=1_000_000")
    if interpolate and name in ("threshold", "metric"):
        raise ParameterError(f"the criterion {name!r} cannot be interpolated", hint="omit interpolate")
    if confidence is not None:
        _check_confidence(confidence, name, interpolate=interpolate)
    weight = beta_value(beta)
    if name == "metric":
        return _best(target, weight)
    if name == "threshold":
        for one in target.values() if isinstance(target, Mapping) else (target,):
            check_allowed(not math.isnan(one), "threshold", one, "a number")
        return Wish("threshold", target, "at", pl.col("threshold"), weight)
    if volume is not None:
        check_budget(target, volume)
        name, target = "pos_fraction", float(target) / float(volume)
    target = float(target)
    check_allowed(0 <= target <= 1, name, target, "within [0, 1]")
    tpr, fpr = (_TPR, _FPR) if confidence is None else (pl.col(SURE_TPR), pl.col(SURE_FPR))
    said = _ETA * tpr + (1 - _ETA) * fpr
    margins = {
        "tpr": tpr - target,
        "fpr": target - fpr,
        "pos_fraction": target - said,
        # Precision >= p without a division: true positives minus p times predicted ones, if there are any.
        "precision": pl.when(said > 0).then(_ETA * tpr - target * said),
    }
    size = _ETA * tpr if name == "precision" else pl.lit(target)
    take: Literal["highest", "lowest"] = "highest" if name == "tpr" else "lowest"
    counted = confidence is None and not interpolate
    return Wish(name, target, take, margins[name], weight, confidence, ROUNDING * size, counted)


def _check_confidence(confidence: float, name: str, *, interpolate: bool) -> None:
    if name in ("threshold", "metric"):
        msg = f"the criterion {name!r} is no target that could hold with confidence"
        raise ParameterError(msg, hint="omit confidence")
    if interpolate:
        raise ParameterError("a target with confidence cannot be interpolated", hint="omit one of them")
    check_confidence(confidence)


def _best(metric: str | pl.Expr, beta: float) -> Wish:
    if isinstance(metric, str) and metric == "distance":
        return Wish("distance", 0.0, "best", -(_FPR**2 + (1 - _TPR) ** 2).sqrt(), beta)
    called = called_metric(metric)
    if called.metric.direction == "target":
        msg = f"the metric {called.label!r} has no best value"
        raise ParameterError(msg, hint=f"ask for a target, e.g. {called.label}=0.01")
    value = better_sign(called.metric) * called.cast(pl.Float64)
    known = partial(rounding, called.metric)
    return Wish(called.label, 0.0, "best", value, beta, rounding=known, extreme_fpr=called.metric.monotone)
