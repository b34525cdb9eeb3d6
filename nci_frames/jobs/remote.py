"""Runs in an object store: built locally, uploaded completely, and published by one conditional put."""

import contextlib
import secrets
import shutil
import weakref
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from nci_frames.base.errors import ConflictError, OutputError
from nci_frames.base.folders import MANIFEST
from nci_frames.jobs.object_store import ObjectStore, OvertakenError, Stored
from nci_frames.jobs.publishing import POINTER, Shelf, sequence_of

#: Files without a manifest older than this are abandoned uploads.
_ABANDONED = timedelta(days=1)


class RemoteShelf(Shelf):
    """The folder of the published runs of a job in an object store.

    Runs are built in a local copy, which has the pointer, the latest run and the last good one. Each run is
    uploaded under a unique name, its manifest last, and read again. Only then does the pointer change, if it
    is still the version read at the beginning: the second of two concurrent runs ends as a conflict, and
    readers always find one complete run.
    """

    def __init__(self, url: str, options: Mapping[str, str]) -> None:
        self._store = ObjectStore(url, options)
        super().__init__(Path(mkdtemp(prefix="nci-frames-")))
        # The copy lives as long as this object, since a published run is read from it.
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self._token = secrets.token_hex(4)
        self._shown: Stored | None = None

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Fetch the pointer and its runs; other writers are not locked out."""
        self._shown = self._store.read(POINTER)
        if self._shown is not None:
            (self.folder / POINTER).write_bytes(self._shown.content)
            pointer = self.pointer() or {}
            for run in filter(None, (pointer, pointer.get("last_good"))):
                self._download(run["path"])
        yield

    def path_of(self, run: str) -> str:
        """Return the path of a run relative to the folder, unique for each process."""
        return f"runs/{run}.{self._token}"

    def link(self, run: str, name: str) -> str:
        """Return the URL of a file of a run."""
        return f"{self._store.url}/{self.path_of(run)}/{name}"

    def show(self, run: str, pointer: Mapping[str, Any]) -> None:
        """Upload a run, and then point to it.

        Raises
        ------
        OutputError
            If the store cannot be written, or returns other content than written.
        ConflictError
            If another run was published since this one began.
        """
        path = self.path_of(run)
        text = self.pointer_text(run, pointer)
        try:
            self._upload(path)
            try:
                self._store.write(POINTER, text, instead_of=self._shown)
            except OvertakenError:
                found = self._store.read(POINTER)
                # The reply to a successful first attempt may have been lost before a retry.
                if found is None or found.content != text:
                    raise
        except (OvertakenError, OutputError) as error:
            # Files that cannot be deleted now are deleted a day later.
            with contextlib.suppress(OutputError):
                self._store.delete(list(self._store.names(f"{path}/")))
            if isinstance(error, OutputError):
                raise
            msg = "another run of this job was published meanwhile"
            raise ConflictError(msg, where=repr(self._store.url), hint="run it again") from error
        super().show(run, pointer)

    def retire(self, keep: int, spare: set[str]) -> list[str]:
        """Delete all but the *keep* newest runs and those to *spare*; return the deleted ones.

        Runs newer than this one, and uploads that may still be running or were overtaken, are kept.
        """
        runs: dict[str, dict[str, Any]] = {}
        for name, changed in self._store.names("runs/").items():
            runs.setdefault("/".join(name.split("/")[:2]), {})[name] = changed
        own = (self.pointer() or {}).get("sequence", 0)
        told = []
        for path, files in runs.items():
            manifest = self._store.read(f"{path}/{MANIFEST}") if f"{path}/{MANIFEST}" in files else None
            if manifest is None:
                if datetime.now(UTC) - max(files.values()) > _ABANDONED:
                    self._store.delete(list(files))
                continue
            sequence, run = sequence_of(manifest.content), Path(path).stem
            if sequence < own or run in spare:
                told.append((sequence, run, list(files)))
        gone = [run for run in sorted(told)[:-keep] if run[1] not in spare]
        for _, _, files_of_run in gone:
            self._store.delete(files_of_run)
        return [name for _, name, _ in gone]

    def _download(self, path: str) -> None:
        for name in self._store.names(f"{path}/"):
            found = self._store.read(name)
            if found is not None:
                target = self.folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(found.content)

    def _upload(self, path: str) -> None:
        """Write the files of a run, with the manifest last, as the mark of completeness; read them again."""
        files = [file for file in sorted((self.folder / path).rglob("*")) if file.is_file()]
        names = {file.relative_to(self.folder).as_posix(): file.read_bytes() for file in files}
        for name in sorted(names, key=lambda name: name == f"{path}/{MANIFEST}"):
            # As in ``show``, the reply may have been lost: no other writer has the name.
            with contextlib.suppress(OvertakenError):
                self._store.write(name, names[name], instead_of=None)
        for name, content in names.items():
            found = self._store.read(name)
            if found is None or found.content != content:
                msg = "what was written is not what is read again"
                raise OutputError(msg, where=repr(self._store.url), found=repr(name))
