"""Segments in rates: their keys, and which of their operating points belong together."""

from collections.abc import Sequence

import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.schemas import RATES


def require_keys(frame: pl.DataFrame, wanted: Sequence[str]) -> list[str]:
    """Return the keys of rates; *wanted*, at least one, must be among them."""
    if not wanted:
        raise ParameterError.out_of_range("over", wanted, "at least one key")
    return RATES.need_keys(frame, wanted, "over")


def shared_threshold(frame: pl.DataFrame, keys: Sequence[str]) -> list[str]:
    """Return the threshold if it must be equal; a group's only operating point stands for the group."""
    several = frame.select(pl.struct("model", *keys).is_duplicated().any()).item()
    return ["threshold"] if several else []
