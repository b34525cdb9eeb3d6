"""What an area is: a metric of all thresholds, and how it is computed of one log and of many."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Flags, Floats, Rows
from nci_frames.evaluation.arrays.histograms import Histogram
from nci_frames.evaluation.arrays.roc_steps import Curves
from nci_frames.evaluation.metrics import Kind, Metric, curve_asked
from nci_frames.evaluation.metrics.registry import all_metrics
from nci_frames.evaluation.support.rule import SupportRule

#: The value of each group, and its certified lower and upper bound.
Areas = tuple[Floats, Floats, Floats]
#: Returns a bound of each step, which is computed only where rows may not be tied.
Bound = Callable[[], Floats]
#: Prevalences: each a number, or that of each group.
Etas = Sequence[float | Floats]

#: The words for a metric that needs rows of both classes.
LACKS = "a class has no rows"

#: A work space of this many cells fits into the cache of a core.
CELLS_IN_CACHE = 1 << 15


class Logs(NamedTuple):
    """Many logs with the same bins."""

    #: Rows in each bin, of shape (logs, bins), highest scores first.
    positives: Rows
    negatives: Rows
    #: The log that they are drawn from: it knows the thresholds between the bins.
    histogram: Histogram


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Area(Metric):
    """A metric of a whole curve, or of all scores, that a group of counts and a prevalence determine.

    To add one, make it in a file of its own and name it in ``areas/__init__.py``: whatever ranks, resamples,
    compares, judges or answers then takes it.
    """

    kind: Kind = "curve"
    #: Returns value and certified bounds of each group at each prevalence; once if it does not depend on it.
    certified: Callable[[Curves, Etas], list[Areas]]
    #: Returns it for many logs at each prevalence, of shape (logs, prevalences), or (logs, 1) if it does not
    #: depend on it; NaN where undefined. The value of a log is that of ``certified``.
    replicated: Callable[[Logs, Sequence[float]], Floats]
    #: The rule by which it is integrated, where there are several.
    method: str | None = None
    #: Whether the scores themselves matter, not only their order. Then steps of curves come one by one with
    #: their ``score``, and the bins of resampled logs are not merged.
    of_scores: bool = False
    #: The rule that says from which prevalence on a log supports it; None: at every one.
    support: SupportRule | None = None
    #: Returns upper bounds of each group at each prevalence from the highest curve of a band; None if no band
    #: of the ROC curve encloses it. The lower bounds are the certified ones of the lowest curve.
    highest: Callable[[Curves, Etas], list[Floats]] | None = None
    #: Whether its bounds are those of the band where percentiles say too little.
    band_if_unsure: bool = False
    #: Takes value, standard deviation, independent positives and negatives, and the level; returns bounds
    #: that percentiles are extended to, and where.
    score_bounds: Callable[[Floats, Floats, Floats, Floats, float], tuple[Floats, Floats, Flags]] | None = (
        None
    )


def area_of(asked: str | pl.Expr, done: str) -> Area | None:
    """Return the area that is asked for; None for a metric of operating points.

    Parameters
    ----------
    asked
        A name or alias of a metric, or a called metric.
    done
        What is to be done with it, for the message: "computed".

    Raises
    ------
    ParameterError
        If it is an area that belongs to a range.
    UnknownMetricError
        If there is no metric of the name.
    """
    found = curve_asked(asked)
    if found is None or isinstance(found, Area):
        return found
    raise ParameterError(
        f"the metric {found.name!r} cannot be {done}: it belongs to {found.needs}",
        found=f"areas that can be {done} are {', '.join(area.name for area in all_areas())}",
        hint=f"{found.computed_by} gives its value, and its certified bounds",
    )


def all_areas() -> list[Area]:
    """Return all areas that a group of counts and a prevalence determine, sorted by name."""
    return [known for known in all_metrics() if isinstance(known, Area)]


def enclosed(curves: Curves, value: Floats, lower: Bound, upper: Bound) -> Areas:
    """Sum the steps; if rows are tied, the bounds equal the value, and rounding never reverses them."""
    total = curves.sum(value)
    if curves.tied.all():
        return total, total, total
    low, high = lower(), upper()
    if curves.tied.any():
        low, high = np.where(curves.tied, value, low), np.where(curves.tied, value, high)
    return total, np.minimum(curves.sum(low), total), np.maximum(curves.sum(high), total)
