"""The frames that say how sure something is."""

import polars as pl

from nci_frames.schemas.columns import BETA, METHOD, METRIC, MODEL, PREVALENCE, RATE, THRESHOLD, VALUE
from nci_frames.schemas.frame import Column, FrameSchema

__all__ = [
    "AUC_COMPARISONS",
    "AUC_INTERVALS",
    "BAND",
    "BEST_MODELS",
    "BOOTSTRAP",
    "CROSSOVER_INTERVALS",
    "FOLD_COMPARISONS",
    "FOLD_SUMMARIES",
    "SAMPLES",
    "SHIFTS",
    "SUBSAMPLES",
    "SUPPORT",
    "UNCERTAINTY",
]

BAND = FrameSchema(
    "precision band",
    "precision_band(rates, prevalence=...)",
    (
        MODEL,
        THRESHOLD,
        PREVALENCE,
        Column("value", RATE, "precision, in [0, 1]", "nothing is predicted positive"),
        Column("lower", RATE, "precision at the worst rates within their bounds", "there are no bounds"),
        Column("upper", RATE, "precision at the best rates within their bounds", "there are no bounds"),
    ),
)
UNCERTAINTY = FrameSchema(
    "precision uncertainty",
    "max_precision_uncertainty(rates)",
    (
        MODEL,
        THRESHOLD,
        Column("delta", RATE, "largest width of the precision band, in [0, 1)", "see reason"),
        Column("prevalence", RATE, "where the band has this width, in (0, 1)", "see reason"),
        Column("theorem_bound", RATE, "the larger CV: delta is at most this", "see reason"),
        Column("cv_tpr", RATE, "half-width / TPR", "TPR is 0 or undefined"),
        Column("cv_fpr", RATE, "half-width / FPR", "FPR is 0 or undefined"),
        Column("reason", (pl.String,), "why delta is undefined", "it is defined"),
    ),
)
SUPPORT = FrameSchema(
    "support",
    "lowest_supported_prevalence(rates, factor=...)",
    (
        MODEL,
        THRESHOLD,
        Column("factor", RATE, "upper / lower edge of the precision band, above 1"),
        Column("prevalence", RATE, "from here on the edges differ by the factor at most", "see reason"),
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
        Column("tpr_half_width", RATE, "half-width of TPR that they make sure of"),
        Column("fpr_half_width", RATE, "half-width of FPR that they make sure of"),
    ),
)
_DEFINED = Column("repeats", (pl.Int64,), "resampled logs in which the value is defined")
BOOTSTRAP = FrameSchema(
    "bootstrap",
    "bootstrap(counts, metric=...)",
    (
        MODEL,
        Column("threshold", (pl.Float64,), "where the metric is taken", "the value is an area"),
        METRIC,
        METHOD,
        PREVALENCE,
        BETA,
        VALUE,
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
        MODEL,
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
        MODEL,
        METRIC,
        _FOLD_PREVALENCE,
        BETA,
        *_FOLD_MEANS,
        Column("pooled", (pl.Float64,), "the metric of all folds' counts together", "undefined: 0/0"),
    ),
)
FOLD_COMPARISONS = FrameSchema(
    "fold comparisons",
    "compare_folds(rates)",
    (
        METRIC,
        _FOLD_PREVALENCE,
        BETA,
        MODEL,
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
        METRIC,
        METHOD,
        Column("prevalence", (pl.Float64,), "P(y=1) the values belong to", "each model's own, or no part"),
        BETA,
        MODEL,
        VALUE,
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
        MODEL,
        THRESHOLD,
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
        MODEL,
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
