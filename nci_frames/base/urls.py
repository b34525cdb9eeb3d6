"""Paths and URLs; local file URLs are treated as paths."""

import os
import re
from urllib.parse import unquote

_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+://")
_BEFORE_THE_PATH = re.compile(r"^file:(//(localhost)?)?(?=/)", re.IGNORECASE)


def is_url(name: str) -> bool:
    """Return whether a name is a URL, such as that of a folder in an object store, and not a path."""
    return bool(_URL.match(name))


def local_path(name: str | bytes | os.PathLike[str]) -> str:
    """Return a path or URL as a string; a local file URL is converted to its path.

    >>> local_path("file:///logs/a%20b"), local_path("s3://logs/a%20b")
    ('/logs/a b', 's3://logs/a%20b')
    """
    text = os.fsdecode(name)
    path = _BEFORE_THE_PATH.sub("", text)
    return text if path == text else unquote(path, errors="surrogateescape")
