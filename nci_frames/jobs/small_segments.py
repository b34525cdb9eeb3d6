"""Counts -> the same counts, with all segments of few rows as one."""

from collections.abc import Sequence

import polars as pl

from nci_frames.counts.pooling import one_repeat, pooled_counts
from nci_frames.counts.strata import weighted_sums
from nci_frames.evaluation.field.prevalences import field_of
from nci_frames.options.report import SegmentOptions
from nci_frames.questions.units import Drawn
from nci_frames.schemas import COUNTS, REPEAT, key_text

#: The value of the key of the segments that are pooled.
_OTHER = "other"


def small_segments(
    counts: pl.DataFrame, keys: Sequence[str], least: SegmentOptions, by_unit: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Return the segments in which every model has fewer positives, or fewer negatives, than asked for.

    Where rows belong to units, the independent rows count that they are worth, as in gates. Of the repeats of
    a cross-validation, which all have the same rows, one counts.

    Parameters
    ----------
    counts
        A counts frame.
    keys
        The keys of the segments.
    least
        The least numbers of rows of each class.
    by_unit
        The same rows by buckets of units, if *counts* have no such key. Without the keys of the segments, as
        where those would be too many, or with too few buckets, it does not tell what rows are worth. Each row
        counts as one, whatever it weighs.
    """
    if not keys or not max(least.min_positives, least.min_negatives):
        return counts.clear().select(keys)
    repeat = REPEAT if REPEAT in counts.columns else None
    worth = Drawn.of(counts if by_unit is None else by_unit, keys, repeat).worth(keys)
    own = one_repeat(counts) if worth is None else counts
    totals = own.group_by("model", *COUNTS.keys(own.columns)).agg(
        positives=(pl.col("tp") + pl.col("fn")).first(), negatives=(pl.col("fp") + pl.col("tn")).first()
    )
    of_model = totals.group_by("model", *keys).agg(pl.col("positives", "negatives").sum())
    if worth is not None:
        joined = of_model.join(worth, on=["model", *keys], how="left", nulls_equal=True)
        of_model = joined.with_columns(
            pl.col(name) * pl.col(f"{name}_worth") for name in ("positives", "negatives")
        )
    of_segment = of_model.group_by(keys).agg(pl.col("positives", "negatives").max())
    few = (pl.col("positives") < least.min_positives) | (pl.col("negatives") < least.min_negatives)
    return of_segment.filter(few).select(keys)


def with_small_pooled(counts: pl.DataFrame, small: pl.DataFrame) -> pl.DataFrame:
    """Put segments into one segment, "other"; its keys become texts."""
    keys = small.columns
    if small.is_empty():
        return counts
    before = {f"was_{place}": pl.col(key) for place, key in enumerate(keys)}
    return pooled_counts(_renamed(counts.with_columns(**before), small), over=list(before))


def field_with_small_pooled(
    field: pl.DataFrame, counts: pl.DataFrame, small: pl.DataFrame, keys: Sequence[str]
) -> pl.DataFrame:
    """Return the field of the segments that ``with_small_pooled`` makes.

    The prevalence of "other" is that of its segments in the traffic: weighed by their shares, or without
    shares by their rows in the log. A segment of the field that is split by other keys has its share where it
    has its rows.

    Parameters
    ----------
    field
        The prevalence of each segment of *counts*, and perhaps its share.
    counts
        The counts before their small segments were pooled.
    small
        The small segments.
    keys
        The keys of the segments.

    Raises
    ------
    ParameterError, SchemaError
        If the field is not one of these segments.
    """
    if small.is_empty():
        return field
    counts = weighted_sums(counts)
    group = COUNTS.keys(counts.columns)
    known = field_of(field, counts, group)
    on = [name for name in known.columns if name not in ("prevalence", "share")]
    cells = pl.sum_horizontal(pl.col(name).first() for name in ("tp", "fp", "fn", "tn"))
    sizes = counts.group_by("model", *group).agg(__rows=cells)
    parts = sizes.group_by(list(dict.fromkeys([*on, *keys]))).agg(pl.col("__rows").sum())
    parts = parts.join(known, on=on, nulls_equal=True)
    rows, eta, weight = pl.col("__rows"), pl.col("prevalence"), pl.col("__weight")
    shares = "share" in known.columns
    weighed = pl.col("share") * (rows / rows.sum().over(on)) if shares else rows.cast(pl.Float64)
    mean = pl.when(weight.sum() > 0).then((eta * weight).sum() / weight.sum()).otherwise(eta.mean())
    pooled = _renamed(parts.with_columns(__weight=weighed), small).group_by(on)
    # A segment that stays as it is keeps every digit.
    kept = pl.when(eta.min() == eta.max()).then(eta.first()).otherwise(mean)
    return pooled.agg(prevalence=kept, **({"share": weight.sum()} if shares else {})).sort(on)


def _renamed(frame: pl.DataFrame, small: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with the keys of segments, in which all small ones are called "other"."""
    keys = small.columns
    marked = frame.join(small.with_columns(__small=True), on=keys, how="left", nulls_equal=True)
    other = pl.when(pl.col("__small")).then(pl.lit(_OTHER))
    renamed = marked.with_columns(
        other.otherwise(key_text(key, marked.schema[key])).alias(key) for key in keys
    )
    return renamed.drop("__small")
