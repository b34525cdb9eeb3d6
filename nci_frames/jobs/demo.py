"""Five nights of a job with something to tell: late, delivered again, drifting, a champion that loses."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path

import numpy as np

from nci_frames.base.arguments import check_seed
from nci_frames.base.errors import ParameterError
from nci_frames.jobs.job_file.loading import read_job
from nci_frames.jobs.run import Outcome, run_job
from nci_frames.jobs.starting import FIRST_NIGHT, SEPARATION, write_night

_ROWS = 20_000

DEMO_JOB = resources.files("nci_frames.jobs").joinpath("demo.toml").read_text("utf-8")


def run_demo_nights(folder: Path, *, rows: int = _ROWS, seed: int = 0) -> Iterator[tuple[str, Outcome]]:
    """Write the logs of one night after the other, and run the job after each.

    1. All is well. 2. A file of the first night comes late. 3. One of the second night is delivered again,
    under another name. 4. In country "fr" positives are no longer found. 5. The linear model has overtaken
    the forest in all countries.

    Parameters
    ----------
    folder
        Where the job is made; what was there is deleted if it was made by this function.
    rows
        Rows of a night.
    seed
        Fixes the logs.

    Yields
    ------
    What the night brings, and how the job ended.

    Raises
    ------
    ParameterError
        If there is something else in the folder, or the seed cannot be one.
    """
    check_seed(seed)
    _clear(folder)
    folder.mkdir(parents=True, exist_ok=True)
    job = folder / "job.toml"
    job.write_text(DEMO_JOB, encoding="utf-8")

    def place(night: int, name: str) -> Path:
        return folder / "logs" / f"{FIRST_NIGHT + timedelta(days=night):%Y-%m-%d}" / f"{name}.parquet"

    def write(night: int, name: str, share: float = 1.0, **change: dict[str, float]) -> None:
        rng = np.random.default_rng([seed, night, len(name)])
        write_night(place(night, name), rng, int(rows * share), **change)

    stories = (
        "all is well",
        "a file of the first night comes late",
        "a file of the second night is delivered again, under another name",
        "positives of fr are no longer found",
        "linear has overtaken forest",
    )
    for night, story in enumerate(stories):
        if night == 3:
            write(night, "predictions", weaker={"fr": 1.6})
        elif night == 4:
            write(night, "predictions", separation={**SEPARATION, "linear": SEPARATION["forest"] + 0.8})
        else:
            write(night, "predictions")
        if night == 1:
            write(0, "late", 0.2)
        if night == 2:
            shutil.copy(place(1, "predictions"), place(1, "delivered-again"))
        until = datetime.combine(FIRST_NIGHT, datetime.min.time(), UTC) + timedelta(days=night + 1)
        yield story, run_job(read_job(job), run=f"night-{night + 1}", until=until)


def _clear(folder: Path) -> None:
    """Delete what an earlier demo left, and nothing else."""
    job = folder / "job.toml"
    ours = job.is_file() and job.read_text(encoding="utf-8", errors="replace") == DEMO_JOB
    if not ours and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        msg = "the demo needs a folder of its own"
        raise ParameterError(msg, found=f"{str(folder)!r}, which is not empty", hint="name another folder")
    for name in ("logs", "ledger", "out") if ours else ():
        shutil.rmtree(folder / name, ignore_errors=True)
