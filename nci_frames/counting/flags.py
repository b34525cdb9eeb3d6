"""Which models flag (predict positive) a row, and which of two models flag a unit."""

from collections.abc import Mapping

import polars as pl

from nci_frames.base.errors import InvalidRowsError
from nci_frames.base.messages import quantity
from nci_frames.counting.logs.reading import Scan, predictions_of

#: The models that flag a unit: both, the first, the second, none. The index is the number of the stratum.
FLAGGED = ("both", "a", "b", "none")
#: Sums over the rows of a unit: positives, bits of the models, bits of the models that flag it, rows.
SUMS = ("__positive", "__seen", "__flags", "__rows")
#: Number of models that scored a unit: n distinct powers of two sum to n bits; a repeated one gives fewer.
SCORED = pl.col("__seen").bitwise_count_ones()
#: Bits of the two models that flag a unit -> number of the stratum.
_STRATA = {3: 0, 1: 1, 2: 2, 0: 3}


def flagged_rows(scan: Scan, limits: Mapping[str, float]) -> pl.LazyFrame:
    """Return the rows of the models in *limits*, a threshold for each, with three more columns.

    ``__seen`` is the bit of the model, ``__flags`` that bit if the model flags the row, else 0, and
    ``__rows`` is 1.
    """
    rows = predictions_of(scan)
    score = rows.collect_schema()["score"]
    bits = pl.Series([1 << place for place in range(len(limits))])
    # Compare in the precision of the score, as count_confusion does.
    edges = pl.Series(limits.values(), dtype=pl.Float64).cast(score)

    def of_model(values: pl.Series) -> pl.Expr:
        return pl.col("model").replace_strict(list(limits), values, return_dtype=values.dtype)

    flags = pl.when(pl.col("score") >= of_model(edges)).then(of_model(bits)).otherwise(0)
    mine = rows.filter(pl.col("model").is_in(list(limits)))
    return mine.with_columns(__seen=of_model(bits), __flags=flags, __rows=pl.lit(1, pl.Int64))


def flagged_units(scan: Scan, limits: Mapping[str, float]) -> pl.LazyFrame:
    """Return one row per unit: ``unit``, ``stratum``, ``score``, ``paired``, and sums over its rows.

    The stratum says which models flag the unit. The score is the mean of both scores. A unit is paired if it
    has exactly one row of each model.

    Parameters
    ----------
    scan
        The log; it must have units.
    limits
        Threshold of each of the two models.
    """
    scan.need_unit()
    each = flagged_rows(scan, limits).with_columns(pl.col("score").cast(pl.Float64))
    units = each.group_by("unit").agg(pl.col("score").mean(), pl.col("__seen", "__flags", "__rows").sum())
    return units.with_columns(
        stratum=pl.col("__flags").replace_strict(_STRATA, default=-1, return_dtype=pl.Int64),
        paired=(pl.col("__seen") == 3) & (pl.col("__rows") == 2) & pl.col("unit").is_not_null(),
    )


def best_scores(scan: Scan, model: object) -> pl.LazyFrame:
    """Return the units of a model, each with its highest score."""
    scan.need_unit()
    mine = predictions_of(scan).filter(pl.col("model").eq_missing(pl.lit(model, pl.String)))
    return mine.group_by("unit").agg(pl.col("score").max())


def need_units(units: pl.Series, where: str) -> None:
    """Raise InvalidRowsError if a row belongs to no unit."""
    if units.null_count():
        msg = "a row belongs to no unit, so that it cannot be drawn with one"
        hint = "draw rows, not whole units, or give each row without a unit a name of its own"
        raise InvalidRowsError(msg, where=where, hint=hint)


def count_flags(scan: Scan, limits: Mapping[str, float]) -> pl.DataFrame:
    """Count the units of each stratum; return also their mean, lowest and highest score.

    Raises
    ------
    InvalidRowsError
        If a unit does not have exactly one row of each model.
    SchemaError
        If the log has no units.
    """
    units = flagged_units(scan, limits).with_columns(__units=pl.lit(1, pl.Int64), __positive=pl.lit(0))
    counted = units.group_by("stratum", *SUMS).agg(
        pl.col("__units").sum(),
        pl.col("score").mean(),
        lowest=pl.col("score").min(),
        highest=pl.col("score").max(),
        __none=pl.col("unit").null_count(),
        __example=pl.col("unit").min(),
    )
    found = counted.collect(engine="streaming")
    need_paired(found.with_columns(__scored=SCORED, __models=len(limits)), scan.source.where)
    return found.select("stratum", "score", "lowest", "highest", units="__units").sort("stratum")


def need_paired(units: pl.DataFrame, where: str) -> None:
    """Raise InvalidRowsError unless each unit has one row of each model, all with the same label.

    Parameters
    ----------
    units
        One row per unit, or per ``__units`` equal units: the number without a name (``__none``), an example
        of the names (``__example``), the numbers of rows, of positive rows and of models that scored the unit
        (``__rows``, ``__positive``, ``__scored``), and the number of models (``__models``).
    where
        The log as the user named it, for the message.
    """
    rows, positive, models = (pl.col(f"__{name}") for name in ("rows", "positive", "models"))
    problems = {
        "a row belongs to no unit": pl.col("__none") > 0,
        "a model has scored a unit twice": pl.col("__scored") < rows,
        "not every model has scored every unit": rows < models,
        "a unit has different labels under two models": (positive != 0) & (positive != models),
    }
    for what, holds in problems.items():
        bad = units.filter(holds)
        if len(bad):
            number, which = bad["__none"].sum(), " without a name"
            if not number:
                number, which = bad["__units"].sum(), f", such as {bad['__example'].cast(pl.String).min()!r}"
            several = "for several rows of a unit use bootstrap(counts, units='bucket')"
            hint = f"every model needs one row of each unit; {several}"
            found = f"{quantity(int(number), 'unit')}{which}"
            raise InvalidRowsError(f"the rows cannot be paired: {what}", where=where, found=found, hint=hint)
