"""A first job: a file with comments, and five nights of logs to run it on."""

from datetime import date, timedelta
from importlib import resources
from pathlib import Path

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.files import replacing, write_parquet

#: Separation by model: score = logistic(normal(separation * label, 1)).
_SEPARATION = {"forest": 2.6, "linear": 2.2}
#: Share of positives, and of rows, by country.
_COUNTRIES = {"at": (0.02, 0.2), "de": (0.05, 0.5), "fr": (0.1, 0.3)}
_FIRST_NIGHT = date(2026, 3, 1)
#: Rows of a night.
_ROWS = 4000


def write_job(folder: Path, *, example: bool = False) -> Path:
    """Write ``job.toml`` into a folder, and, with *example*, logs for it.

    Raises
    ------
    ParameterError
        If a job, or, with *example*, a folder of logs, already exists.
    OutputError
        If the folder cannot be written.
    """
    file = folder / "job.toml"
    if file.exists():
        raise ParameterError("there is a job file already", found=repr(str(file)), hint="name another folder")
    if example and (folder / "logs").exists():
        msg = "there are logs already, which the example would replace"
        raise ParameterError(msg, found=repr(str(folder / "logs")), hint="name another folder")
    text = resources.files("nci_frames.jobs").joinpath("job.toml").read_text(encoding="utf-8")
    with replacing(file, what="job file") as beside:
        beside.write_text(text, encoding="utf-8", newline="")
    if example:
        _write_logs(folder / "logs")
    return file


def _write_logs(folder: Path) -> None:
    """Write synthetic logs of two models, one file for each of five nights.

    The columns are model, label, score and country; the date is in the path. Each model scores the same rows.

    Raises
    ------
    OutputError
        If they cannot be written.
    """
    names = np.array(list(_COUNTRIES))
    prevalence, shares = np.array(list(_COUNTRIES.values())).T
    for night in range(5):
        rng = np.random.default_rng([0, night])
        country = rng.choice(len(names), _ROWS, p=shares)
        label = rng.random(_ROWS) < prevalence[country]
        frames = []
        for model, distance in _SEPARATION.items():
            logit = rng.normal(np.where(label, distance, 0.0), 1.0) - 1.5
            score = 1 / (1 + np.exp(-logit))
            columns = {"label": label.astype(np.int8), "score": score, "country": names[country]}
            frames.append(pl.DataFrame({"model": model, **columns}))
        path = folder / f"{_FIRST_NIGHT + timedelta(days=night):%Y-%m-%d}" / "predictions.parquet"
        with replacing(path, what="log") as beside:
            write_parquet(pl.concat(frames), beside)
