"""The metrics: each one Polars expression of tpr, fpr, prevalence (and beta, or costs), or an area.

To add a metric of an operating point, write its function in one of the modules here and name it below;
projection, ranking, charts and ``metrics()`` follow by themselves. To add an area, describe it in ``curves``
and compute it in the room of areas. Importing this package fills the registry, so what looks metrics up
imports it from here.
"""

from nci_frames.evaluation.metrics.agreement import (
    accuracy,
    doolittle,
    error_rate,
    fowlkes_mallows,
    gilbert,
    hss,
    jaccard,
    markedness,
    mcc,
)
from nci_frames.evaluation.metrics.catalogue import metrics, register_metric
from nci_frames.evaluation.metrics.cost import expected_cost, net_benefit, normalised_cost, relative_cost
from nci_frames.evaluation.metrics.curves import MEAN_PR_AUC, PARTIAL_ROC_AUC, PR_AUC, PR_GAIN_AUC, ROC_AUC
from nci_frames.evaluation.metrics.lookup import (
    asked_metric,
    called_metric,
    curve_asked,
    find_metric,
    title_of,
    value_expression,
)
from nci_frames.evaluation.metrics.metric import CalledMetric, Direction, Metric
from nci_frames.evaluation.metrics.predictive import (
    calibrated_precision,
    f_beta,
    npv,
    pos_fraction,
    precision,
    precision_gain,
    recall_gain,
)
from nci_frames.evaluation.metrics.rates import (
    balanced_accuracy,
    diagnostic_odds_ratio,
    fnr,
    fpr,
    g_mean,
    index_of_balanced_accuracy,
    lr_minus,
    lr_plus,
    recall,
    specificity,
    youden_j,
)

__all__ = [
    "MEAN_PR_AUC",
    "PARTIAL_ROC_AUC",
    "PR_AUC",
    "PR_GAIN_AUC",
    "ROC_AUC",
    "CalledMetric",
    "Direction",
    "Metric",
    "accuracy",
    "asked_metric",
    "balanced_accuracy",
    "calibrated_precision",
    "called_metric",
    "curve_asked",
    "diagnostic_odds_ratio",
    "doolittle",
    "error_rate",
    "expected_cost",
    "f_beta",
    "find_metric",
    "fnr",
    "fowlkes_mallows",
    "fpr",
    "g_mean",
    "gilbert",
    "hss",
    "index_of_balanced_accuracy",
    "jaccard",
    "lr_minus",
    "lr_plus",
    "markedness",
    "mcc",
    "metrics",
    "net_benefit",
    "normalised_cost",
    "npv",
    "pos_fraction",
    "precision",
    "precision_gain",
    "recall",
    "recall_gain",
    "register_metric",
    "relative_cost",
    "specificity",
    "title_of",
    "value_expression",
    "youden_j",
]
