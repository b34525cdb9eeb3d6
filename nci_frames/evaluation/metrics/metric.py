"""A metric: its data, a call of it, and which values are equal."""

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
    """A metric as data: what ``metrics()`` shows, and how it is evaluated and compared."""

    name: str
    _: KW_ONLY
    #: Of one operating point, or of a whole curve: an area.
    kind: Kind = "point"
    aliases: tuple[str, ...] = ()
    formula: str
    direction: Direction = "maximize"
    lower: float = 0.0
    upper: float = 1.0
    undefined_when: str
    #: Returns the expression; takes the settings, and prevalence and beta if it depends on them. A curve has
    #: none, since it has no value at an operating point.
    build: Callable[..., "CalledMetric"] | None = None
    #: Settings of a call, besides prevalence and beta; the label shows them.
    settings: tuple[str, ...] = ()
    #: Whether the value is exactly linear in the prevalence, so that two models cross at most once.
    linear_in_prevalence: bool = False
    #: Whether it is monotone in each rate while the other is fixed, so that its extremes over a box of rates
    #: are at the corners.
    monotone: bool = True
    #: Whether its value at a low prevalence depends on FPR, however low that is. It does not if the negatives
    #: that are not flagged outweigh all other rows, as in accuracy.
    needs_fpr: bool = True
    #: Whether it is user-defined; such a metric may be registered again.
    own: bool = False
    #: Magnitude of the two numbers whose difference it is: it has their rounding error, however small it is.
    scale: float = 0.0
    #: Its display name, if it differs from the name.
    title: str = ""
    #: Of a curve: the call that computes it.
    computed_by: str = ""
    #: Of a curve: whether its value depends on the prevalence.
    depends_on_prevalence: bool = True
    #: Of a curve: what its value belongs to besides a group and a prevalence, such as a range of FPR.
    needs: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """The name and the aliases."""
        return (self.name, *self.aliases)


class CalledMetric(pl.Expr):
    """The expression of a metric, with the metric, and the prevalence and beta of the call.

    A projection writes them beside the value, so that no number is without its prevalence. ``alias`` returns
    an ordinary expression without them.
    """

    def __init__(
        self, metric: Metric, expression: pl.Expr, *, prevalence: Parameter = None, beta: Parameter = None
    ) -> None:
        self._pyexpr = expression._pyexpr  # noqa: SLF001  (there is no public way to extend an expression)
        self.metric = metric
        #: Whether the prevalence was left open, so that a grid supplies it.
        self.open = prevalence is None
        self.prevalence = _fixed(prevalence)
        self.beta = _fixed(beta)

    @property
    def label(self) -> str:
        """Its label in tables."""
        return self.meta.output_name()

    @property
    def needs_fpr(self) -> bool | None:
        """Whether its values depend on the prevalence and on FPR; None if the prevalence is hidden."""
        visible = "prevalence" in self.meta.root_names()
        if not visible and self.open:
            return False
        return self.metric.needs_fpr if visible or self.prevalence is not None else None

    def evaluated(self, frame: pl.DataFrame) -> Floats:
        """Return the values beside the rows of a frame that has what it reads; NaN for null."""
        return frame.select(value=self.cast(pl.Float64))["value"].fill_null(np.nan).to_numpy()

    def at(self, rates: Floats, prevalence: Floats | float, beta: Floats | float) -> Floats:
        """Return the values at TPRs and FPRs, the first axis of *rates*; NaN where a value is undefined.

        The prevalence and the beta are those of all rates, or of each along the last axis; NaN is unknown.
        """
        columns = {"tpr": rates[0], "fpr": rates[1], "prevalence": prevalence, "beta": beta}
        shape = rates[0].shape
        each = {name: np.broadcast_to(values, shape).ravel() for name, values in columns.items()}
        return self.evaluated(pl.DataFrame(each).fill_nan(None)).reshape(shape)


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
        raise ParameterError(
            f"the metric {metric.name!r} cannot be ranked",
            hint="choose one whose direction in metrics() is maximize or minimize",
        )
    return 1 if metric.direction == "maximize" else -1


_EPSILON = float(np.finfo(np.float64).eps)
#: A metric of a point is a few operations on its rates, an area a sum of up to millions of steps.
_RELATIVE = {"point": 8 * _EPSILON, "curve": 512 * _EPSILON}


def rounding(metric: Metric, values: Floats) -> Floats:
    """Return by how much rounding may have moved values of a metric.

    That is 8 units of the last place (2^-52) of a metric of operating points, and 512 of an area. A metric
    that is a difference of numbers near 1, such as Youden's J, has their rounding however small it is.
    """
    size = np.where(np.isinf(values), 0.0, np.maximum(np.abs(values), metric.scale))
    return np.asarray(_RELATIVE[metric.kind] * size)


def tie_leaders(values: Floats, moved: Floats, starts: Places) -> Places:
    """Return, for each value, the place of the value that leads its tie: the largest one.

    A value ties with a leader if it is less by no more than rounding may have moved the leader; the first
    that is less by more leads the next tie. So a tie is transitive, and no chain of small steps joins what
    differs.

    Parameters
    ----------
    values
        Of some comparisons, one after the other; descending in each, without NaN.
    moved
        By how much rounding may have moved each.
    starts
        Where each comparison starts.
    """
    first = np.zeros(len(values), np.bool_)
    first[starts] = True
    with np.errstate(invalid="ignore"):
        # The difference of equal infinite values is NaN.
        apart = ~((values[1:] == values[:-1]) | (values[:-1] - values[1:] <= moved[:-1]))
        first[1:] |= apart
        leader = np.maximum.accumulate(np.where(first, np.arange(len(values)), 0))
        # Steps that rounding explains one by one may add up to more: these few are gone through one by one.
        too_far = ~((values == values[leader]) | (values[leader] - values <= moved[leader]))
        for head in np.unique(leader[too_far]):
            ahead = head
            for place in np.flatnonzero(leader == head):
                if values[ahead] - values[place] > moved[ahead]:
                    ahead = place
                leader[place] = ahead
    return leader
