"""A bar on a terminal, and silence anywhere else."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from nci_frames.demo import write_synthetic_logs

COUNT = """
import sys
import nci_frames as nf

scan = nf.scan_predictions(sys.argv[1], fold="fold", segments="segment")
nf.count_confusion(scan, thresholds=nf.uniform_thresholds(11), progress=True)
"""


@pytest.mark.long
def test_a_terminal_sees_how_far_it_is_and_a_file_nothing(tmp_path: Path) -> None:
    write_synthetic_logs(tmp_path, rows=600_000)
    command = [sys.executable, "-c", COUNT, str(tmp_path)]

    silent = subprocess.run(command, capture_output=True, check=True)
    assert silent.stdout == silent.stderr == b""

    text = _seen_on_a_terminal(command)
    assert "counting" in text
    assert "file" in text
    assert "600000/600000" in text
    assert "rows/s" in text


@pytest.mark.long
def test_a_report_shows_every_step(tmp_path: Path) -> None:
    write_synthetic_logs(tmp_path / "log", rows=1_000)
    command = [sys.executable, "-m", "nci_frames", "report", str(tmp_path / "log")]
    command += ["--out", str(tmp_path / "out"), "--prevalence", "0.01", "--beta", "1", "--format", "json"]
    text = _seen_on_a_terminal(command)
    assert 0 < text.index("answering the question") < text.index("writing the report")


def _seen_on_a_terminal(command: list[str]) -> str:
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, env=environment) as process:
        os.close(theirs)
        seen = b""
        try:
            while chunk := os.read(ours, 4096):
                seen += chunk
        except OSError:  # the other end of the terminal is closed
            pass
    os.close(ours)
    assert process.returncode == 0
    return seen.decode()
