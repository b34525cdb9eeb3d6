"""Reports that are killed while they replace an older one: the older or the newer one is there, whole."""

import glob
import hashlib
import json
import random
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

from nci_frames.base.folders import MANIFEST
from tests.fuzz.campaign import RIGHT, SILENT, Campaign, Case, Found
from tests.logs import random_log

#: What the killer waits for in the folder that is being written, before it waits a moment more.
_SIGNS = ("", "*.new", "*.new/report.html", "*.new/tables/*", f"*.new/{MANIFEST}")
_LONGEST = 100.0
_TIMES = 6


def _command(log: Path, out: Path) -> list[str]:
    return [
        sys.executable, "-m", "nci_frames", "report", str(log), "--out", str(out),
        "--tables", "parquet,csv",
        "--format", "html,json", "--prevalence", "0.01,0.1", "--beta", "1,2",
    ]  # fmt: skip


def _report(log: Path, out: Path) -> None:
    subprocess.run(_command(log, out), check=True, capture_output=True)


def _whole(out: Path) -> str | None:
    """Return what the counts of a published folder are; None if its files are not those of its manifest."""
    try:
        files = json.loads((out / MANIFEST).read_bytes())["files"]
        there = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
        if there != {*files, MANIFEST}:
            return None
        hashes = {name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in files}
    except (OSError, ValueError, LookupError):
        return None
    same = all(hashes[name] == files[name]["sha256"] for name in files)
    return hashes["tables/counts.parquet"] if same else None


@cache
def _expected() -> tuple[str, str]:
    """Return what the counts of a report on either log are."""
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for place, log in enumerate(_logs(Path(folder))):
            out = Path(folder) / str(place)
            _report(log, out)
            found.append(_whole(out) or "not whole")
        return found[0], found[1]


def _logs(folder: Path) -> list[Path]:
    logs = [folder / "a.parquet", folder / "b.parquet"]
    for place, log in enumerate(logs):
        random_log(300, seed=place).write_parquet(log)
    return logs


def _kill(log: Path, out: Path, sign: str, moment: float) -> bool:
    """Kill a report a moment after a sign; return whether the sign was seen."""
    # A report that was killed before may have left a folder, which is no sign of this one.
    left = {path.name for path in out.parent.iterdir()}
    process = subprocess.Popen(_command(log, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + _LONGEST
    seen = not sign
    while not seen and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.0005)
        signs = glob.iglob(f".{sign}", root_dir=out.parent)
        seen = any(Path(found).parts[0] not in left for found in signs)
    try:
        process.wait(moment)
    except subprocess.TimeoutExpired:
        process.kill()
    process.wait()
    return seen


def _case(seed: int, number: int) -> Case:
    draw = random.Random(f"{seed} kill {number}")
    sign = _SIGNS[number % len(_SIGNS)]
    moments = [draw.uniform(0, 0.05 if sign else 3.0) for _ in range(_TIMES)]

    def run(folder: Path) -> Found:
        logs, out = _logs(folder), folder / "out" / "report"
        _report(logs[1], out)
        seen = 0
        for place, moment in enumerate(moments):
            before = _whole(out)
            seen += _kill(logs[place % 2], out, sign, moment)
            if _whole(out) not in (before, _expected()[place % 2]):
                return Found(SILENT, f"after kill {place + 1} the folder is neither the old nor the new one")
        # Else the folder has another name now, and every report ended before it was to be killed.
        if not seen:
            return Found(SILENT, f"{sign} was never there")
        _report(logs[0], out)
        left = sorted(path.name for path in out.parent.iterdir())
        if left != ["report"] or _whole(out) != _expected()[0]:
            return Found(SILENT, f"after a rerun there are {left}")
        return Found(RIGHT)

    return Case(f"{_TIMES} kills, from {sign or 'the start'} on", run)


# The short run leaves them to the tests of folders, which kill a writer in a process that starts quickly.
CAMPAIGN = Campaign("kills, 6 in a case", 10, 0, _case, seconds=400, memory=None)
