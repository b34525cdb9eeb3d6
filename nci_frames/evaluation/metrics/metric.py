"""A metric as data, a called metric, and which values tie."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Floats, Places
from nci_frames.evaluation.metrics.terms import Parameter

__all__ = ["CalledMetric", "Direction", "Kind", "Metric", "Parameter", "better_sign", "rounding"]

Direction = Literal["maximize", "minimize", "target"]
Kind = Literal["point", "curve"]


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """A metric as data: what ``metrics()`` shows, and how to evaluate and compare it."""

    name: str
    _: KW_ONLY
    #: "point": of one operating point; "curve": an area.
    kind: Kind = "point"
    aliases: tuple[str, ...] = ()
    formula: str
    direction: Direction = "maximize"
    lower: float = 0.0
    upper: float = 1.0
    undefined_when: str
    #: Returns the expression; takes the settings, and prevalence and beta if it depends on them. None for a
    #: curve, which has no value at an operating point.
    build: Callable[..., "CalledMetric"] | None = None
    #: Parameters besides prevalence and beta; the label shows them.
    settings: tuple[str, ...] = ()
    #: Whether the value is exactly linear in the prevalence, so that two models cross at most once.
    linear_in_prevalence: bool = False
    #: Whether it is monotone in each rate while the other is fixed, so that its extremes over a box of rates
    #: are at the corners.
    monotone: bool = True
    #: Whether the value at a low prevalence depends on a low FPR. Not if true negatives outweigh all other
    #: rows, as in accuracy.
    needs_fpr: bool = True
    #: Whether it is user-defined; such a metric may be registered again.
    own: bool = False
    #: For a difference: the magnitude of its two terms, which determines its rounding error.
    scale: float = 0.0
    #: Display name, if it differs from the name.
    title: str = ""
    #: For a curve: the call that computes it.
    computed_by: str = ""
    #: For a curve: whether the value depends on the prevalence.
    depends_on_prevalence: bool = True
    #: For a curve: a further argument that it needs, such as a range of FPR.
    needs: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """The name and the aliases."""
        return (self.name, *self.aliases)


class CalledMetric(pl.Expr):
    """The expression of a metric, with the metric, and the prevalence and beta of the call.

    A projection writes prevalence and beta beside each value. ``alias`` returns an ordinary expression
    without them.
    """

    def __init__(
        self, metric: Metric, expression: pl.Expr, *, prevalence: Parameter = None, beta: Parameter = None
    ) -> None:
        self._pyexpr = expression._pyexpr  # noqa: SLF001  (there is no public way to extend an expression)
        self.metric = metric
        #: Whether a grid supplies the prevalence.
        self.open = prevalence is None
        self.prevalence = _fixed(prevalence)
        self.beta = _fixed(beta)

    @property
    def label(self) -> str:
        """Label in tables."""
        return self.meta.output_name()

    @property
    def needs_fpr(self) -> bool | None:
        """Whether the values depend on the prevalence and on FPR; None if the prevalence is hidden."""
        visible = "prevalence" in self.meta.root_names()
        if not visible and self.open:
            return False
        return self.metric.needs_fpr if visible or self.prevalence is not None else None

    def evaluated(self, frame: pl.DataFrame) -> Floats:
        """Return the value for each row of a frame that has the columns it reads; NaN for null."""
        return frame.select(value=self.cast(pl.Float64))["value"].to_numpy()

    def at(self, rates: Floats, prevalence: Floats | float, beta: Floats | float) -> Floats:
        """Return the values at TPR = rates[0] and FPR = rates[1]; NaN where undefined.

        Prevalence and beta are numbers, or arrays along the last axis; NaN means unknown.
        """
        columns = {"tpr": rates[0], "fpr": rates[1], "prevalence": prevalence, "beta": beta}
        shape = rates[0].shape
        each = {name: np.broadcast_to(values, shape).ravel() for name, values in columns.items()}
        return self.evaluated(pl.DataFrame(each, nan_to_null=True)).reshape(shape)


def _fixed(parameter: Parameter) -> float | None:
    return None if parameter is None or isinstance(parameter, pl.Expr) else float(parameter)


def better_sign(metric: Metric) -> int:
    """Return 1 if a higher value of the metric is better, -1 if a lower one is.

    Raises
    ------
    ParameterError
        If the metric cannot be ranked.
    """
    if metric.direction == "target":
        msg = f"the metric {metric.name!r} cannot be ranked"
        raise ParameterError(msg, hint="choose one whose direction in metrics() is maximize or minimize")
    return 1 if metric.direction == "maximize" else -1


_EPSILON = float(np.finfo(np.float64).eps)
#: Relative rounding error: a metric of a point takes a few operations, an area sums up to millions of steps.
_RELATIVE = {"point": 8 * _EPSILON, "curve": 512 * _EPSILON}


def rounding(metric: Metric, values: Floats) -> Floats:
    """Return the largest rounding error of values of a metric.

    It is 8 units in the last place (2^-52) for a metric of operating points, and 512 for an area. A
    difference of numbers near 1, such as Youden's J, has their rounding error, even if it is small.
    """
    size = np.where(np.isinf(values), 0.0, np.maximum(np.abs(values), metric.scale))
    return np.asarray(_RELATIVE[metric.kind] * size)


def tie_leaders(values: Floats, moved: Floats, starts: Places) -> Places:
    """Return, for each value, the index of the leader of its tie, which is the largest value.

    A value ties with a leader if it is smaller by at most the rounding error of the leader; the first value
    that is smaller than that leads the next tie. So ties are transitive, and chains of small steps do not
    join different values.

    Parameters
    ----------
    values
        Values of some comparisons, end to end; descending in each, without NaN.
    moved
        Rounding error of each value.
    starts
        Index at which each comparison starts.
    """
    first = np.zeros(len(values), np.bool_)
    first[starts] = True
    # The difference of equal infinite values is NaN.
    first[1:] |= ~((values[1:] == values[:-1]) | (values[:-1] - values[1:] <= moved[:-1]))
    leader = np.maximum.accumulate(np.where(first, np.arange(len(values)), 0))
    # Small steps may add up to more than rounding: these few ties are split by a loop.
    too_far = ~((values == values[leader]) | (values[leader] - values <= moved[leader]))
    for head in np.unique(leader[too_far]):
        ahead = head
        for place in np.flatnonzero(leader == head):
            if values[ahead] - values[place] > moved[ahead]:
                ahead = place
            leader[place] = ahead
    return leader
