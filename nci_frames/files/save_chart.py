"""A chart -> a picture or its specification on disk, without a network."""

import json
import re
from pathlib import Path
from typing import Any

import altair as alt
from altair.typing import ChartType

from nci_frames.base.errors import ParameterError
from nci_frames.base.files import file_kind, replacing
from nci_frames.files.renderer import draw_picture
from nci_frames.schemas import checked
from nci_frames.tables.names import drawable_spec, is_drawable, pictured_spec

CHART_KINDS = ("svg", "png", "pdf", "json")
#: A picture that does not fit into memory would kill the process instead of raising an error.
_MAX_SCALE = 10
#: Vega numbers clips and gradients through the life of a process; attributes are the only place of them.
_TAG = re.compile(r"<[^<>]*>")
_NUMBERED = re.compile(r'((?: id|href)="#?|="url\(#)(clip|gradient_)(\d+)(?=\)?")')


@checked
def save_chart(chart: ChartType, /, path: str | Path, *, scale: float = 2.0) -> Path:
    """Write a chart as a picture (SVG, PNG, PDF) or as its Vega-Lite specification (JSON).

    The file is written beside its target and then moved over it, so a failure leaves an older file as it
    was. Nothing is loaded from a network. Equal charts give equal bytes, but for a PDF,
    whose parts have no order.

    Parameters
    ----------
    chart
        Any Altair chart, with its rows inside.
    path
        The file to write; its ending, ``.svg``, ``.png``, ``.pdf`` or ``.json``, gives the format. Folders
        above it are created if missing.
    scale
        Pixels of a PNG per unit of the chart, above 0 and at most 10: at 2 a chart 520 wide has 1,040
        pixels. The other formats have none.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    ParameterError
        If the path is a folder or has another ending, *scale* is out of range, or the chart cannot be drawn,
        e.g. because its rows are at a URL.

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
    if not 0 < scale <= _MAX_SCALE:
        raise ParameterError.out_of_range("scale", scale, f"above 0 and at most {_MAX_SCALE}")
    content = chart_bytes(chart, kind, scale=scale)
    with replacing(path, what="chart") as file:
        file.write_bytes(content)
    return Path(path)


def chart_bytes(chart: ChartType, kind: str, *, scale: float = 2.0) -> bytes:
    """Return what ``save_chart`` writes."""
    # Altair refuses more than 5,000 rows to keep notebooks small; a file has no such limit.
    with alt.data_transformers.enable("default", max_rows=None):
        spec = chart.to_dict()
    spec = spec if is_drawable(spec) else drawable_spec(spec)
    if kind == "json":
        text = json.dumps(spec, ensure_ascii=False, sort_keys=True, indent=1, allow_nan=False)
        return f"{text}\n".encode()
    spec = pictured_spec(spec)
    options: dict[str, Any] = {
        "vl_version": alt.SCHEMA_VERSION.removeprefix("v").rpartition(".")[0],
        "allowed_base_urls": [],
    }
    if kind == "png":
        return draw_picture(spec, kind, scale=scale, **options)
    svg = _renumbered(draw_picture(spec, "svg", **options).decode())
    return svg.encode() if kind == "svg" else draw_picture({"svg": svg}, "pdf")


def _renumbered(svg: str) -> str:
    """Give clips and gradients numbers in the order of the picture, so that equal charts are equal text."""
    names: dict[str, str] = {}

    def rename(match: re.Match[str]) -> str:
        before, kind, number = match.groups()
        return before + names.setdefault(kind + number, f"{kind}{len(names)}")

    return _TAG.sub(lambda tag: _NUMBERED.sub(rename, tag[0]), svg)
