"""Vega, Vega-Lite and Vega-Embed as one script, built once per version of vl-convert."""

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
    """Return the script, escaped so that it cannot close its own element.

    Building it takes more than a second, most of the time of a small report, so a copy is kept in the user's
    cache folder. A damaged copy is rebuilt; without a cache folder, each process builds its own.
    """
    copy = user_cache_path("nci_frames") / f"vega-{version('vl-convert-python')}.js"
    script = _kept(copy)
    if script is None:
        # In the stub of vl-convert, the snippet is wrongly required.
        made = vl_convert.javascript_bundle()  # type: ignore[call-arg]
        script = made.replace("</script", "<\\/script").replace("<!--", "<\\!--")
        with contextlib.suppress(OutputError), replacing(copy) as file:
            file.write_bytes(_digest(script.encode()) + script.encode())
    return script


def _kept(copy: Path) -> str | None:
    """Return the script of a copy; None if it is missing or damaged."""
    try:
        content = copy.read_bytes()
    except OSError:
        return None
    size = hashlib.sha256().digest_size
    digest, script = content[:size], content[size:]
    return script.decode() if digest == _digest(script) else None


def _digest(script: bytes) -> bytes:
    return hashlib.sha256(script).digest()
