"""Script of the process that draws pictures, run by ``renderer`` only.

It reads a line of JSON with the kind of picture, the specification and the options. It answers with a line of
JSON that contains a length, followed by that many bytes of the picture or of an error message.
"""

import json
import signal
import sys

import vl_convert


def _draw(kind: str, spec: dict[str, object], options: dict[str, object]) -> bytes:
    if kind == "svg":
        return vl_convert.vegalite_to_svg(spec, **options).encode()  # type: ignore[arg-type]
    if kind == "pdf":
        return vl_convert.svg_to_pdf(spec["svg"])  # type: ignore[arg-type]
    return vl_convert.vegalite_to_png(spec, **options)  # type: ignore[arg-type]


def main() -> None:
    """Draw pictures until the input ends."""
    # The parent process handles interrupts.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin.buffer:
        try:
            answer, drawn = _draw(**json.loads(line)), True
        except ValueError as error:
            answer, drawn = str(error).encode(), False
        head = json.dumps({"drawn": drawn, "size": len(answer)})
        sys.stdout.buffer.write(head.encode() + b"\n" + answer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
