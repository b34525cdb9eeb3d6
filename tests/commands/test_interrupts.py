"""Ctrl-C at any time: exit code 130, no traceback, and nothing that changes in silence."""

import ast
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from tests.logs import random_log
from tests.processes import in_python

ROOT = Path(__file__).parents[2]
REPORT = ["report", "log.parquet", "--out", "report", "--prevalence", "0.01,0.1"]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """The command, as an installer writes it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, function = project["scripts"]["nci-frames"].split(":")
    file = tmp_path / "nci-frames"
    code = f"import sys\nfrom {module} import {function}\nsys.exit({function}())"
    file.write_text(f"#!{sys.executable}\n{code}", encoding="utf-8")
    file.chmod(0o755)
    return file


def interrupted(command: list[str], seconds: float, folder: Path) -> tuple[int, str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    # Python imports what environments put on its path before it runs a line of ours.
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    return process.returncode, told


def of_interpreter(told: str) -> bool:
    """Whether Python itself was interrupted: before the first line of the command, which cannot help it."""
    late = re.search(r"nci_frames/(?!__init__|__main__|interrupts)\w", told)
    return bool("Fatal Python error: init_" in told or ("Traceback" in told and not late))


@pytest.mark.thorough
@pytest.mark.parametrize("milliseconds", [0, 20, 50, 100, 150, 200, 250, 400])
def test_an_interrupt_ends_the_command_cleanly(script, tmp_path, milliseconds):
    random_log(2000).write_parquet(tmp_path / "log.parquet")
    for late in range(20):
        # Python may have lost the interrupt of the try before, which then wrote its report.
        shutil.rmtree(tmp_path / "report", ignore_errors=True)
        # Some milliseconds later each time: a slow machine may always be in Python itself after the first.
        seconds = (milliseconds + 5 * late) / 1000
        code, told = interrupted([str(script), *REPORT, "--segments", "country"], seconds, tmp_path)
        # Before Python knows of interrupts, they end it.
        early = code == -signal.SIGINT and not told
        if not of_interpreter(told) and not (early and milliseconds >= 200):
            break
    assert (early and milliseconds < 200) or (code, told.splitlines()[-1:]) == (
        130,
        ["interrupted: no output is half-written"],
    )
    assert "Traceback" not in told
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.parquet", "nci-frames"]


def test_the_start_imports_nothing_in_which_an_interrupt_would_be_noticed():
    code = "import sys; before = {*sys.modules}; import nci_frames.__main__; print({*sys.modules} - before)"
    found = ast.literal_eval(in_python(code).stdout)
    assert found == {"nci_frames", "nci_frames.__main__", "nci_frames.base", "nci_frames.base.interrupts"}


def test_interrupts_that_are_ignored_stay_ignored():
    code = """
import signal
from nci_frames.base.interrupts import clean_up_when_interrupted, leave_when_interrupted
signal.signal(signal.SIGINT, signal.SIG_IGN)
leave_when_interrupted()
clean_up_when_interrupted()
signal.raise_signal(signal.SIGINT)
print("alive")
"""
    assert in_python(code).stdout == "alive\n"


@pytest.mark.long
def test_a_full_disk_or_a_reader_that_has_gone_is_no_bug(tmp_path):
    """Standard output that cannot be written: exit code 4, with a message if somebody may still read it."""
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("needs /dev/full")
    command = [sys.executable, "-m", "nci_frames", "plan", "--half-width", "0.05"]
    # A terminal that does not know its width.
    environment = os.environ | {"COLUMNS": "0"}
    told = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert "exact" in told.stdout
    command = [sys.executable, "-m", "nci_frames", "--version"]
    with full.open("w") as lost:
        done = subprocess.run(command, cwd=ROOT, stdout=lost, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 4
    assert done.stderr.splitlines()[1:] == ["  where: 'standard output'", "  found: No space left on device"]
    reading, writing = os.pipe()
    os.close(reading)
    gone = subprocess.run(command, cwd=ROOT, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (gone.returncode, gone.stderr) == (4, "")
    # What cannot be told changes no exit code.
    for words, code in ((["report", "nothing", "-p", "0.1"], 3), (["plan", "--half-width", "x"], 2)):
        command = [sys.executable, "-m", "nci_frames", *words]
        with full.open("w") as lost:
            assert subprocess.run(command, cwd=ROOT, stderr=lost, check=False).returncode == code


@pytest.mark.long
def test_an_interrupt_after_the_work_is_told_as_one():
    code = "import atexit, signal; atexit.register(signal.raise_signal, signal.SIGINT); "
    code += "from nci_frames.__main__ import main; main()"
    done = in_python(code, "plan", "--half-width", "0.05")
    assert (done.returncode, done.stderr) == (130, "interrupted: no output is half-written\n")


@pytest.mark.long
@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("POLARS_MAX_THREADS", "0", "POLARS_MAX_THREADS of the environment must be a whole number above 0"),
        ("PYTHONOPTIMIZE", "2", "runs without docstrings, which Altair needs"),
        ("POLARS_ENGINE_AFFINITY", "gpu", "asks for an engine that is not installed"),
        ("POLARS_ENGINE_AFFINITY", "streaming", None),
    ],
)
def test_an_environment_in_which_nothing_works_is_told(variable, value, told):
    code = "from nci_frames.__main__ import main; main()"
    done = in_python(code, "plan", "--half-width", "0.05", **{variable: value})
    assert done.returncode == (2 if told else 0), done.stderr
    assert told is None or told in done.stderr
