"""Counts -> the lead of a champion over the best of its rivals."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from nci_frames.evaluation.metrics import Metric, asked_metric
from nci_frames.evaluation.resampling.replicates import Replicates, resample_models
from nci_frames.evaluation.resampling.resampling import Asked, Resampling
from nci_frames.evaluation.significance.best import FEW_ROWS, Candidates
from nci_frames.jobs.gates.changes import UNKNOWN
from nci_frames.jobs.gates.measure import NO_BOUNDS, REPEATS, measure, segment_texts
from nci_frames.jobs.job_file.gates import Champion, Gate
from nci_frames.questions.units import Pools

#: Reason of an unknown lead if the models were not compared on the same rows.
UNPAIRED = (
    "the models are compared as if each had rows of its own: name the key of the rows as columns.unit, "
    "and they are compared on the same rows, which tells them apart sooner"
)


def champion_rows(
    counts: pl.DataFrame, gate: Gate, champion: Champion, *, threshold: float, repeat: str | None
) -> Iterator[dict[str, Any]]:
    """Yield the lead of the champion at each of its prevalences, in each segment with its rows.

    The bounds of a lead come from resampled logs and hold for all rivals together. With units, all models are
    compared on the same units, so that common variation cancels.

    Parameters
    ----------
    counts, gate, threshold, repeat
        As in ``measure``.
    champion
        The model and the prevalences.

    Yields
    ------
    The columns of ``measure`` for the champion, with the lead as ``value``, ``lower`` and ``upper`` (positive
    if the champion is better, for every metric), and ``rival``: the best other model, or one without a value.
    """
    keys, drawn = gate.segments, Pools(counts, gate.segments, repeat)
    # Without units, one repeat is taken: the others have the same rows.
    over = repeat if drawn.units is not None else None
    asked = asked_metric(gate.metric)
    there = counts.filter(pl.col("model") == champion.model)
    for eta in champion.prevalence:
        own = measure(there, gate, eta, threshold=threshold, repeat=repeat).to_dicts()
        if not drawn.enough:
            yield from (row | UNKNOWN | {"reason": NO_BOUNDS, "rival": None} for row in own)
            continue
        found = resample_models(
            drawn.counts if over is not None else drawn.by_segment,
            Asked(gate.metric, eta, gate.beta, None if asked.kind == "curve" else threshold),
            Resampling(drawn.units, over, repeats=REPEATS, least_repeats=100),
            prior=True,
        )
        leads = {}
        for models in found:
            group = models[0].histogram.group
            # A segment may lack the champion.
            if champion.model in _names(models):
                leads[segment_texts(group, keys).item()] = _lead(
                    models, asked, champion.model, gate.level, paired=drawn.units is not None
                )
        yield from (row | leads[row["segment"]] for row in own)


def _names(models: list[Replicates]) -> list[str]:
    return [one.histogram.group["model"].item() for one in models]


def _lead(
    models: list[Replicates], metric: Metric, champion: str, level: float, *, paired: bool
) -> dict[str, Any]:
    """Return the lead of the champion in a segment; positive if it is ahead."""
    names = _names(models)
    if len(names) < 2:
        return {**UNKNOWN, "rival": None, "reason": "no rival"}
    candidates, one = Candidates.of(models, metric), names.index(champion)
    values = (candidates.value * candidates.scale)[:, 0]
    lower, upper = candidates.lead(one, level)
    others = [place for place in range(len(names)) if place != one]
    # One rival that is certainly ahead suffices; to lead, the champion must be ahead of all rivals.
    unknown = [place for place in others if not candidates.told[place, 0]]
    if np.isnan(upper) or (unknown and upper >= 0):
        rival = unknown[0] if unknown else others[0]
        why = candidates.why[one, 0] or candidates.why[rival, 0] or FEW_ROWS
        return {**UNKNOWN, "rival": names[rival], "reason": str(why)}
    best = max(others, key=lambda place: -np.inf if np.isnan(values[place]) else values[place])
    lead = {"value": float(values[one] - values[best]), "lower": lower, "upper": upper}
    return lead | {"rival": names[best], "reason": UNPAIRED if not paired and lower < 0 <= upper else None}
