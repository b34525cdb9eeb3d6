"""Optional packages (extras)."""

import importlib
from types import ModuleType

from nci_frames.base.errors import MissingPackageError


def require(module: str, *, extra: str, what: str) -> ModuleType:
    """Import a module of an extra; if it is missing, raise an error that says how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        hint = f"pip install 'nci_frames[{extra}]'"
        raise MissingPackageError(what, found=str(error), hint=hint) from error


def require_jobs() -> None:
    """Raise unless the packages for jobs and ledgers are installed."""
    for package in ("pydantic", "deltalake", "blake3", "prometheus_client"):
        require(package, extra="jobs", what=f"jobs and ledgers need the package {package}")
