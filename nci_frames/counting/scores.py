"""Counting rows without labels: how many scores reach each threshold."""

import warnings
from collections.abc import Sequence
from typing import Literal

import polars as pl

from nci_frames.counting.count import tally_scan
from nci_frames.counting.logs.opening import Predictions
from nci_frames.counting.logs.scan import scan_behind
from nci_frames.counts.scores_as_counts import counts_as_scores
from nci_frames.schemas.checked import checked


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
    """Count how many scores reach each threshold, in a log whose labels are unknown or not used.

    ``estimate_prevalence`` compares such counts with those of a labelled log.

    Parameters
    ----------
    predictions
        What ``scan_predictions(..., label=None)`` returns, or a frame with the columns of predictions, of
        which ``label`` is not needed. Labels that are there do not matter.
    thresholds
        Numbers, strictly ascending: those of the labelled counts; or "exact" for every distinct score.
    by
        The keys to keep besides the model; the others are summed away. None keeps every key there is.
    memory_limit
        As in ``count_confusion``.
    progress
        Whether to show progress, if standard error is a terminal.

    Returns
    -------
    A row per group and threshold, sorted by model, keys and threshold:

    ============ ======= ========================================= ======================
    column       dtype   meaning                                   null means
    ============ ======= ========================================= ======================
    model        String  name of the model                         a model of its own
    keys                 as in the predictions                     a key of its own
    threshold    Float64 as given, or the score                    never
    above, below Int64   rows with a score >= threshold, and the   never
                         others; Float64 sums if there is weight
    ============ ======= ========================================= ======================

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
    for warning in tally.warnings:
        warnings.warn(warning, stacklevel=3)  # whoever called the checked function
    return counts_as_scores(tally.counts)
