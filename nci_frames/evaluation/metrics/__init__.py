"""The metrics: each one Polars expression of tpr, fpr, prevalence (and beta, or costs), or an area.

To add a metric of an operating point, write its function in the module of its family; projection, ranking,
charts and ``metrics()`` then include it. Importing this package fills the registry, so code that looks up
metrics imports from here. Areas are in ``evaluation.areas``.
"""

from nci_frames.evaluation.metrics import agreement, cost, predictive, rates  # noqa: F401  (they register)
from nci_frames.evaluation.metrics.asked import *
from nci_frames.evaluation.metrics.metric import *
