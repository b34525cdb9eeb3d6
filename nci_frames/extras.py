"""Packages of extras, which may not be installed."""

import importlib
from types import ModuleType

from nci_frames.errors import NciFramesError

__all__ = ["require"]


def require(module: str, *, extra: str, what: str) -> ModuleType:
    """Import a module of an extra, or say what needs it and how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise NciFramesError(what, found=str(error), hint=f"pip install 'nci_frames[{extra}]'") from error
