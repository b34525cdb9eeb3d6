"""Local file URLs, which are treated as paths."""

import os
import re
from urllib.parse import unquote

_BEFORE_THE_PATH = re.compile(r"^file:(//(localhost)?)?(?=/)", re.IGNORECASE)


def local_path(name: str | bytes | os.PathLike[str]) -> str:
    """Return a path or URL as a string; a local file URL is converted to its path.

    >>> local_path("file:///logs/a%20b"), local_path("s3://logs/a%20b")
    ('/logs/a b', 's3://logs/a%20b')
    """
    text = os.fsdecode(name)
    path = _BEFORE_THE_PATH.sub("", text)
    return text if path == text else unquote(path, errors="surrogateescape")
