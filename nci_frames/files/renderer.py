"""A Vega-Lite specification -> a picture, drawn in a separate process.

A fault ends the renderer's process, which nothing can catch there; in a separate process it becomes an
ordinary error. The process is started for the first picture and draws all others, too, since starting takes
longer than drawing.
"""

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import IO, Any, cast

from nci_frames.base.errors import ParameterError

_SCRIPT = Path(__file__).with_name("draw_pictures.py")


class _Renderer:
    """A process that draws, for one thread at a time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        #: A forked process must not use the renderer of its parent.
        self._owner = os.getpid()

    def ask(self, request: bytes) -> tuple[bool, bytes]:
        """Return whether a picture was drawn, and the picture, or else the error message."""
        if self._owner != os.getpid():
            self.__init__()  # type: ignore[misc]
        with self._lock:
            try:
                return self._exchange(request)
            except BaseException:
                # A late answer would be taken for the next picture.
                self.close()
                raise

    def _exchange(self, request: bytes) -> tuple[bool, bytes]:
        if self._process is not None and self._process.poll() is not None:
            self.close()
        self._process = process = self._process or _start()
        requests, answers = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        head = b""
        with suppress(BrokenPipeError):
            requests.write(request + b"\n")
            requests.flush()
            head = answers.readline()
        if head:
            answer = json.loads(head)
            return answer["drawn"], answers.read(answer["size"])
        code = process.wait()
        self.close()
        return False, f"the renderer ended with exit code {code}".encode()

    def close(self) -> None:
        """End the process, if it was started."""
        process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            process.kill()
            process.communicate()


_RENDERER = _Renderer()
atexit.register(_RENDERER.close)


def _start() -> subprocess.Popen[bytes]:
    # -P leaves the folder of the script off the path, since its modules could hide others.
    command = [sys.executable, "-P", str(_SCRIPT)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(  # noqa: S603
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )


def draw_picture(spec: Mapping[str, Any], kind: str, /, **options: Any) -> bytes:
    """Draw a specification as "svg", "png" or "pdf".

    Raises
    ------
    ParameterError
        If the specification cannot be drawn.
    """
    request = json.dumps({"kind": kind, "spec": spec, "options": options}).encode()
    drawn, answer = _RENDERER.ask(request)
    if not drawn:
        lines = [line for line in answer.decode(errors="replace").splitlines() if line.strip()]
        raise ParameterError("the chart cannot be drawn", found=" ".join(lines[:2]))
    return answer
