"""Templates of the pages, and other files of this folder."""

from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import Any

import jinja2

from nci_frames.tables import numbers

#: Filters of all pages for numbers.
NUMBERS: Mapping[str, Callable[[Any], str]] = {
    "grid": numbers.format_grid,
    "value": numbers.format_value,
    "count": numbers.format_count,
    "one_in": numbers.format_one_in,
    "threshold": numbers.format_threshold,
    "group": numbers.format_group,
}


def own(name: str) -> str:
    """Return the text of a file of this folder."""
    return resources.files("nci_frames.reporting").joinpath(name).read_text(encoding="utf-8")


@cache
def template(
    name: str,
    /,
    *,
    finalize: Callable[[Any], str] | None = None,
    keep_trailing_newline: bool = False,
    **filters: Callable[[Any], str],
) -> jinja2.Template:
    """Return a template that escapes text from the data, and refuses undefined names."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("nci_frames.reporting", package_path=""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=finalize,
        keep_trailing_newline=keep_trailing_newline,
    )
    environment.filters |= filters
    return environment.get_template(name)
