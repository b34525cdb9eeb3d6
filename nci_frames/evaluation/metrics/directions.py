"""Which way is better."""

from nci_frames.errors import ParameterError
from nci_frames.evaluation.metrics.metric import Metric

__all__ = ["better_sign"]


def better_sign(metric: Metric) -> int:
    """Return the factor that makes more of a metric better: 1 or -1.

    Raises
    ------
    ParameterError
        If a metric has no better and worse.
    """
    if metric.direction == "target":
        raise ParameterError(
            f"the metric {metric.name!r} has no better and worse",
            hint="choose one whose direction in metrics() is maximize or minimize",
        )
    return 1 if metric.direction == "maximize" else -1
