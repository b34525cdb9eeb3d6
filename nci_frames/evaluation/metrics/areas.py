"""Metrics of whole curves: areas over all thresholds, which have no value at one operating point."""

from nci_frames.evaluation.metrics.registry import curve_metric

__all__ = ["MEAN_PR_AUC", "PARTIAL_ROC_AUC", "PR_AUC", "PR_GAIN_AUC", "ROC_AUC"]

_LACKS = "a class has no rows"

ROC_AUC = curve_metric(
    "roc_auc",
    title="ROC-AUC",
    formula="∫ TPR dFPR",
    undefined_when=_LACKS,
    computed_by="compute_areas(counts, prevalence=...)",
    depends_on_prevalence=False,
)
PARTIAL_ROC_AUC = curve_metric(
    "partial_roc_auc",
    title="partial ROC-AUC",
    formula="∫ TPR dFPR over a range of FPR",
    undefined_when=_LACKS,
    computed_by="compute_areas(counts, prevalence=..., fpr_range=...)",
    depends_on_prevalence=False,
    needs="a range of FPR",
)
PR_AUC = curve_metric(
    "pr_auc",
    title="PR-AUC",
    formula="∫ precision dTPR",
    undefined_when=f"{_LACKS}, or eta is 0 and a recall has FPR 0",
    computed_by="compute_areas(counts, prevalence=...)",
)
MEAN_PR_AUC = curve_metric(
    "mean_pr_auc",
    title="mean PR-AUC",
    formula="∫ PR-AUC deta / (high - low)",
    undefined_when=_LACKS,
    computed_by="mean_pr_auc(counts, prevalence_range=...)",
    depends_on_prevalence=False,
    needs="a range of prevalence",
)
PR_GAIN_AUC = curve_metric(
    "pr_gain_auc",
    title="PR-gain AUC",
    formula="∫ precision gain d(recall gain), from recall gain 0",
    undefined_when=_LACKS,
    computed_by="pr_gain_auc(counts, prevalence=...)",
    support="gain",
    lower=float("-inf"),
)
