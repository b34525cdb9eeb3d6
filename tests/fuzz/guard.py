"""Cases run in a process that may crash or hang."""

import importlib
import multiprocessing
import os
import resource
import signal
import tempfile
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

from tests.fuzz.campaign import CRASH, HANG, TRACEBACK, Campaign, Found


def _tried(campaign: Campaign, seed: int, number: int, folder: str) -> tuple[str, Found]:
    label = "no case could be made"
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as empty:
        try:
            case = campaign.case(seed, number)
            label = case.label
            return label, case.run(Path(empty))
        # What is wrong with the campaign itself must be seen, too.
        except Exception as error:
            return label, Found(TRACEBACK, f"{type(error).__name__} of the campaign: {error}")


def _work(pipe: Connection, seed: int, module: str, folder: str) -> None:
    """Run cases for another process, which gives the campaign and the number of each."""
    # In a session of its own it can be killed with all that it started.
    os.setsid()
    by_name = {campaign.name: campaign for campaign in importlib.import_module(module).CAMPAIGNS}
    with suppress(EOFError):
        while True:
            name, number = pipe.recv()
            campaign = by_name[name]
            _, most = resource.getrlimit(resource.RLIMIT_AS)
            resource.setrlimit(resource.RLIMIT_AS, (campaign.memory or most, most))
            pipe.send(_tried(campaign, seed, number, folder))


class Guard:
    """Runs one case after the other in a process, and starts another process where one is lost."""

    def __init__(self, seed: int, campaigns: str = "tests.fuzz.campaigns") -> None:
        self.seed = seed
        self._folder = tempfile.TemporaryDirectory(prefix="fuzz-", ignore_cleanup_errors=True)
        self._given = (seed, campaigns, self._folder.name)
        self._worker: multiprocessing.process.BaseProcess | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        self._folder.cleanup()

    def run(self, campaign: Campaign, number: int) -> tuple[str, Found]:
        """Return the label of a case, and what came of it."""
        if campaign.alone:
            self._stop()
        worker = self._worker = self._worker or self._started()
        self._pipe.send((campaign.name, number))
        found = Found(HANG, f"no end after {campaign.seconds:g} seconds")
        if self._pipe.poll(campaign.seconds):
            with suppress(EOFError, ConnectionError):
                told: tuple[str, Found] = self._pipe.recv()
                return told
            worker.join()
            code: Any = worker.exitcode
            found = Found(CRASH, signal.Signals(-code).name if code < 0 else f"exit code {code}")
        self._stop()
        # The worker is gone, and with it the label.
        return campaign.case(self.seed, number).label, found

    def _started(self) -> multiprocessing.process.BaseProcess:
        context = multiprocessing.get_context("spawn")
        self._pipe, there = context.Pipe()
        worker = context.Process(target=_work, args=(there, *self._given), daemon=True)
        worker.start()
        there.close()
        return worker

    def _stop(self) -> None:
        if self._worker is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._worker.pid or 0, signal.SIGKILL)
            self._worker.kill()
            self._worker.join()
            self._pipe.close()
            self._worker = None
