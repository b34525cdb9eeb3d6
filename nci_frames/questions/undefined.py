"""Rates -> numbers of rows of a log, and the reasons why rates are undefined."""

from collections.abc import Sequence

import polars as pl

from nci_frames.counts.score_scale import HIGHEST, LOWEST, no_probabilities, share_off_scale
from nci_frames.evaluation.arrays.few_thresholds import near_threshold
from nci_frames.evaluation.support.reasons import first_reason
from nci_frames.schemas import COUNTS, beside
from nci_frames.tables.numbers import format_threshold


def observed_prevalence(sizes: pl.DataFrame) -> float | None:
    """Return the share of positives among the rows of all models, given those of each; None without rows.

    >>> observed_prevalence(pl.DataFrame({"model": ["a", "b"], "positives": [1, 3], "negatives": [3, 1]}))
    0.5
    """
    positives, negatives = sizes.select(pl.col("positives", "negatives").sum()).row(0)
    return positives / (positives + negatives) if positives + negatives else None


def segment_sizes(rates: pl.DataFrame, segments: Sequence[str]) -> pl.DataFrame:
    """Return the number of rows of each segment over all models, largest first.

    >>> rates = pl.DataFrame({
    ...     "model": ["a", "a", "b"], "day": ["1", "2", "2"],
    ...     "threshold": [0.1, 0.1, 0.5], "positives": [1, 2, 2], "negatives": [3, 4, 4],
    ... })
    >>> segment_sizes(rates, ["day"]).rows()
    [('2', 12), ('1', 4)]
    """
    rows = (pl.col("positives") + pl.col("negatives")).sum()
    sizes = totals(rates, segments).group_by(segments).agg(rows=rows)
    return sizes.sort(-pl.col("rows"), *segments, nulls_last=True)


def undefined_groups(points: pl.DataFrame, rates: pl.DataFrame, segments: Sequence[str]) -> pl.DataFrame:
    """Return the groups without TPR or FPR: model, segments, positives, negatives, reason.

    Parameters
    ----------
    points
        Operating points of the groups, with a reason where there is none.
    rates
        Rates of the same groups, at least at the thresholds next to that of the points.
    segments
        Keys of the groups besides the model.
    """
    keys = ["model", *segments]
    told = points.select(*keys, "threshold", "reason")
    known = beside(told, totals(rates, segments), keys)
    positives, negatives = pl.col("positives"), pl.col("negatives")
    empty = first_reason(
        ((positives == 0) & (negatives == 0), "no rows"),
        (positives == 0, "no positives: tpr, and what depends on it, is undefined"),
        (negatives == 0, "no negatives: fpr, and what depends on it, is undefined"),
    )
    why = pl.coalesce(empty, pl.when(pl.col("reason").is_not_null()).then(_not_counted()))
    near = _neighbours(told, rates, keys)
    reasons = beside(known, near, keys)
    return reasons.select(*keys, "positives", "negatives", reason=why).filter(pl.col("reason").is_not_null())


def uncounted(points: pl.DataFrame, rates: pl.DataFrame) -> str | None:
    """Return a sentence if the threshold of the points was not counted for any model; None if it was."""
    if points.is_empty() or points["reason"].has_nulls():
        return None
    everyone = pl.lit("all").alias("model")
    told = points.head(1).with_columns(everyone)
    near = _neighbours(told, rates.with_columns(everyone), ["model"])
    return str(told.join(near, on="model", how="left").select(_not_counted()).item())


def totals(rates: pl.DataFrame, segments: Sequence[str]) -> pl.DataFrame:
    """Return the rows of each model and segment: those of its first threshold, as all have the same."""
    return rates.group_by("model", *segments).agg(pl.col("positives", "negatives").first())


def _neighbours(told: pl.DataFrame, rates: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Return the nearest counted thresholds below and above that of each point."""
    at, threshold = pl.col("__at"), pl.col("threshold")
    wanted = told.select(*keys, __at="threshold")
    below, above = threshold.filter(threshold < at).max(), threshold.filter(threshold > at).min()
    return beside(rates, wanted, keys).group_by(keys).agg(below=below, above=above)


def _not_counted() -> pl.Expr:
    def number(column: str) -> pl.Expr:
        return pl.col(column).map_elements(format_threshold, return_dtype=pl.String)

    near = pl.concat_str(number("below"), number("above"), separator=" and ", ignore_nulls=True)
    return pl.format(
        "threshold {} was not counted; the nearest that were: {}. "
        "Count it as well, or compare at one of these",
        number("threshold"),
        near,
    )


def off_scale(counts: pl.DataFrame) -> str | None:
    """Return a sentence if the scores are not probabilities, so that 0.5 says little; None if they may be."""
    ends = near_threshold(counts, LOWEST, HIGHEST)
    told = no_probabilities(share_off_scale(ends, COUNTS.keys(counts.columns)))
    if told is None:
        return None
    return f"{told}, so 0.5 is hardly the threshold in use: compare at the one that is"
