"""Every frame that crosses a border: its columns, their types, units, ranges, and what null means.

A *key* is any column of a frame that its schema does not name: the fold, the country, the day. Keys keep
their values (a folder ``seg=01`` is the String ``"01"``) and null is a key value of its own.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from nci_frames.errors import SchemaError

__all__ = [
    "AREAS",
    "COUNTS",
    "CROSSOVERS",
    "DECISION_MAP",
    "DOMINANCE",
    "FRAMES",
    "PREDICTIONS",
    "PROJECTION",
    "RANKING",
    "RATES",
    "RESERVED",
    "WINNERS",
    "Column",
    "FrameSchema",
    "collect",
]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a frame: what it holds, in which unit and range, and what null means there."""

    name: str
    dtypes: tuple[type[pl.DataType], ...]
    meaning: str
    null: str = "never"
    required: bool = True


@dataclass(frozen=True, slots=True)
class FrameSchema:
    """The fixed columns of one kind of frame; all others are keys."""

    name: str
    maker: str
    columns: tuple[Column, ...]

    def dtypes(self) -> dict[str, type[pl.DataType]]:
        """Return the fixed columns with the type that the library gives them."""
        return {column.name: column.dtypes[0] for column in self.columns}

    @property
    def fixed(self) -> tuple[str, ...]:
        """The names that are not keys."""
        return tuple(column.name for column in self.columns)

    def keys(self, columns: Iterable[str]) -> list[str]:
        """Return the key columns among *columns*, in their order; ``model`` is not one of them."""
        fixed = set(self.fixed)
        return [column for column in columns if column not in fixed]

    def check(self, frame: pl.DataFrame) -> None:
        """Raise SchemaError unless *frame* has the required columns with admissible types."""
        schema = frame.schema
        missing = [column.name for column in self.columns if column.required and column.name not in schema]
        if missing:
            raise SchemaError.not_a_frame(self.name, missing, list(schema), self.maker)
        for column in self.columns:
            dtype = schema.get(column.name)
            if dtype is not None and dtype not in (*column.dtypes, pl.Null):
                wanted = " or ".join(str(d) for d in column.dtypes)
                raise SchemaError.wrong_type(column.name, f"a {self.name} frame", str(dtype), wanted)


_MODEL = Column("model", (pl.String,), "name of the model")
_THRESHOLD = Column(
    "threshold", (pl.Float64,), "a row is a positive decision if score >= threshold, as given"
)
_PREVALENCE = Column(
    "prevalence", (pl.Float64,), "P(y=1) the value belongs to, in [0, 1]", "the value does not depend on it"
)
_BETA = Column(
    "beta", (pl.Float64,), "weight of recall against precision, in [0, inf]", "it plays no part in the value"
)
_METRIC = Column("metric", (pl.String,), "name of the metric, or label of the called metric")
_VALUE = Column("value", (pl.Float64,), "value of the metric, in its range", "undefined: 0/0")
_LOWER = Column("lower", (pl.Float64,), "lower bound of the value", "undefined", required=False)
_UPPER = Column("upper", (pl.Float64,), "upper bound of the value", "undefined", required=False)
_RATE = (pl.Float64,)
_COUNT = (pl.Int64, pl.Float64)

PREDICTIONS = FrameSchema(
    "predictions",
    "scan_predictions(...)",
    (
        _MODEL,
        Column("label", (pl.Boolean,), "true class: is the row a positive?"),
        Column("score", (pl.Float32, pl.Float64), "higher is more positive; may be infinite, never NaN"),
        Column("weight", (pl.Float64,), "weight of the row, finite and >= 0", required=False),
        Column(
            "unit",
            (pl.String, pl.Int64, pl.UInt64, pl.Int32, pl.UInt32),
            "who the row belongs to: user, host, patient",
            "belongs to nobody known",
            required=False,
        ),
    ),
)
_COUNT_COLUMNS = (
    _MODEL,
    _THRESHOLD,
    Column("tp", _COUNT, "true positives: rows, or sum of weights"),
    Column("fp", _COUNT, "false positives: rows, or sum of weights"),
    Column("fn", _COUNT, "false negatives: rows, or sum of weights"),
    Column("tn", _COUNT, "true negatives: rows, or sum of weights"),
    Column(
        "resolution",
        (pl.String,),
        '"exact": no other score lies from this threshold to before the next; "grid" (also where the column '
        "is absent): others may",
        required=False,
    ),
)
COUNTS = FrameSchema("counts", "count_confusion(predictions)", _COUNT_COLUMNS)
RATES = FrameSchema(
    "rates",
    "compute_rates(counts)",
    (
        *_COUNT_COLUMNS,
        Column("positives", _COUNT, "tp + fn"),
        Column("negatives", _COUNT, "fp + tn"),
        Column("observed_prevalence", _RATE, "positives / all rows, in [0, 1]", "the group has no rows"),
        Column("tpr", _RATE, "true-positive rate tp / positives, in [0, 1]", "the group has no positives"),
        Column("fpr", _RATE, "false-positive rate fp / negatives, in [0, 1]", "the group has no negatives"),
        *(
            Column(f"{rate}_{side}", _RATE, f"{side} bound of {rate}", f"{rate} is null", required=False)
            for rate in ("tpr", "fpr")
            for side in ("lower", "upper")
        ),
        Column("reason", (pl.String,), "why an operating point was not attained", "attained", required=False),
    ),
)
PROJECTION = FrameSchema(
    "projection",
    "project_rates(rates, metrics=..., prevalence=...)",
    (_MODEL, _THRESHOLD, _METRIC, _PREVALENCE, _BETA, _VALUE, _LOWER, _UPPER),
)
AREAS = FrameSchema(
    "areas",
    "compute_areas(counts, prevalence=...)",
    (
        _MODEL,
        Column("metric", (pl.String,), '"roc_auc" or "pr_auc"'),
        Column("method", (pl.String,), "rule by which the PR curve is integrated", "roc_auc has one rule"),
        _PREVALENCE,
        _VALUE,
        _LOWER,
        _UPPER,
    ),
)
_RANKS = (
    Column(
        "rank", (pl.Int64,), "1 is best; ties share the smaller rank", "the value is null, or has no order"
    ),
    Column("gap", (pl.Float64,), "distance to the best value of the comparison, >= 0", "as for rank"),
)
RANKING = FrameSchema(
    "ranking",
    "rank_models(projection or areas)",
    (
        _MODEL,
        Column("threshold", (pl.Float64,), "as in the projection", required=False),
        _METRIC,
        Column("method", (pl.String,), "as in the areas", "roc_auc has one rule", required=False),
        _PREVALENCE,
        Column("beta", (pl.Float64,), "as in the projection", "it plays no part", required=False),
        _VALUE,
        _LOWER,
        _UPPER,
        *_RANKS,
    ),
)
CROSSOVERS = FrameSchema(
    "crossovers",
    "find_crossovers(rates, metric=..., over=...)",
    (
        _METRIC,
        Column("model_a", (pl.String,), "the one that is better below the crossover"),
        Column("model_b", (pl.String,), "the one that is better above it"),
        _PREVALENCE,
        _BETA,
        _VALUE,
    ),
)
WINNERS = FrameSchema(
    "winners",
    "winner_ranges(rates, metric=..., over=...)",
    (
        _METRIC,
        Column("over", (pl.String,), '"prevalence" or "beta": what start and end measure'),
        Column("start", (pl.Float64,), "where the range begins"),
        Column("end", (pl.Float64,), "where the range ends"),
        _MODEL,
        _THRESHOLD,
    ),
)

DECISION_MAP = FrameSchema(
    "decision map",
    "decision_map(rates)",
    (
        Column("lambda_start", (pl.Float64,), "where the range of lambda = (1-eta)/(eta·beta²) begins"),
        Column("lambda_end", (pl.Float64,), "where it ends; infinity in the last"),
        _MODEL,
        _THRESHOLD,
    ),
)
DOMINANCE = FrameSchema(
    "dominated points",
    "find_dominated(rates)",
    (
        _MODEL,
        _THRESHOLD,
        Column("tpr", _RATE, "true-positive rate"),
        Column("fpr", _RATE, "false-positive rate"),
        Column("dominating_model", (pl.String,), "model of a point at least as good in both rates", "none"),
        Column("dominating_threshold", (pl.Float64,), "threshold of that point", "none"),
    ),
)

FRAMES = (
    PREDICTIONS,
    COUNTS,
    RATES,
    PROJECTION,
    AREAS,
    RANKING,
    CROSSOVERS,
    WINNERS,
    DECISION_MAP,
    DOMINANCE,
)

RESERVED = frozenset(name for frame in FRAMES for name in frame.fixed)
"""Names that a key cannot have, because some frame uses them."""


def collect(frame: pl.DataFrame | pl.LazyFrame, schema: FrameSchema) -> pl.DataFrame:
    """Return *frame* as a checked DataFrame of the kind that *schema* describes."""
    collected = frame.collect() if isinstance(frame, pl.LazyFrame) else frame
    schema.check(collected)
    return collected
