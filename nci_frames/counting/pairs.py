"""Predictions -> joint counts of two models: who flags which unit, and who does not.

Two models that scored the same units agree on most of them, and only the units on which they differ say which
model is better. Counts of each model alone do not tell these, so they are counted here, where rows are seen.
"""

import itertools
import math
from collections.abc import Mapping, Sequence

import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import listed, quantity
from nci_frames.counting.logs.opening import Predictions
from nci_frames.counting.logs.reading import Scan, kept_keys, predictions_of
from nci_frames.counting.logs.units import need_paired, scan_of_units
from nci_frames.schemas import PAIRS
from nci_frames.schemas.checked import checked

#: Models whose decisions are the bits of one integer. Below 63, so that not even 2^31 rows of one unit
#: overflow a sum.
_MOST_MODELS = 31

#: What is summed over the rows of a unit: positives, bits of the models, bits of those that flag it, rows.
_SUMS = ("__positive", "__seen", "__flags", "__rows")


@checked
def count_pairs(
    predictions: Predictions,
    /,
    *,
    thresholds: float | Mapping[str, float],
    models: Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
) -> pl.DataFrame:
    """Count, for every two models, which of them flags a unit: both, one, the other, or none.

    Parameters
    ----------
    predictions
        What ``scan_predictions`` returned with a unit, or a frame or Arrow table with the columns of
        predictions. Every model must have scored each unit once (once for each value of the keys), with the
        same label.
    thresholds
        The decision threshold of all models, or ``{model: threshold}``. A row is flagged if
        ``score >= threshold``, compared in the precision of the score.
    models
        The models to pair, 2 to 31; None pairs all models, or those that *thresholds* names.
    by
        The keys to keep besides the models; the pairs of the others are added up. None keeps every key.

    Returns
    -------
    A row per two models and group, sorted by model_a, model_b and keys:

    %(columns of pairs)s

    Keys are those of the predictions; null is a key of its own.

    Raises
    ------
    ParameterError
        If a threshold is not a number, a model has none, there are more than 31 models, or there are weights.
    SchemaError
        If *predictions* has no unit, or no such key.
    InvalidRowsError
        If the rows of two models cannot be paired, or a row is not valid.

    Notes
    -----
    The units are grouped by Polars, which puts on the disk what does not fit into memory.

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
    scan = scan_of_units(predictions, "joint counts do")
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
    """Return the threshold of each model that is paired, in the order of their names."""
    where = scan.source.where
    with scan.source.reading():
        names = scan.raw.select(pl.col("model").unique()).collect(engine="streaming")["model"]
    seen = names.drop_nulls().sort().to_list()
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
        if math.isnan(given[model]):
            raise ParameterError.out_of_range("thresholds", given[model], f"a number (model {model!r})")
    if len(wanted) < 2:
        raise ParameterError("it takes two models to make a pair", where=where, found=f"models {wanted}")
    if len(wanted) > _MOST_MODELS:
        msg = f"at most {_MOST_MODELS} models can be paired at a time"
        raise ParameterError(
            msg, where=where, found=quantity(len(wanted), "model"), hint="name some as models"
        )
    return {model: float(given[model]) for model in wanted}


def _patterns(scan: Scan, limits: Mapping[str, float], kept: list[str], unit: list[str]) -> pl.DataFrame:
    """Count the units of each class by which models flag them: one bit for each model."""
    rows = predictions_of(scan)
    score = rows.collect_schema()["score"]
    bits = pl.Series([1 << place for place in range(len(limits))])
    edges = pl.Series(limits.values(), dtype=pl.Float64).cast(score)

    def of_model(values: pl.Series) -> pl.Expr:
        return pl.col("model").replace_strict(list(limits), values, return_dtype=values.dtype)

    mine = rows.filter(pl.col("model").is_in(list(limits))).with_columns(
        __positive=pl.col("label").cast(pl.Int64), __seen=of_model(bits), __rows=pl.lit(1, pl.Int64)
    )
    flags = pl.when(pl.col("score") >= of_model(edges)).then("__seen").otherwise(0).alias("__flags")
    long = mine.select(*kept, *unit, "__positive", "__seen", flags, "__rows")
    units = long.group_by(*kept, *unit).agg(pl.col(_SUMS).sum())
    # A unit of each pattern, to name it where it cannot be paired.
    example = pl.col("unit").cast(pl.String).alias("__example")
    alike = units.with_columns(example, pl.lit(1, pl.Int64).alias("__units")).group_by(*kept, *_SUMS)
    none = pl.col("unit").is_null().any().alias("__none")
    patterns = alike.agg(pl.col("__units").sum(), pl.col("__example").min(), none).collect(engine="streaming")
    # Distinct powers of two add up to as many bits as there are rows; with one twice, to fewer.
    scored = pl.col("__seen").bitwise_count_ones()
    need_paired(patterns.with_columns(__scored=scored, __models=len(limits)), scan.source.where)
    return patterns
