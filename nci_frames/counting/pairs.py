"""Predictions -> joint counts of two models: who flags which unit, and who does not.

Two models that scored the same units agree on most of them, and only the units on which they differ say which
model is better. Counts of each model alone do not tell these, so they are counted here, where rows are seen.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import listed, quantity
from nci_frames.counting.logs.opening import Predictions
from nci_frames.counting.logs.reading import Scan, kept_keys, predictions_of
from nci_frames.counting.logs.units import not_paired, scan_of_units
from nci_frames.schemas import PAIRS
from nci_frames.schemas.checked import checked

#: Models whose decisions share one integer. Below 63, so that not even 2^31 rows of one unit overflow a sum.
_MODELS_A_WORD = 31
#: Units that are held at a time; a log with more is read in several passes, each over a part of the units.
_UNITS_A_PASS = 1 << 24

_CELLS = ("both", "a", "b", "none")


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
        The models to pair, at least two; None pairs all models, or those that *thresholds* names.
    by
        The keys to keep besides the models; the pairs of the others are added up. None keeps every key.

    Returns
    -------
    A row per two models and group, sorted by model_a, model_b and keys:

    ================= ======= ======================================= ==================
    column            dtype   meaning                                 null means
    ================= ======= ======================================= ==================
    model_a, model_b  String  the models, in the order of their names never
    keys                       as in the predictions                  a key of its own
    threshold_a,      Float64 as given                                never
    threshold_b
    tp_both           Int64   positives that both models flag         never
    tp_a, tp_b        Int64   positives that only this model flags    never
    tp_none           Int64   positives that neither flags            never
    fp_both           Int64   negatives that both models flag         never
    fp_a, fp_b        Int64   negatives that only this model flags    never
    fp_none           Int64   negatives that neither flags            never
    ================= ======= ======================================= ==================

    Raises
    ------
    ParameterError
        If a threshold is not a number, a model has none, or there are weights.
    SchemaError
        If *predictions* has no unit, or no such key.
    InvalidRowsError
        If the rows of two models cannot be paired, or a row is not valid.

    Notes
    -----
    Memory is bounded: the units of a log with more than 16 million of them are split by a hash of their name,
    and the log is read once for each part.

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
    rows = predictions_of(scan)
    contest = _Contest.of(scan, thresholds, models)
    patterns = _patterns(rows, scan, contest, kept, unit)
    return _table(patterns, contest, kept)


@dataclass(frozen=True, slots=True)
class _Contest:
    """The models that are paired, in the order of their names, and the threshold of each."""

    models: list[str]
    thresholds: list[float]

    @classmethod
    def of(
        cls, scan: Scan, thresholds: float | Mapping[str, float], models: Sequence[str] | None
    ) -> "_Contest":
        where = scan.source.where
        with scan.source.reading():
            names = scan.raw.select(pl.col("model").unique()).collect(engine="streaming")["model"]
        seen = names.drop_nulls().sort().to_list()
        named = thresholds if isinstance(thresholds, Mapping) else None
        wanted = list(models) if models is not None else list(named) if named is not None else seen
        for model in wanted:
            if model not in seen:
                known = listed(map(repr, seen), 20)
                raise ParameterError(f"the log has no model {model!r}", where=where, found=f"models {known}")
            if named is not None and model not in named:
                raise ParameterError(
                    f"thresholds has none for the model {model!r}", hint=f"add {model!r} to thresholds"
                )
        if len(set(wanted)) < 2:
            raise ParameterError("it takes two models to make a pair", where=where, found=f"models {wanted}")
        ordered = sorted(set(wanted))
        values = [float(named[model] if named is not None else thresholds) for model in ordered]  # type: ignore[arg-type]
        for model, value in zip(ordered, values, strict=True):
            if math.isnan(value):
                raise ParameterError.out_of_range("thresholds", value, f"a number (model {model!r})")
        return cls(ordered, values)

    @property
    def words(self) -> int:
        """How many integers hold one decision of each model."""
        return math.ceil(len(self.models) / _MODELS_A_WORD)


def _patterns(
    rows: pl.LazyFrame, scan: Scan, contest: _Contest, kept: list[str], unit: list[str]
) -> pl.DataFrame:
    """Count the units of each class by which models flag them: one bit for each model."""
    score = rows.collect_schema()["score"]
    limits = pl.Series(contest.thresholds, dtype=pl.Float64).cast(score)
    word_of, bit_of = zip(
        *(divmod(place, _MODELS_A_WORD) for place in range(len(contest.models))), strict=True
    )

    def of_model(values: Sequence[int] | pl.Series, dtype: pl.DataType | type[pl.DataType]) -> pl.Expr:
        return pl.col("model").replace_strict(contest.models, values, default=None, return_dtype=dtype)

    flagged = rows.filter(pl.col("model").is_in(contest.models)).with_columns(
        __bit=of_model([1 << bit for bit in bit_of], pl.Int64),
        __word=of_model(word_of, pl.Int64),
        __flagged=pl.col("score") >= of_model(limits, score),
        __positive=pl.col("label").cast(pl.Int64),
    )
    words = range(contest.words)
    masks = [
        pl.when(pl.col("__word") == word, condition).then("__bit").otherwise(0).cast(pl.Int64).alias(name)
        for word in words
        for name, condition in (
            (f"__seen_{word}", pl.lit(value=True)),
            (f"__flags_{word}", pl.col("__flagged")),
        )
    ]
    ones = pl.lit(1, pl.Int64).alias("__rows")
    names = [f"__{kind}_{word}" for word in words for kind in ("seen", "flags")]
    long = flagged.select(*kept, *unit, "__positive", *masks, ones)
    passes = _passes(scan, len(contest.models))
    found = []
    for part in range(passes):
        mine = long if passes == 1 else long.filter(pl.struct(unit).hash(seed=0) % passes == part)
        units = mine.group_by(*kept, *unit).agg(pl.col("__positive", *names, "__rows").sum())
        pattern = [*kept, "__positive", *names, "__rows"]
        counted = units.with_columns(
            # A row of the first unit of each pattern, to name it where it cannot be paired.
            pl.col("unit").cast(pl.String).alias("__example"),
            pl.lit(1, pl.Int64).alias("__units"),
        )
        found.append(
            counted.group_by(pattern)
            .agg(
                pl.col("__units").sum(),
                pl.col("__example").min(),
                pl.col("unit").is_null().any().alias("__none"),
            )
            .collect(engine="streaming")
        )
    patterns = pl.concat(found)
    _check_paired(patterns, contest, scan.source.where)
    return patterns


def _passes(scan: Scan, models: int) -> int:
    """Return how often the log is read: as often as its units do not fit."""
    return 1 if scan.rows is None else max(1, math.ceil(scan.rows / models / _UNITS_A_PASS))


def _check_paired(patterns: pl.DataFrame, contest: _Contest, where: str) -> None:
    """Raise InvalidRowsError unless each unit has one row of each model, all with one label."""
    all_models = len(contest.models)
    # Distinct powers of two add up to as many bits as there are rows; with one twice, to fewer.
    distinct = pl.sum_horizontal(
        pl.col(f"__seen_{word}").bitwise_count_ones() for word in range(contest.words)
    )
    problems = {
        "a row belongs to no unit": pl.col("__none"),
        "a model has scored a unit twice": distinct < pl.col("__rows"),
        "not every model has scored every unit": pl.col("__rows") < all_models,
        "a unit has different labels under two models": ~pl.col("__positive").is_in([0, all_models]),
    }
    for what, holds in problems.items():
        bad = patterns.filter(holds)
        if len(bad):
            example = "" if what.startswith("a row") else f", such as {bad['__example'].min()!r}"
            raise not_paired(what, where, f"{quantity(int(bad['__units'].sum()), 'unit')}{example}")


def _table(patterns: pl.DataFrame, contest: _Contest, kept: list[str]) -> pl.DataFrame:
    # Without keys there is one group all the same.
    keyed = patterns.with_columns(__one=pl.lit(1))
    groups = keyed.select(*kept, "__one").unique(maintain_order=True).with_row_index("__group")
    place = keyed.join(groups, on=[*kept, "__one"], how="left", nulls_equal=True, maintain_order="left")[
        "__group"
    ].to_numpy()
    units = patterns["__units"].to_numpy()
    positive = patterns["__positive"].to_numpy() > 0
    flags = [patterns[f"__flags_{word}"].to_numpy() for word in range(contest.words)]

    def flagged(model: int) -> NDArray[np.bool_]:
        word, bit = divmod(model, _MODELS_A_WORD)
        return np.asarray((flags[word] >> bit) & 1, dtype=bool)

    decisions = [flagged(model) for model in range(len(contest.models))]
    tables = []
    for a, b in itertools.combinations(range(len(contest.models)), 2):
        one, other = decisions[a], decisions[b]
        cells = {
            f"{kind}_{cell}": np.bincount(place[rows & mine], units[rows & mine], len(groups))
            for kind, rows in (("tp", positive), ("fp", ~positive))
            for cell, mine in zip(
                _CELLS, (one & other, one & ~other, ~one & other, ~one & ~other), strict=True
            )
        }
        tables.append(
            groups.with_columns(
                model_a=pl.lit(contest.models[a]),
                model_b=pl.lit(contest.models[b]),
                threshold_a=pl.lit(contest.thresholds[a], pl.Float64),
                threshold_b=pl.lit(contest.thresholds[b], pl.Float64),
                **{name: pl.Series(name, values.astype(np.int64)) for name, values in cells.items()},
            )
        )
    order = ["model_a", "model_b", *kept]
    table = pl.concat(tables).select(*order, *(name for name in PAIRS.fixed if name not in order))
    return table.sort(order, maintain_order=True)
