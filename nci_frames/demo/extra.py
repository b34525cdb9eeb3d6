"""Modules that the extra ``demo`` installs; they may be missing."""

from types import ModuleType

from nci_frames.base import extras

__all__ = ["require"]


def require(module: str) -> ModuleType:
    """Import a module of the extra, or raise an error that says how to install it."""
    return extras.require(module, extra="demo", what="this part of the demonstration needs scikit-learn")
