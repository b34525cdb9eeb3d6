"""Counts -> areas under curves, with certified bounds.

An area is one object, in a file of its own. Named here, it is known wherever a metric's name is.
"""

from nci_frames.evaluation.areas.pr import PR_AUC
from nci_frames.evaluation.areas.proper_scores import BRIER, LOG_LOSS
from nci_frames.evaluation.areas.roc import PARTIAL_ROC_AUC, ROC_AUC
from nci_frames.evaluation.metrics.registry import add

for _area in (BRIER, LOG_LOSS, PARTIAL_ROC_AUC, PR_AUC, ROC_AUC):
    add(_area)
