"""The process that draws pictures; run as a script by ``renderer``, and by nothing else.

It reads a line of JSON with the kind of picture, the specification and the options, and answers with a line
of JSON, then with so many bytes of the picture or of the reason why there is none.
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
    """Draw until the input ends."""
    # An interrupt is meant for the process that asked.
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
