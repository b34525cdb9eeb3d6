"""Random draws of rows of which only the number in each bin is known."""

import hashlib
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from nci_frames.base.typing import Floats, Rows

#: Larger tables of draws would keep too much memory.
_MOST_KEPT = 1 << 20


def stream(seed: int, group: Mapping[str, object]) -> np.random.Generator:
    """Return the random stream of a group.

    It depends on the seed and on the group's keys, not on the other groups or their order.
    """
    return _stream(seed, _name(group))


def times_drawn(seed: int, group: Mapping[str, object], units: int, repeats: int) -> Floats:
    """Return how often each of some units is drawn, with replacement, in each of *repeats* logs.

    The units of a group are drawn for one model after another, and for one table after another, so the last
    draws are kept.
    """
    drawn = _times if units * repeats <= _MOST_KEPT else _times.__wrapped__
    return drawn(seed, _name(group), units, repeats)


@lru_cache(maxsize=8)
def _times(seed: int, name: str, units: int, repeats: int) -> Floats:
    even = np.ones(units, np.int64)
    times = draw_with_replacement(_stream(seed, name), even, repeats).astype(np.float64)
    # Several callers share it.
    times.flags.writeable = False
    return times


def _stream(seed: int, name: str) -> np.random.Generator:
    word = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=16).digest(), "little")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, word])))


def _name(group: Mapping[str, object]) -> str:
    return "\x1f".join(f"{key}={value!r}" for key, value in sorted(group.items()))


def draw_with_replacement(rng: np.random.Generator, bins: Rows, repeats: int) -> Rows:
    """Draw as many rows as there are, with replacement, *repeats* times; return the rows in each bin.

    This is a multinomial draw. It is made by halving: the number of rows in the left half of the bins is
    binomial, and so on within each half. The shares are quotients of exact sums, so rounding errors do not
    add up over many bins, and the cost depends on the number of bins, not of rows.

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
    """Return, *repeats* times, how many rows of each bin another sample of as many rows might have had.

    This is the Bayesian bootstrap: shares of a Dirichlet distribution, which are 0 only where there are no
    rows. Those of a bin with k of n rows are quantiles of Beta(k, n - k), those with a row more beside it of
    Beta(k, n - k + 1): Clopper and Pearson's bound.

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
    """Draw *size* different rows, all sets of rows equally likely; return the rows in each bin.

    This is a multivariate hypergeometric draw. NumPy's is limited to 10^9 rows; this one is not: every row is
    kept with probability size/total, and the surplus or shortage, of the order of the square root of the
    size, is removed or added at random. Given the number of rows kept, all sets of that many rows are equally
    likely, before and after.
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
