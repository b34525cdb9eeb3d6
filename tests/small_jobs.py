"""Small jobs that run quickly, for tests."""

import json
from datetime import date, timedelta
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from click.testing import CliRunner, Result

from nci_frames.commands.cli import main
from nci_frames.jobs.job_file.loading import read_job
from nci_frames.jobs.job_file.model import Job
from nci_frames.jobs.run import run_job
from tests.logs import random_log

SMALL = """
version = 1
name = "small"
thresholds = [0.0, 0.25, 0.5, 0.75]

[source]
path = "logs/{date:%Y-%m-%d}/*.parquet"

[report]
prevalence = [0.01, 0.1]
beta = [1.0]
formats = ["json"]
tables = []
"""
#: What may be added to it.
KEYS = '[segments]\nkeys = ["country"]\n'
RECALL = '[[gates]]\nname = "finds"\nmetric = "recall"\nvalue_threshold = { lower = 0.6 }\n'


def toml(value: object) -> str:
    """Write a value as TOML does."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {toml(item)}' for key, item in value.items())} }}"
    return f"[{', '.join(map(toml, value))}]" if isinstance(value, list) else json.dumps(value)


def job_text(**keys: object) -> str:
    """The text of a job file with these keys; by default what is small of ``SMALL``."""
    made = {"source": {"path": "logs/{date:%Y-%m-%d}/*.parquet"}, "thresholds": [0.0, 0.25, 0.5, 0.75]} | keys
    return "".join(f"{key} = {toml(value)}\n" for key, value in made.items())


def write_nights(folder: Path, nights: int, rows: int = 200, hits: float = 0.8, seed: int = 0) -> list[Path]:
    """A log for each night from 1 March 2026 on; *hits* of the positives score 0.6, 10 % of the negatives."""
    paths = []
    for night in range(nights):
        day = date(2026, 3, 1) + timedelta(days=night)
        paths.append(folder / f"{day:%Y-%m-%d}" / "a.parquet")
        write_night(paths[-1], rows, hits, seed=seed + night)
    return paths


def write_night(path: Path, rows: int, hits: float, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    label = np.arange(rows) % 4 == 0
    said = np.where(label, rng.random(rows) < hits, rng.random(rows) < 0.1)
    log = {
        "model": "forest",
        "label": label.astype(int),
        "score": np.where(said, 0.6, 0.3) + rng.random(rows) / 100,
        "country": np.where(np.arange(rows) % 3 == 0, "at", "de"),
    }
    write_log(path, pl.DataFrame(log))


def write_log(path: Path, log: pl.DataFrame) -> Path:
    """Write a log, and the folders that it stands in."""
    log.write_parquet(path, mkdir=True)
    return path


def write_logs(folder: Path, files: int, rows: int = 40) -> list[Path]:
    """Write logs by chance, each another."""
    return [write_log(folder / f"{n:03}.parquet", random_log(rows, n)) for n in range(files)]


def small_job(folder: Path, extra: str = "", text: str = SMALL) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    job = folder / "job.toml"
    job.write_text(text + extra, encoding="utf-8")
    return job


def call(*arguments: object) -> Result:
    """Run the command with some arguments."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def ended(code: int, *arguments: object) -> Result:
    """Run the command, which must end with this exit code."""
    done = call(*arguments)
    assert done.exit_code == code, done.output
    return done


def gate_job(gate: dict[str, Any], **keys: Any) -> Job:
    """A job with one gate, about recall unless the gate says otherwise."""
    gates = [{"name": "gate", "metric": "recall"} | gate]
    made = {"name": "x", "source": {"path": "x"}, "segments": {"keys": ["country"]}, "gates": gates}
    return Job.model_validate(made | keys)


def latest(folder: Path) -> Path:
    """The run of a job that readers find."""
    return folder / "out" / read_json(folder / "out/latest.json")["path"]


def read_json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def facts_of(folder: Path) -> dict[str, str]:
    """What a report says of its log, by label."""
    return {fact["label"]: fact["value"] for fact in read_json(folder / "report.json")["facts"]}


def run_each_night(job: Path, nights: int, together: Barrier) -> None:
    """Run a job once each night, when the others do, too."""
    for _ in range(nights):
        together.wait(timeout=300)
        run_job(read_job(job))
        together.wait(timeout=300)
