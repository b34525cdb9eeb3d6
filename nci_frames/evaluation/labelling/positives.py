"""The expected share of positives in each range of scores of unlabelled traffic."""

import numpy as np

from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import quantity
from nci_frames.base.typing import Floats

#: Share of positives spread evenly over all rows, since a pilot may lack positives where they are rare.
_ANYWHERE = 0.003
_HALVINGS = 100
#: Number of resampled pilots, and the quantiles of their shares of positives that are still possible.
_PILOTS, _SEED, _LIKELY = 400, 0, (0.025, 0.975)


def prudent(rows: Floats, positive: Floats) -> Floats:
    """Return the shares of positives with a few positives added in every cell.

    Raises
    ------
    ParameterError
        If none are expected anywhere.
    """
    if not rows @ positive > 0:
        msg = "no positives are expected in the log: no positive of the pilot has a score as its rows have"
        raise ParameterError(msg, found=quantity(int(rows.sum()), "row"), hint="are both of the same model?")
    return np.asarray((1 - _ANYWHERE) * positive + _ANYWHERE * (rows @ positive) / rows.sum())


def by_laws(rows: Floats, positives: Floats, negatives: Floats, prevalence: float | None) -> Floats:
    """Return the expected share of positives in each cell of traffic, from the distributions of a pilot.

    Parameters
    ----------
    rows
        Rows of the traffic in each cell.
    positives, negatives
        Shares of the pilot's positives and negatives in each cell.
    prevalence
        Share of positives in the traffic; None for the maximum likelihood estimate.

    Notes
    -----
    Positives are distributed as in the pilot, and divided by the rows of the traffic in the cell. So the
    negatives of the pilot, few of which have high scores, are not needed.
    """
    every = float(rows.sum())
    eta = float(mixed(rows, positives, negatives)) if prevalence is None else prevalence
    # The share in an empty cell has no effect.
    return np.minimum(np.divide(every * eta * positives, rows, out=np.zeros(len(rows)), where=rows > 0), 1.0)


def mixed(rows: Floats, positives: Floats, negatives: Floats) -> Floats:
    """Return the maximum likelihood share of positives in mixtures of two distributions; at least a row.

    The last axis of the distributions is that of *rows*.
    """
    used = (rows > 0) & (positives + negatives > 0).reshape(-1, len(rows)).any(axis=0)
    more, base = (positives - negatives)[..., used], negatives[..., used]
    low = np.full(base.shape[:-1], 1 / (float(rows.sum()) + 1))
    high = np.ones_like(low)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        # The log-likelihood is concave, so its slope falls.
        rises = (rows[used] * more / (base + middle[..., None] * more)).sum(axis=-1) > 0
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    return low


def possible_parts(rows: Floats, positives: Floats, negatives: Floats, sizes: Floats) -> tuple[float, ...]:
    """Return how many times the expected positives there may be, since a pilot has few rows: 1, low, high.

    *sizes* are the pilot's numbers of positives and of negatives; the others are as in ``by_laws``.
    """
    rng, laws = np.random.default_rng(_SEED), (positives, negatives)
    # Half a row more, since a cell without rows of the pilot may have some in the traffic.
    drawn = [
        rng.standard_gamma(law * size + 0.5, (_PILOTS, len(rows)))
        for law, size in zip(laws, sizes, strict=True)
    ]
    shares = mixed(rows, *(some / some.sum(axis=1, keepdims=True) for some in drawn))
    low, high = np.quantile(shares, _LIKELY) / mixed(rows, *laws)
    return 1.0, min(float(low), 1.0), max(float(high), 1.0)
