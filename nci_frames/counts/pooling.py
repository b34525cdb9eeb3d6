"""Sums of counts: counts are additive, so folds, days and files are combined by adding."""

from collections.abc import Collection, Sequence

import polars as pl

from nci_frames.base.arguments import check_allowed, name_list
from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.base.messages import listed
from nci_frames.base.typing import Frame, Names
from nci_frames.counts.exact_sums import add_exact
from nci_frames.counts.resolution import runs_with_every_score
from nci_frames.counts.strata import weighted_sums
from nci_frames.counts.sums import check_sums
from nci_frames.schemas import CELLS, COUNTS, REPEAT, WEIGHT, checked, collect, has_strata, in_runs, unflagged


@checked
def merge_counts(*counts: Frame) -> pl.DataFrame:
    """Add counts of disjoint rows, for example of two days, files or machines.

    Parameters
    ----------
    *counts
        Counts frames with the same keys. Counts on a grid must have the same thresholds; exact counts may
        have any, and merge exactly.

    Returns
    -------
    A counts frame with the keys of the first frame, sorted by model, keys and threshold.

    Raises
    ------
    ParameterError
        If no frame is given, or thresholds or resolutions differ.
    SchemaError
        If a frame is not a counts frame, or its keys or their types differ from the first frame; or if a sum
        exceeds 2^53 rows.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> day = pl.DataFrame({
    ...     "model": ["a"], "threshold": [0.5], "tp": [60], "fp": [1], "fn": [40], "tn": [999]
    ... })
    >>> nf.merge_counts(day, day).row(0)
    ('a', 0.5, 120, 2, 80, 1998)
    """
    check_allowed(counts, "counts", counts, "at least one counts frame")
    frames = [without_rates(collect(frame, COUNTS, strata=True)) for frame in counts]
    columns = frames[0].columns
    sources = (frame.with_columns(__source=pl.lit(source, pl.Int64)) for source, frame in enumerate(frames))
    hint = "count with the same keys, or sum a key away with pool_counts"
    return _add(together([*sources], CELLS, hint), ["model", *COUNTS.keys(columns)], ["__source"])


def together(frames: Sequence[pl.DataFrame], cells: Collection[str], hint: str) -> pl.DataFrame:
    """Concatenate frames of counts; *cells* are sums of weights if those of any frame are.

    Raises
    ------
    SchemaError
        If the frames have different columns, or a column other than *cells* has different types.
    """
    columns = frames[0].columns
    for frame in frames[1:]:
        one, other = set(columns) - set(frame.columns), set(frame.columns) - set(columns)
        if one or other:
            named = (("the first", one), ("another", other))
            told = [f"only in {place} {listed(map(repr, sorted(names)))}" for place, names in named if names]
            raise SchemaError("the counts frames have different columns", found="; ".join(told), hint=hint)
    types = {name: _common_type(name, [frame.schema[name] for frame in frames], cells) for name in columns}
    return pl.concat([frame.select(columns).cast(pl.Schema(types)) for frame in frames])


def _common_type(column: str, types: Sequence[pl.DataType], cells: Collection[str]) -> pl.DataType:
    """Return the type of a column of added counts; rows and sums of weights give sums of weights."""
    kinds = [dtype for dtype in dict.fromkeys(types) if dtype != pl.Null]
    if column in cells and len(kinds) > 1:
        return pl.Float64()
    if len(kinds) > 1:
        what = f"column {column!r} has different types in the counts frames"
        raise SchemaError(what, found=", ".join(map(str, kinds)), hint="cast it to one type first")
    return kinds[0] if kinds else pl.Null()


@checked
def pool_counts(counts: Frame, /, *, over: Names) -> pl.DataFrame:
    """Sum counts over a key, for example over the folds.

    Parameters
    ----------
    counts
        A counts frame.
    over
        Key or keys to sum over. ``weight``, the weight of each row of a group, gives sums of weights.

    Returns
    -------
    A counts frame without these keys, sorted by model, remaining keys and threshold.

    Raises
    ------
    ParameterError
        If the summed groups differ in thresholds or resolution.
    SchemaError
        If *counts* is not a counts frame, or lacks a key of *over*; or if a sum exceeds 2^53 rows.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> folds = pl.DataFrame({
    ...     "model": ["a", "a"], "fold": ["1", "2"], "threshold": [0.5, 0.5],
    ...     "tp": [60, 50], "fp": [1, 2], "fn": [40, 50], "tn": [999, 998],
    ... })
    >>> nf.pool_counts(folds, over="fold").row(0)
    ('a', 0.5, 110, 3, 90, 1997)
    """
    return pooled_counts(collect(counts, COUNTS, strata=True), over=over)


def pooled_counts(counts: pl.DataFrame, *, over: Names) -> pl.DataFrame:
    """Sum checked counts over a key, as ``pool_counts`` does."""
    dropped = name_list(over)
    keys = COUNTS.need_keys(counts, dropped, "over")
    if WEIGHT in dropped:
        # ``weight`` comes last, since whole rows are added exactly.
        rest = [key for key in dropped if key != WEIGHT]
        return weighted_sums(pooled_counts(counts, over=rest) if rest else without_rates(counts))
    return _add(without_rates(counts), ["model", *(key for key in keys if key not in dropped)], dropped)


def pooled_to(counts: pl.DataFrame, kept: Collection[str | None]) -> pl.DataFrame:
    """Sum checked counts over all keys but those *kept*; return the same counts if there are no others."""
    others = [key for key in COUNTS.keys(counts.columns) if key not in kept]
    return pooled_counts(counts, over=others) if others else counts


def one_repeat(counts: pl.DataFrame, repeat: str = REPEAT) -> pl.DataFrame:
    """Return the counts of the first repeat of a cross-validation; all counts if there are no repeats."""
    if repeat not in counts.columns:
        return counts
    return counts.filter(pl.col(repeat).eq_missing(pl.col(repeat).sort().first())).drop(repeat)


def alike_counts(counts: pl.DataFrame) -> tuple[pl.DataFrame, tuple[float, float] | None]:
    """Return counts of rows without the key ``weight``, and the weights of a positive and a negative.

    If all positives have one weight, and all negatives one, the TPR and FPR of weighted and unweighted rows
    are equal, and so are their intervals. Otherwise return the counts unchanged, and None.
    """
    if not has_strata(counts):
        return counts, (1.0, 1.0)
    drawn = counts.filter(pl.col(WEIGHT) > 0)
    classes = (pl.col("tp") + pl.col("fn"), pl.col("fp") + pl.col("tn"))
    positive, negative = (drawn.filter(rows > 0)[WEIGHT].unique().to_list() or [1.0] for rows in classes)
    if len(positive) > 1 or len(negative) > 1:
        return counts, None
    keys = ["model", *(key for key in COUNTS.keys(counts.columns) if key != WEIGHT)]
    return _add(without_rates(drawn), keys, [WEIGHT]), (positive[0], negative[0])


def add_cells(frame: pl.DataFrame, by: Sequence[str], *also: pl.Expr) -> pl.DataFrame:
    """Sum tp, fp, fn and tn over the rows of counts or rates that share *by*, with further aggregates.

    The aggregates must not depend on the order of rows. Nulls add nothing. The result is sorted by *by*, and
    rows are added in a fixed order, so that sums of weights are bit for bit the same in every run.

    Raises
    ------
    SchemaError
        If a sum exceeds the range of a count.
    """
    check_sums(frame, CELLS, by)
    sums = [pl.col(CELLS).sum(), *also]
    if all(frame.schema[cell].is_integer() for cell in CELLS):
        # Sums of whole numbers do not depend on the order, and sorting the sums is faster than the rows.
        return frame.group_by(by).agg(sums).sort(by)
    keys = [key for key in COUNTS.keys(frame.columns) if key not in by]
    ordered = frame.sort(*by, *(name for name in ("model", *keys, "threshold", *CELLS) if name not in by))
    # With a sorted flag, Polars would add the rows in another order.
    return unflagged(ordered).group_by(by, maintain_order=True).agg(sums)


def without_rates(counts: pl.DataFrame) -> pl.DataFrame:
    """Return counts without the columns of rates, which are not additive.

    An operating point that several selections have chosen has its rows once.
    """
    alone = counts.drop(COUNTS.derived, strict=False)
    selected = {"prevalence", "reason"} & {*counts.columns}
    return alone.unique(maintain_order=True) if selected else alone


def _add(frame: pl.DataFrame, keys: list[str], members: list[str]) -> pl.DataFrame:
    """Sum the groups with equal *keys* and different *members*."""
    frame, first = in_runs(frame, [*keys, *members])
    every = runs_with_every_score(frame, first)
    if len(every) and every.all():
        added = add_exact(frame, first, keys, members)
    else:
        heads = pl.DataFrame([frame[key].gather(first) for key in keys])
        added = _add_grid(frame, keys, heads, some_exact=bool(every.any()))
    return COUNTS.finish(added.select(name for name in frame.columns if name not in members))


def _add_grid(
    frame: pl.DataFrame, keys: list[str], members: pl.DataFrame, *, some_exact: bool
) -> pl.DataFrame:
    """Add members row by row, since all have the same thresholds; *members* are the keys of each."""
    check_sums(frame, CELLS, [*keys, "threshold"])
    resolved = [pl.col("resolution").max()] if "resolution" in frame.columns else []  # "grid" > "exact"
    added = add_cells(frame, [*keys, "threshold"], *resolved, pl.len().alias("__members"))
    # Each member must have each threshold; grids of equal size may still differ.
    whole = members.group_by(keys).agg(__all=pl.len())
    uneven = added.join(whole, on=keys, nulls_equal=True).filter(pl.col("__members") != pl.col("__all"))
    if len(uneven):
        both = "exact counts and counts on a grid" if some_exact else "counts"
        msg = f"{both} with different thresholds cannot be added"
        hint = 'count with the same thresholds, or with thresholds="exact"'
        raise ParameterError(msg, where=f"model {uneven['model'][0]!r}", hint=hint)
    return added
