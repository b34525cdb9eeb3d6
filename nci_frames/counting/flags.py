"""Units that two models scored, by which of them flags a unit; labels do not matter."""

from collections.abc import Mapping

import polars as pl

from nci_frames.base.errors import InvalidRowsError
from nci_frames.base.messages import quantity
from nci_frames.counting.logs.reading import Scan, predictions_of

#: Who flags a unit: both, the first, the second, none; the place of the word is the number of the stratum.
FLAGGED = ("both", "a", "b", "none")
#: Two bits, one for each model, of those that flag a unit -> the number of the stratum.
_STRATA = {3: 0, 1: 1, 2: 2, 0: 3}


def flagged_units(scan: Scan, limits: Mapping[str, float]) -> pl.LazyFrame:
    """Return the units by who flags them: ``unit``, ``stratum``, ``score`` (the mean of the two), ``paired``.

    Parameters
    ----------
    scan
        The log; it must have units.
    limits
        The threshold of each of the two models.
    """
    scan.need_unit()
    rows = predictions_of(scan).filter(pl.col("model").is_in(list(limits)))
    score = rows.collect_schema()["score"]
    # Compared in the precision of the score, as everywhere.
    edges = pl.Series(limits.values(), dtype=pl.Float64).cast(score)
    bit = pl.col("model").replace_strict(list(limits), [1, 2], return_dtype=pl.Int64)
    edge = pl.col("model").replace_strict(list(limits), edges, return_dtype=score)
    each = rows.select(
        "unit",
        pl.col("score").cast(pl.Float64),
        seen=bit,
        flags=pl.when(pl.col("score") >= edge).then(bit).otherwise(0),
        rows=pl.lit(1, pl.Int64),
    )
    units = each.group_by("unit").agg(pl.col("score").mean(), pl.col("seen", "flags", "rows").sum())
    return units.select(
        "unit",
        "score",
        stratum=pl.col("flags").replace_strict(_STRATA, default=-1, return_dtype=pl.Int64),
        paired=(pl.col("seen") == 3) & (pl.col("rows") == 2) & pl.col("unit").is_not_null(),
    )


def best_scores(scan: Scan, model: object) -> pl.LazyFrame:
    """Return the units that a model scored, each with its highest score."""
    scan.need_unit()
    mine = predictions_of(scan).filter(pl.col("model").eq_missing(pl.lit(model, pl.String)))
    return mine.group_by("unit").agg(pl.col("score").max())


def need_units(units: pl.Series, where: str) -> None:
    """Raise InvalidRowsError if a row belongs to no unit."""
    if units.null_count():
        hint = "draw rows, not whole units, or give each row without a unit a name of its own"
        raise InvalidRowsError(
            "a row belongs to no unit, so that it cannot be drawn with one", where=where, hint=hint
        )


def count_flags(scan: Scan, limits: Mapping[str, float]) -> pl.DataFrame:
    """Count the units of each stratum: ``stratum``, ``units``, the mean ``score``, and its ends.

    Raises
    ------
    InvalidRowsError
        If a unit has not one row of each model.
    SchemaError
        If there are no units.
    """
    units = flagged_units(scan, limits).with_columns(units=pl.lit(1, pl.Int64))
    counted = units.group_by("stratum", "paired").agg(
        pl.col("units").sum(),
        pl.col("score").mean(),
        lowest=pl.col("score").min(),
        highest=pl.col("score").max(),
        example=pl.col("unit").min().cast(pl.String),
    )
    found = counted.collect(engine="streaming")
    bad = found.filter(~pl.col("paired"))
    if len(bad):
        example = bad["example"].drop_nulls().min()
        raise InvalidRowsError(
            "the rows cannot be paired: not every unit has one row of each of the two models",
            where=scan.source.where,
            found=f"{quantity(int(bad['units'].sum()), 'unit')}, such as {example!r}",
            hint="name the models that scored the same units, and the column with the units",
        )
    return found.drop("paired", "example").sort("stratum")
