"""Which values of a metric are equal but for rounding."""

import numpy as np

from nci_frames.base.typing import Floats, Places
from nci_frames.evaluation.metrics.metric import Metric

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
