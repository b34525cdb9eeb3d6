"""The frames of intervals, tests and other uncertainty, and of two models that scored the same units."""

from nci_frames.schemas.columns import *
from nci_frames.schemas.contests import CROSSING
from nci_frames.schemas.frame import FrameSchema

BAND = FrameSchema(
    "precision band",
    "precision_band(rates, prevalence=...)",
    MODEL,
    POINT,
    PREVALENCE,
    share("value", "precision, in [0, 1]", "nothing is predicted positive"),
    share("lower", "precision at the lowest TPR and the highest FPR", "there are no bounds"),
    share("upper", "precision at the highest TPR and the lowest FPR", "there are no bounds"),
    *SAID,
)
UNCERTAINTY = FrameSchema(
    "precision uncertainty",
    "max_precision_uncertainty(rates)",
    MODEL,
    POINT,
    share("delta", "largest width of the precision band, in [0, 1)", "see reason"),
    share("prevalence", "where the band has this width, in (0, 1)", "see reason"),
    number("theorem_bound", "the larger CV: by Theorem 1, delta is at most this", "as for delta", minimum=0),
    number("cv_tpr", "half-width / TPR; the larger half", "TPR is 0 or undefined", minimum=0),
    number("cv_fpr", "half-width / FPR; the larger half", "FPR is 0 or undefined", minimum=0),
    text("reason", "why delta is undefined", "it is defined"),
)
SUPPORT = FrameSchema(
    "support",
    "lowest_supported_prevalence(counts, metric=...)",
    MODEL,
    METRIC,
    share("prevalence", "at and above it the log supports the metric", "see reason"),
    text("reason", "why there is no such prevalence", "there is one"),
)
SAMPLES = FrameSchema(
    "samples",
    "required_samples(delta=..., tpr=..., fpr=...)",
    text("method", '"exact" (binomial) or "hoeffding"'),
    whole("positives", "rows with y=1 that are needed"),
    whole("negatives", "rows with y=0 that are needed"),
    share("tpr_half_width", "half-width of the interval at the expected TPR"),
    share("fpr_half_width", "half-width of the interval at the expected FPR"),
    share("assurance", "share of studies that reach the goal", "none was asked for"),
)
_DEFINED = whole("repeats", "resampled logs in which the value is defined")
BOOTSTRAP = FrameSchema(
    "bootstrap",
    "bootstrap(counts, metric=...)",
    MODEL,
    number("threshold", "threshold of the metric", "the value is an area"),
    METRIC,
    METHOD,
    PREVALENCE,
    BETA,
    VALUE,
    *bounds(number, "lower bound of the value", "fewer than 2 replicates, or an unsupported area"),
    text("interval", '"percentile", or "band" where it is extended', "no bounds"),
    number("std", "standard deviation of the replicates, ddof 1", "fewer than 2 are defined", minimum=0),
    _DEFINED,
    *TOLD,
)
_FEW = "a class has fewer than two rows"
_NO_INTERVAL = "there is no interval"
AUC_INTERVALS = FrameSchema(
    "auc intervals",
    "auc_interval(counts)",
    MODEL,
    text("method", '"score", "newcombe", "delong" or "delong_logit"'),
    share("value", "ROC-AUC, ties as half", "the group lacks a class"),
    number("std_error", "standard error of the value", _NO_INTERVAL, minimum=0),
    *bounds(share, "lower confidence limit", _NO_INTERVAL),
    text("reason", "why there is no interval, or why it is doubtful", "each class has 50 rows or more"),
)
AUC_COMPARISONS = FrameSchema(
    "auc comparisons",
    "compare_auc(predictions)",
    text("model_a", "first model by name", "a model of its own"),
    text("model_b", "second model by name", "a model of its own"),
    share("auc_a", "ROC-AUC of model_a, ties as half", "the group lacks a class"),
    share("auc_b", "ROC-AUC of model_b, ties as half", "the group lacks a class"),
    number("difference", "auc_a - auc_b", "the group lacks a class", minimum=-1, maximum=1),
    number("std_error", "standard error of the difference", _FEW, minimum=0),
    number("z", "difference / std_error", "as std_error, or that is 0"),
    share("p_value", "two-sided; 1 where nothing differs", "as z, unless nothing differs"),
    *bounds(number, "lower confidence limit of the difference", _FEW),
)
_FOLD_MEANS = (
    number("mean", "mean over the folds where the metric is defined", "no fold defines it"),
    number("std", "standard deviation over the same folds", "no more of them than ddof", minimum=0),
    whole("folds", "folds where the metric is defined"),
    whole("skipped", "folds where it is not, or the model has no point"),
)
_FOLD_PREVALENCE = share("prevalence", "P(y=1) the values belong to", "each fold's own, or it plays no part")
_OF_FOLDS = (METRIC, _FOLD_PREVALENCE, BETA)
FOLD_SUMMARIES = FrameSchema(
    "fold summaries",
    "summarise_folds(rates, metrics=...)",
    MODEL,
    *_OF_FOLDS,
    *_FOLD_MEANS,
    number("pooled", "the metric of all folds' counts together", "undefined: 0/0"),
)
FOLD_COMPARISONS = FrameSchema(
    "fold comparisons",
    "compare_folds(rates)",
    *_OF_FOLDS,
    MODEL,
    *_FOLD_MEANS,
    share("p_value", "two-sided, of the best against this one", "the best, or no test"),
    flag("distinguishable", "whether the best is significantly better", "see reason"),
    text("reason", "why there is no test", "there is one, or it is the best"),
)
_MODEL_PREVALENCE = share("prevalence", "P(y=1) the values belong to", "each model's own, or no part")
_OF_BEST = (METRIC, METHOD, _MODEL_PREVALENCE, BETA, MODEL, VALUE)
BEST_MODELS = FrameSchema(
    "best models",
    "probability_best(counts)",
    *_OF_BEST,
    share("probability", "share of the resampled logs it is the best of", "undefined"),
    _DEFINED,
    TOLD[0],
    text("reason", "why resampling says too little, or the log cannot tell the value", "neither"),
)
CROSS_FITS = FrameSchema(
    "cross-fits",
    "cross_fit(counts)",
    MODEL,
    number("threshold", "the best threshold on the whole log", "optimistic is null"),
    *CASE,
    number("value", "the metric at thresholds of one half, on the rows of the other half", "see reason"),
    number("optimistic", "the metric at threshold, on the rows that it was chosen on", "undefined: 0/0"),
    whole("repeats", "divisions into halves in which the metric is defined"),
    text("reason", "why there is no value", "there is one"),
)
BEST_COMPARISONS = FrameSchema(
    "best comparisons",
    "compare_best(counts)",
    *_OF_BEST,
    number("difference", "value minus that of the best of the others", "either is undefined or infinite"),
    *bounds(number, "simultaneous lower bound of the difference", "no other model, or too few rows"),
    share("p_value", "of the hypothesis that it is the best, or equal to the best", "see reason"),
    flag("distinguishable", "whether it is worse than the best", "see reason"),
    whole(
        "group",
        "1: may be the best; 2: may be the best of those that are left; and so on",
        "see reason",
        minimum=1,
    ),
    text("reason", "why that cannot be said", "it can"),
)
CROSSOVER_INTERVALS = FrameSchema(
    "crossover intervals",
    "crossover_intervals(counts)",
    text("metric", '"f_beta" or "pr_auc"'),
    *CROSSING,
    share("prevalence", "where they cross, or as given, in (0, 1)"),
    number("beta", "where they cross, or as given, in (0, inf)", "pr_auc has none", minimum=0),
    *bounds(number, "lower percentile of the crossover", "there is a reason", minimum=0),
    share("probability", "share of the resampled logs that have it", "a class has few rows or buckets"),
    whole("repeats", "resampled logs that have it"),
    text("reason", "why there are no bounds", "there are bounds"),
)
SUBSAMPLES = FrameSchema(
    "subsamples",
    "subsample_study(counts, prevalence=...)",
        MODEL,
        THRESHOLD,
        share("prevalence", "P(y=1) that the log was sub-sampled to"),
        share("tpr", "true-positive rate of all rows, in [0, 1]"),
        share("adjusted", "precision at the prevalence, from all rows", "no row is predicted positive"),
        *(
            share(name, f"{meaning} precision of the sub-samples", "none defines it")
            for name, meaning in (
                ("mean", "mean"), ("min", "least"), ("q25", "lower quartile of the"),
                ("q75", "upper quartile of the"), ("max", "greatest"),
            )
        ),
        whole("repeats", "sub-samples in which the precision is defined"),
)  # fmt: skip
SHIFTS = FrameSchema(
    "shifts",
    "check_projection(counts, over=...)",
    MODEL,
    text("class", '"positive" or "negative"'),
    whole("segments", "values of *over* with at least 10 rows of the class; only these are compared"),
    whole("rows", "rows of the class in them"),
    number("statistic", "of Anderson and Darling for several samples", "no test", minimum=0),
    share("effect", "maximum distance of a segment's TPR or FPR from that of the others", "no test"),
    text("farthest", "that value of *over*: the most significant one", "no test, or null itself"),
    share("p_value", "of this test alone", "no test"),
    share("adjusted", "Holm's, over all rows of the table", "no test"),
    flag("distinguishable", "whether the distributions differ significantly", "no test"),
    text("reason", "why there is no test", "there is one"),
)
_MODELS = (
    text("model_a", "first model by name"),
    text("model_b", "second model by name"),
    number("threshold_a", "decision threshold of model_a, as given"),
    number("threshold_b", "decision threshold of model_b, as given"),
)
PAIRS = FrameSchema(
    "pairs",
    "count_pairs(predictions, thresholds=...)",
    *_MODELS,
    *(
        whole(f"{kind}_{cell}", f"{rows} that {who}")
        for kind, rows in (("tp", "positives"), ("fp", "negatives"))
        for cell, who in (
            ("both", "both models flag"),
            ("a", "only model_a flags"),
            ("b", "only model_b flags"),
            ("none", "neither model flags"),
        )
    ),
    brings_keys=True,
)
PAIR_COMPARISONS = FrameSchema(
    "pair comparisons",
    "compare_pairs(pairs, metric=...)",
    *_MODELS,
    *CASE,
    number("value_a", "metric of model_a", "undefined: 0/0"),
    number("value_b", "metric of model_b", "undefined: 0/0"),
    number("difference", "value_a - value_b", "either is undefined"),
    *bounds(number, "lower confidence limit of the difference", "see reason"),
    share("p_value", "two-sided, of no difference", "see reason"),
    flag("supported", "whether the log can support the comparison"),
    text("reason", "why it cannot", "it can"),
)
