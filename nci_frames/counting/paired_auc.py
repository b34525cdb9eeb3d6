"""Predictions -> are the ROC-AUCs of two models different? DeLong's test for correlated curves.

It needs to know which rows of two models belong to the same unit, which counts do not show; so it is here,
where rows are read.
"""

import itertools
from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.arguments import check_level
from nci_frames.base.normal import normal_quantile, two_sided_p_values
from nci_frames.base.typing import Floats
from nci_frames.counting.logs.opening import Predictions
from nci_frames.counting.logs.reading import kept_keys, predictions_of
from nci_frames.counting.logs.units import need_paired, scan_of_units
from nci_frames.schemas import AUC_COMPARISONS
from nci_frames.schemas.checked import checked
from nci_frames.schemas.runs import group_starts

Method = Literal["delong"]


@checked
def compare_auc(
    predictions: Predictions,
    /,
    *,
    method: Method = "delong",  # noqa: ARG001  (the only one; @checked refuses others)
    by: str | Sequence[str] | None = None,
    level: float = 0.95,
) -> pl.DataFrame:
    """Test, for every two models, whether their ROC-AUCs differ; both have scored the same units.

    Parameters
    ----------
    predictions
        What ``scan_predictions`` returned with a unit, or a frame or Arrow table with the columns of
        predictions. Every model must have scored each unit once (once for each value of the keys), with the
        same label. The rows are held in memory.
    method
        "delong".
    by
        The keys to keep; the rows of other keys are pooled, and those of one unit, such as its scores in
        the repeats of a cross-validation, are taken as dependent. None keeps every key.
    level
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    A row per two models and group, sorted by keys, model_a and model_b:

    %(columns of auc comparisons)s

    Keys are those of the predictions; null is a key of its own. With units, these count in place of rows.

    Raises
    ------
    ParameterError
        If the method is unknown, the level outside (0, 1), or there are weights.
    SchemaError
        If *predictions* has no unit, or no such key.
    InvalidRowsError
        If the rows of two models cannot be paired, or a row is not valid.

    Notes
    -----
    With the placements of each positive and each negative under both models (see ``auc_interval``), the
    variance of the difference is the sample variance of the differences of the placements, over the number
    of rows, added up over the classes. Where a unit has several rows, the placements of its rows are added
    first, and the covariance of its positives and negatives is added, too (Obuchowski). The p-values are not
    corrected for the number of pairs. They need 20 units of each class: with 5 positives two equal models
    have p < 0.05 in 10 % of logs, with 2 in 21 % (docs/honesty.md).

    References
    ----------
    DeLong, DeLong and Clarke-Pearson (1988), doi:10.2307/2531595; Sun and Xu (2014),
    doi:10.1109/LSP.2014.2337313; Obuchowski (1997), Nonparametric analysis of clustered ROC curve data,
    doi:10.2307/2533958.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({
    ...     "unit": [1, 2, 3, 4, 5, 6], "y": [0, 0, 0, 1, 1, 1],
    ...     "forest": [0.1, 0.4, 0.2, 0.35, 0.8, 0.9], "linear": [0.6, 0.4, 0.5, 0.3, 0.7, 0.9],
    ... })
    >>> scan = nf.scan_predictions(log, scores={m: m for m in ("forest", "linear")}, label="y", unit="unit")
    >>> nf.compare_auc(scan).select(pl.col("auc_a", "auc_b", "difference", "p_value").round(4)).row(0)
    (0.8889, 0.6667, 0.2222, 0.3711)
    """
    check_level(level)
    scan = scan_of_units(predictions, "DeLong's test does")
    kept = kept_keys(scan.keys, by)
    paired_by = [*(key for key in scan.keys if key not in kept), "unit"]
    rows = predictions_of(scan).select(*kept, "model", *paired_by, "label", "score")
    ordered = rows.sort(*kept, "model", *paired_by, maintain_order=True).collect()
    models = pl.col("model").n_unique()
    again = (pl.col(name).eq_missing(pl.col(name).shift()) for name in (*kept, "model", *paired_by))
    units = (
        ordered.lazy()
        .select(
            *kept,
            *paired_by,
            __models=models.over(kept) if kept else models,
            __scored=(~pl.all_horizontal(again)).cast(pl.Int64),
            __positive=pl.col("label").cast(pl.Int64),
            __rows=pl.lit(1, pl.Int64),
        )
        .group_by(*kept, *paired_by)
        .agg(pl.col("__rows", "__positive", "__scored").sum(), pl.col("__models").first())
        .with_columns(__none=pl.col("unit").is_null(), __example="unit", __units=1)
        .collect()
    )
    need_paired(units, scan.source.where)
    tables = []
    for group in _runs(ordered, kept):
        compared = _compared(group)
        of_pairs = group[np.zeros(len(compared), np.int64)].hstack(compared)
        tables.append(of_pairs.select(*kept, *compared.columns))
    if not tables:
        return AUC_COMPARISONS.empty(ordered.select(kept))
    table = pl.concat(tables)
    p_value = pl.Series(two_sided_p_values(table["z"].to_numpy()), nan_to_null=True)
    same = (pl.col("difference") == 0) & (pl.col("std_error") == 0)
    width = normal_quantile(level) * pl.col("std_error")
    return AUC_COMPARISONS.finish(
        table.with_columns(
            p_value=pl.when(same).then(1.0).otherwise(p_value),
            lower=pl.col("difference") - width,
            upper=pl.col("difference") + width,
        )
    )


def _runs(ordered: pl.DataFrame, keys: list[str]) -> list[pl.DataFrame]:
    """Cut a frame where the keys change."""
    starts = group_starts(ordered, keys).tolist()
    return [ordered[begin:end] for begin, end in itertools.pairwise([*starts, len(ordered)])]


def _compared(group: pl.DataFrame) -> pl.DataFrame:
    """Return the areas of every two models, their difference, its standard error and z.

    The rows are sorted by model and what they are paired by.
    """
    parts = _runs(group, ["model"])
    models = [part["model"][0] for part in parts]
    positive, scores = parts[0]["label"].to_numpy(), group["score"].to_numpy().reshape(len(parts), -1)
    unit = np.unique(parts[0]["unit"].to_numpy(), return_inverse=True)[1]
    placed = np.empty(scores.shape)
    for mine, score in zip(placed, scores, strict=True):
        for of_class in (positive, ~positive):
            # The share of the other class that is below each score, ties as half.
            others = np.sort(score[~of_class])
            below, reached = (np.searchsorted(others, score[of_class], side) for side in ("left", "right"))
            mine[of_class] = (below + reached) / 2 / max(len(others), 1)
        mine[~positive] = 1 - mine[~positive]
    two_classes = positive.any() and not positive.all()
    area = [float(mine[positive].mean()) if two_classes else np.nan for mine in placed]
    found = []
    for a, b in itertools.combinations(range(len(area)), 2):
        difference = area[a] - area[b]
        error = _error(placed[a] - placed[b] - difference, positive, unit)
        z = difference / error if error > 0 else np.nan
        found.append((models[a], models[b], area[a], area[b], difference, error, z))
    numbers = ("auc_a", "auc_b", "difference", "std_error", "z")
    schema = {"model_a": pl.String, "model_b": pl.String, **dict.fromkeys(numbers, pl.Float64)}
    return pl.DataFrame(found, schema=schema, orient="row").with_columns(pl.col(numbers).fill_nan(None))


def _error(moved: Floats, positive: NDArray[np.bool_], unit: NDArray[np.int64]) -> float:
    """Return the standard error of a mean of 0 over both classes, by units; NaN with too few of them."""
    units = unit.max(initial=-1) + 1
    classes = positive, ~positive
    of_units = [np.bincount(unit[mine], moved[mine], units) for mine in classes]
    own = [len(np.unique(unit[mine])) for mine in classes]
    if min(own) < 2:
        return float("nan")
    m, n = (int(mine.sum()) for mine in classes)
    both = units / (units - 1) * float(of_units[0] @ of_units[1]) / (m * n)
    variance = 2 * both + sum(
        members / (members - 1) * float(mine @ mine) / size**2
        for mine, members, size in zip(of_units, own, (m, n), strict=True)
    )
    return float(np.sqrt(max(variance, 0.0)))
