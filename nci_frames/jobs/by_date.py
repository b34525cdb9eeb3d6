"""Recall and FPR of each window of a job by date, whenever its rows arrived."""

from typing import Any

import polars as pl

from nci_frames.evaluation.projection.operating_points import select_operating_points
from nci_frames.evaluation.rates.rates import compute_rates
from nci_frames.jobs.job_file.model import Job
from nci_frames.jobs.run_counts import RunCounts

#: Maximum number of windows, the newest ones.
_SHOWN = 90
#: Arrival of the rows of a window: after newer windows, or as a replacement. The last one takes precedence.
_LATE, _CORRECTED = "late", "corrected"
BY_DATE: dict[str, Any] = {
    "window_start": pl.Datetime("us", "UTC"),
    "model": pl.String,
    **dict.fromkeys(("threshold", "observed_prevalence"), pl.Float64),
    **dict.fromkeys(("positives", "negatives"), pl.Int64),
    **dict.fromkeys(("tpr", "tpr_lower", "tpr_upper", "fpr", "fpr_lower", "fpr_upper"), pl.Float64),
    "arrival": pl.String,
}


def by_date(job: Job, counts: RunCounts, unusual: pl.DataFrame) -> pl.DataFrame:
    """Return the rates of each window as counted now, at the threshold of the report.

    Parameters
    ----------
    job, counts
        The job, and its reported counts.
    unusual
        Files of the last runs that arrived late, or replaced others.

    Returns
    -------
    The columns of ``BY_DATE``, one row per window and model. Bounds are 95 % Wilson intervals; null with
    units or repeats, of which a window has few. ``arrival``: null, "late", "corrected".
    """
    together = job.columns.unit is not None or job.columns.repeat is not None
    tables = []
    for window in counts.windows[-_SHOWN:]:
        rates = compute_rates(counts.by([], window), interval=None if together else "wilson")
        points = select_operating_points(rates, threshold=job.report.table_threshold)
        tables.append(points.with_columns(window_start=pl.lit(window[0], BY_DATE["window_start"])))
    found = pl.concat([pl.DataFrame(schema=BY_DATE), *tables], how="diagonal_relaxed")
    kinds = {_LATE: pl.col("arrival") == "late", _CORRECTED: pl.col("arrival") == "recounted"}
    said = pl.coalesce(pl.when(kinds[name].any()).then(pl.lit(name)) for name in (_CORRECTED, _LATE))
    arrived = unusual.drop_nulls("window_start").group_by("window_start").agg(said.alias("arrival"))
    # Sums of weights are rounded to whole numbers.
    whole = found.with_columns(pl.col("positives", "negatives").cast(pl.Float64).round().cast(pl.Int64))
    told = whole.drop("arrival").join(arrived, on="window_start", how="left")
    return told.select(*BY_DATE).sort("window_start", "model")
