"""Files of an object store, of which one can be replaced only if nobody else has replaced it meanwhile."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from nci_frames.base.errors import OutputError, ParameterError
from nci_frames.base.extras import require
from nci_frames.jobs.ledger.storage import store_problem

#: Options of the connection, which a ledger takes under the same names as those of the store.
_OF_CLIENT = {
    "allow_http",
    "allow_invalid_certificates",
    "connect_timeout",
    "proxy_url",
    "timeout",
    "user_agent",
}
#: Options that a ledger alone takes: how its table commits, which is not how a run is published.
_OF_LEDGER = {"allow_unsafe_rename", "conditional_put", "copy_if_not_exists", "locking_provider"}
_PROVIDER = re.compile(r"^(aws|azure|google)_")


class OvertakenError(Exception):
    """Another writer was first."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A file as it was read."""

    content: bytes
    #: What tells this version of the file from any other.
    version: Mapping[str, str]


class ObjectStore:
    """A folder of an object store.

    Parameters
    ----------
    url
        Its address, such as ``s3://bucket/folder``.
    options
        As the ledger takes them: keys of the provider (``AWS_ACCESS_KEY_ID``), and of the connection.

    Raises
    ------
    MissingPackageError
        If obstore is not installed.
    ParameterError
        If there is no such kind of store, or no such option.
    """

    def __init__(self, url: str, options: Mapping[str, str]) -> None:
        needed = {"extra": "object-store", "what": "runs in an object store need the package obstore"}
        self._obstore: Any = require("obstore", **needed)
        self._errors: Any = require("obstore.exceptions", **needed)
        stores: Any = require("obstore.store", **needed)
        self.url = url.rstrip("/")
        config, client = _split(options)
        try:
            self._store = stores.from_url(self.url, config=config, client_options=client)
        except (self._errors.BaseError, ValueError, TypeError) as error:
            msg = "the object store cannot be opened"
            raise ParameterError(msg, where=repr(self.url), found=store_problem(error)) from error

    def read(self, name: str) -> Stored | None:
        """Return a file; None if there is none."""
        with self._told():
            try:
                found = self._obstore.get(self._store, name)
            except (FileNotFoundError, self._errors.NotFoundError):
                return None
            content = bytes(found.bytes())
            version = {key: found.meta[key] for key in ("e_tag", "version") if found.meta.get(key)}
            return Stored(content, version)

    def write(self, name: str, content: bytes, *, instead_of: Stored | None) -> None:
        """Write a file in place of the one that was read, or, of None, one that does not exist yet.

        Raises
        ------
        OvertakenError
            If the file is another one by now.
        """
        mode: Any = "create" if instead_of is None else dict(instead_of.version)
        known = self._errors
        lost = (known.AlreadyExistsError, known.PreconditionError, known.NotFoundError, FileNotFoundError)
        with self._told():
            try:
                self._obstore.put(self._store, name, content, mode=mode)
            except lost as error:
                raise OvertakenError(name) from error

    def names(self, prefix: str) -> dict[str, Any]:
        """Return the files whose names begin so, each with the time of its last change."""
        with self._told():
            found = [file for files in self._obstore.list(self._store, prefix) for file in files]
            return {file["path"]: file["last_modified"] for file in found}

    def delete(self, names: Sequence[str]) -> None:
        """Delete files."""
        if names:
            with self._told():
                self._obstore.delete(self._store, list(names))

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Tell what the store says as an error of ours."""
        try:
            yield
        except (self._errors.BaseError, OSError) as error:
            msg = "the object store cannot be read or written"
            raise OutputError(msg, where=repr(self.url), found=store_problem(error)) from error


def _split(options: Mapping[str, str]) -> tuple[dict[str, str], dict[str, Any]]:
    """Sort options into those of the store and those of the connection."""
    config: dict[str, str] = {}
    client: dict[str, Any] = {}
    for given, value in options.items():
        key = given.lower()
        bare = _PROVIDER.sub("", key)
        if bare in _OF_CLIENT:
            client[bare] = {"true": True, "false": False}.get(value.lower(), value)
        elif bare.removeprefix("s3_") not in _OF_LEDGER:
            config[key] = value
    return config, client
