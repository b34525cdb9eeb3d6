"""Counts -> areas under curves, with certified bounds.

Each area is one object. Registered here, it is accepted wherever a metric's name is.
"""

from nci_frames.evaluation.areas.pr import PR_AUC
from nci_frames.evaluation.areas.proper_scores import BRIER, LOG_LOSS
from nci_frames.evaluation.areas.roc import PARTIAL_ROC_AUC, ROC_AUC
from nci_frames.evaluation.metrics.registry import add

for _area in (BRIER, LOG_LOSS, PARTIAL_ROC_AUC, PR_AUC, ROC_AUC):
    add(_area)
