"""What to warn of after a log was counted: dropped rows, keys, units and thresholds that do not fit it."""

import warnings
from collections.abc import Mapping

import numpy as np
import polars as pl

from nci_frames.base.errors import (
    IgnoredUnitsWarning,
    NearlyUniqueKeyWarning,
    OutsideGridWarning,
    ToleranceWarning,
)
from nci_frames.base.typing import Floats
from nci_frames.counting.logs.reading import Scan
from nci_frames.counting.thresholds.auto import Chosen
from nci_frames.counts.score_scale import HIGHEST, LOWEST, named_models, no_probabilities, share_off_scale
from nci_frames.schemas import BUCKET, COUNTS, WEIGHT

#: A key with fewer values than this cannot be a row number or a timestamp.
_MANY_VALUES = 20

#: From this many thresholds on, a grid is assumed to span the scores: a grid in [0, 1], and any other grid,
#: since a few thresholds elsewhere may be chosen one by one.
_MANY_THRESHOLDS, _MANY_ELSEWHERE = 5, 15
_ADVICE = "thresholds='auto' (on the command line, in a ledger or a job: 'exact') fits any scores"


def warn_of_units(scan: Scan) -> None:
    """Warn the caller of the public function that the units of a log are not kept together."""
    if scan.has_units and BUCKET not in scan.keys:
        advice = "count unit_buckets(predictions); if no unit has several, predictions.drop('unit')"
        msg = f"{scan.source.where} has units whose rows are counted as independent: {advice}"
        warnings.warn(IgnoredUnitsWarning(msg), stacklevel=4)


def warnings_of(scan: Scan, rows_by_code: Mapping[int, int], groups: pl.DataFrame) -> list[UserWarning]:
    """Return the warnings on a counted log: dropped rows, keys with too many values."""
    where = scan.source.where
    found = (scan.dropped(rows_by_code), nearly_unique(groups, rows_by_code.get(0, 0), where))
    return [*scan.source.warnings, *(warning for warning in found if warning is not None)]


def tolerance_missed(chosen: Chosen, where: str) -> ToleranceWarning | None:
    """Return a warning if areas are bounded less narrowly than was asked for."""
    if chosen.reached is None or chosen.tolerance is None or chosen.reached <= chosen.tolerance:
        return None
    msg = f"the areas of {where} are bounded to within {chosen.reached:.2g}, not {chosen.tolerance:g}"
    return ToleranceWarning(f"{msg}; more thresholds would not help")


def nearly_unique(groups: pl.DataFrame, rows: int, where: str) -> NearlyUniqueKeyWarning | None:
    """Return a warning on keys with more than half as many values as a model has rows; None if none has."""
    keys = [key for key in groups.columns if key not in ("model", BUCKET, WEIGHT)]
    values = groups.select(pl.col(keys).n_unique()) if keys else pl.DataFrame()
    per_model = rows / max(groups["model"].n_unique(), 1)
    named = [
        f"{key!r} has {values[key][0]:,} values"
        for key in keys
        if values[key][0] >= _MANY_VALUES and values[key][0] > per_model / 2
    ]
    if not named:
        return None
    msg = f"in {where} the key {' and the key '.join(named)} for {per_model:,.0f} rows of a model"
    return NearlyUniqueKeyWarning(f"{msg}: nearly every row is a group of its own; choose other keys")


def marks(grid: Floats) -> Floats | None:
    """Return additional thresholds that ``off_scale`` needs to judge *grid*."""
    return np.array([LOWEST, HIGHEST]) if len(grid) >= _MANY_THRESHOLDS else None


def off_scale(counts: pl.DataFrame | None, grid: Floats | None, where: str) -> OutsideGridWarning | None:
    """Return a warning if scores and thresholds have different scales.

    Parameters
    ----------
    counts
        Counts at the thresholds of ``marks(grid)``; None if there are none.
    grid
        The requested thresholds.
    where
        The log as the user named it, for the message.
    """
    if counts is None or grid is None:
        return None
    shares = share_off_scale(counts, COUNTS.keys(counts.columns))
    finite = grid[np.isfinite(grid)]
    inside = int(((finite > LOWEST) & (finite < HIGHEST)).sum())
    if inside == len(finite):
        told = no_probabilities(shares, f" in {where}")
        told = told and f"{told}: thresholds from 0 to 1 cannot distinguish them; {_ADVICE}"
        return OutsideGridWarning(told) if told else None
    within = shares.filter(rows=0.0)
    if within.is_empty() or 2 * inside > len(finite) or len(finite) < _MANY_ELSEWHERE:
        return None
    return OutsideGridWarning(
        f"all scores of {named_models(within)} in {where} lie from 0 to 1, but only {inside:,} of "
        f"{len(finite):,} thresholds do; {_ADVICE}"
    )
