"""Ranges of winners -> the same ranges, cut where the log no longer supports the winner's value."""

import numpy as np
import polars as pl

from nci_frames.base.typing import Floats
from nci_frames.evaluation.support.reasons import TOO_FEW_ABOVE, TOO_FEW_BELOW

#: What goes with each range: the lowest prevalence that its model supports, and why there is none.
LOWEST, WHY = "__lowest", "__why"


def area_support(lowest: pl.DataFrame) -> pl.DataFrame:
    """Return what goes with the ranges of each model and key: ``LOWEST`` and ``WHY``."""
    return lowest.drop("metric").rename({"prevalence": LOWEST, "reason": WHY})


def borders_within(borders: Floats, start: float, end: float) -> tuple[Floats, slice]:
    """Return the ends of the ranges between two places, and which of the ranges between borders they are."""
    inside = borders[(borders > start) & (borders < end)]
    first = int((borders <= start).sum())
    return np.concatenate([[start], inside, [end]]), slice(first, first + len(inside) + 1)


def supported_prevalences(ranges: pl.DataFrame) -> pl.DataFrame:
    """Cut ranges of prevalence where support begins, and add ``supported`` and ``reason``."""
    return _cut(ranges, "start", "end", pl.col(LOWEST), TOO_FEW_BELOW, below=False)


def supported_lambdas(ranges: pl.DataFrame) -> pl.DataFrame:
    """Cut ranges of lambda where support ends, and add ``supported`` and ``reason``.

    At beta 1, lambda is (1-eta)/eta. F-beta with another beta depends less on false positives at the same
    lambda, so its support goes at least as far.
    """
    border = (1 - pl.col(LOWEST)) / pl.col(LOWEST)
    return _cut(ranges, "lambda_start", "lambda_end", border, TOO_FEW_ABOVE, below=True)


def _cut(
    ranges: pl.DataFrame, start: str, end: str, border: pl.Expr, said: str, *, below: bool
) -> pl.DataFrame:
    """Cut ranges at a border; they are supported *below* it, or above it, and nowhere if it is null."""
    known = ranges.with_row_index("__row").with_columns(__border=border.cast(pl.Float64))
    at = pl.col("__border").map_elements("{:.2g}".format, return_dtype=pl.String)
    why = pl.coalesce(WHY, pl.format(said, at))
    # Without support, the whole range is on the other side of the border.
    bottom = pl.col("__border").fill_null(float("-inf") if below else float("inf"))
    parts = (
        known.with_columns(pl.min_horizontal(end, bottom).alias(end), supported=pl.lit(below)),
        known.with_columns(pl.max_horizontal(start, bottom).alias(start), supported=pl.lit(not below)),
    )
    whole = pl.concat(parts).filter(pl.col(start) < pl.col(end)).sort("__row", start)
    return whole.with_columns(reason=pl.when(~pl.col("supported")).then(why)).drop(
        "__row", "__border", LOWEST, WHY
    )
