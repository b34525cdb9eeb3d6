"""A real PostgreSQL server of a test's own, reached through a socket in its folder."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["MISSING", "Server", "running_server"]


def _program(name: str) -> str | None:
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(versions[-1]) if versions else None)


#: Why there can be no server here; None if there can.
MISSING = None if all(map(_program, ("initdb", "pg_ctl", "psql"))) else "no PostgreSQL: install postgresql"


class Server:
    """Runs statements through psql."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, sql: str) -> str:
        """Return what the server answers, as CSV."""
        quiet = ("-X", "-q", "--csv", "-v", "ON_ERROR_STOP=1")
        return _as_server("psql", *quiet, "-h", str(self.folder), "postgres", "-f", "-", input=sql)


@contextmanager
def running_server() -> Iterator[Server]:
    """Start a server that nothing outside of this machine can reach, and stop it."""
    # The path of a socket must be short, and the server, which refuses to be root, must be able to reach it.
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    if os.geteuid() == 0:
        shutil.chown(folder, "nobody")
    data = str(folder / "data")
    _as_server("initdb", "-D", data, "-A", "trust", "-U", "nobody", "-E", "UTF8", "--locale", "C")
    control = ("pg_ctl", "-D", data, "-w")
    _as_server(*control, "-l", str(folder / "log"), "-o", f"-k {folder} -h '' -c fsync=off", "start")
    try:
        yield Server(folder)
    finally:
        _as_server(*control, "-m", "immediate", "stop")
        shutil.rmtree(folder)


def _as_server(program: str, *words: str, **options: str) -> str:
    user = {"user": "nobody", "group": "nogroup"} if os.geteuid() == 0 else {}
    environment = {**os.environ, "PGUSER": "nobody", "PGDATABASE": "postgres"}
    command = [str(_program(program)), *words]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, cwd="/", **user, **options
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
