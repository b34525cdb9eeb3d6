"""The modules of the ``demo`` extra, which may not be installed."""

import importlib
from types import ModuleType

from nci_frames.errors import NciFramesError

__all__ = ["require"]


def require(module: str) -> ModuleType:
    """Import a module of the extra, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise NciFramesError(
            "this part of the demonstration needs scikit-learn",
            found=str(error),
            hint="pip install 'nci_frames[demo]'",
        ) from error
