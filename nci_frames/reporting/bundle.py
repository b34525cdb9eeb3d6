"""Vega, Vega-Lite and Vega-Embed as one script, made once for each version of the package that makes it."""

import contextlib
import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

import vl_convert
from platformdirs import user_cache_path

from nci_frames.base.errors import OutputError
from nci_frames.base.files import replacing


@cache
def vega_bundle() -> str:
    """Return the script, as one that cannot close its own element.

    To make it takes more than a second, most of a small report, so a copy is kept in the user's cache folder.
    A copy that is not whole is made again; where none can be kept, each process makes its own.
    """
    copy = user_cache_path("nci_frames") / f"vega-{version('vl-convert-python')}.js"
    script = _kept(copy)
    if script is None:
        # The stub of vl-convert forgets that the snippet is optional.
        made = vl_convert.javascript_bundle()  # type: ignore[call-arg]
        script = made.replace("</script", "<\\/script").replace("<!--", "<\\!--")
        with contextlib.suppress(OutputError), replacing(copy) as file:
            file.write_bytes(_digest(script.encode()) + script.encode())
    return script


def _kept(copy: Path) -> str | None:
    """Return the script of a copy; None if there is none, or it is not as it was written."""
    try:
        content = copy.read_bytes()
    except OSError:
        return None
    size = hashlib.sha256().digest_size
    digest, script = content[:size], content[size:]
    return script.decode() if digest == _digest(script) else None


def _digest(script: bytes) -> bytes:
    return hashlib.sha256(script).digest()
