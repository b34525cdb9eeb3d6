"""Changes of values since the last good run, and their limits."""

import math
from collections.abc import Mapping
from typing import Any

from nci_frames.jobs.job_file.gates import ChangeThreshold, Gate

#: An unknown value.
UNKNOWN: dict[str, Any] = {"value": None, "lower": None, "upper": None}


def difference(
    own: Mapping[str, Any], other: Mapping[str, Any], *, correlation: float = 0.0
) -> dict[str, Any]:
    """Return the difference of two values with bounds, by MOVER (square-and-add).

    Parameters
    ----------
    own, other
        ``value``, ``lower``, ``upper``; null if unknown.
    correlation
        Correlation of the two estimates, in [0, 1]; a value below the true one widens the bounds. 1 means the
        same rows, so that the difference has no error.

    Returns
    -------
    ``value``, ``lower``, ``upper`` of *own* minus *other*; null if one of them is null, or a value infinite.

    References
    ----------
    G. Y. Zou and A. Donner (2008), Construction of confidence limits about effect measures,
    doi:10.1002/sim.3095; with a correlation G. Y. Zou (2007), Toward using confidence intervals to compare
    correlations, doi:10.1037/1082-989X.12.4.399.

    Examples
    --------
    >>> a, b = {"value": 0.5, "lower": 0.2, "upper": 0.9}, {"value": 0.1, "lower": 0.0, "upper": 0.5}
    >>> {name: round(number, 3) for name, number in difference(a, b).items()}
    {'value': 0.4, 'lower': -0.1, 'upper': 0.812}
    >>> {name: round(number, 3) for name, number in difference(a, b, correlation=0.8).items()}
    {'value': 0.4, 'lower': 0.159, 'upper': 0.726}
    """
    bounds = [side[name] for side in (own, other) for name in ("value", "lower", "upper")]
    if None in bounds or math.isinf(own["value"]) or math.isinf(other["value"]):
        return UNKNOWN
    value = own["value"] - other["value"]
    if correlation == 1:
        return {"value": value, "lower": value, "upper": value}
    down = _joined(own["value"] - own["lower"], other["upper"] - other["value"], correlation)
    up = _joined(own["upper"] - own["value"], other["value"] - other["lower"], correlation)
    return {"value": value, "lower": value - down, "upper": value + up}


def shared_correlation(shared: Mapping[str, Any], own: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    """Return a lower bound of the correlation of two values with shared rows.

    A metric at a threshold, or an area, is to first order a mean over the positives plus a mean over the
    negatives. Let classes have n1 and n2 rows, m of them shared, and k = min(m^2 / (n1 n2)) over the classes.
    The covariance of the values is then at least k V, where V is the variance of the value of the shared
    rows. Variances are derived from the bounds.

    Parameters
    ----------
    shared, own, other
        ``lower``, ``upper``, ``positives``, ``negatives`` of the shared rows, and of either set of rows.

    Examples
    --------
    Of 400 rows of a class 100 are the same as all of the other's, so that the bounds are half as wide:

    >>> wide = {"lower": 0.6, "upper": 0.8, "positives": 100, "negatives": 100}
    >>> narrow = {"lower": 0.65, "upper": 0.75, "positives": 400, "negatives": 400}
    >>> round(shared_correlation(wide, narrow, wide), 6)
    0.5
    """
    sides = (shared, own, other)
    if any(side["lower"] is None for side in sides):
        return 0.0
    sizes = [(shared[rows], own[rows] * other[rows]) for rows in ("positives", "negatives")]
    shares: list[float] = [same / math.sqrt(product) for same, product in sizes if product]
    spreads = [(side["upper"] - side["lower"]) ** 2 for side in sides]
    least = min(shares, default=0.0)
    # Without spread, the bounds do not give a variance.
    change = least * least * spreads[0] / math.sqrt(spreads[1] * spreads[2]) if all(spreads) else least
    return min(1.0, least, change)


def _joined(one: float, two: float, correlation: float) -> float:
    return math.sqrt(max(0.0, one * one + two * two - 2 * correlation * one * two))


def limits(gate: Gate, row: Mapping[str, Any], before: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the limits of a gate, and the bounds to compare with them.

    Parameters
    ----------
    gate
        The gate.
    row
        The current value, with its bounds and counts.
    before
        For a ``change_threshold``: the result of the last good run, with the ``shared`` rows of both runs,
        and with ``another``: what else the gate asked for then, or an empty text; None if there is none.

    Returns
    -------
    ``limit_lower``, ``limit_upper`` and ``judged``: the bounds of the value, or of its change. For a change
    also ``reference``, ``difference`` and their bounds; if nothing can be judged, a ``reason``. Without
    anything to compare with, ``undecided`` is "warn": otherwise there would never be a first good run.
    """
    none = {"limit_lower": None, "limit_upper": None, "judged": (row.get("lower"), row.get("upper"))}
    if gate.value_threshold is not None:
        return none | {f"limit_{name}": limit for name, limit in gate.value_threshold.model_dump().items()}
    if gate.change_threshold is None:
        return none | {"limit_lower": 0.0}
    return none | _change(gate, gate.change_threshold, row, before)


def _change(
    gate: Gate, change: ChangeThreshold, row: Mapping[str, Any], before: Mapping[str, Any] | None
) -> dict[str, Any]:
    reason = _why_none(gate, row, before)
    if before is None or reason is not None:
        return {"reason": reason, "undecided": "warn"}
    found = difference(row, before, correlation=shared_correlation(before["shared"], row, before))
    known: dict[str, Any] = {}
    for name, side in (("reference", before), ("difference", found)):
        known |= {name: side["value"], f"{name}_lower": side["lower"], f"{name}_upper": side["upper"]}
    if found["lower"] is None:
        infinite = math.isinf(row.get("value") or 0)
        reason = "an infinite value has no difference" if infinite else "the value has no bounds"
        return known | {"reason": reason}
    share = (change.relative or 0.0) * abs(before["value"])
    allowed = share if change.absolute is None else change.absolute
    limit = {"limit_upper": allowed} if gate.worse_above else {"limit_lower": -allowed}
    return {**known, **limit, "judged": (found["lower"], found["upper"])}


def _why_none(gate: Gate, row: Mapping[str, Any], before: Mapping[str, Any] | None) -> str | None:
    """Return why the last good run has no value to compare with; None if it has one."""
    if before is None:
        return "no value of the last good run to compare with"
    if before["value"] is None or before["lower"] is None:
        return "the value had no bounds in the last good run"
    if math.isinf(before["value"]):
        return "the value was infinite in the last good run"
    if before["another"]:
        return f"the gate had {before['another']} in the last good run"
    etas = row.get("prevalence"), before["prevalence"]
    fixed = gate.scenario is not None or gate.prevalence != "observed"
    if fixed and None not in etas and etas[0] != etas[1]:
        return f"the prevalence was {etas[1]:g} in the last good run"
    return None
