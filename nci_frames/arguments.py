"""Checks of arguments that several functions take."""

import math
import numbers

from nci_frames.errors import ParameterError

__all__ = ["check_level", "check_seed", "check_whole"]


def check_level(level: object) -> None:
    """Raise ParameterError unless *level* is a confidence level."""
    if not (isinstance(level, numbers.Real) and 0 < float(level) < 1):
        raise ParameterError.out_of_range("level", level, "between 0 and 1, both excluded")


def check_whole(name: str, value: object, least: int, most: float = math.inf) -> None:
    """Raise ParameterError unless *value* is a whole number from *least* to *most*."""
    if not (isinstance(value, numbers.Integral) and least <= int(value) <= most):
        allowed = f">= {least:,}" if most == math.inf else f"from {least:,} to {most:,}"
        raise ParameterError.out_of_range(name, value, f"a whole number {allowed}")


def check_seed(seed: object) -> None:
    """Raise ParameterError unless *seed* can be one."""
    # The range that scikit-learn takes; the synthetic logs keep to it so that one seed serves both.
    check_whole("seed", seed, 0, 2**32 - 1)
