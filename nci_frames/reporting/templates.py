"""Templates of the pages, and other files of this folder."""

from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any

import jinja2


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
