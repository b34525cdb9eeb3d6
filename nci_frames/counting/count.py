"""Predictions -> exact counts, in one lazy pass."""

import contextlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
import polars as pl

from nci_frames.base.errors import InvalidRowsError, SourceError
from nci_frames.base.messages import Option
from nci_frames.counting.engine.exact import TooManyRowsError
from nci_frames.counting.engine.grid import Counted
from nci_frames.counting.engine.groups import TooManyWeightsError
from nci_frames.counting.engine.memory import Budget, TooManyCountsError
from nci_frames.counting.engine.passes import count_at
from nci_frames.counting.log_warnings import marks, off_scale, tolerance_missed, warn_of_units, warnings_of
from nci_frames.counting.logs.opening import Predictions
from nci_frames.counting.logs.reading import Scan, kept_keys
from nci_frames.counting.logs.scan import scan_behind
from nci_frames.counting.thresholds.auto import (
    EXACT_IN_PARTS,
    EXACT_ROWS,
    USUAL_THRESHOLDS,
    Chosen,
    count_to_tolerance,
)
from nci_frames.counting.thresholds.grids import AutoThresholds, Thresholds, auto_thresholds, check_thresholds
from nci_frames.counts.scores_as_counts import counts_as_scores
from nci_frames.schemas import COUNTS, WEIGHT, checked

_Result = TypeVar("_Result")

#: Counts per row of the log that "auto" may take on a grid by more keys than the model: the model alone needs
#: the thresholds, so that few are kept. Those of strata would multiply at every score.
_PER_ROW_OF_PARTS = 4


@checked
def count_confusion(
    predictions: Predictions,
    /,
    *,
    thresholds: Thresholds = "auto",
    by: str | Sequence[str] | None = None,
    memory_limit: float | None = None,
    progress: bool = False,
) -> pl.DataFrame:
    """Count true and false positives and negatives of every group at every threshold.

    A row is a positive decision if ``score >= threshold``, compared in the precision of the score. All rows
    with equal scores move together.

    Parameters
    ----------
    predictions
        The result of ``scan_predictions``, which may have been filtered or changed since; or a frame or Arrow
        table with the columns of predictions, whose other columns are keys. The rows of a Spark DataFrame are
        counted in Spark.
    thresholds
        Strictly ascending numbers (infinities are allowed), such as ``uniform_thresholds(101)``; "exact" for
        every distinct score of each group; or "auto": fine enough for an error of at most 0.001 in the areas
        of every model (see ``auto_thresholds`` for other settings). For a small log, "auto" means "exact".
    by
        Keys to keep besides the model; counts are summed over the others. None keeps all keys.
    memory_limit
        Maximum number of bytes for the counts, above 0; None means half of the machine's memory. A count that
        needs more is refused before the memory is allocated; ``sink_exact_counts`` writes exact counts of any
        size to a file.
    progress
        Whether to show progress, if standard error is a terminal.

    Returns
    -------
    One row per group and threshold, sorted by model, keys and threshold:

    %(columns of counts)s

    The keys of the predictions are kept; null is a key value of its own. Counting makes no other nulls. The
    thresholds of exact counts are the scores.

    With weights, the rows of one weight are a stratum: ``weight`` is a key, the counts are whole rows, and
    functions that take counts multiply by the weight. With more than 1,000 different weights, or in Spark,
    the counts are Float64 sums of weights instead, for which there are no intervals and no tests.

    Raises
    ------
    InvalidRowsError
        If a row is not valid, and the scan does not drop such rows.
    ParameterError
        If the thresholds are empty, not ascending, or NaN.
    SchemaError
        If *predictions* lacks a column or a key of *by*.
    SourceError
        If the numbers of rows counted and dropped do not add up to the rows in the file footers; or if Spark
        cannot count.

    Warns
    -----
    IgnoredUnitsWarning
        If the rows belong to units, but there is no key ``bucket``: intervals and tests then treat the rows
        as independent.
    IgnoredWeightsWarning
        If the log has the columns that ``draw_labels`` adds, and the weight was not named.
    InvalidRowsWarning
        If rows were dropped; it gives the number of rows by reason.
    NearlyUniqueKeyWarning
        If a key has nearly as many values as a model has rows, as a row number or a timestamp has.
    OutsideGridWarning
        If five or more thresholds all lie in [0, 1], but 1 % of the positives or of the negatives of a model
        lie outside. Or if most of fifteen or more thresholds lie outside [0, 1], but all scores of a model
        inside.
    ToleranceWarning
        If "auto" could not reach its tolerance; it gives the tolerance that was reached.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> nf.count_confusion(log, thresholds=[0.3, 0.5]).drop("model", "resolution").rows()
    [(0.3, 2, 1, 0, 1), (0.5, 1, 0, 1, 2)]
    """
    scan = scan_behind(predictions)
    tally = tally_scan(scan, thresholds=thresholds, by=by, memory_limit=memory_limit, progress=progress)
    warn_of_units(scan)
    return _told(tally).counts


@checked
def count_scores(
    predictions: Predictions,
    /,
    *,
    thresholds: Sequence[float] | Literal["exact"],
    by: str | Sequence[str] | None = None,
    memory_limit: float | None = None,
    progress: bool = False,
) -> pl.DataFrame:
    """Count the scores above and below each threshold, without using labels.

    ``estimate_prevalence`` compares such counts with those of a labelled log.

    Parameters
    ----------
    predictions
        The result of ``scan_predictions(..., label=None)``, or a frame with the columns of predictions, where
        ``label`` is optional. Labels are ignored.
    thresholds
        Strictly ascending numbers, those of the labelled counts; or "exact" for every distinct score.
    by
        Keys to keep besides the model; counts are summed over the others. None keeps all keys.
    memory_limit
        As in ``count_confusion``.
    progress
        Whether to show progress, if standard error is a terminal.

    Returns
    -------
    One row per group and threshold, sorted by model, keys and threshold:

    %(columns of score counts)s

    The keys of the predictions are kept; null is a key value of its own. With weights, ``weight`` is a key,
    as in counts; with more than 1,000 different weights the counts are Float64 sums.

    Raises
    ------
    InvalidRowsError, ParameterError, SchemaError, SourceError
        As ``count_confusion`` does.

    Warns
    -----
    InvalidRowsWarning, NearlyUniqueKeyWarning, OutsideGridWarning
        As ``count_confusion`` does.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> traffic = pl.DataFrame({"model": "a", "score": [0.1, 0.4, 0.35, 0.8]})
    >>> nf.count_scores(traffic, thresholds=[0.3, 0.5]).rows()
    [('a', 0.3, 3, 1), ('a', 0.5, 1, 3)]
    """
    scan = scan_behind(predictions, labelled=False)
    tally = tally_scan(scan, thresholds=thresholds, by=by, memory_limit=memory_limit, progress=progress)
    return counts_as_scores(_told(tally).counts)


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts, and the fate of every row."""

    counts: pl.DataFrame
    #: The log as the user named it, and its number of files.
    where: str
    files: int
    #: What was counted: rows of the log, or predictions if each row has one per model.
    rows_are: str
    #: Rows counted.
    counted: int
    #: Rows dropped, by reason.
    dropped: dict[str, int]
    #: Warnings for the user.
    warnings: tuple[UserWarning, ...]
    #: Requested and reached maximum width of the certified bounds of areas; None if none was requested.
    tolerance: float | None
    reached: float | None


def _told(tally: Tally) -> Tally:
    for warning in tally.warnings:
        warnings.warn(warning, stacklevel=4)  # the caller of the public function
    return tally


def tally_scan(
    scan: Scan,
    *,
    thresholds: Thresholds,
    by: str | Sequence[str] | None = None,
    memory_limit: float | None = None,
    progress: bool = False,
    in_parts: bool = False,
    whole: bool = True,
) -> Tally:
    """Count an opened log; without labels, every row counts as a negative.

    Up to 1,000 different weights are strata; more are summed. With *in_parts*, "auto" avoids exact counts
    with many scores, since the same rows will also be counted by units. The weights of a log that is not
    *whole*, but one of several, may all be 0.

    Raises
    ------
    InvalidRowsError, ParameterError, SchemaError
        As ``count_confusion`` does.
    """
    group = ["model", *kept_keys(scan.keys, by)]
    budget = Budget.of(memory_limit)
    chosen, found = by_weight(
        scan, group, lambda scan, group: _counted(scan, group, thresholds, budget, progress, in_parts)
    )
    counts, rows_by_code = found.counts, found.rows_by_code
    need_whole_log(scan, rows_by_code)
    if whole:
        need_weight(scan, counts)
    warned = (
        *warnings_of(scan, rows_by_code, found.groups),
        tolerance_missed(chosen, scan.source.where),
        off_scale(found.also, chosen.grid, scan.source.where),
    )
    return Tally(
        counts=COUNTS.finish_right(counts.with_columns(_resolution(chosen, len(counts)))),
        where=scan.source.where,
        files=len(scan.source.files),
        rows_are=scan.rows_are,
        counted=rows_by_code.get(0, 0),
        dropped=scan.reasons(rows_by_code),
        warnings=tuple(warning for warning in warned if warning is not None),
        tolerance=chosen.tolerance,
        reached=chosen.reached,
    )


def need_whole_log(scan: Scan, rows_by_code: Mapping[int, int]) -> None:
    """Raise SourceError if rows are missing or there are none, InvalidRowsError if a class lost all rows."""
    scan.need_all_rows(rows_by_code)
    if scan.rows is None and not sum(rows_by_code.values()):
        hint = "a stream can be read only once: collect it first"
        raise SourceError("the log has no rows", where=scan.source.where, hint=hint)
    scan.need_two_classes(rows_by_code)


def need_weight(scan: Scan, counts: pl.DataFrame) -> None:
    """Raise InvalidRowsError if all weights are 0."""
    if WEIGHT in counts.columns and counts[WEIGHT].max() == 0:
        msg, hint = "no row counts: all weights are 0", f"omit {Option('weight')} to count each row as one"
        raise InvalidRowsError(msg, where=scan.source.where, hint=hint)


def by_weight(scan: Scan, group: list[str], count: Callable[[Scan, list[str]], _Result]) -> _Result:
    """Count by strata if there are few different weights, else sum the weights."""
    if scan.weighted and scan.source.elsewhere is None:
        with contextlib.suppress(TooManyWeightsError):
            return count(replace(scan, sums_weights=False), [*group, WEIGHT])
    return count(scan, group)


def _counted(
    scan: Scan, group: list[str], thresholds: Thresholds, budget: Budget, progress: bool, in_parts: bool
) -> tuple[Chosen, Counted]:
    """Count at the requested thresholds; a small log is read only once."""
    if isinstance(thresholds, str):
        if thresholds == "exact":
            return Chosen(None), count_at(scan, group, None, budget=budget, progress=progress)
        thresholds = auto_thresholds()
    if not isinstance(thresholds, AutoThresholds):
        grid = check_thresholds(thresholds)
        return Chosen(grid), count_at(scan, group, grid, marks(grid), budget=budget, progress=progress)
    exact = Chosen(None, None, 0.0, thresholds.tolerance)
    fit = budget.most_rows(len(group), weighted=scan.weighted and WEIGHT not in group)
    most_rows = min(EXACT_ROWS, fit)
    if (in_parts or WEIGHT in group) and _is_smaller_as_grid(scan, group):
        most_rows = min(most_rows, EXACT_IN_PARTS)
    if scan.rows is None or scan.rows <= most_rows:
        with contextlib.suppress(TooManyRowsError):
            return exact, count_at(scan, group, None, budget=budget, progress=progress, most_rows=most_rows)
    if scan.rows is None or scan.rows > fit:
        return count_to_tolerance(scan, group, thresholds, budget=budget, progress=progress)
    with contextlib.suppress(TooManyCountsError):
        few = replace(budget, most_counts=scan.rows * (_PER_ROW_OF_PARTS if len(group) > 1 else 1))
        return count_to_tolerance(scan, group, thresholds, budget=few, progress=progress)
    # A grid has every threshold in every group: of many groups these are more counts than the log has rows,
    # and hardly fewer after unneeded thresholds are dropped.
    return exact, count_at(scan, group, None, budget=budget, progress=progress)


def _is_smaller_as_grid(scan: Scan, group: list[str]) -> bool:
    """Return whether counts on a grid (every threshold in every group) have fewer rows than the log."""
    if scan.rows is None or not EXACT_IN_PARTS < scan.rows <= EXACT_ROWS:
        return False
    return scan.groups_there(group) * USUAL_THRESHOLDS <= scan.rows


def _resolution(chosen: Chosen, rows: int) -> pl.Expr | pl.Series:
    if chosen.grid is None or chosen.resolved is None:
        return pl.lit("exact" if chosen.grid is None else "grid").alias("resolution")
    word = np.tile(chosen.resolved.astype(np.uint32), rows // len(chosen.resolved))
    return pl.Series("resolution", ["grid", "exact"]).gather(word)
