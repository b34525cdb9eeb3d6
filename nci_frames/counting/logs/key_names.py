"""Which names keys can have: none that the tables need for their columns."""

from nci_frames.errors import ParameterError
from nci_frames.schemas import RESERVED

__all__ = ["check_key"]


def check_key(name: str, hint: str) -> None:
    """Raise ParameterError unless a column can be a key under its name; *hint* says what to do.

    >>> check_key("country", "rename it")
    """
    if name in RESERVED or name.startswith("__"):
        raise ParameterError(
            f"the segment {name!r} has a name that the tables need for themselves", hint=hint
        )
