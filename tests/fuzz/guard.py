"""Cases run in a process that may crash or hang."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from tests.fuzz.campaign import CRASH, HANG, Campaign, Found

_ROOT = Path(__file__).parents[2]


class Guard:
    """Runs one case after the other in a worker, and starts another worker where one is lost."""

    def __init__(self, seed: int, campaigns: str = "tests.fuzz.campaigns") -> None:
        self.seed = seed
        self.campaigns = campaigns
        self._folders = tempfile.TemporaryDirectory(prefix="fuzz-", ignore_cleanup_errors=True)
        self._started = 0
        self._worker: subprocess.Popen[str] | None = None
        self._answers = -1
        self._errors: IO[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        self._folders.cleanup()

    def run(self, campaign: Campaign, number: int) -> tuple[str, Found]:
        """Return the label of a case, and what came of it."""
        if campaign.alone:
            self._stop()
        worker = self._running()
        assert worker.stdin is not None
        worker.stdin.write(f"{campaign.name}/{number}\n")
        worker.stdin.flush()
        answer = self._answer(time.monotonic() + campaign.seconds)
        if answer:
            told = json.loads(answer)
            return told["label"], Found(told["kind"], told["detail"])
        hangs = worker.poll() is None and answer is None
        last = self._last_error()
        self._stop()
        # The worker is gone, and with it the label.
        label = campaign.case(self.seed, number).label
        if hangs:
            return label, Found(HANG, f"no end after {campaign.seconds:g} seconds")
        code = worker.returncode
        reason = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return label, Found(CRASH, f"{reason}: {last}")

    def _running(self) -> subprocess.Popen[str]:
        if self._worker is not None:
            return self._worker
        self._started += 1
        folder = Path(self._folders.name) / str(self._started)
        folder.mkdir()
        self._answers, there = os.pipe()
        self._errors = (folder / "errors").open("w+b")
        # In a session of its own it can be killed with all that it started.
        self._worker = subprocess.Popen(
            [
                sys.executable,
                *("-m", "tests.fuzz.worker", str(self.seed), str(there), str(folder), self.campaigns),
            ],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            pass_fds=[there],
            start_new_session=True,
            text=True,
        )
        os.close(there)
        return self._worker

    def _answer(self, deadline: float) -> str | None:
        """Return a line of the worker; "" if it ended, None if it took too long."""
        read = b""
        while not read.endswith(b"\n"):
            ready, _, _ = select.select([self._answers], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return None
            part = os.read(self._answers, 65536)
            if not part:
                return ""
            read += part
        return read.decode()

    def _last_error(self) -> str:
        assert self._errors is not None
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:200] if lines else ""

    def _stop(self) -> None:
        worker = self._worker
        if worker is None:
            return
        assert worker.stdin is not None
        worker.stdin.close()
        with suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
        os.close(self._answers)
        if self._errors is not None:
            self._errors.close()
        self._worker = None
