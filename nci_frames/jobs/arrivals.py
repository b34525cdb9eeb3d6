"""What arrived since the run before: files that are new, late, delivered again, changed or unreadable."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import polars as pl

#: What can be said of a file, the usual first.
ARRIVALS = ("new", "late", "delivered again", "recounted", "changed", "failed")
ARRIVED: dict[str, Any] = {
    "path": pl.String,
    "window_start": pl.Datetime("us", "UTC"),
    "arrival": pl.String,
    "rows": pl.Int64,
    "note": pl.String,
}
_BECAME = {"recounted": "recounted", "changed": "changed", "failed": "failed"}


def arrivals(
    appended: pl.DataFrame, sources: pl.DataFrame, previous: Mapping[str, Any] | None
) -> pl.DataFrame:
    """Return what arrived, a row for each file that the run before had not seen as it is now.

    Parameters
    ----------
    appended
        What ``CountsLedger.append`` returned.
    sources
        The sources that count.
    previous
        The manifest of the run before; None if there is none.

    Returns
    -------
    ``path``, ``window_start``, ``arrival`` (one of ``ARRIVALS``), ``rows`` (null where they were not counted
    now) and ``note``: why it failed, or what is doubtful (null if there is nothing). A file is "late" if the
    run before had a window as new or newer, and "delivered again" if its content was counted from another
    path.
    """
    seen = {file["path"] for file in previous["files_seen"]} if previous else set()
    newest: str | None = previous["newest_window"] if previous else None
    known = {row["source"]: row for row in sources.iter_rows(named=True)}
    rows = []
    for file in appended.iter_rows(named=True):
        source = known.get(file["source"] or "", {"path": None, "window_start": None})
        start, note = source["window_start"], file["reason"] or file["warning"]
        if file["event"] in _BECAME:
            arrival = _BECAME[file["event"]]
        elif file["event"] == "counted":
            late = newest is not None and start is not None and start <= datetime.fromisoformat(newest)
            arrival = "late" if late else "new"
        elif file["path"] not in seen and source["path"] not in (file["path"], None):
            arrival, note = "delivered again", f"counted from {source['path']}"
        else:
            continue
        rows.append((file["path"], start, arrival, file["rows"], note))
    return pl.DataFrame(rows, schema=ARRIVED, orient="row")


def count_arrivals(table: pl.DataFrame) -> dict[str, int]:
    """Return how many files arrived, by what is said of them."""
    return {name: len(table.filter(arrival=name)) for name in ARRIVALS}
