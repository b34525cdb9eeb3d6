"""A Spark cluster of a test's own: a master and workers on this machine, which nothing outside can reach."""

import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["MISSING", "Cluster", "children", "running_cluster"]

_LOCAL = "127.0.0.1"


def _missing() -> str | None:
    if importlib.util.find_spec("pyspark") is None:
        return "no PySpark: run `make spark`"
    return None if shutil.which("java") else "no Java: run `make spark`"


#: Why there can be no cluster here; None if there can.
MISSING = _missing()


def children(pid: int) -> list[int]:
    """The processes that a process started and that still run."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The name of a program is in brackets, and may have any character.
            after = stat.read_text().rpartition(")")[2].split()
            if int(after[1]) == pid:
                found.append(int(stat.parent.name))
    return found


def _descendants(pid: int) -> list[int]:
    return [each for child in children(pid) for each in (child, *_descendants(child))]


class Cluster:
    """A master, and workers that each run one executor with one core."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind((_LOCAL, 0))
            self.port = free.getsockname()[1]
        self.url = f"spark://{_LOCAL}:{self.port}"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.master = self._start(
            "master.Master", "--host", _LOCAL, "--port", str(self.port), "--webui-port", "0"
        )
        self._wait_for_master()

    def add_worker(self) -> subprocess.Popen[bytes]:
        """Start one more worker."""
        options = ["--host", _LOCAL, "--cores", "1", "--memory", "1500m", "--webui-port", "0"]
        worker = self._start("worker.Worker", *options, "--work-dir", str(self.folder / "work"), self.url)
        self.workers.append(worker)
        return worker

    def executors(self, worker: subprocess.Popen[bytes]) -> list[int]:
        """The executors of a worker."""
        return children(worker.pid)

    def python_workers(self, worker: subprocess.Popen[bytes]) -> list[int]:
        """The Python processes in which the kernel runs: each is a fork of the daemon of an executor."""
        daemons = [daemon for executor in self.executors(worker) for daemon in children(executor)]
        return [each for daemon in daemons for each in children(daemon)]

    def session(self, **settings: str) -> Any:
        """Start the session of this process on the cluster."""
        from pyspark.sql import SparkSession  # noqa: PLC0415

        builder = SparkSession.builder.master(self.url).appName("nci_frames")
        for name, value in {**self.settings(), **settings}.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("FATAL")
        return session

    def settings(self) -> dict[str, str]:
        """The settings of a session: docs/spark.md says what each is for."""
        return {
            "spark.driver.host": _LOCAL,
            "spark.driver.bindAddress": _LOCAL,
            "spark.executor.cores": "1",
            "spark.executor.memory": "900m",
            "spark.executorEnv.POLARS_MAX_THREADS": "1",
            "spark.sql.execution.arrow.maxRecordsPerBatch": "200000",
            "spark.sql.shuffle.partitions": "4",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.warehouse.dir": str(self.folder / "warehouse"),
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": self.events.as_uri(),
            "spark.eventLog.compress": "false",
            "spark.eventLog.rolling.enabled": "false",
        }

    @property
    def events(self) -> Path:
        """The folder with the events of all sessions."""
        folder = self.folder / "events"
        folder.mkdir(exist_ok=True)
        return folder

    def stop(self) -> None:
        """End all processes of the cluster."""
        for process in [*self.workers, self.master]:
            for pid in [*_descendants(process.pid), process.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait()

    def _start(self, name: str, *options: str) -> subprocess.Popen[bytes]:
        import pyspark  # noqa: PLC0415

        program = Path(pyspark.__file__).parent / "bin" / "spark-class"
        with (self.folder / "log.txt").open("ab") as log:
            return subprocess.Popen(
                [str(program), f"org.apache.spark.deploy.{name}", *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "SPARK_DAEMON_MEMORY": "256m"},
            )

    def _wait_for_master(self) -> None:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection((_LOCAL, self.port), timeout=1):
                return
            if self.master.poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError((self.folder / "log.txt").read_text())


@contextmanager
def running_cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """Start a cluster, and end whatever it left."""
    before = {name: os.environ.get(name) for name in ("SPARK_LOCAL_IP", "PYSPARK_PYTHON")}
    os.environ |= {"SPARK_LOCAL_IP": _LOCAL, "PYSPARK_PYTHON": sys.executable}
    cluster = Cluster(folder)
    try:
        for _ in range(workers):
            cluster.add_worker()
        yield cluster
    finally:
        cluster.stop()
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
