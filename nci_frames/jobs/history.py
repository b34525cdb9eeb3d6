"""The history of a job: files and results of each run, and changes since the last good run."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import polars as pl

from nci_frames.base.errors import SourceError
from nci_frames.base.folders import MANIFEST, changed_files
from nci_frames.evaluation.projection.decomposition import decompose_difference
from nci_frames.jobs.gates.judge import VERDICTS, overall
from nci_frames.schemas import RATES

#: Kinds of arrival of a file, the most common first.
ARRIVALS = ("new", "late", "delivered again", "recounted", "changed", "failed")
ARRIVED: dict[str, Any] = {
    "path": pl.String, "window_start": pl.Datetime("us", "UTC"), "arrival": pl.String,
    "rows": pl.Int64, "note": pl.String,
}  # fmt: skip
#: Kinds of arrival that are events of an append.
_TOLD = ("recounted", "changed", "failed")
_RUN: dict[str, Any] = {"run": pl.String, "sequence": pl.Int64}
_TIMES: dict[str, Any] = dict.fromkeys(("time", "window_start"), pl.Datetime("us", "UTC"))
_NUMBERS = dict.fromkeys(("rows", *ARRIVALS), pl.Int64)
_TABLES: dict[str, dict[str, Any]] = {
    "history": {**_RUN, **_TIMES, **VERDICTS},
    "runs": {**_RUN, **_TIMES, "verdict": pl.String, **_NUMBERS},
    "unusual": {**_RUN, **ARRIVED},
}
#: Number of runs whose unusual files are kept.
_REMEMBERED = 100
#: Metrics whose change is split into prevalence and model.
_SPLIT = ("precision", "f_beta")


@dataclass(frozen=True, slots=True)
class History:
    """The results of all runs so far, and of the last good run."""

    #: "history": the verdicts of all runs; "runs": the newest window, verdict and arrivals of each run;
    #: "unusual": the files of the last runs that were late, delivered again, changed or unreadable.
    tables: Mapping[str, pl.DataFrame]
    #: Manifest of the latest run; None before the first run.
    manifest: Mapping[str, Any] | None
    #: Verdicts and operating points of the last good run; None before the first one.
    good: Mapping[str, pl.DataFrame] | None

    @classmethod
    def of(cls, folder: Path, pointer: Mapping[str, Any] | None) -> Self:
        """Read the files of the latest run and of the last good run.

        Raises
        ------
        SourceError
            If a file differs from its manifest.
        """
        if pointer is None:
            return cls({name: pl.DataFrame(schema=schema) for name, schema in _TABLES.items()}, None, None)
        latest, good = _whole(folder / str(pointer["path"])), pointer.get("last_good")
        tables = {name: _typed(_read(latest, name), schema) for name, schema in _TABLES.items()}
        manifest = json.loads((latest / MANIFEST).read_text(encoding="utf-8"))
        if good is not None:
            run = _whole(folder / str(good["path"]))
            good = {name: _read(run, name) for name in ("verdicts", "points")}
        return cls(tables, manifest, good)

    def with_run(
        self, own: Mapping[str, Any], verdicts: pl.DataFrame, arrived: pl.DataFrame
    ) -> dict[str, pl.DataFrame]:
        """Return the tables with one more run; *own* are its name, sequence, time and newest window."""
        facts = {"verdict": overall(verdicts), "rows": arrived["rows"].sum(), **count_arrivals(arrived)}
        doubtful = (pl.col("arrival") != "new") | pl.col("note").is_not_null()
        recent = pl.col("sequence") > own["sequence"] - _REMEMBERED
        name = [pl.lit(own[key]).alias(key) for key in _RUN]
        added = {
            "history": verdicts.with_columns(pl.lit(value).alias(name) for name, value in own.items()),
            "runs": pl.DataFrame([{**own, **facts}], schema=_TABLES["runs"]),
            # A file has its own window, which need not be the newest of the run.
            "unusual": arrived.filter(doubtful).with_columns(name),
        }
        before = {**self.tables, "unusual": self.tables["unusual"].filter(recent)}
        return {name: pl.concat([before[name], _typed(added[name], _TABLES[name])]) for name in _TABLES}


def arrivals(
    appended: pl.DataFrame,
    sources: pl.DataFrame,
    previous: Mapping[str, Any] | None,
    published: Collection[str],
) -> pl.DataFrame:
    """Return the arrivals: one row per file that is new or changed since the previous run.

    Parameters
    ----------
    appended
        The result of ``CountsLedger.append``, with the ``window_start`` of each path.
    sources
        The active sources.
    previous
        Manifest of the previous run; None if there is none that counted with these settings.
    published
        Names of the published runs: what a run counted that ended before, no page has told.

    Returns
    -------
    ``path``, ``window_start``, ``arrival`` (one of ``ARRIVALS``), ``rows`` (null if not counted) and
    ``note``: the reason of a failure, or a warning (else null). A file is "late" if the previous run had the
    same window or a newer one, and "delivered again" if its content was counted from another path. All files
    without rows have the same content, and are new once.
    """
    listed = previous["files_seen"] if previous else []
    seen = {file["path"]: file["source"] for file in listed if file["event"] not in ("changed", "failed")}
    newest: str | None = previous["newest_window"] if previous else None
    known = {row["source"]: row for row in sources.iter_rows(named=True)}
    rows = []
    for file in appended.iter_rows(named=True):
        path, event = file["path"], file["event"]
        source = known.get(file["source"] or "", {"path": None, "window_start": file["window_start"]})
        start, note, counted = source["window_start"], file["reason"] or file["warning"], file["rows"]
        # A known file with a note was moved.
        untold = source["path"] == path and source["run"] not in published and note is None
        if event == "known" and untold and seen.get(path) != file["source"]:
            event, counted = "recounted" if path in seen else "counted", source["rows"]
        if event in _TOLD:
            arrival = event
            note = "its earlier counts are kept" if event == "changed" else note
        elif event == "counted":
            late = newest is not None and start is not None and start <= datetime.fromisoformat(newest)
            arrival = "late" if late else "new"
        elif path not in seen and source.get("rows") != 0 and (note or source["path"] not in (path, None)):
            arrival, note = "delivered again", note or f"counted from {source['path']}"
        else:
            continue
        rows.append((path, start, arrival, counted, note))
    return pl.DataFrame(rows, schema=ARRIVED, orient="row")


def count_arrivals(table: pl.DataFrame) -> dict[str, int]:
    """Return the number of files by kind of arrival."""
    return {name: len(table.filter(arrival=name)) for name in ARRIVALS}


def changes_since(good: pl.DataFrame | None, now: pl.DataFrame) -> pl.DataFrame | None:
    """Split the changes since the last good run into prevalence and model.

    Parameters
    ----------
    good, now
        Operating points of the newest window, then and now.

    Returns
    -------
    The columns of ``decompose_difference``; None if there is nothing to compare with.
    """
    keys = RATES.keys(now.columns)
    if good is None or good.is_empty() or {*good.columns} != {*now.columns}:
        return None
    if good.select(keys).schema != now.select(keys).schema:
        # The values of a key that has another type, such as text in place of numbers, are other segments.
        return None
    if pl.concat([good["threshold"], now["threshold"]]).n_unique() > 1:
        # The difference would be that of the thresholds, not that of the model.
        return None
    before, this = "last good run", "this run"
    then = good.select(pl.col(name).cast(dtype) for name, dtype in now.schema.items())
    both = pl.concat([now.with_columns(run=pl.lit(this)), then.with_columns(run=pl.lit(before))])
    parts = [decompose_difference(both, metric=metric, over="run", reference=before) for metric in _SPLIT]
    return pl.concat(parts).filter(run=this).drop("run")


def _read(run: Path, name: str) -> pl.DataFrame:
    """Read a table of a run; older versions may lack it."""
    path = run / f"{name}.parquet"
    return pl.read_parquet(path, glob=False) if path.exists() else pl.DataFrame()


def _typed(frame: pl.DataFrame, schema: Mapping[str, Any]) -> pl.DataFrame:
    """Return the columns of a schema; missing columns are null."""
    return pl.concat([pl.DataFrame(schema=schema), frame], how="diagonal_relaxed").select(*schema)


def _whole(folder: Path) -> Path:
    try:
        wrong = changed_files(folder)
    except (OSError, ValueError, KeyError) as error:
        wrong = [str(error)]
    if wrong:
        msg = "a published run is damaged"
        hint = "restore it, or remove latest.json to begin a new history"
        raise SourceError(msg, where=repr(str(folder)), found=", ".join(map(repr, wrong)), hint=hint)
    return folder
