"""Publishing of runs: each run is a separate folder, to which a pointer then refers."""

import contextlib
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nci_frames.base.errors import ConflictError, ParameterError, SourceError
from nci_frames.base.files import write_durably
from nci_frames.base.folders import MANIFEST, locked, told

POINTER = "latest.json"
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


class Shelf:
    """The folder of the published runs of a job."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder against other processes; the lock ends with the process in any case.

        Raises
        ------
        ConflictError
            If another run of the job has not ended.
        OutputError
            If the folder cannot be created or locked.
        """
        with contextlib.ExitStack() as held:
            with told(self.folder):
                (self.folder / "runs").mkdir(parents=True, exist_ok=True)
                held.enter_context(locked(self.folder / ".lock", self.folder))
                # Leftovers of killed runs: the lock excludes other builders.
                for left in (self.folder / "runs").glob(".*"):
                    shutil.rmtree(left) if left.is_dir() else left.unlink()
            yield

    def pointer(self) -> dict[str, Any] | None:
        """Return the content of ``latest.json``; None before the first run.

        Raises
        ------
        SourceError
            If it cannot be read.
        """
        path = self.folder / POINTER
        problem = "it does not name the latest run, its number and the last good run"
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            if _names_run(found) and isinstance(found.get("sequence"), int):
                good = found.get("last_good")
                if good is None or _names_run(good):
                    return dict(found)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            problem = str(error)
        msg = "the pointer to the latest run cannot be read"
        hint = "restore it, or remove it for a new history"
        raise SourceError(msg, where=repr(str(path)), found=problem, hint=hint)

    def check_new(self, run: str) -> None:
        """Raise ConflictError if a run with this name was published.

        Call it only under the lock.

        Raises
        ------
        ParameterError
            If the name is not valid for a folder.
        """
        if not _RUN.fullmatch(run):
            allowed = "1 to 100 letters, digits and . _ -, the first a letter or digit"
            raise ParameterError.out_of_range("the run id", run, allowed)
        there = self.folder / "runs" / run
        if not there.exists():
            return
        if _sequence_in(there) > (self.pointer() or {}).get("sequence", 0):
            # A run that was killed before the pointer was written was never shown.
            shutil.rmtree(there)
            return
        raise published_before(run, str(self.folder))

    def path_of(self, run: str) -> str:
        """Return the path of a run relative to the folder."""
        return f"runs/{run}"

    def link(self, run: str, name: str) -> str:
        """Return the link to a file of a run."""
        return str(self.folder / self.path_of(run) / name)

    def show(self, run: str, pointer: Mapping[str, Any]) -> None:
        """Point to a built run.

        Raises
        ------
        OutputError
            If the pointer cannot be written.
        """
        write_durably(self.folder / POINTER, self.pointer_text(run, pointer))

    def pointer_text(self, run: str, facts: Mapping[str, Any]) -> bytes:
        """Return the text of the pointer to a run."""
        return (json.dumps({"run": run, "path": self.path_of(run), **facts}, indent=2) + "\n").encode()

    def retire(self, keep: int, spare: set[str]) -> list[str]:
        """Delete all but the *keep* newest runs and those to *spare*; return the deleted ones.

        Runs without a sequence number, left by a kill before the pointer was written, are deleted first.
        """
        runs = [path for path in (self.folder / "runs").iterdir() if path.is_dir()]
        ordered = sorted(runs, key=lambda path: (_sequence_in(path), path.name))
        gone = []
        for path in ordered[:-keep]:
            if path.name not in spare:
                # Rename first, so that no reader sees half a run.
                doomed = path.with_name(f".{path.name}.new")
                with contextlib.suppress(OSError):
                    path.rename(doomed)
                    gone.append(path.name)
                    shutil.rmtree(doomed)
        return gone


def published_before(run: str, where: str) -> ConflictError:
    """Return the error for the name of a published run."""
    msg = "a run of that name has been published, and a run is published once"
    return ConflictError(msg, where=repr(where), found=repr(run), hint="name another run")


def _names_run(found: object) -> bool:
    return isinstance(found, dict) and all(isinstance(found.get(name), str) for name in ("run", "path"))


def sequence_of(manifest: bytes) -> int:
    """Return the number of a run by its manifest; -1 if it has none."""
    try:
        return int(json.loads(manifest)["sequence"])
    except (ValueError, LookupError, TypeError):
        return -1


def _sequence_in(folder: Path) -> int:
    try:
        return sequence_of((folder / MANIFEST).read_bytes())
    except OSError:
        return -1
