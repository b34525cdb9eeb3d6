"""The command line in odd environments: it does its work, or says in one message what is wrong."""

import os
import random
import subprocess
import sys
from pathlib import Path

from tests.fuzz.campaign import Campaign, Case
from tests.logs import random_log

_ODD = {
    "COLUMNS": ("0", "1", "-5", "wide"),
    "FORCE_COLOR": ("1",),
    "HOME": ("", "/nonexistent"),
    "LANG": ("C", "tr_TR.UTF-8", "xx"),
    "MALLOC_ARENA_MAX": ("1",),
    "OPENBLAS_NUM_THREADS": ("0", "x"),
    "POLARS_AUTO_NEW_STREAMING": ("1",),
    "POLARS_ENGINE_AFFINITY": ("gpu", "in-memory", "streaming", "wrong"),
    "POLARS_FMT_MAX_ROWS": ("-1", "x"),
    "POLARS_FORCE_ASYNC": ("1",),
    "POLARS_IDEAL_MORSEL_SIZE": ("1", "0", "x"),
    "POLARS_MAX_THREADS": ("0", "1", "3", "x", ""),
    "POLARS_STREAMING_CHUNK_SIZE": ("1", "0"),
    "POLARS_TABLE_WIDTH": ("0", "x"),
    "POLARS_TEMP_DIR": ("/nonexistent",),
    "POLARS_VERBOSE": ("1",),
    "PYTHONDEVMODE": ("1",),
    "PYTHONHASHSEED": ("1", "2"),
    "PYTHONIOENCODING": ("ascii", "cp1252", "utf-16"),
    "PYTHONOPTIMIZE": ("1", "2"),
    "PYTHONWARNINGS": ("error", "ignore"),
    "TERM": ("dumb", ""),
    "TMPDIR": ("/nonexistent",),
    "TZ": ("Europe/Berlin", "wrong"),
}


def _case(seed: int, number: int) -> Case:
    draw = random.Random(f"{seed} environment {number}")
    odd = {name: draw.choice(_ODD[name]) for name in draw.sample(sorted(_ODD), draw.choice([1, 2]))}
    log = draw.choice(["log.parquet", "log.csv"])

    def run(folder: Path) -> str | None:
        rows = random_log(200)
        (rows.write_csv if log.endswith("csv") else rows.write_parquet)(folder / log)
        command = [sys.executable, "-m", "nci_frames", "report", log, "-p", "0.1", "-o", "out"]
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])} | odd
        done = subprocess.run(
            [*command, "-s", "country", "--format", "md"],
            cwd=folder, env=environment, capture_output=True, check=False, timeout=50,
        )  # fmt: skip
        if done.returncode not in (0, 2, 3, 4):
            return f"exit code {done.returncode}: {done.stderr[-300:]!r}"
        there = (folder / "out" / "report.md").exists()
        return (
            None if there == (done.returncode == 0) else f"exit code {done.returncode}, and a report: {there}"
        )

    return Case(f"{log}, {', '.join(f'{name}={value!r}' for name, value in odd.items())}", run)


CAMPAIGN = Campaign("odd environments", 60, 1, _case, memory=None)
