"""What is written about a run: for programs, and for the reader of its pages."""

import platform
from datetime import datetime
from importlib import metadata
from typing import Any

import polars as pl

from nci_frames.jobs.gates.judge import Verdict
from nci_frames.jobs.job_file.loading import JobFile
from nci_frames.jobs.ledger.storage import content_hash
from nci_frames.jobs.reported import Reported


def data_facts(counts: Reported, appended: pl.DataFrame) -> list[tuple[str, str]]:
    """Return pairs of label and value about the data of a run."""
    sources = counts.reported
    counted = appended.filter(pl.col("event").is_in(["counted", "recounted"]))
    new = counted.join(sources, on="source", how="semi")
    failed = appended.filter(event="failed")
    facts = [
        ("sources", f"{len(sources):,}, of which {len(new):,} new"),
        ("rows counted", f"{sources['counted'].sum():,}"),
        ("rows dropped", f"{sources['dropped'].sum():,}"),
    ]
    if counts.last_window is not None:
        newest = counts.last_window[0]
        windows = sources["window_start"].drop_nulls().n_unique()
        facts.append(("windows", f"{windows:,}, the newest from {newest:%Y-%m-%d %H:%M} UTC"))
    if len(failed):
        facts.append(("files that could not be counted", f"{len(failed):,}: {', '.join(failed['path'])}"))
    return facts


def manifest_of(
    file: JobFile,
    run: str,
    sequence: int,
    started: datetime,
    verdict: Verdict,
    counts: Reported,
    appended: pl.DataFrame,
) -> dict[str, Any]:
    """Return what the manifest of a run says besides the hashes of its files."""
    columns = ["source", "path", "rows", "counted", "dropped", "positives", "negatives"]
    return {
        "version": 1,
        "job": file.job.name,
        "run": run,
        "sequence": sequence,
        "started": started.isoformat(),
        "verdict": verdict,
        "ledger": counts.mark(),
        # The file as it is written: variables of the environment are not replaced in it.
        "settings": file.text,
        # Prevalences of a scenario may stand in a table of their own.
        "scenarios": file.job.model_dump(include={"scenarios"})["scenarios"],
        "settings_blake3": content_hash(file.text.encode()),
        "rows": {name: int(counts.reported[name].sum()) for name in ("rows", "counted", "dropped")},
        "sources": counts.reported.select(columns).to_dicts(),
        "newest_window": counts.last_window and counts.last_window[0].isoformat(),
        "files_seen": appended.drop("rows", "counted", "dropped").to_dicts(),
        "versions": {
            "python": platform.python_version(),
            **{name: metadata.version(name) for name in ("nci_frames", "polars", "deltalake", "pydantic")},
        },
    }
