"""A server on this machine that speaks as much of S3 as runs and ledgers need: conditional writes, too."""

import hashlib
import secrets
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

__all__ = ["s3_server"]

ROOT = Path(__file__).parents[1]
_SPACE = "{http://s3.amazonaws.com/doc/2006-03-01/}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Otherwise the body waits until the client has acknowledged the headers, 40 ms each time.
    wbufsize = -1
    disable_nagle_algorithm = True
    server: "_Server"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the name of the base class)
        """Say nothing."""

    def _place(self) -> tuple[str, dict[str, list[str]]]:
        parts = urlsplit(self.path)
        return unquote(parts.path).lstrip("/"), parse_qs(parts.query, keep_blank_values=True)

    def _answer(self, code: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _error(self, code: int, name: str) -> None:
        self._answer(code, f"<Error><Code>{name}</Code><Message>{name}</Message></Error>".encode())

    def do_PUT(self) -> None:
        name, query = self._place()
        body = self._body()
        if "uploadId" in query:
            self.server.parts[query["uploadId"][0], int(query["partNumber"][0])] = body
            return self._answer(200, ETag=_tag(body))
        with self.server.lock:
            there = self.server.files.get(name)
            wanted = self.headers.get("If-Match")
            if self.headers.get("If-None-Match") == "*" and there is not None:
                return self._error(412, "PreconditionFailed")
            if wanted is not None and there is None:
                return self._error(404, "NoSuchKey")
            if wanted is not None and there is not None and wanted != _tag(there[0]):
                return self._error(412, "PreconditionFailed")
            if "/" in name:
                self.server.files[name] = body, datetime.now(UTC)
            else:
                self.server.buckets.add(name)
        return self._answer(200, ETag=_tag(body))

    def do_GET(self) -> None:
        name, query = self._place()
        if "list-type" in query:
            if name.rstrip("/") not in self.server.buckets:
                return self._error(404, "NoSuchBucket")
            return self._list(
                name.rstrip("/"), query.get("prefix", [""])[0], query.get("start-after", [""])[0]
            )
        found = self.server.files.get(name)
        if found is None:
            return self._error(404, "NoSuchKey")
        body, changed = found
        told = {
            "ETag": _tag(body),
            "Last_Modified": format_datetime(changed, usegmt=True),
            "Accept_Ranges": "bytes",
        }
        asked = self.headers.get("Range", "")
        if asked.startswith("bytes="):
            first, _, last = asked.removeprefix("bytes=").partition("-")
            begin = int(first) if first else max(len(body) - int(last), 0)
            end = min(int(last) + 1 if first and last else len(body), len(body))
            told["Content_Range"] = f"bytes {begin}-{end - 1}/{len(body)}"
            return self._answer(206, body[begin:end], **told)
        return self._answer(200, body, **told)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_DELETE(self) -> None:
        self.server.files.pop(self._place()[0], None)
        self._answer(204)

    def do_POST(self) -> None:
        """Delete several files, or begin or complete a file of several parts."""
        name, query = self._place()
        body = self._body()
        if "uploads" in query:
            identity = secrets.token_hex(8)
            told = f"<UploadId>{identity}</UploadId>"
            return self._answer(
                200, f"<InitiateMultipartUploadResult>{told}</InitiateMultipartUploadResult>".encode()
            )
        if "uploadId" in query:
            own = sorted(part for part in self.server.parts if part[0] == query["uploadId"][0])
            whole = b"".join(self.server.parts.pop(part) for part in own)
            self.server.files[name] = whole, datetime.now(UTC)
            told = f"<ETag>{escape(_tag(whole))}</ETag>"
            return self._answer(
                200, f"<CompleteMultipartUploadResult>{told}</CompleteMultipartUploadResult>".encode()
            )
        gone = [key.text or "" for key in ET.fromstring(body).iter() if key.tag.endswith("Key")]  # noqa: S314
        for key in gone:
            self.server.files.pop(f"{name.rstrip('/')}/{key}", None)
        told = "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in gone)
        return self._answer(200, f"<DeleteResult>{told}</DeleteResult>".encode())

    def _list(self, bucket: str, prefix: str, after: str) -> None:
        entries = ""
        for name, (body, changed) in sorted(self.server.files.items()):
            key = name.removeprefix(f"{bucket}/")
            if name.startswith(f"{bucket}/") and key.startswith(prefix) and key > after:
                entries += (
                    f"<Contents><Key>{escape(key)}</Key><Size>{len(body)}</Size><ETag>{escape(_tag(body))}</ETag>"
                    f"<LastModified>{changed:%Y-%m-%dT%H:%M:%S.000Z}</LastModified></Contents>"
                )
        told = f"<IsTruncated>false</IsTruncated>{entries}"
        self._answer(200, f'<ListBucketResult xmlns="{_SPACE[1:-1]}">{told}</ListBucketResult>'.encode())


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, tuple[bytes, datetime]] = {}
        #: Parts of files that are not complete, by upload and number.
        self.parts: dict[tuple[str, int], bytes] = {}
        self.buckets: set[str] = set()
        self.lock = threading.Lock()


def _tag(body: bytes) -> str:
    return f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'


@contextmanager
def s3_server() -> Iterator[str]:
    """Yield the address of a server, in a process of its own, that ends with the block."""
    command = [sys.executable, "-m", "tests.s3_server"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().strip()
        process.terminate()


if __name__ == "__main__":
    with _Server() as running:
        print(f"http://127.0.0.1:{running.server_port}", flush=True)  # noqa: T201
        running.serve_forever()
