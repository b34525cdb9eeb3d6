"""Every frame that crosses a border: its columns, their types, units, ranges, and what null means.

A *key* is any column of a frame that its schema does not name: the fold, the country, the day. Keys keep
their values (a folder ``seg=01`` is the String ``"01"``) and null is a key value of its own.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from nci_frames.errors import SchemaError

__all__ = [
    "AGNOSTIC",
    "AREAS",
    "AUC_COMPARISONS",
    "AUC_INTERVALS",
    "BAND",
    "BEST_MODELS",
    "BOOTSTRAP",
    "COUNTS",
    "CROSSOVERS",
    "CROSSOVER_INTERVALS",
    "DECISION_MAP",
    "DECOMPOSITION",
    "DOMINANCE",
    "FOLD_COMPARISONS",
    "FOLD_SUMMARIES",
    "FRAMES",
    "PATHS",
    "PREDICTIONS",
    "PROJECTION",
    "RANKING",
    "RATES",
    "RESERVED",
    "ROLL_UP",
    "SAMPLES",
    "SENSITIVITY",
    "SHIFTS",
    "SUBSAMPLES",
    "SUPPORT",
    "SURFACE",
    "UNCERTAINTY",
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

    def empty(self, keys: pl.DataFrame) -> pl.DataFrame:
        """Return a frame of this kind without rows, whose model and keys are those of *keys*."""
        results = {c.name: c.dtypes[0] for c in self.columns if c.name not in keys.columns}
        return keys.clear().with_columns(pl.lit(None, dtype).alias(name) for name, dtype in results.items())

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
        Column("prevalence", _RATE, "P(y=1) the point was selected for", "unknown", required=False),
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
_METHOD = Column("method", (pl.String,), "rule by which the PR curve is integrated", "not a PR area")
_DEFINED = Column("repeats", (pl.Int64,), "resampled logs in which the value is defined")
BOOTSTRAP = FrameSchema(
    "bootstrap",
    "bootstrap(counts, statistic=...)",
    (
        _MODEL,
        Column("threshold", (pl.Float64,), "where the metric is taken", "the value is an area"),
        _METRIC,
        _METHOD,
        _PREVALENCE,
        _BETA,
        _VALUE,
        Column("lower", (pl.Float64,), "lower percentile of the replicates", "fewer than 2 are defined"),
        Column("upper", (pl.Float64,), "upper percentile of the replicates", "fewer than 2 are defined"),
        Column("std", (pl.Float64,), "their standard deviation, ddof 1", "fewer than 2 are defined"),
        _DEFINED,
    ),
)
_FEW = "a class has fewer than two rows"
AUC_INTERVALS = FrameSchema(
    "auc intervals",
    "auc_interval(counts)",
    (
        _MODEL,
        Column("method", (pl.String,), '"delong"'),
        Column("value", (pl.Float64,), "ROC-AUC, ties as half", "the group lacks a class"),
        Column("std_error", (pl.Float64,), "standard error of the value", _FEW),
        Column("lower", (pl.Float64,), "lower confidence limit", _FEW),
        Column("upper", (pl.Float64,), "upper confidence limit", _FEW),
        Column("reason", (pl.String,), "why there is no interval", "there is one"),
    ),
)
AUC_COMPARISONS = FrameSchema(
    "auc comparisons",
    "compare_auc(predictions)",
    (
        Column("model_a", (pl.String,), "first model by name"),
        Column("model_b", (pl.String,), "second model by name"),
        Column("auc_a", (pl.Float64,), "ROC-AUC of model_a, ties as half", "the group lacks a class"),
        Column("auc_b", (pl.Float64,), "ROC-AUC of model_b, ties as half", "the group lacks a class"),
        Column("difference", (pl.Float64,), "auc_a - auc_b", "the group lacks a class"),
        Column("std_error", (pl.Float64,), "standard error of the difference", _FEW),
        Column("z", (pl.Float64,), "difference / std_error", "as std_error, or that is 0"),
        Column(
            "p_value", (pl.Float64,), "two-sided; 1 where nothing differs", "as z, unless nothing differs"
        ),
        Column("lower", (pl.Float64,), "lower confidence limit of the difference", _FEW),
        Column("upper", (pl.Float64,), "upper confidence limit of the difference", _FEW),
    ),
)
_FOLD_MEANS = (
    Column("mean", (pl.Float64,), "mean over the folds where the metric is defined", "no fold defines it"),
    Column("std", (pl.Float64,), "standard deviation over the same folds", "no more of them than ddof"),
    Column("folds", (pl.Int64,), "folds where the metric is defined"),
    Column("skipped", (pl.Int64,), "folds where it is not, or the model has no point"),
)
_FOLD_PREVALENCE = Column(
    "prevalence", (pl.Float64,), "P(y=1) the values belong to", "each fold's own, or it plays no part"
)
FOLD_SUMMARIES = FrameSchema(
    "fold summaries",
    "summarise_folds(rates, metrics=...)",
    (
        _MODEL,
        _METRIC,
        _FOLD_PREVALENCE,
        _BETA,
        *_FOLD_MEANS,
        Column("pooled", (pl.Float64,), "the metric of all folds' counts together", "undefined: 0/0"),
    ),
)
FOLD_COMPARISONS = FrameSchema(
    "fold comparisons",
    "compare_folds(rates)",
    (
        _METRIC,
        _FOLD_PREVALENCE,
        _BETA,
        _MODEL,
        *_FOLD_MEANS,
        Column("p_value", (pl.Float64,), "two-sided, of the best against this one", "the best, or no test"),
        Column("distinguishable", (pl.Boolean,), "whether it is told from the best", "there is no test"),
        Column("reason", (pl.String,), "why there is no test", "there is one, or it is the best"),
    ),
)
BEST_MODELS = FrameSchema(
    "best models",
    "probability_best(counts)",
    (
        _METRIC,
        _METHOD,
        Column("prevalence", (pl.Float64,), "P(y=1) the values belong to", "each model's own, or no part"),
        _BETA,
        _MODEL,
        _VALUE,
        Column("probability", (pl.Float64,), "share of the resampled logs it is the best of", "undefined"),
        Column("p_value", (pl.Float64,), "two-sided, of the best against this one", "the best, or undefined"),
        Column("distinguishable", (pl.Boolean,), "whether it is told from the best", "undefined"),
        _DEFINED,
    ),
)
CROSSOVER_INTERVALS = FrameSchema(
    "crossover intervals",
    "crossover_intervals(counts)",
    (
        Column("metric", (pl.String,), '"f_beta"'),
        Column("model_a", (pl.String,), "the one that is better below the crossover"),
        Column("model_b", (pl.String,), "the one that is better above it"),
        Column("prevalence", (pl.Float64,), "where they cross, or as given, in (0, 1)"),
        Column("beta", (pl.Float64,), "where they cross, or as given, in (0, inf)"),
        Column("lower", (pl.Float64,), "lower percentile of the crossover", "fewer than 2 logs have it"),
        Column("upper", (pl.Float64,), "upper percentile of the crossover", "fewer than 2 logs have it"),
        Column("probability", (pl.Float64,), "share of the resampled logs that have it"),
        Column("repeats", (pl.Int64,), "resampled logs that have it"),
    ),
)
SUBSAMPLES = FrameSchema(
    "subsamples",
    "subsample_study(counts, prevalence=...)",
    (
        _MODEL,
        _THRESHOLD,
        Column("prevalence", (pl.Float64,), "P(y=1) that the log was sub-sampled to"),
        Column("tpr", (pl.Float64,), "true-positive rate of all rows, in [0, 1]"),
        Column("adjusted", (pl.Float64,), "precision at the prevalence, from all rows", "undefined: 0/0"),
        *(
            Column(name, (pl.Float64,), f"{meaning} precision of the sub-samples", "none defines it")
            for name, meaning in (
                ("mean", "mean"), ("min", "least"), ("q25", "lower quartile of the"),
                ("q75", "upper quartile of the"), ("max", "greatest"),
            )
        ),
        Column("repeats", (pl.Int64,), "sub-samples in which the precision is defined"),
    ),
)  # fmt: skip
SHIFTS = FrameSchema(
    "shifts",
    "check_projection(counts, over=...)",
    (
        _MODEL,
        Column("class", (pl.String,), '"positive" or "negative"'),
        Column("test", (pl.String,), '"ks" or "chi_square"'),
        Column("rows", (pl.Int64,), "rows of the class in this segment or period"),
        Column("statistic", (pl.Float64,), "ks: distance in [0, 1]; chi_square: Pearson's", "no test"),
        Column("p_value", (pl.Float64,), "of this test alone", "no test"),
        Column("adjusted", (pl.Float64,), "Holm's, over all segments and classes of a model", "no test"),
        Column("verdict", (pl.String,), '"differs" or "no difference found"', "no test"),
        Column("reason", (pl.String,), "why there is no test", "there is one"),
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
DECOMPOSITION = FrameSchema(
    "decomposition",
    "decompose_difference(rates, metric=..., between=...)",
    (
        _MODEL,
        _THRESHOLD,
        _METRIC,
        _BETA,
        Column("reference", (pl.String,), "value of the key that is compared with", "that value is null"),
        Column("prevalence", _RATE, "observed prevalence here", "the group has no rows"),
        Column("reference_prevalence", _RATE, "observed prevalence of the reference", "no such point"),
        _VALUE,
        Column("reference_value", _RATE, "value of the metric in the reference", "undefined: 0/0"),
        Column("difference", _RATE, "value - reference_value", "either is undefined"),
        Column("due_to_prevalence", _RATE, "part of the difference", "see reason"),
        Column("due_to_rates", _RATE, "the other part: TPR and FPR", "see reason"),
        Column("reason", (pl.String,), "why there is no decomposition", "there is one"),
    ),
)
ROLL_UP = FrameSchema(
    "roll-up",
    "roll_up(rates, over=..., metrics=...)",
    (
        _MODEL,
        Column("threshold", (pl.Float64,), "as in the rates", "it differs between the segments"),
        _METRIC,
        Column("average", (pl.String,), '"macro", "micro" or "weighted" (by positives)'),
        Column("prevalence", _RATE, "P(y=1) the value belongs to", "each segment has its own"),
        _BETA,
        _VALUE,
        Column("segments", (pl.Int64,), "number of segments that the value is made of"),
        Column("skipped", (pl.Int64,), "number of segments in which the metric is undefined"),
    ),
)
BAND = FrameSchema(
    "precision band",
    "precision_band(rates, prevalence=...)",
    (
        _MODEL,
        _THRESHOLD,
        _PREVALENCE,
        Column("value", _RATE, "precision, in [0, 1]", "nothing is predicted positive"),
        Column("lower", _RATE, "precision at the worst rates within their bounds", "there are no bounds"),
        Column("upper", _RATE, "precision at the best rates within their bounds", "there are no bounds"),
    ),
)
UNCERTAINTY = FrameSchema(
    "precision uncertainty",
    "max_precision_uncertainty(rates)",
    (
        _MODEL,
        _THRESHOLD,
        Column("delta", _RATE, "largest width of the precision band, in [0, 1)", "see reason"),
        Column("prevalence", _RATE, "where the band has this width, in (0, 1)", "see reason"),
        Column("theorem_bound", _RATE, "the larger CV: delta is at most this", "see reason"),
        Column("cv_tpr", _RATE, "half-width / TPR", "TPR is 0 or undefined"),
        Column("cv_fpr", _RATE, "half-width / FPR", "FPR is 0 or undefined"),
        Column("reason", (pl.String,), "why delta is undefined", "it is defined"),
    ),
)
SUPPORT = FrameSchema(
    "support",
    "lowest_known_prevalence(rates, factor=...)",
    (
        _MODEL,
        _THRESHOLD,
        Column("factor", _RATE, "upper / lower edge of the precision band, above 1"),
        Column("prevalence", _RATE, "from here on the edges differ by the factor at most", "see reason"),
        Column("reason", (pl.String,), "why there is no such prevalence", "there is one"),
    ),
)
SAMPLES = FrameSchema(
    "samples",
    "required_samples(delta=..., tpr=..., fpr=...)",
    (
        Column("method", (pl.String,), '"exact" (binomial) or "hoeffding"'),
        Column("positives", (pl.Int64,), "rows with y=1 that are needed"),
        Column("negatives", (pl.Int64,), "rows with y=0 that are needed"),
        Column("tpr_half_width", _RATE, "half-width of TPR that they make sure of"),
        Column("fpr_half_width", _RATE, "half-width of FPR that they make sure of"),
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


SURFACE = FrameSchema(
    "metric surface",
    "metric_surface(metric)",
    (
        Column("tpr", _RATE, "true-positive rate"),
        Column("tnr", _RATE, "true-negative rate"),
        _VALUE,
    ),
)
SENSITIVITY = FrameSchema(
    "sensitivity",
    "imbalance_sensitivity(metrics, ratios=...)",
    (
        _METRIC,
        Column("ratio", _RATE, "negatives per positive, > 0"),
        Column("sensitivity", _RATE, "volume between the surfaces at 1:1 and at this ratio", "infinite"),
    ),
)
AGNOSTIC = FrameSchema(
    "agnostic metrics",
    "agnostic_metrics(metrics)",
    (_METRIC, Column("agnostic", (pl.Boolean,), "whether the class balance plays no part")),
)
PATHS = FrameSchema(
    "paths",
    "surface_path_length(rates, metric=..., order=...)",
    (
        _MODEL,
        _METRIC,
        Column("ratio", _RATE, "negatives per positive, > 0"),
        Column("steps", (pl.Int64,), "number of steps"),
        Column("length", _RATE, "length of the path in contingency space", "a value is undefined"),
    ),
)

FRAMES = (
    PREDICTIONS,
    COUNTS,
    RATES,
    PROJECTION,
    AREAS,
    BOOTSTRAP,
    AUC_INTERVALS,
    AUC_COMPARISONS,
    FOLD_SUMMARIES,
    FOLD_COMPARISONS,
    BEST_MODELS,
    CROSSOVER_INTERVALS,
    SUBSAMPLES,
    SHIFTS,
    RANKING,
    CROSSOVERS,
    WINNERS,
    DECOMPOSITION,
    ROLL_UP,
    BAND,
    UNCERTAINTY,
    SUPPORT,
    SAMPLES,
    DECISION_MAP,
    DOMINANCE,
    SURFACE,
    SENSITIVITY,
    AGNOSTIC,
    PATHS,
)

RESERVED = frozenset(name for frame in FRAMES for name in frame.fixed)
"""Names that a key cannot have, because some frame uses them."""


def collect(frame: pl.DataFrame | pl.LazyFrame, schema: FrameSchema) -> pl.DataFrame:
    """Return *frame* as a checked DataFrame of the kind that *schema* describes."""
    collected = frame.collect() if isinstance(frame, pl.LazyFrame) else frame
    schema.check(collected)
    return collected
