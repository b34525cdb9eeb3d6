"""Projections or areas of repeats or folds -> means and standard deviations."""

import polars as pl

from nci_frames.base.arguments import check_allowed, name_list
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Frame, Names
from nci_frames.schemas import AREAS, PROJECTION, FrameSchema, checked, collect, need_each_once

_CASE = ("metric", "method", "prevalence", "beta")


@checked
def average_over(table: Frame, /, *, over: Names) -> pl.DataFrame:
    """Average metrics over the values of a key, such as the repeats of a cross-validation.

    A repeated cross-validation scores every row once per repeat, by different models, so the rows of all
    repeats together are not a log. Compute metrics within each repeat, over the rows of all its folds, then
    average them.

    Parameters
    ----------
    table
        A projection or an areas frame with the key. A projection needs one operating point per model, or the
        same thresholds for every value of the key.
    over
        The key or keys to average over.

    Returns
    -------
    A row per model, key, metric, method, prevalence and beta, sorted by these: the columns of *table*
    without *over*, ``rank`` and ``gap``, and:

    %(columns of projection: std, repeats, skipped)s

    ``value``, ``lower`` and ``upper`` are means of the defined values; a bound is null if one of these values
    lacks it. ``threshold`` is null if it differs between the values of the key. ``supported`` is true if all
    averaged values are supported, null if one of them is null.

    Raises
    ------
    ParameterError
        If a model has several thresholds that differ between the values of the key, or *over* is empty.
    SchemaError
        If *table* is neither a projection nor an areas frame, or lacks a key of *over*.

    Notes
    -----
    Means of certified bounds are certified bounds of the mean area. Means of confidence bounds hold for fully
    dependent values, so they are not too narrow when every repeat has the same rows.

    The standard deviation is that of the values, not of their mean. Repeats share their rows, so it shows the
    effect of the division into folds, not how another sample of rows would differ.

    References
    ----------
    Forman and Scholz (2010), Apples-to-apples in cross-validation studies, doi:10.1145/1882471.1882479.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({
    ...     "model": "a", "repeat": ["1"] * 4 + ["2"] * 4, "label": [0, 0, 1, 1] * 2,
    ...     "score": [0.1, 0.4, 0.35, 0.8, 0.2, 0.3, 0.4, 0.6],
    ... })
    >>> areas = nf.compute_areas(nf.count_confusion(log), prevalence=0.5)
    >>> nf.average_over(areas, over="repeat").select(
    ...     "metric", "value", pl.col("std").round(3), "repeats"
    ... ).rows()
    [('pr_auc', 0.9166666666666666, 0.118, 2), ('roc_auc', 0.875, 0.177, 2)]
    """
    given = table.collect() if isinstance(table, pl.LazyFrame) else table
    schema: FrameSchema = AREAS if "method" in given.columns else PROJECTION
    frame = collect(given.drop("rank", "gap", strict=False), schema)
    gone = name_list(over)
    check_allowed(gone, "over", over, "at least one key")
    kept = ["model", *(key for key in schema.need_keys(frame, gone, "over") if key not in gone)]
    group = [*kept, *(name for name in _CASE if name in frame.columns)]
    values = frame.select(gone).n_unique()
    if "threshold" in frame.columns and frame.select(*group, *gone).is_duplicated().any():
        group.append("threshold")
        _check_thresholds(frame, kept, gone)
    msg = "the table has several rows for one value that is averaged"
    hint = "average each table alone, or name all keys of its rows in over"
    need_each_once(frame, [*group, *gone], msg, hint)
    defined = pl.col("value").count().cast(pl.Int64)
    means = {
        "threshold": pl.when(pl.col("threshold").n_unique() == 1).then(pl.col("threshold").first()),
        "value": pl.col("value").mean().fill_nan(None),
        "lower": _mean_bound("lower"),
        "upper": _mean_bound("upper"),
        "supported": pl.col("supported").all(ignore_nulls=False),
        "reason": pl.col("reason").drop_nulls().first(),
    }
    columns = {name: mean for name, mean in means.items() if name in frame.columns and name not in group}
    # Infinite values, as of lr_plus, have no standard deviation.
    columns["std"] = pl.col("value").std(ddof=1).fill_nan(None)
    columns |= {"repeats": defined, "skipped": values - defined}
    return schema.finish(frame.sort(*group, *gone).group_by(group, maintain_order=True).agg(**columns))


def _mean_bound(side: str) -> pl.Expr:
    """Return the mean of a bound; null if it is unknown for one of the values that are averaged."""
    unknown = pl.col("value").is_not_null() & pl.col(side).is_null()
    return pl.when(~unknown.any()).then(pl.col(side).mean()).alias(side)


def _check_thresholds(frame: pl.DataFrame, kept: list[str], gone: list[str]) -> None:
    """Raise ParameterError unless the thresholds of a model are the same for all values of the keys."""
    sets = frame.group_by(*kept, *gone).agg(pl.col("threshold").unique().sort())
    uneven = sets.group_by(kept).agg(pl.col("threshold").n_unique()).filter(pl.col("threshold") > 1)
    if len(uneven):
        msg = "values at different thresholds cannot be averaged"
        hint = "select one operating point of each model, or count at the same thresholds"
        raise ParameterError(msg, where=f"model {uneven['model'].sort()[0]!r}", hint=hint)
