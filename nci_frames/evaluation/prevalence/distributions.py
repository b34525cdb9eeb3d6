"""What is known of a prevalence, as a distribution: its masses, and how to integrate over it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Protocol

import numpy as np

from nci_frames.base.arguments import check_level
from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import quantity
from nci_frames.base.normal import normal_quantile
from nci_frames.base.typing import Floats
from nci_frames.schemas import checked

#: Nodes of a panel, and the least mass of a tail that has panels of its own.
_NODES, _TAIL = 16, 1e-16
#: A panel spans no more than this factor of the odds, and of the mass of its tail.
_FACTOR = 4.0
#: Odds beyond which metrics are at their limits.
_ODDS = 1e15


class _Law(Protocol):
    """A continuous distribution on (0, 1), as SciPy has them."""

    def cdf(self, x: Floats) -> Floats: ...
    def sf(self, x: Floats) -> Floats: ...
    def ppf(self, q: Floats) -> Floats: ...
    def isf(self, q: Floats) -> Floats: ...


@dataclass(frozen=True, slots=True, eq=False)
class PrevalenceDistribution:
    """What is known of a prevalence: ``beta_prevalence``, ``prevalence_between`` or ``prevalence_draws``.

    Examples
    --------
    >>> import nci_frames as nf
    >>> nf.beta_prevalence(2, 98)
    beta_prevalence(2, 98)
    >>> round(nf.beta_prevalence(2, 98).mean, 12)
    0.02
    """

    #: The call that made it.
    name: str
    _law: _Law | None
    #: Distinct draws, ascending, and the share of each; empty for a law.
    _draws: Floats = field(default_factory=lambda: np.empty(0))
    _shares: Floats = field(default_factory=lambda: np.empty(0))

    def __repr__(self) -> str:
        """Return the call that made it."""
        return self.name

    @property
    def mean(self) -> float:
        """The mean: the share of positives that is expected."""
        eta, weight = self.nodes(np.empty(0))
        return float(weight @ eta)

    def quantile(self, share: float) -> float:
        """Return the prevalence below which a share of the mass lies.

        >>> import nci_frames as nf
        >>> round(nf.prevalence_between(0.0002, 0.001, level=0.9).quantile(0.95), 12)
        0.001
        """
        if self._law is None:
            place = np.searchsorted(np.cumsum(self._shares), share * (1 - 1e-12))
            return float(self._draws[min(int(place), len(self._draws) - 1)])
        return float(self._law.ppf(np.array([share]))[0])

    def masses(self, borders: Floats) -> Floats:
        """Return the mass between neighbouring *borders*, ascending from 0 to 1: together 1.

        A draw on a border belongs to the range that begins there.
        """
        if self._law is None:
            first = np.searchsorted(self._draws, borders[1:-1])
            ends = np.concatenate([[0], first, [len(self._draws)]])
            return np.diff(np.concatenate([[0.0], np.cumsum(self._shares)])[ends])
        below, above = self._law.cdf(borders), self._law.sf(borders)
        # Of the two differences the one of the smaller numbers is the more precise.
        return np.where(below[:-1] < 0.5, np.diff(below), -np.diff(above))

    def below(self, border: Floats) -> Floats:
        """Return the mass below each border; NaN at NaN."""
        if self._law is None:
            sums = np.concatenate([[0.0], np.cumsum(self._shares)])
            found = sums[np.searchsorted(self._draws, border)]
            return np.where(np.isnan(border), np.nan, found)
        return np.where(np.isnan(border), np.nan, self._law.cdf(border))

    def nodes(self, borders: Floats) -> tuple[Floats, Floats]:
        """Return prevalences and weights: the sum of weight·f is the mean of f.

        For draws it is exact. For a law f must be smooth between *borders*: each half of the mass is divided
        into panels, which are Gauss-Legendre quadratures over the mass.
        """
        if self._law is None:
            return self._draws, self._shares
        odds = np.geomspace(1 / _ODDS, _ODDS, 1 + 2 * round(np.log(_ODDS) / np.log(_FACTOR)))
        breaks = np.concatenate([odds / (1 + odds), borders])
        halves = (self._law.cdf, self._law.ppf), (self._law.sf, self._law.isf)
        parts = [_half(mass(breaks), place) for mass, place in halves]
        eta, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
        return np.clip(eta, 0.0, 1.0), weight


def _half(mass: Floats, place: object) -> tuple[Floats, Floats]:
    """Return the nodes of the half of the mass from one end to the middle."""
    panels = round(np.log(0.5 / _TAIL) / np.log(_FACTOR))
    ends = np.concatenate([[0.0, 0.5], np.geomspace(_TAIL, 0.5, panels + 1), mass[(mass > 0) & (mass < 0.5)]])
    ends = np.unique(ends)
    node, weight = _legendre()
    middle, half = (ends[1:] + ends[:-1]) / 2, np.diff(ends) / 2
    shares = middle[:, None] + half[:, None] * node
    return place(shares.ravel()), (half[:, None] * weight).ravel()  # type: ignore[operator]


@cache
def _legendre() -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights


@checked
def beta_prevalence(a: float, b: float) -> PrevalenceDistribution:
    """Describe a prevalence by a Beta distribution, such as the posterior of a labelled sample.

    Parameters
    ----------
    a, b
        Finite numbers > 0. After *k* positives among *n* rows drawn at random, ``a = k + 0.5`` and
        ``b = n - k + 0.5`` (Jeffreys' prior).

    Returns
    -------
    A distribution for ``expected_values`` and ``choose_under_uncertainty``; its mean is a/(a + b).

    Raises
    ------
    ParameterError
        If *a* or *b* is not a finite number > 0.

    Examples
    --------
    Seven positives were found among 10,000 rows that were reviewed at random.

    >>> import nci_frames as nf
    >>> known = nf.beta_prevalence(7.5, 9_993.5)
    >>> [float(f"{known.quantile(share):.2g}") for share in (0.025, 0.975)]
    [0.00031, 0.0014]
    """
    for name, value in (("a", a), ("b", b)):
        if not 0 < value < np.inf:
            raise ParameterError.out_of_range(name, value, "a finite number > 0")
    from scipy.stats import beta  # noqa: PLC0415  (slow to import, and seldom needed)

    return PrevalenceDistribution(f"beta_prevalence({a:g}, {b:g})", beta(float(a), float(b)))


@checked
def prevalence_between(low: float, high: float, *, level: float = 0.9) -> PrevalenceDistribution:
    """Describe a prevalence by two quantiles: "0.0002 to 0.001, with 90 %".

    Parameters
    ----------
    low, high
        The prevalence is below *low* and above *high* with equal probability; 0 < low < high < 1.
    level
        The probability that it is between them, in (0, 1).

    Returns
    -------
    A distribution for ``expected_values`` and ``choose_under_uncertainty``.

    Raises
    ------
    ParameterError
        If the ends are not ascending within (0, 1), or *level* is outside (0, 1).

    Notes
    -----
    The log odds are normal, with the mean (logit low + logit high)/2 and the standard deviation
    (logit high - logit low)/(2z), z the normal quantile of (1 + level)/2. For rare positives the prevalence
    is about lognormal: its median is the geometric mean of the ends.

    Examples
    --------
    >>> import nci_frames as nf
    >>> round(nf.prevalence_between(0.0002, 0.001).quantile(0.5), 6)
    0.000447
    """
    if not 0 < low < high < 1:
        raise ParameterError("low and high must be ascending within (0, 1)", found=f"{low!r} and {high!r}")
    check_level(level)
    ends = [np.log(eta) - np.log1p(-eta) for eta in (low, high)]
    law = _LogitNormal((ends[0] + ends[1]) / 2, (ends[1] - ends[0]) / (2 * normal_quantile(level)))
    return PrevalenceDistribution(f"prevalence_between({low:g}, {high:g}, level={level:g})", law)


@checked
def prevalence_draws(draws: Sequence[float]) -> PrevalenceDistribution:
    """Describe a prevalence by draws, such as those of a model of the field, or past months.

    Parameters
    ----------
    draws
        At least one prevalence in [0, 1]; each has the same weight.

    Returns
    -------
    A distribution for ``expected_values`` and ``choose_under_uncertainty``, in which every mean is exact.

    Raises
    ------
    ParameterError
        If there is no draw, or one is outside [0, 1].

    Examples
    --------
    >>> import nci_frames as nf
    >>> nf.prevalence_draws([0.001, 0.001, 0.004]).mean
    0.002
    """
    values = np.asarray(draws, np.float64)
    wrong = values[~((values >= 0) & (values <= 1))]
    if len(wrong) or not len(values):
        found = float(wrong[0]) if len(wrong) else draws
        raise ParameterError.out_of_range("draws", found, "at least one number within [0, 1]")
    places, times = np.unique(values, return_counts=True)
    name = f"prevalence_draws of {quantity(len(values), 'draw')}"
    return PrevalenceDistribution(name, None, places, times / len(values))


@dataclass(frozen=True, slots=True)
class _LogitNormal:
    """A prevalence whose log odds are normal."""

    mean: float
    deviation: float

    def cdf(self, x: Floats) -> Floats:
        return _special("ndtr", self._standard(x))

    def sf(self, x: Floats) -> Floats:
        return _special("ndtr", -self._standard(x))

    def ppf(self, q: Floats) -> Floats:
        return _special("expit", self.mean + self.deviation * _special("ndtri", q))

    def isf(self, q: Floats) -> Floats:
        return _special("expit", self.mean - self.deviation * _special("ndtri", q))

    def _standard(self, x: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return (np.log(x) - np.log1p(-np.asarray(x))) / self.deviation - self.mean / self.deviation


def _special(name: str, values: Floats) -> Floats:
    import scipy.special  # noqa: PLC0415  (slow to import, and seldom needed)

    found: Floats = getattr(scipy.special, name)(values)
    return found
