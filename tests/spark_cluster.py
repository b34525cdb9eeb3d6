"""A Spark cluster of a test's own: a master and workers on this machine, which nothing outside can reach."""

import contextlib
import importlib.util
import json
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
from typing import Any, Literal

__all__ = ["MISSING", "Cluster", "children", "descendants", "running_cluster"]

_LOCAL = "127.0.0.1"
#: A JVM that lives for some minutes gains little from its best compiler, whose threads take the tests' cores.
_BRIEF = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
#: Seconds after which a silent process counts as lost. A process that is killed closes its connections, which
#: is seen at once; one that is only waiting for a core is not lost.
_PATIENCE = 600
_REGISTERED = "Successfully registered with master"


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


def descendants(pid: int) -> list[int]:
    """The processes that a process started, those that these started, and so on."""
    return [each for child in children(pid) for each in (child, *descendants(child))]


class Cluster:
    """A master, and workers that each run one executor with one core."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind((_LOCAL, 0))
            self.port = free.getsockname()[1]
        self.url = f"spark://{_LOCAL}:{self.port}"
        self.log = folder / "log.txt"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.master = self._start(
            "master.Master", "--host", _LOCAL, "--port", str(self.port), "--webui-port", "0"
        )
        self._wait_for("I have been elected leader", self.master)

    def add_workers(self, number: int = 1) -> None:
        """Start some more workers, side by side."""
        options = ["--host", _LOCAL, "--cores", "1", "--memory", "1500m", "--webui-port", "0"]
        before = self.log.read_text().count(_REGISTERED)
        folder = str(self.folder / "work")
        for _ in range(number):
            self.workers.append(self._start("worker.Worker", *options, "--work-dir", folder, self.url))
        self._wait_for(_REGISTERED, self.workers[-1], before + number)

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
        """The settings of a session: docs/scale.md says what each is for."""
        return {
            "spark.driver.host": _LOCAL,
            "spark.driver.bindAddress": _LOCAL,
            "spark.executor.cores": "1",
            "spark.executor.memory": "900m",
            "spark.executorEnv.POLARS_MAX_THREADS": "1",
            "spark.driver.extraJavaOptions": _BRIEF,
            "spark.executor.extraJavaOptions": _BRIEF,
            "spark.network.timeout": f"{_PATIENCE}s",
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

    def shuffled(self, what: Literal["Bytes", "Records"] = "Bytes") -> int:
        """How much the tasks of all sessions wrote for other tasks."""
        lines = (line for file in self.events.iterdir() for line in file.read_text().splitlines())
        tasks = (json.loads(line).get("Task Metrics") for line in lines if "SparkListenerTaskEnd" in line)
        return sum(task["Shuffle Write Metrics"][f"Shuffle {what} Written"] for task in tasks if task)

    def stop(self) -> None:
        """End all processes of the cluster."""
        for process in [*self.workers, self.master]:
            for pid in [*descendants(process.pid), process.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait()

    def _start(self, name: str, *options: str) -> subprocess.Popen[bytes]:
        import pyspark  # noqa: PLC0415

        program = Path(pyspark.__file__).parent / "bin" / "spark-class"
        options_of_java = {
            "spark.network.timeout": f"{_PATIENCE}s",
            "spark.worker.timeout": _PATIENCE,
            # Else it listens on a port of its own, the same in each cluster.
            "spark.master.rest.enabled": "false",
        }
        java = " ".join([_BRIEF, *(f"-D{name}={value}" for name, value in options_of_java.items())])
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [str(program), f"org.apache.spark.deploy.{name}", *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": java},
            )

    def _wait_for(self, text: str, process: subprocess.Popen[bytes], times: int = 1) -> None:
        """Wait until the log has a text so often."""
        for _ in range(10 * _PATIENCE):
            if self.log.read_text().count(text) >= times:
                return
            if process.poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError(self.log.read_text())


@contextmanager
def running_cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """Start a cluster, and end whatever it left."""
    before = {name: os.environ.get(name) for name in ("SPARK_LOCAL_IP", "PYSPARK_PYTHON")}
    os.environ |= {"SPARK_LOCAL_IP": _LOCAL, "PYSPARK_PYTHON": sys.executable}
    cluster = Cluster(folder)
    try:
        cluster.add_workers(workers)
        yield cluster
    finally:
        cluster.stop()
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
