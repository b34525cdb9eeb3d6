"""Random draws of rows, from the number of rows in each bin."""

import hashlib
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from nci_frames.base.typing import Floats, Rows

#: Larger tables of draws are not cached: they would take too much memory.
_MOST_KEPT = 1 << 20


def stream(seed: int, group: Mapping[str, object]) -> np.random.Generator:
    """Return the random stream of a group.

    The stream depends on the seed and the group's keys, not on the other groups or their order.
    """
    return _stream(seed, _name(group))


def times_drawn(seed: int, group: Mapping[str, object], units: int, repeats: int) -> Floats:
    """Return how often each unit is drawn, with replacement, in each of *repeats* logs.

    All models and tables of a group need the same draws, so the last draws are cached.
    """
    drawn = _times if units * repeats <= _MOST_KEPT else _times.__wrapped__
    return drawn(seed, _name(group), units, repeats)


@lru_cache(maxsize=8)
def _times(seed: int, name: str, units: int, repeats: int) -> Floats:
    even = np.ones(units, np.int64)
    times = draw_with_replacement(_stream(seed, name), even, repeats).astype(np.float64)
    # Callers share the cached array.
    times.flags.writeable = False
    return times


def _stream(seed: int, name: str) -> np.random.Generator:
    word = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=16).digest(), "little")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, word])))


def _name(group: Mapping[str, object]) -> str:
    return "\x1f".join(f"{key}={value!r}" for key, value in sorted(group.items()))


def draw_with_replacement(rng: np.random.Generator, bins: Rows, repeats: int) -> Rows:
    """Draw all rows with replacement, *repeats* times; return the number of rows in each bin.

    This is a multinomial draw by halving: the number of rows in the left half of the bins is binomial, and so
    on within each half. The shares are quotients of exact sums, so rounding errors do not add up over many
    bins. The cost depends on the number of bins, not of rows.

    Parameters
    ----------
    rng
        Random stream.
    bins
        Rows in each bin.
    repeats
        Number of draws.

    Returns
    -------
    Array of shape (repeats, bins).
    """
    drawn = np.zeros((repeats, len(bins)), np.int64)
    occupied = np.flatnonzero(bins)
    if not len(occupied):
        return drawn
    levels = [bins[occupied]]
    while len(levels[-1]) > 1:
        level = np.append(levels[-1], np.zeros(len(levels[-1]) % 2, np.int64))
        levels.append(level[0::2] + level[1::2])
    nodes = np.broadcast_to(levels[-1], (repeats, 1))
    for parents, children in zip(levels[:0:-1], levels[-2::-1], strict=True):
        left = rng.binomial(nodes, children[0::2] / parents)
        nodes = np.stack([left, nodes - left], axis=2).reshape(repeats, -1)[:, : len(children)]
    drawn[:, occupied] = nodes
    return drawn


def draw_smoothly(rng: np.random.Generator, bins: Rows, repeats: int) -> Floats:
    """Draw the rows of each bin by the Bayesian bootstrap, *repeats* times.

    The shares of the bins have a Dirichlet distribution, and are 0 only in empty bins. The share of a bin
    with k of n rows is distributed as Beta(k, n - k). With one more row elsewhere it is Beta(k, n - k + 1),
    whose quantile is Clopper and Pearson's lower bound.

    References
    ----------
    Rubin (1981), The Bayesian bootstrap, doi:10.1214/aos/1176345338.
    """
    drawn = np.zeros((repeats, len(bins)))
    occupied = np.flatnonzero(bins)
    drawn[:, occupied] = rng.gamma(bins[occupied], size=(repeats, len(occupied)))
    if len(occupied):
        drawn *= bins.sum() / drawn.sum(axis=1, keepdims=True)
    return drawn


def draw_without_replacement(rng: np.random.Generator, bins: Rows, size: int) -> Rows:
    """Draw *size* rows without replacement; return the number of rows in each bin.

    This is a multivariate hypergeometric draw, without NumPy's limit of 10^9 rows. Every row is kept with
    probability size/total; then the surplus or shortage, of the order of the square root of the size, is
    removed or added at random. All sets of equally many rows stay equally likely.
    """
    total = int(bins.sum())
    kept = rng.binomial(bins, size / total) if total else bins.copy()
    excess = int(kept.sum()) - size
    moved = _pick(rng, kept if excess > 0 else bins - kept, abs(excess))
    return np.asarray(kept - np.sign(excess) * moved, np.int64)


def _pick(rng: np.random.Generator, bins: Rows, size: int) -> Rows:
    """Draw a few different rows by their positions."""
    ends = np.cumsum(bins)
    places = rng.choice(int(ends[-1]), size, replace=False, shuffle=False) if size else np.empty(0, np.int64)
    return np.bincount(np.searchsorted(ends, places, side="right"), minlength=len(bins))
