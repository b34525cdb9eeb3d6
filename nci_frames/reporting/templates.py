"""Templates of the pages, and other files of this folder."""

from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import Any

import jinja2

from nci_frames.tables import numbers
from nci_frames.tables.names import straight

#: A function that writes a value as text.
Form = Callable[[Any], str]

#: Filters of all pages for numbers.
NUMBERS: Mapping[str, Form] = {
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


def _straight(value: Any) -> Any:
    """Return a value for a page, where a name must not turn the direction of the sentence around it."""
    return type(value)(straight(value)) if isinstance(value, str) else value


@cache
def template(name: str, finalize: Form | None = None, /, **filters: Form) -> jinja2.Template:
    """Return a template that escapes text from the data, and refuses undefined names.

    *finalize* writes every value of a format that has its own way of escaping.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("nci_frames.reporting", package_path=""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=finalize or _straight,
        keep_trailing_newline=finalize is not None,
    )
    environment.filters |= filters
    return environment.get_template(name)
