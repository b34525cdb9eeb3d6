"""Counts -> counts with small segments merged into one."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from nci_frames.counts.pooling import one_repeat, pooled_counts
from nci_frames.counts.strata import weighted_sums
from nci_frames.evaluation.field.prevalences import field_of
from nci_frames.options.report import SegmentOptions
from nci_frames.questions.units import Pools
from nci_frames.schemas import COUNTS, NEGATIVES, POSITIVES, REPEAT, beside, key_text, undefined_is_nan


class SmallSegments(NamedTuple):
    """Segments that become one."""

    #: The values of their keys.
    segments: pl.DataFrame
    #: The name of the merged segment, which no other segment has: "other", if that is free.
    name: str


@undefined_is_nan()
def small_segments(
    counts: pl.DataFrame,
    keys: Sequence[str],
    least: SegmentOptions,
    by_unit: pl.DataFrame | None = None,
    also: pl.DataFrame | None = None,
) -> SmallSegments:
    """Return the segments where every model has fewer positives, or fewer negatives, than required.

    With units, effective numbers of independent rows are compared, as in gates. Only one repeat of a
    cross-validation is counted, since all have the same rows.

    Parameters
    ----------
    counts
        A counts frame.
    keys
        Keys of the segments.
    least
        Minimum numbers of rows of each class.
    by_unit
        The same rows by buckets of units, if *counts* have no such key. Without the keys of the segments, or
        with too few buckets, effective numbers are unknown. Each row counts as one, whatever its weight.
    also
        Counts of another log whose segments will be merged likewise.
    """
    if not keys or not max(least.min_positives, least.min_negatives):
        return SmallSegments(counts.clear().select(keys), "")
    repeat = REPEAT if REPEAT in counts.columns else None
    worth = Pools(counts if by_unit is None else by_unit, keys, repeat).worth(keys)
    own = one_repeat(counts) if worth is None else counts
    group = ["model", *COUNTS.keys(own.columns)]
    totals = own.group_by(group).agg(positives=POSITIVES.first(), negatives=NEGATIVES.first())
    of_model = totals.group_by("model", *keys).agg(pl.col("positives", "negatives").sum())
    if worth is not None:
        joined = beside(of_model, worth, ["model", *keys])
        of_model = joined.with_columns(pl.col(c) * pl.col(f"{c}_worth") for c in ("positives", "negatives"))
    of_segment = of_model.group_by(keys).agg(pl.col("positives", "negatives").max())
    few = (pl.col("positives") < least.min_positives) | (pl.col("negatives") < least.min_negatives)
    small = of_segment.filter(few).select(keys)
    logs = [of_segment] if also is None else [of_segment, also]
    return SmallSegments(small, _free_name(logs, small))


def _free_name(logs: Sequence[pl.DataFrame], small: pl.DataFrame) -> str:
    """Return a name for the merged segment that differs from all values of the segments that are kept."""
    name, texts, keys = "other", set[str | None](), small.columns
    for log in logs:
        kept = log.select(keys).unique().join(small, on=keys, how="anti", nulls_equal=True)
        texts.update(*(kept.select(key_text(key, kept.schema[key])).to_series() for key in keys))
    while name in texts:
        name += " (merged)"
    return name


def with_small_pooled(counts: pl.DataFrame, small: SmallSegments) -> pl.DataFrame:
    """Merge segments into one segment; keys become strings."""
    if small.segments.is_empty():
        return counts
    before = {f"was_{place}": pl.col(key) for place, key in enumerate(small.segments.columns)}
    return pooled_counts(_renamed(counts.with_columns(**before), small), over=list(before))


def field_with_small_pooled(field: pl.DataFrame, counts: pl.DataFrame, small: SmallSegments) -> pl.DataFrame:
    """Return the field for the segments of ``with_small_pooled``.

    The prevalence of the merged segment is the mean of its parts, weighted by their shares of the traffic,
    or, without shares, by their rows in the log. The share of a segment that other keys split is divided like
    its rows.

    Parameters
    ----------
    field
        Prevalence of each segment of *counts*, and optionally its share.
    counts
        Counts before small segments were merged.
    small
        The small segments.

    Raises
    ------
    ParameterError, SchemaError
        If the field does not fit these segments.
    """
    if small.segments.is_empty():
        return field
    counts = weighted_sums(counts)
    group = COUNTS.keys(counts.columns)
    known = field_of(field, counts, group)
    on = [name for name in known.columns if name not in ("prevalence", "share")]
    sizes = counts.group_by("model", *group).agg(__rows=(POSITIVES + NEGATIVES).first())
    parts = sizes.group_by(list(dict.fromkeys([*on, *small.segments.columns]))).agg(pl.col("__rows").sum())
    parts = parts.join(known, on=on, nulls_equal=True)
    rows, eta, weight = pl.col("__rows"), pl.col("prevalence"), pl.col("__weight")
    shares = "share" in known.columns
    weighed = pl.col("share") * (rows / rows.sum().over(on)) if shares else rows.cast(pl.Float64)
    mean = pl.when(weight.sum() > 0).then((eta * weight).sum() / weight.sum()).otherwise(eta.mean())
    pooled = _renamed(parts.with_columns(__weight=weighed), small).group_by(on)
    # Segments that are not merged keep every digit.
    kept = pl.when(eta.min() == eta.max()).then(eta.first()).otherwise(mean)
    return pooled.agg(prevalence=kept, **({"share": weight.sum()} if shares else {})).sort(on)


def _renamed(frame: pl.DataFrame, small: SmallSegments) -> pl.DataFrame:
    """Return a frame where the keys of all small segments are the name of the merged one."""
    keys, merged = small.segments.columns, pl.lit(small.name).alias("__merged")
    named = beside(frame, small.segments.with_columns(merged), keys)
    texts = {key: pl.coalesce("__merged", key_text(key, named.schema[key])) for key in keys}
    return named.with_columns(**texts).drop("__merged")
