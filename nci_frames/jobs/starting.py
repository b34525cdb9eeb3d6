"""A first job: its commented file, and five nights of logs to run it on."""

from datetime import date, timedelta
from importlib import resources
from pathlib import Path

import numpy as np
import polars as pl

from nci_frames.base.errors import OutputError, ParameterError
from nci_frames.base.files import replacing, write_parquet

#: Score = normal(separation * label, 1) through the logistic function; by model.
SEPARATION = {"forest": 2.6, "linear": 2.2}
#: Share of positives, and of rows, by country.
COUNTRIES = {"at": (0.02, 0.2), "de": (0.05, 0.5), "fr": (0.1, 0.3)}
FIRST_NIGHT = date(2026, 3, 1)


def write_job(folder: Path, *, example: bool = False) -> Path:
    """Write ``job.toml`` into a folder, with *example* also logs that it runs on.

    Raises
    ------
    ParameterError
        If there is a job already, or with *example* logs are.
    OutputError
        If the folder cannot be written.
    """
    file = folder / "job.toml"
    if file.exists():
        msg = "there is a job file already"
        raise ParameterError(msg, found=repr(str(file)), hint="name another folder")
    if example and (folder / "logs").exists():
        msg = "there are logs already, which the example would replace"
        raise ParameterError(msg, found=repr(str(folder / "logs")), hint="name another folder")
    text = resources.files("nci_frames.jobs").joinpath("job.toml").read_text(encoding="utf-8")
    with replacing(file, what="job file") as beside:
        beside.write_text(text, encoding="utf-8", newline="")
    if example:
        write_example_logs(folder / "logs")
    return file


def write_example_logs(folder: Path, *, nights: int = 5, rows: int = 4000, seed: int = 0) -> list[Path]:
    """Write synthetic logs of two models, a file for each night.

    The columns are model, label, score and country; the date is in the path. Each model scores the same rows.
    """
    paths = []
    for night in range(nights):
        day = FIRST_NIGHT + timedelta(days=night)
        paths.append(folder / f"{day:%Y-%m-%d}" / "predictions.parquet")
        write_night(paths[-1], np.random.default_rng([seed, night]), rows)
    return paths


def write_night(
    path: Path,
    rng: np.random.Generator,
    rows: int,
    *,
    separation: dict[str, float] | None = None,
    weaker: dict[str, float] | None = None,
) -> None:
    """Write one night: *separation* by model, and by country what is taken off it."""
    separation = separation or SEPARATION
    names = list(COUNTRIES)
    country = rng.choice(len(names), rows, p=[share for _, share in COUNTRIES.values()])
    prevalence = np.array([eta for eta, _ in COUNTRIES.values()])[country]
    label = rng.random(rows) < prevalence
    off = np.array([(weaker or {}).get(name, 0.0) for name in names])[country]
    frames = []
    for model, distance in separation.items():
        logit = rng.normal(np.where(label, np.maximum(distance - off, 0.0), 0.0), 1.0) - 1.5
        frames.append(
            pl.DataFrame(
                {
                    "model": model,
                    "label": label.astype(np.int8),
                    "score": 1 / (1 + np.exp(-logit)),
                    "country": np.array(names)[country],
                }
            )
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path, what="log") as beside:
            write_parquet(pl.concat(frames), beside)
    except OSError as error:
        raise OutputError.unwritable(str(path), error) from error
