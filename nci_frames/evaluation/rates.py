"""Counts -> rates: what does not depend on the class balance."""

import polars as pl

from nci_frames.schemas import COUNTS, collect

__all__ = ["compute_rates"]


def compute_rates(counts: pl.DataFrame | pl.LazyFrame, /) -> pl.DataFrame:
    """Return the true- and false-positive rate of every row of counts.

    Parameters
    ----------
    counts
        A counts frame.

    Returns
    -------
    The columns and the order of *counts*, and:

    =================== ======= =================================== ===================
    column              dtype   meaning                             null where
    =================== ======= =================================== ===================
    positives           Int64   tp + fn (Float64 with weights)      never
    negatives           Int64   fp + tn (Float64 with weights)      never
    observed_prevalence Float64 positives / all rows, in [0, 1]     there are no rows
    tpr                 Float64 tp / positives, in [0, 1]           no positives
    fpr                 Float64 fp / negatives, in [0, 1]           no negatives
    =================== ======= =================================== ===================

    Raises
    ------
    SchemaError
        If *counts* is not a counts frame.

    References
    ----------
    Brabec et al. (2020), eqs. 5-7, doi:10.1007/978-3-030-50423-6_6.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a"], "threshold": [0.5], "tp": [60], "fp": [1], "fn": [40], "tn": [999]
    ... })
    >>> nf.compute_rates(counts).select("tpr", "fpr", "observed_prevalence").row(0)
    (0.6, 0.001, 0.09090909090909091)
    """
    frame = collect(counts, COUNTS)
    positives = pl.col("tp") + pl.col("fn")
    negatives = pl.col("fp") + pl.col("tn")
    rows = positives + negatives
    return frame.with_columns(
        positives=positives,
        negatives=negatives,
        observed_prevalence=pl.when(rows > 0).then(positives / rows),
        tpr=pl.when(positives > 0).then(pl.col("tp") / positives),
        fpr=pl.when(negatives > 0).then(pl.col("fp") / negatives),
    )
