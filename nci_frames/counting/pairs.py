"""Two models that scored the same units: joint counts of their decisions, and DeLong's test of ROC-AUC.

Such models agree on most units; only the units on which they differ show which model is better. The counts of
each model alone do not contain these, so they are counted from the rows.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.arguments import check_allowed
from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import Option, listed, quantity
from nci_frames.base.typing import Floats
from nci_frames.counting.flags import SCORED, SUMS, flagged_rows, need_paired
from nci_frames.counting.logs.opening import Predictions
from nci_frames.counting.logs.reading import Scan, kept_keys, predictions_of
from nci_frames.counting.logs.scan import scan_behind
from nci_frames.schemas import AUC_COMPARISONS, PAIRS, checked, group_starts

#: Models whose decisions are the bits of one integer. Below 63, so that not even 2^31 rows of one unit
#: overflow a sum.
_MOST_MODELS = 31
#: With fewer effective units of a class, the law of z is Student's: the normal law has p < 0.05 for two equal
#: models in 17 % of logs with 2 positives, and in 8 to 11 % with units of very unequal size.
_MANY_UNITS = 30

Method = Literal["delong"]


@checked
def count_pairs(
    predictions: Predictions,
    /,
    *,
    thresholds: float | Mapping[str, float],
    models: Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
) -> pl.DataFrame:
    """Count, for every two models, the units that both, only one, or neither of them flags.

    Parameters
    ----------
    predictions
        The result of ``scan_predictions`` with a unit, or a frame or Arrow table with the columns of
        predictions. Every model must have scored each unit once (once per value of the keys), with the same
        label.
    thresholds
        Decision threshold of all models, or ``{model: threshold}``. A row is flagged if
        ``score >= threshold``, compared in the precision of the score.
    models
        Models to pair, 2 to 31; None pairs all models, or those that *thresholds* names.
    by
        Keys to keep besides the models; counts are summed over the others. None keeps all keys.

    Returns
    -------
    One row per two models and group, sorted by model_a, model_b and keys:

    %(columns of pairs)s

    The keys of the predictions are kept; null is a key value of its own.

    Raises
    ------
    ParameterError
        If a threshold is not a number, a model has no threshold, there are more than 31 models, or there are
        weights.
    SchemaError
        If *predictions* lacks a unit or a key of *by*.
    InvalidRowsError
        If the rows of two models cannot be paired, or a row is not valid.

    Notes
    -----
    Polars groups the units and spills to disk if they do not fit into memory.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({
    ...     "unit": [1, 2, 3, 4, 5, 6], "y": [0, 0, 0, 1, 1, 1],
    ...     "forest": [0.1, 0.4, 0.2, 0.35, 0.8, 0.9], "linear": [0.6, 0.4, 0.5, 0.3, 0.7, 0.9],
    ... })
    >>> scan = nf.scan_predictions(log, scores={m: m for m in ("forest", "linear")}, label="y", unit="unit")
    >>> pairs = nf.count_pairs(scan, thresholds={"forest": 0.35, "linear": 0.5})
    >>> pairs.select("^tp_.*$").row(0), pairs.select("^fp_.*$").row(0)
    ((2, 1, 0, 0), (0, 1, 2, 0))
    """
    scan = _scan_of_units(predictions, "joint counts do")
    kept = kept_keys(scan.keys, by)
    unit = [*(key for key in scan.keys if key not in kept), "unit"]
    limits = _limits(scan, thresholds, models)
    patterns = _patterns(scan, limits, kept, unit)
    tables = []
    for (a, model_a), (b, model_b) in itertools.combinations(enumerate(limits), 2):
        one, other = (pl.col("__flags") // 2**bit % 2 == 1 for bit in (a, b))
        cells = {"both": one & other, "a": one & ~other, "b": ~one & other, "none": ~one & ~other}
        counts = {
            f"{kind}_{cell}": pl.when(rows & mine).then("__units").otherwise(0).sum()
            for kind, rows in (("tp", pl.col("__positive") > 0), ("fp", pl.col("__positive") == 0))
            for cell, mine in cells.items()
        }
        table = patterns.group_by(kept).agg(**counts) if kept else patterns.select(**counts)
        names = {"model_a": model_a, "model_b": model_b}
        points = {"threshold_a": limits[model_a], "threshold_b": limits[model_b]}
        tables.append(
            table.with_columns(pl.lit(value).alias(name) for name, value in (names | points).items())
        )
    order = ["model_a", "model_b", *kept]
    table = pl.concat(tables).select(*order, *(name for name in PAIRS.fixed if name not in order))
    return table.sort(order, maintain_order=True)


def _limits(
    scan: Scan, thresholds: float | Mapping[str, float], models: Sequence[str] | None
) -> dict[str, float]:
    """Return the threshold of each paired model, in the order of their names."""
    where = scan.source.where
    seen = [name for name in scan.models_there() if name is not None]
    named = None if models is None else [str(model) for model in models]
    given = thresholds if isinstance(thresholds, Mapping) else dict.fromkeys(named or seen, thresholds)
    wanted = sorted(set(given if named is None else named))
    for model in wanted:
        if model not in seen:
            known = listed(map(repr, seen), 20)
            raise ParameterError(f"the log has no model {model!r}", where=where, found=f"models {known}")
        if model not in given:
            msg = f"thresholds has none for the model {model!r}"
            raise ParameterError(msg, hint=f"add {model!r} to thresholds")
        check_allowed(not math.isnan(given[model]), "thresholds", given[model], f"a number (model {model!r})")
    if len(wanted) < 2:
        raise ParameterError("it takes two models to make a pair", where=where, found=f"models {wanted}")
    if len(wanted) > _MOST_MODELS:
        msg, found = f"at most {_MOST_MODELS} models can be paired at a time", quantity(len(wanted), "model")
        raise ParameterError(msg, where=where, found=found, hint="name some as models")
    return {model: float(given[model]) for model in wanted}


def _patterns(scan: Scan, limits: Mapping[str, float], kept: list[str], unit: list[str]) -> pl.DataFrame:
    """Count the units of each class and pattern of flags, one bit per model."""
    rows = flagged_rows(scan, limits).with_columns(__positive=pl.col("label").cast(pl.Int64))
    units = rows.group_by(*kept, *unit).agg(pl.col(SUMS).sum())
    # One unit per pattern, to name in an error.
    example = pl.col("unit").cast(pl.String).alias("__example")
    alike = units.with_columns(example, pl.lit(1, pl.Int64).alias("__units")).group_by(*kept, *SUMS)
    none = pl.col("unit").null_count().alias("__none")
    patterns = alike.agg(pl.col("__units").sum(), pl.col("__example").min(), none).collect(engine="streaming")
    need_paired(patterns.with_columns(__scored=SCORED, __models=len(limits)), scan.source.where)
    return patterns


@checked
def compare_auc(
    predictions: Predictions,
    /,
    *,
    method: Method = "delong",  # noqa: ARG001  (the only one; @checked refuses others)
    by: str | Sequence[str] | None = None,
    level: float = 0.95,
) -> pl.DataFrame:
    """Test whether the ROC-AUCs of every two models differ, if both scored the same units.

    Parameters
    ----------
    predictions
        The result of ``scan_predictions`` with a unit, or a frame or Arrow table with the columns of
        predictions. Every model must have scored each unit once (once per value of the keys), with the same
        label. The rows are held in memory.
    method
        "delong".
    by
        Keys to keep; rows are pooled over the others. Pooled rows of one unit, such as its scores in the
        repeats of a cross-validation, are treated as dependent. None keeps all keys.
    level
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    One row per two models and group, sorted by keys, model_a and model_b:

    %(columns of auc comparisons)s

    The keys of the predictions are kept; null is a key value of its own. If units have several rows, units
    count instead of rows.

    Raises
    ------
    ParameterError
        If the method is unknown, the level outside (0, 1), or there are weights.
    SchemaError
        If *predictions* lacks a unit or a key of *by*.
    InvalidRowsError
        If the rows of two models cannot be paired, or a row is not valid.

    Notes
    -----
    Each row has a placement under either model (see ``auc_interval``). The variance of the difference is the
    sample variance of the differences of placements, divided by the number of rows, summed over both classes.
    If a unit has several rows, their placements are added first, and the covariance between its positives and
    negatives is included (Obuchowski). The difference is taken as normal, or with fewer than 30 effective
    units of a class (Kish) as Student's t with one degree of freedom fewer. The p-values are not corrected
    for the number of pairs.

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
    (0.8889, 0.6667, 0.2222, 0.4655)
    """
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415  (SciPy is slow to import, and seldom needed)

    scan = _scan_of_units(predictions, "DeLong's test does")
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
        .with_columns(__none=pl.col("unit").is_null().cast(pl.Int64), __example="unit", __units=1)
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
    freedom = table["__freedom"].to_numpy()
    p_value = pl.Series(2 * stdtr(freedom, -np.abs(table["z"].to_numpy())), nan_to_null=True)
    same = (pl.col("difference") == 0) & (pl.col("std_error") == 0)
    width = pl.Series(stdtrit(freedom, (1 + level) / 2)) * pl.col("std_error")
    return AUC_COMPARISONS.finish(
        table.drop("__freedom").with_columns(
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

    The rows must be sorted by model and unit, so that rows of equal rank are paired.
    """
    parts = _runs(group, ["model"])
    models = [part["model"][0] for part in parts]
    positive, scores = parts[0]["label"].to_numpy(), group["score"].to_numpy().reshape(len(parts), -1)
    unit = np.unique(parts[0]["unit"].to_numpy(), return_inverse=True)[1]
    placed = np.empty(scores.shape)
    for mine, score in zip(placed, scores, strict=True):
        for of_class in (positive, ~positive):
            # Placement: share of the other class below each score, ties as half.
            others = np.sort(score[~of_class])
            below, reached = (np.searchsorted(others, score[of_class], side) for side in ("left", "right"))
            mine[of_class] = (below + reached) / 2 / max(len(others), 1)
        mine[~positive] = 1 - mine[~positive]
    two_classes = positive.any() and not positive.all()
    area = [float(mine[positive].mean()) if two_classes else np.nan for mine in placed]
    found = []
    for a, b in itertools.combinations(range(len(area)), 2):
        difference = area[a] - area[b]
        error, freedom = _error(placed[a] - placed[b] - difference, positive, unit)
        z = difference / error if error > 0 else np.nan
        found.append((models[a], models[b], area[a], area[b], difference, error, z, freedom))
    numbers = ("auc_a", "auc_b", "difference", "std_error", "z", "__freedom")
    schema = {"model_a": pl.String, "model_b": pl.String, **dict.fromkeys(numbers, pl.Float64)}
    return pl.DataFrame(found, schema=schema, orient="row").with_columns(pl.col(numbers).fill_nan(None))


def _error(moved: Floats, positive: NDArray[np.bool_], unit: NDArray[np.int64]) -> tuple[float, float]:
    """Return the standard error of the difference, by units, and its degrees of freedom.

    The error is NaN with fewer than 2 units of a class. Degrees are those of the class with fewer units, by
    their effective number (Kish): large units have most of the variance.
    """
    units = unit.max(initial=-1) + 1
    classes = positive, ~positive
    of_units = [np.bincount(unit[mine], moved[mine], units) for mine in classes]
    rows = [np.bincount(unit[mine], minlength=units) for mine in classes]
    own = [np.count_nonzero(of_unit) for of_unit in rows]
    if min(own) < 2:
        return float("nan"), float("nan")
    effective = min(float(of_unit.sum() ** 2 / (of_unit @ of_unit)) for of_unit in rows)
    m, n = (int(mine.sum()) for mine in classes)
    both = units / (units - 1) * float(of_units[0] @ of_units[1]) / (m * n)
    variance = 2 * both + sum(
        members / (members - 1) * float(mine @ mine) / size**2
        for mine, members, size in zip(of_units, own, (m, n), strict=True)
    )
    freedom = effective - 1 if effective < _MANY_UNITS else math.inf
    return float(np.sqrt(max(variance, 0.0))), max(freedom, 1.0)


def _scan_of_units(predictions: Predictions, what: str) -> Scan:
    """Return the scan behind predictions with units; *what*, for messages, does not support weights.

    Raises
    ------
    ParameterError
        If there are weights.
    SchemaError
        If there is no unit.
    """
    scan = scan_behind(predictions)
    scan.need_unit()
    if scan.weighted:
        hint = f"omit {Option('weight')} in scan_predictions"
        raise ParameterError(f"{what} not support weights", hint=hint)
    return scan
