"""The direction in which a metric is better."""

from nci_frames.base.errors import ParameterError
from nci_frames.evaluation.metrics.metric import Metric


def better_sign(metric: Metric) -> int:
    """Return 1 if a higher value of the metric is better, -1 if a lower one is.

    Raises
    ------
    ParameterError
        If the metric cannot be ranked.
    """
    if metric.direction == "target":
        raise ParameterError(
            f"the metric {metric.name!r} cannot be ranked",
            hint="choose one whose direction in metrics() is maximize or minimize",
        )
    return 1 if metric.direction == "maximize" else -1
