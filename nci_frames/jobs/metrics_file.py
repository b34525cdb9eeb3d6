"""Metrics of a run, as an OpenMetrics text file for the textfile collector of a node exporter."""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.openmetrics.exposition import generate_latest

from nci_frames.base.errors import OutputError, ParameterError
from nci_frames.base.files import replacing
from nci_frames.jobs.run import Run

_PREFIX = "nci_frames_job_"
#: Beginning of every metrics file.
_BEGINNING = f"# HELP {_PREFIX}".encode()


def check_metrics_file(path: Path) -> None:
    """Refuse an invalid path for metrics, before anything is counted.

    Raises
    ------
    OutputError
        If a file exists there that no run wrote, such as the job file or a log.
    ParameterError
        If it is a folder.
    """
    key = "output.metrics_file"
    try:
        with path.open("rb") as file:
            begins = file.read(len(_BEGINNING))
    except FileNotFoundError:
        return
    except IsADirectoryError:
        hint = f"add a file name, e.g. {str(path / 'nci_frames.prom')!r}"
        raise ParameterError(f"{key} must be a file", found=f"the folder {str(path)!r}", hint=hint) from None
    except OSError as error:
        raise OutputError.unwritable(str(path), error) from error
    if begins not in (b"", _BEGINNING):
        msg, found = f"{key} would replace a file that no run wrote", "no metrics of a job"
        raise OutputError(msg, where=repr(str(path)), found=found, hint="name another file, or remove it")


def write_metrics(path: Path, run: Run) -> None:
    """Write the metrics of a run atomically.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    registry = CollectorRegistry()

    def put(name: str, says: str, samples: Iterable[tuple[Any, ...]], *labels: str) -> None:
        """Add a gauge; each sample has the values of its labels, and a number."""
        gauge = Gauge(f"{_PREFIX}{name}", says, ("job", *labels), registry=registry)
        for *values, number in samples:
            gauge.labels(run.job.name, *values).set(number)

    files = run.counts.files
    verdicts = run.verdicts.group_by("gate", "verdict").len().sort("gate", "verdict")
    put("last_run_timestamp_seconds", "Start of the last published run.", [(run.started.timestamp(),)])
    if run.last_good is not None:
        good = datetime.fromisoformat(run.last_good["time"]).timestamp()
        put("last_success_timestamp_seconds", "Start of the last run whose gates passed.", [(good,)])
    told = "Files that the last run looked at, by what became of them."
    put("files", told, files["event"].value_counts().sort("event").rows(), "event")
    put("rows_counted", "Predictions that the last run counted.", [(int(files["counted"].sum()),)])
    put("verdicts", "Verdicts of the last run.", verdicts.rows(), "gate", "verdict")
    # An observed prevalence differs in every run, and as a label would begin another time series in each.
    fixed = [
        gate.name for gate in run.job.gates if gate.champion or gate.scenario or gate.prevalence != "observed"
    ]
    eta = pl.when(pl.col("gate").is_in(fixed)).then(pl.col("prevalence").cast(pl.String))
    judged = run.verdicts.with_columns(prevalence=eta.otherwise(pl.lit("observed")))
    where = ("gate", "model", "segment", "metric", "prevalence")
    places = [judged[name].cast(pl.String).fill_null("") for name in where]
    for name, of in (("value", "Value"), ("lower", "Lower bound of the value"), ("upper", "Upper bound")):
        samples = pl.DataFrame([*places, judged[name].alias("number")]).drop_nulls("number")
        put(f"gate_{name}", f"{of} that a gate of the last run judged.", samples.rows(), *where)
    with replacing(path, what="metrics file") as beside:
        beside.write_bytes(generate_latest(registry))  # type: ignore[no-untyped-call]
