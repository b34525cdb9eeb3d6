"""The templates of the pages, and the other files beside them."""

from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

import jinja2


def own(name: str) -> str:
    """Return the text of a file of this folder."""
    return resources.files("nci_frames.reporting").joinpath(name).read_text(encoding="utf-8")


def template(name: str, filters: Mapping[str, Callable[[Any], str]], **options: Any) -> jinja2.Template:
    """Return a template in which text from the data is escaped, and every name has a value."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("nci_frames.reporting", package_path=""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        **options,
    )
    environment.filters |= filters
    return environment.get_template(name)
