"""Which names the segments of a log can have: those that a key of the tables can have."""

from nci_frames.base.errors import ParameterError
from nci_frames.schemas import name_problem


def check_key(name: str, hint: str) -> None:
    """Raise ParameterError unless a column can be a key under its name; *hint* says what to do.

    >>> check_key("country", "rename it")
    """
    problem = name_problem(name)
    if problem is not None:
        raise ParameterError(f"the segment {name!r} {problem}", hint=hint)
