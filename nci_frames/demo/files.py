"""Files that are whole or absent, never half-written."""

import os
from pathlib import Path

import polars as pl

__all__ = ["publish"]


def publish(frame: pl.DataFrame, target: Path) -> None:
    """Write *frame* so that *target* is at every moment either whole or as it was before."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        frame.write_parquet(temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
