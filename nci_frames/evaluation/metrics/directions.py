"""Which way is better."""

from nci_frames.errors import ParameterError
from nci_frames.evaluation.metrics import find_metric

__all__ = ["better_sign"]


def better_sign(label: str) -> float:
    """Return the factor that makes more of a metric, or of an area, better: 1 or -1.

    Raises
    ------
    ParameterError
        If a metric has no better and worse.
    UnknownMetricError
        If it is not known.
    """
    direction = "maximize" if label in ("pr_auc", "roc_auc") else find_metric(label).direction
    if direction == "target":
        msg = f"the metric {label!r} has no better and worse"
        raise ParameterError(msg, hint="choose one whose direction in metrics() is not 'target'")
    return 1.0 if direction == "maximize" else -1.0
