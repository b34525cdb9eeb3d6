"""A chart -> a picture or a specification in a file, without network access."""

import json
import re
from pathlib import Path
from typing import Any

import altair as alt
from altair.typing import ChartType

from nci_frames.base.arguments import check_allowed
from nci_frames.base.files import file_kind, replacing
from nci_frames.files.renderer import draw_picture
from nci_frames.schemas import checked
from nci_frames.tables.names import drawable_spec, is_drawable, pictured_spec

CHART_KINDS = ("svg", "png", "pdf", "json")
#: A larger picture may not fit into memory, which kills the process instead of raising an error.
_MAX_SCALE = 10
#: Tags of SVG. Vega numbers clips and gradients per process; the numbers occur only in attributes.
_TAG = re.compile(r"<[^<>]*>")
_NUMBERED = re.compile(r'((?: id|href)="#?|="url\(#)(clip|gradient_)(\d+)(?=\)?")')


@checked
def save_chart(chart: ChartType, /, path: str | Path, *, scale: float = 2.0) -> Path:
    """Write a chart as a picture (SVG, PNG, PDF) or as its Vega-Lite specification (JSON).

    The file is replaced atomically: a failure leaves an existing file unchanged. Nothing is loaded from a
    network. Equal charts give equal bytes, except for PDF, whose parts have no order.

    Parameters
    ----------
    chart
        Any Altair chart that contains its data.
    path
        File to write. The format is given by the ending: ``.svg``, ``.png``, ``.pdf`` or ``.json``. Missing
        folders are created.
    scale
        Pixels of a PNG per unit of the chart, in (0, 10]: at 2, a chart of width 520 has 1,040 pixels.
        Ignored for the other formats.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    ParameterError
        If *path* is a folder or has another ending, *scale* is out of range, or the chart cannot be drawn,
        for example because its data are at a URL.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({"model": "a", "threshold": 0.5, "tp": 60, "fp": 1, "fn": 40, "tn": 999})
    >>> projection = nf.project_rates(nf.compute_rates(counts), metrics="precision", prevalence=[0.001, 0.5])
    >>> folder = getfixture("tmp_path")
    >>> nf.save_chart(nf.chart_p3(projection), folder / "p3.svg").name
    'p3.svg'
    """
    kind = file_kind(path, CHART_KINDS, what="chart")
    check_allowed(0 < scale <= _MAX_SCALE, "scale", scale, f"above 0 and at most {_MAX_SCALE}")
    content = chart_bytes(chart, kind, scale=scale)
    with replacing(path, what="chart") as file:
        file.write_bytes(content)
    return Path(path)


def chart_bytes(chart: ChartType, kind: str, *, scale: float = 2.0) -> bytes:
    """Return the bytes that ``save_chart`` writes."""
    # Altair refuses more than 5,000 rows to keep notebooks small, which does not matter for files.
    with alt.data_transformers.enable("default", max_rows=None):
        spec = chart.to_dict()
    spec = spec if is_drawable(spec) else drawable_spec(spec)
    if kind == "json":
        text = json.dumps(spec, ensure_ascii=False, sort_keys=True, indent=1, allow_nan=False)
        return f"{text}\n".encode()
    spec = pictured_spec(spec)
    version = alt.SCHEMA_VERSION.removeprefix("v").rpartition(".")[0]
    options: dict[str, Any] = {"vl_version": version, "allowed_base_urls": []}
    if kind == "png":
        return draw_picture(spec, kind, scale=scale, **options)
    svg = _renumbered(draw_picture(spec, "svg", **options).decode())
    return svg.encode() if kind == "svg" else draw_picture({"svg": svg}, "pdf")


def _renumbered(svg: str) -> str:
    """Renumber clips and gradients in the order of the picture, so that equal charts give equal text."""
    names: dict[str, str] = {}

    def rename(match: re.Match[str]) -> str:
        before, kind, number = match.groups()
        return before + names.setdefault(kind + number, f"{kind}{len(names)}")

    return _TAG.sub(lambda tag: _NUMBERED.sub(rename, tag[0]), svg)
