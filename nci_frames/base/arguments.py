"""Checks of common arguments: levels, numbers, thresholds, prevalences and betas."""

import math
import numbers
from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import Option

#: Maximum length of a grid; a longer one would exhaust the memory before an error is raised.
_MOST_NUMBERS = 100_000

#: Suffixes of numbers.
_UNITS = {"%": 0.01, "k": 1e3, "M": 1e6}

#: The prevalences that models are compared at by default.
USUAL_PREVALENCES = "1e-4:0.5:round"

#: Numbers of a round grid in a decade.
_ROUND = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)

#: Maximum number of thresholds; with more, counting at every distinct score is no slower.
MOST_THRESHOLDS = 65_535

#: With fewer buckets of units, resampling shows too little variation.
LEAST_BUCKETS = 20


def check_allowed(holds: object, name: str, value: object, allowed: str) -> None:
    """Raise ParameterError unless a condition of an argument *holds*, which is in words *allowed*."""
    if not holds:
        raise ParameterError.out_of_range(name, value, allowed)


def check_confidence(confidence: float) -> None:
    """Raise ParameterError unless *confidence* is valid for a target."""
    check_allowed(0.5 < confidence < 1, "confidence", confidence, "between 0.5 and 1, both excluded")


def check_budget(alerts: float, volume: float) -> None:
    """Raise ParameterError unless *alerts* among *volume* rows are a valid budget."""
    if not 0 <= alerts <= volume or not 0 < volume < math.inf:
        msg = "an alert budget is 0 <= alerts <= volume, with a finite volume above 0"
        raise ParameterError(msg, found=f"{Option('alerts', alerts)} and {Option('volume', volume)}")


def check_level(level: float) -> None:
    """Raise ParameterError unless *level* is a confidence level."""
    value_inside("level", level)
    # Doubles cannot distinguish lower levels from 0, at which intervals have no width.
    check_allowed(1 - level < 1, "level", level, "above 1e-16")


def value_inside(name: str, value: float | None) -> float:
    """Return a number strictly between 0 and 1."""
    if value is None or not 0 < value < 1:
        raise ParameterError.out_of_range(name, value, "between 0 and 1, both excluded")
    return float(value)


def check_whole(name: str, value: object, least: int, most: float = math.inf) -> None:
    """Raise ParameterError unless *value* is a whole number from *least* to *most*."""
    if not (isinstance(value, numbers.Integral) and least <= int(value) <= most):
        allowed = f">= {least:,}" if most == math.inf else f"from {least:,} to {most:,}"
        raise ParameterError.out_of_range(name, value, f"a whole number {allowed}")


def check_repeats(repeats: object, least: int) -> None:
    """Raise ParameterError unless *repeats* is a valid number of draws, at least *least*."""
    check_whole("repeats", repeats, least, 1_000_000)


def check_seed(seed: object) -> None:
    """Raise ParameterError unless *seed* is a valid seed."""
    # The range of scikit-learn, also for synthetic logs, so that one seed is valid for both.
    check_whole("seed", seed, 0, 2**32 - 1)


def check_utf8(name: str, value: str) -> None:
    """Raise ParameterError if a string cannot be encoded as UTF-8, which is possible for shell arguments."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ParameterError.out_of_range(name, value, "a text that UTF-8 can hold") from None


def check_cost(name: str, value: float) -> float:
    """Return a valid cost; the range keeps sums and quotients of costs away from 0 and infinity."""
    if value != 0 and not 1e-100 <= value <= 1e100:
        raise ParameterError.out_of_range(name, value, "0, or a number within [1e-100, 1e100]")
    return value


def number_list(given: float | Sequence[float]) -> list[float]:
    """Return one or several numbers as a list."""
    if isinstance(given, numbers.Real):
        return [float(given)]
    return [float(value) for value in cast("Sequence[float]", given)]


def name_list(given: str | Sequence[str]) -> list[str]:
    """Return one or several names as a list, each once."""
    return [given] if isinstance(given, str) else list(dict.fromkeys(given))


def threshold_grid(thresholds: ArrayLike, too_many: str | None = None) -> NDArray[np.float64]:
    """Return a list of thresholds as an array.

    *too_many* is the hint for an invalid number of thresholds.

    Raises
    ------
    ParameterError
        If there are none or too many, or one is NaN, or they are not strictly ascending.
    """
    grid = np.asarray(thresholds, dtype=np.float64)
    if not 1 <= len(grid) <= MOST_THRESHOLDS:
        msg = f"thresholds must be 1 to {MOST_THRESHOLDS:,} numbers"
        raise ParameterError(msg, found=f"{len(grid):,} of them", hint=too_many)
    if np.isnan(grid).any():
        msg = "thresholds must be numbers"
        raise ParameterError(msg, found=f"NaN at position {int(np.isnan(grid).argmax())}")
    # Not by differences: those of large numbers overflow, and inf - inf is NaN.
    wrong = np.flatnonzero(grid[1:] <= grid[:-1])
    if len(wrong):
        at = int(wrong[0])
        before, after = float(grid[at]), float(grid[at + 1])
        msg, hint = "thresholds must be strictly ascending", "sort them, and give each of them once"
        found = f"{before!r} {'twice' if before == after else f'before {after!r}'}, at position {at}"
        raise ParameterError(msg, found=found, hint=hint)
    return grid


def _values(name: str, given: float | Sequence[float], allowed: str, largest: float) -> list[float]:
    values = number_list(given)
    for value in values:
        check_allowed(0 <= value <= largest, name, value, allowed)
    check_allowed(values, name, given, "at least one number")
    return sorted(set(values))


def share_values(name: str, given: float | Sequence[float]) -> list[float]:
    """Return shares, ascending and distinct.

    Raises
    ------
    ParameterError
        If there are none, or one is outside [0, 1].
    """
    return _values(name, given, "within [0, 1]", 1.0)


def prevalence_values(prevalence: float | Sequence[float] | str) -> list[float] | None:
    """Return prevalences, ascending and distinct; None for the words "observed" and "selected".

    Raises
    ------
    ParameterError
        If there are none, or one is outside [0, 1].
    """
    return None if isinstance(prevalence, str) else share_values("prevalence", prevalence)


def beta_values(beta: float | Sequence[float]) -> list[float]:
    """Return betas, ascending and distinct.

    Raises
    ------
    ParameterError
        If there are none, or one is below 0 (inf is allowed: F-beta is then recall).
    """
    return _values("beta", beta, "a number >= 0 (inf is recall)", float("inf"))


def beta_value(beta: float) -> float:
    """Return one beta.

    Raises
    ------
    ParameterError
        If it is below 0.
    """
    return beta_values(beta)[0]


def nearest(grid: Sequence[float], value: float) -> float:
    """Return the value of the grid nearest to *value* by ratio, or by difference if *value* is 0.

    >>> nearest([0.001, 0.01, 0.1], 0.02)
    0.01
    """
    if value <= 0:
        return min(grid, key=lambda g: abs(g - value))
    return min(grid, key=lambda g: abs(math.log(g / value)) if g > 0 else math.inf)


def prevalence_of_ratio(ratio: float) -> float:
    """Return P(y=1) for *ratio* negatives per positive.

    Raises
    ------
    ParameterError
        If the ratio is not a finite number > 0.
    """
    check_allowed(0 < ratio < float("inf"), "ratio", ratio, "a finite number > 0 (negatives per positive)")
    return 1 / (1 + ratio)


def grid_numbers(text: str) -> list[float]:
    """Parse ``0.001,0.01``, ``start:stop:round``, ``start:stop:log:count`` or ``start:stop:lin:count``.

    A round grid has start, stop, and ten numbers of one or two digits per decade between them.

    Raises
    ------
    ValueError
        If *text* has another form.

    Examples
    --------
    >>> grid_numbers("0.5, 1")
    [0.5, 1.0]
    >>> grid_numbers("0.01:1:log:3")
    [0.01, 0.1, 1.0]
    >>> grid_numbers("0.03:0.25:round")
    [0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25]
    """
    if ":" not in text:
        return [number_of(part) for part in text.split(",")]
    parts = text.split(":")
    if len(parts) == 3 and parts[2] == "round":
        return _round_numbers(number_of(parts[0]), number_of(parts[1]))
    if len(parts) != 4 or parts[2] not in ("log", "lin"):
        raise ValueError("it must be start:stop:round, start:stop:log:count or start:stop:lin:count")
    start, stop, count = map(number_of, (*parts[:2], parts[3]))
    if not (-math.inf < start < stop < math.inf and 2 <= count <= _MOST_NUMBERS and count == int(count)):
        whole = f"count a whole number from 2 to {_MOST_NUMBERS:,}"
        raise ValueError(f"start must be below stop, both finite, and {whole}")
    log = parts[2] == "log"
    if log and start <= 0:
        raise ValueError("a log grid must start above 0")
    with np.errstate(all="ignore"):
        numbers = (np.geomspace if log else even_numbers)(start, stop, int(count))
    if not np.isfinite(numbers).all():
        raise ValueError("start and stop are too far apart")
    return cast("list[float]", numbers.tolist())


def even_numbers(start: float, stop: float, count: int) -> NDArray[np.float64]:
    """Return evenly spaced numbers; 0.3 is 0.3, where ``numpy.linspace`` gives 0.30000000000000004.

    >>> even_numbers(0, 1, 11)[3], even_numbers(-5, 5, 101)[54]
    (np.float64(0.3), np.float64(0.4))
    """
    place = np.arange(1, count - 1)
    return np.array([start, *((count - 1 - place) * start + place * stop) / (count - 1), stop], np.float64)


def number_of(text: str) -> float:
    """Parse ``0.0002``, ``1/5000``, ``0.02%``, ``2k`` or ``1M``.

    Raises
    ------
    ValueError
        If *text* has another form.

    Examples
    --------
    >>> [number_of(text) for text in ("1/5000", "0.02%", "2k", "1.5M")]
    [0.0002, 0.0002, 2000.0, 1500000.0]
    """
    above, slash, below = text.strip().partition("/")
    unit = _UNITS.get(above[-1:])
    try:
        # Round as decimals, so that 0.07 % equals 0.0007.
        number = float(above) if unit is None else float(f"{float(above[:-1]) * unit:.15g}")
        return number / float(below) if slash else number
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{text.strip()!r} is not a number") from None


def _round_numbers(start: float, stop: float) -> list[float]:
    if not 0 < start < stop < math.inf:
        raise ValueError("a round grid must start above 0 and below its stop")
    decades = range(math.floor(math.log10(start)), math.ceil(math.log10(stop)) + 1)
    if len(decades) * len(_ROUND) > _MOST_NUMBERS:
        raise ValueError("start and stop are too far apart")
    between = (float(f"{digits}e{decade}") for decade in decades for digits in _ROUND)
    return [start, *(number for number in between if start < number < stop), stop]
