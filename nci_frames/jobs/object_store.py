"""Files of an object store, with conditional replacement."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from nci_frames.base.errors import OutputError, ParameterError
from nci_frames.base.extras import require
from nci_frames.jobs.ledger.storage import store_problem

#: Options of the connection, which share a namespace with those of the store in a ledger.
_OF_CLIENT = {
    "allow_http", "allow_invalid_certificates", "connect_timeout", "proxy_url", "timeout", "user_agent",
}  # fmt: skip
#: Options for commits of a ledger, which do not apply to publishing.
_OF_LEDGER = {"allow_unsafe_rename", "conditional_put", "copy_if_not_exists", "locking_provider"}
_PROVIDER = re.compile(r"^(aws|azure|google)_")


class OvertakenError(Exception):
    """Another writer was faster."""


class Stored(NamedTuple):
    """The content of a file, and its version."""

    content: bytes
    #: Identifier of this version of the file.
    version: Mapping[str, str]


class ObjectStore:
    """A folder of an object store.

    Parameters
    ----------
    url
        URL, such as ``s3://bucket/folder``.
    options
        As for a ledger: options of the provider (``AWS_ACCESS_KEY_ID``), and of the connection.

    Raises
    ------
    MissingPackageError
        If obstore is not installed.
    ParameterError
        If the kind of store or an option is unknown.
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
        """Return a file; None if it does not exist."""
        with self._told():
            try:
                found = self._obstore.get(self._store, name)
            except (FileNotFoundError, self._errors.NotFoundError):
                return None
            content = bytes(found.bytes())
            version = {key: found.meta[key] for key in ("e_tag", "version") if found.meta.get(key)}
            return Stored(content, version)

    def write(self, name: str, content: bytes, *, instead_of: Stored | None) -> None:
        """Write a file if it is still the version *instead_of*, or, for None, if it does not exist.

        Raises
        ------
        OvertakenError
            If the file has changed meanwhile.
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
        """Return the files with a prefix, each with the time of its last change."""
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
        """Convert exceptions of the store into errors of this package."""
        try:
            yield
        except (self._errors.BaseError, OSError) as error:
            msg = "the object store cannot be read or written"
            raise OutputError(msg, where=repr(self.url), found=store_problem(error)) from error


def _split(options: Mapping[str, str]) -> tuple[dict[str, str], dict[str, Any]]:
    """Split options into those of the store and those of the connection."""
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
