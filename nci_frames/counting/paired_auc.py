"""Predictions -> are the ROC-AUCs of two models different? DeLong's test for correlated curves.

It needs to know which rows of two models belong to the same unit, which counts do not show; so it is here,
where rows are read.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.arguments import check_level
from nci_frames.base.messages import quantity
from nci_frames.base.normal import normal_quantile, two_sided_p_values
from nci_frames.base.typing import Floats
from nci_frames.counting.logs.opening import Predictions
from nci_frames.counting.logs.reading import kept_keys, predictions_of
from nci_frames.counting.logs.units import not_paired, scan_of_units
from nci_frames.schemas import AUC_COMPARISONS
from nci_frames.schemas.checked import checked

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

    ============ ======= ============================================== ==================================
    column       dtype   meaning                                        null where
    ============ ======= ============================================== ==================================
    keys                  as in the predictions                         a key of its own
    model_a,     String  the models, model_a before model_b             never
    model_b
    auc_a, auc_b Float64 their ROC-AUCs, ties as half, in [0, 1]        the group lacks a class
    difference   Float64 auc_a - auc_b                                  the group lacks a class
    std_error    Float64 standard error of the difference               fewer than two units have rows of
                                                                        a class
    z            Float64 difference / std_error                         as std_error, or std_error is 0
    p_value      Float64 two-sided; 1 where the difference is 0         as z, unless the difference is 0
    lower, upper Float64 interval of the difference                     as std_error
    ============ ======= ============================================== ==================================

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
    quantile = normal_quantile(level)
    tables = []
    for group in _runs(ordered, kept):
        compared = _compared(_Paired.of(group, paired_by, scan.source.where))
        width = quantile * pl.col("std_error")
        p_value = pl.Series(two_sided_p_values(compared["z"].to_numpy()), nan_to_null=True)
        same = (pl.col("difference") == 0) & (pl.col("std_error") == 0)
        compared = compared.with_columns(
            p_value=pl.when(same).then(1.0).otherwise(p_value),
            lower=pl.col("difference") - width,
            upper=pl.col("difference") + width,
        )
        labelled = group[np.zeros(len(compared), np.int64)].hstack(compared)
        tables.append(labelled.select(*kept, *compared.columns))
    return (
        AUC_COMPARISONS.finish(pl.concat(tables)) if tables else AUC_COMPARISONS.empty(ordered.select(kept))
    )


@dataclass(frozen=True, slots=True)
class _Paired:
    """The scores of every model for the same rows, separately for positives and negatives."""

    models: list[str | None]
    #: Of shape (models, rows).
    positives: NDArray[np.floating]
    negatives: NDArray[np.floating]
    #: The number of the unit of each row.
    positive_units: NDArray[np.int64]
    negative_units: NDArray[np.int64]

    @classmethod
    def of(cls, group: pl.DataFrame, paired_by: list[str], where: str) -> "_Paired":
        """Pair the rows of a group, which are sorted by model and what they are paired by.

        Raises
        ------
        InvalidRowsError
            If that cannot be done.
        """
        parts = _runs(group, ["model"])
        first = parts[0]
        pairs = first.select(paired_by)
        if group["unit"].null_count():
            raise not_paired("a row belongs to no unit", where, str(group["unit"].null_count()) + " rows")
        for part in parts:
            model, mine = part["model"][0], part.select(paired_by)
            twice = mine.filter(pl.all_horizontal(pl.all().eq_missing(pl.all().shift())))
            if len(twice):
                what = "a model has scored a unit twice"
                raise not_paired(what, where, f"unit {twice['unit'][0]!r} under model {model!r}")
            if not mine.equals(pairs):
                what = "two models have not scored the same units"
                raise not_paired(
                    what,
                    where,
                    f"{quantity(len(pairs), 'row')} of model {first['model'][0]!r}, "
                    f"{len(mine)} of model {model!r}, and not of the same units",
                )
            other = part["label"] != first["label"]
            if other.any():
                what = "a unit has different labels under two models"
                raise not_paired(what, where, f"unit {mine['unit'].filter(other)[0]!r}")
        positive = first["label"].to_numpy()
        scores = group["score"].to_numpy().reshape(len(parts), -1)
        unit = np.unique(first["unit"].to_numpy(), return_inverse=True)[1]
        return cls(
            [part["model"][0] for part in parts],
            scores[:, positive],
            scores[:, ~positive],
            unit[positive],
            unit[~positive],
        )


def _runs(ordered: pl.DataFrame, keys: list[str]) -> list[pl.DataFrame]:
    """Cut a frame where the keys change."""
    if ordered.is_empty():
        return []
    changed = [pl.col(key).ne_missing(pl.col(key).shift()) for key in keys]
    starts = np.flatnonzero(ordered.select(pl.any_horizontal(changed)).to_series()) if keys else np.zeros(1)
    bounds = np.unique([0, *starts, len(ordered)]).astype(int).tolist()
    return [ordered[begin:end] for begin, end in itertools.pairwise(bounds)]


def _compared(paired: _Paired) -> pl.DataFrame:
    """Return the areas of every two models, their difference, its standard error and z."""
    positives, negatives = paired.positives, paired.negatives
    m, n = positives.shape[1], negatives.shape[1]
    nothing = np.nan
    of_positives = [_placements(p, q) for p, q in zip(positives, negatives, strict=True)]
    of_negatives = [1 - _placements(q, p) for p, q in zip(positives, negatives, strict=True)]
    area = [float(placed.mean()) if m and n else nothing for placed in of_positives]
    found = []
    for a, b in itertools.combinations(range(len(area)), 2):
        difference = area[a] - area[b]
        error = _error(
            of_positives[a] - of_positives[b] - difference,
            of_negatives[a] - of_negatives[b] - difference,
            paired,
        )
        z = difference / error if error > 0 else nothing
        found.append((paired.models[a], paired.models[b], area[a], area[b], difference, error, z))
    numbers = ("auc_a", "auc_b", "difference", "std_error", "z")
    schema = {"model_a": pl.String, "model_b": pl.String, **dict.fromkeys(numbers, pl.Float64)}
    return pl.DataFrame(found, schema=schema, orient="row").with_columns(pl.col(numbers).fill_nan(None))


def _error(positives: Floats, negatives: Floats, paired: _Paired) -> float:
    """Return the standard error of the mean of both, whose mean is 0, by units; NaN with too few of them."""
    of_units, rows = [], []
    units = max(paired.positive_units.max(initial=-1), paired.negative_units.max(initial=-1)) + 1
    for moved, unit in ((positives, paired.positive_units), (negatives, paired.negative_units)):
        of_units.append(np.bincount(unit, weights=moved, minlength=units))
        rows.append(np.bincount(unit, minlength=units))
    own = [int((mine > 0).sum()) for mine in rows]
    if min(own) < 2:
        return float("nan")
    m, n = (int(mine.sum()) for mine in rows)
    both = units / (units - 1) * float(of_units[0] @ of_units[1]) / (m * n)
    variance = 2 * both + sum(
        members / (members - 1) * float(moved @ moved) / size**2
        for moved, members, size in zip(of_units, own, (m, n), strict=True)
    )
    return float(np.sqrt(max(variance, 0.0)))


def _placements(scores: NDArray[np.floating], others: NDArray[np.floating]) -> Floats:
    """Return, for each score, the share of the others that are below it, ties as half."""
    ascending = np.sort(others)
    below = np.searchsorted(ascending, scores, side="left")
    reached = np.searchsorted(ascending, scores, side="right")
    with np.errstate(invalid="ignore"):
        return np.asarray((below + reached) / 2 / len(others)) if len(others) else np.full(len(scores), 0.0)
