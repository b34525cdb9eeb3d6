"""What a value may have changed by since the last good run, and by how much it has."""

from collections.abc import Mapping
from typing import Any

from nci_frames.jobs.gates.difference import difference, shared_correlation
from nci_frames.jobs.job_file.gates import Gate


def change_limits(gate: Gate, row: Mapping[str, Any], before: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the limits of a change, its bounds, and what it is a change from.

    Parameters
    ----------
    gate
        A gate with a ``change_threshold``.
    row
        The value now, with its bounds and counts.
    before
        What the last good run said, with the ``shared`` rows of both; None if there is none.

    Returns
    -------
    ``limit_lower``, ``limit_upper`` (of the difference), ``reference``, ``difference`` and their bounds, and
    ``judged``: the bounds that the limits are about. Where nothing can be judged, a ``reason``.
    """
    none = {"limit_lower": None, "limit_upper": None}
    change = gate.change_threshold
    if change is None or before is None:
        return {**none, "reason": "no good run before to compare with"}
    if before["value"] is None or before["lower"] is None:
        return {**none, "reason": "the value had no bounds in the last good run"}
    etas = row.get("prevalence"), before["prevalence"]
    fixed = gate.scenario is not None or gate.prevalence != "observed"
    if fixed and None not in etas and etas[0] != etas[1]:
        return {**none, "reason": f"the prevalence was {etas[1]:g} in the last good run"}
    judged = difference(row, before, correlation=shared_correlation(before["shared"], row, before))
    known = {
        "reference": before["value"],
        "reference_lower": before["lower"],
        "reference_upper": before["upper"],
        "difference": judged["value"],
        "difference_lower": judged["lower"],
        "difference_upper": judged["upper"],
    }
    if judged["lower"] is None:
        return {**none, **known, "reason": row.get("reason") or "the value has no bounds"}
    allowed = (
        change.absolute if change.absolute is not None else (change.relative or 0.0) * abs(before["value"])
    )
    higher = change.direction == "higher_is_better" or (change.direction is None and not gate.minimized)
    limits = {"limit_lower": -allowed if higher else None, "limit_upper": None if higher else allowed}
    return {**limits, **known, "judged": judged}
