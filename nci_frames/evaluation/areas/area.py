"""What an area is: a metric of all thresholds, with functions that compute it for one log and for many."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import FloatPair, Floats, Rows
from nci_frames.evaluation.arrays.histograms import Histogram
from nci_frames.evaluation.arrays.roc_steps import Curves
from nci_frames.evaluation.metrics import Kind, Metric, curve_asked
from nci_frames.evaluation.metrics.registry import all_metrics
from nci_frames.evaluation.support.rule import SupportRule

#: Value, certified lower and certified upper bound of each group.
Areas = tuple[Floats, Floats, Floats]
#: Returns a bound of each step; called only if rows of a step may differ in score.
Bound = Callable[[], Floats]
#: Prevalences: each a number, or an array with one number per group.
Etas = Sequence[float | Floats]

#: When a metric that needs both classes is undefined.
LACKS = "a class has no rows"

#: A temporary array of this many cells fits into the cache of a core.
CELLS_IN_CACHE = 1 << 15


class Logs(NamedTuple):
    """Many logs with the same bins."""

    #: Rows in each bin, of shape (logs, bins), highest scores first.
    positives: Rows
    negatives: Rows
    #: The original log, with the thresholds between the bins.
    histogram: Histogram


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Area(Metric):
    """A metric of a whole curve, or of all scores, determined by counts and a prevalence.

    To add an area, define it in a file of its own and register it in ``areas/__init__.py``: rankings,
    resampling, tests, gates and reports then accept it.
    """

    kind: Kind = "curve"
    #: Returns value and certified bounds of each group, for each prevalence; one item if independent of it.
    certified: Callable[[Curves, Etas], list[Areas]]
    #: Returns the values of many logs, of shape (logs, prevalences), or (logs, 1) if independent of the
    #: prevalence; NaN where undefined. They equal those of ``certified``.
    replicated: Callable[[Logs, Sequence[float]], Floats]
    #: The rule of integration, if there are several.
    method: str | None = None
    #: Whether the area depends on the scores themselves, not only on their order. Then the steps of curves
    #: keep their ``score``, and the bins of resampled logs are not merged.
    of_scores: bool = False
    #: The rule for the lowest supported prevalence; None if every defined value is supported.
    support: SupportRule | None = None
    #: Returns upper bounds of each group at each prevalence from the highest curve of a band; None if no band
    #: of the ROC curve bounds the area. Lower bounds are the certified ones of the lowest curve.
    highest: Callable[[Curves, Etas], list[Floats]] | None = None
    #: Whether bounds come from the band where percentiles are unreliable.
    band_if_unsure: bool = False
    #: Takes value, standard deviation, effective positives and negatives, and the level; returns bounds to
    #: which percentiles are extended.
    score_bounds: Callable[..., FloatPair] | None = None


def area_of(asked: str | pl.Expr, done: str) -> Area | None:
    """Return the requested area; None for a metric of operating points.

    Parameters
    ----------
    asked
        Name or alias of a metric, or a called metric.
    done
        What is done with the area, for error messages: "computed".

    Raises
    ------
    ParameterError
        If it is an area over a range.
    UnknownMetricError
        If the metric is unknown.
    """
    found = curve_asked(asked)
    if found is None or isinstance(found, Area):
        return found
    msg = f"the metric {found.name!r} cannot be {done}: it needs {found.needs}"
    known = f"areas that can be {done} are {', '.join(area.name for area in all_areas())}"
    hint = f"{found.computed_by} gives its value, and its certified bounds"
    raise ParameterError(msg, found=known, hint=hint)


def all_areas() -> list[Area]:
    """Return all areas, except those over a range, sorted by name."""
    return [known for known in all_metrics() if isinstance(known, Area)]


def enclosed(curves: Curves, value: Floats, lower: Bound, upper: Bound) -> Areas:
    """Sum value and bounds over the steps: equal for tied steps; by rounding never reversed, or above 1."""
    total = np.minimum(curves.sum(value), 1)
    if curves.tied.all():
        return total, total, total
    low, high = lower(), upper()
    if curves.tied.any():
        low, high = np.where(curves.tied, value, low), np.where(curves.tied, value, high)
    return total, np.minimum(curves.sum(low), total), np.clip(curves.sum(high), total, 1)
