"""A published run -> MLflow: verdicts as metrics, its report, counts and verdicts as artifacts."""

import re
from datetime import datetime
from types import ModuleType

from nci_frames.base.errors import OutputError
from nci_frames.base.extras import require
from nci_frames.base.messages import first_line
from nci_frames.jobs.job_file.model import Tracking
from nci_frames.jobs.run import Outcome

_RUN = "nci_frames.run"
_NOT_ALLOWED = re.compile(r"[^\w\-. /]", re.ASCII)


def require_mlflow() -> ModuleType:
    """Import MLflow.

    Raises
    ------
    MissingPackageError
        If the extra ``mlflow`` is not installed.
    """
    return require("mlflow", extra="mlflow", what="logging runs needs the package mlflow-skinny")


def log_to_mlflow(tracking: Tracking, job: str, outcome: Outcome) -> str:
    """Log a run to an experiment of MLflow, unless it is there already; return its id there.

    Values of gates are metrics named ``gate/model/segment``, with ``_`` for characters that MLflow does not
    take; the verdict is a tag. All files of the run are artifacts.

    Raises
    ------
    MissingPackageError
        If the extra ``mlflow`` is not installed.
    OutputError
        If MLflow does not take it; the run itself has been published.
    """
    mlflow = require_mlflow()
    try:
        client = mlflow.MlflowClient(tracking_uri=tracking.uri)
        found = client.get_experiment_by_name(tracking.experiment or job)
        experiment = found.experiment_id if found else client.create_experiment(tracking.experiment or job)
        same = f"tags.`{_RUN}` = '{outcome.run}' and attributes.status = 'FINISHED'"
        known = client.search_runs([experiment], filter_string=same, max_results=1)
        if known:
            return str(known[0].info.run_id)
        pointer = outcome.shelf.pointer() or {}
        began = int(datetime.fromisoformat(pointer["time"]).timestamp() * 1000)
        tags = {_RUN: outcome.run, "verdict": outcome.verdict}
        run = client.create_run(experiment, start_time=began, run_name=outcome.run, tags=tags)
        identity = str(run.info.run_id)
        for row in outcome.verdicts.iter_rows(named=True):
            parts = (row[part] for part in ("gate", "model", "segment") if row[part])
            name = _NOT_ALLOWED.sub("_", "/".join(parts))[:200]
            for value in ("value", "lower", "upper"):
                if row[value] is not None:
                    key = name if value == "value" else f"{name} {value}"
                    client.log_metric(identity, key, row[value], began, pointer["sequence"])
        client.log_artifacts(identity, str(outcome.folder))
        client.set_terminated(identity)
    except (mlflow.exceptions.MlflowException, OSError) as error:
        msg = "the run is published, but MLflow did not take it"
        told = first_line(error)
        where = f"experiment {tracking.experiment or job!r}"
        raise OutputError(msg, where=where, found=told, hint="the next run is logged again") from error
    return identity
