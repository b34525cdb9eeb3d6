"""Frames of intervals, tests and other uncertainty, and of paired models."""

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
    share("prevalence", "prevalence at which the band has this width, in (0, 1)", "see reason"),
    number("theorem_bound", "larger of both CVs, an upper bound of delta (Theorem 1)", "as delta", minimum=0),
    number("cv_tpr", "larger half-width / TPR", "TPR is 0 or undefined", minimum=0),
    number("cv_fpr", "larger half-width / FPR", "FPR is 0 or undefined", minimum=0),
    text("reason", "why delta is undefined", "delta is defined"),
)
SUPPORT = FrameSchema(
    "support",
    "lowest_supported_prevalence(counts, metric=...)",
    MODEL,
    METRIC,
    share("prevalence", "lowest prevalence at which the log supports the metric", "see reason"),
    text("reason", "why there is no such prevalence", "prevalence is not null"),
)
SAMPLES = FrameSchema(
    "samples",
    "required_samples(delta=..., tpr=..., fpr=...)",
    text("method", '"exact" (binomial) or "hoeffding"'),
    whole("positives", "required rows with y=1"),
    whole("negatives", "required rows with y=0"),
    share("tpr_half_width", "half-width of the interval at the expected TPR"),
    share("fpr_half_width", "half-width of the interval at the expected FPR"),
    share("assurance", "probability that a study reaches the goal", "no assurance was requested"),
)
_DEFINED = whole("repeats", "number of resampled logs where the value is defined")
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
    text("interval", '"percentile", or "band" if it is extended', "no bounds"),
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
    text("model_a", "first model by name", "unnamed model"),
    text("model_b", "second model by name", "unnamed model"),
    share("auc_a", "ROC-AUC of model_a, ties as half", "the group lacks a class"),
    share("auc_b", "ROC-AUC of model_b, ties as half", "the group lacks a class"),
    number("difference", "auc_a - auc_b", "the group lacks a class", minimum=-1, maximum=1),
    number("std_error", "standard error of the difference", _FEW, minimum=0),
    number("z", "difference / std_error", "std_error is null or 0"),
    share("p_value", "two-sided p-value; 1 if no row differs", "as z, unless no row differs"),
    *bounds(number, "lower confidence limit of the difference", _FEW),
)
FOLD_COMPARISONS = FrameSchema(
    "fold comparisons",
    "compare_folds(rates)",
    METRIC,
    share("prevalence", "P(y=1) of the values", "each fold has its own, or it has no effect"),
    BETA,
    MODEL,
    number("mean", "mean over the folds where the metric is defined", "undefined in every fold"),
    number("std", "standard deviation over the same folds", "the number of folds is <= ddof", minimum=0),
    whole("folds", "number of folds where the metric is defined"),
    whole("skipped", "number of folds where the metric is undefined, or the model has no point"),
    share("p_value", "two-sided p-value of the best model against this one", "the best model, or no test"),
    flag("distinguishable", "whether the best model is significantly better", "see reason"),
    text("reason", "why there is no test", "tested, or the best model"),
)
_MODEL_PREVALENCE = share("prevalence", "P(y=1) of the values", "each model has its own, or it has no effect")
_OF_BEST = (METRIC, METHOD, _MODEL_PREVALENCE, BETA, MODEL, VALUE)
BEST_MODELS = FrameSchema(
    "best models",
    "probability_best(counts)",
    *_OF_BEST,
    share("probability", "share of the resampled logs where the model is the best", "undefined"),
    _DEFINED,
    TOLD[0],
    text("reason", "why the probability is doubtful, or the value is not supported", "neither"),
)
CROSS_FITS = FrameSchema(
    "cross-fits",
    "cross_fit(counts)",
    MODEL,
    number("threshold", "best threshold on the whole log", "optimistic is null"),
    *CASE,
    number("value", "metric at a threshold chosen on one half, on the rows of the other half", "see reason"),
    number("optimistic", "metric at threshold, on the rows that selected it", "undefined: 0/0"),
    whole("repeats", "number of divisions into halves where the metric is defined"),
    text("reason", "why there is no value", "value is not null"),
)
BEST_COMPARISONS = FrameSchema(
    "best comparisons",
    "compare_best(counts)",
    *_OF_BEST,
    number("difference", "value - best value of the other models", "either is undefined or infinite"),
    *bounds(number, "simultaneous lower bound of the difference", "no other model, or too few rows"),
    share("p_value", "p-value of the hypothesis that no model is better", "see reason"),
    flag("distinguishable", "whether the model is significantly worse than the best", "see reason"),
    whole("group", "1: may be the best; 2: may be, without group 1; and so on", "see reason", minimum=1),
    text("reason", "why there is no test", "tested"),
)
CROSSOVER_INTERVALS = FrameSchema(
    "crossover intervals",
    "crossover_intervals(counts)",
    text("metric", '"f_beta" or "pr_auc"'),
    *CROSSING,
    share("prevalence", "prevalence of the crossover, or as given, in (0, 1)"),
    number("beta", "beta of the crossover, or as given, in (0, inf)", "the metric is pr_auc", minimum=0),
    *bounds(number, "lower percentile of the crossover", "see reason", minimum=0),
    share("probability", "share of resampled logs with the crossover", "see reason"),
    whole("repeats", "number of resampled logs with the crossover"),
    text("reason", "why there are no bounds", "bounds exist"),
)
SUBSAMPLES = FrameSchema(
    "subsamples",
    "subsample_study(counts, prevalence=...)",
        MODEL,
        THRESHOLD,
        share("prevalence", "P(y=1) of the sub-samples"),
        share("tpr", "true-positive rate of all rows, in [0, 1]"),
        share("adjusted", "precision at the prevalence, from all rows", "no row is predicted positive"),
        *(
            share(name, f"{meaning} precision of the sub-samples", "undefined in all of them")
            for name, meaning in (
                ("mean", "mean"), ("min", "least"), ("q25", "lower quartile of the"),
                ("q75", "upper quartile of the"), ("max", "greatest")
            )
        ),
        whole("repeats", "number of sub-samples where precision is defined"),
)  # fmt: skip
SHIFTS = FrameSchema(
    "shifts",
    "check_projection(counts, over=...)",
    MODEL,
    text("class", '"positive" or "negative"'),
    whole("segments", "number of compared values of *over*: those with 10 or more rows of the class"),
    whole("rows", "rows of the class in these segments"),
    number("statistic", "k-sample Anderson-Darling statistic", "no test", minimum=0),
    share("effect", "largest distance of a segment's TPR or FPR from that of the others", "no test"),
    text("farthest", "value of *over* with that effect, the most significant", "no test, or null itself"),
    share("p_value", "p-value of this test alone", "no test"),
    share("adjusted", "p_value adjusted by Holm's method over all rows of the table", "no test"),
    flag("distinguishable", "whether the distributions differ significantly", "no test"),
    text("reason", "why there is no test", "tested"),
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
    share("p_value", "two-sided p-value of the hypothesis of no difference", "see reason"),
    flag("supported", "whether the log has enough data for the comparison"),
    text("reason", "why not", "supported"),
)
