"""The metrics of decisions among more than two classes, as data; their values are in ``evaluation.classes``.

With the shares p of the classes and the rates R of decisions d among the rows of class c: J = diag(p)·R.
"""

from collections.abc import Sequence

from nci_frames.base.errors import ParameterError, UnknownMetricError
from nci_frames.base.messages import nearest_name
from nci_frames.evaluation.metrics.metric import Metric
from nci_frames.evaluation.metrics.registry import resolve

__all__ = ["CLASS_METRICS", "class_metric", "class_metrics_asked", "metric_of_all"]

_EMPTY = "a class of positive prior has no row"


def _metric(name: str, formula: str, undefined_when: str = _EMPTY, **options: object) -> Metric:
    return Metric(name, formula=formula, undefined_when=undefined_when, **options)  # type: ignore[arg-type]


#: By name; those of each class last.
CLASS_METRICS = {
    metric.name: metric
    for metric in (
        _metric("accuracy", "sum of J[c,c]"),
        _metric("balanced_accuracy", "mean of R[c,c]"),
        _metric("macro_precision", "mean of the precision of classes that are decided"),
        _metric("macro_recall", "mean of R[c,c]"),
        _metric("macro_f_beta", "mean of F-beta of the classes"),
        _metric("weighted_f_beta", "sum of p[c]·F-beta[c]"),
        _metric("kappa", "(accuracy - e)/(1 - e), e = sum of p[c]·J[.,c]", lower=-1.0, scale=1.0),
        _metric(
            "mcc",
            "(accuracy - e)/sqrt((1 - sum of p²)·(1 - sum of J[.,d]²))",
            "all rows have one decision",
            lower=-1.0,
            scale=1.0,
        ),
        _metric("expected_cost", "sum of J[c,d]·cost[c,d]", direction="minimize", upper=float("inf")),
        _metric("precision", "J[c,c]/J[.,c]", "the class is never decided"),
        _metric("recall", "R[c,c]", "the class has no row"),
        _metric("f_beta", "(1+beta²)·J[c,c]/(beta²·p[c] + J[.,c])", "0/0"),
        _metric("pos_fraction", "J[.,c]", direction="target"),
    )
}
#: Those that each class has.
OF_EACH_CLASS = ("precision", "recall", "f_beta", "pos_fraction")


def class_metric(name: str) -> Metric:
    """Return the metric of a name or alias.

    Raises
    ------
    UnknownMetricError
        If there is none.
    """
    found = resolve(name)
    known = CLASS_METRICS.get(name) or (CLASS_METRICS.get(found[0].name) if found else None)
    if known is None:
        close = nearest_name(name, list(CLASS_METRICS))
        hint = f"did you mean {close!r}?" if close else f"known are {', '.join(CLASS_METRICS)}"
        raise UnknownMetricError(
            f"unknown metric {name!r}", found="metrics of decisions among classes", hint=hint
        )
    return known


def metric_of_all(name: str, hint: str = "take one of all classes, such as 'macro_f_beta'") -> Metric:
    """Return a metric of all classes.

    Raises
    ------
    ParameterError
        If it is one of each class.
    UnknownMetricError
        If there is none.
    """
    known = class_metric(name)
    if known.name in OF_EACH_CLASS:
        raise ParameterError(f"the metric {known.name!r} is one of each class", hint=hint)
    return known


def class_metrics_asked(asked: str | Sequence[str]) -> list[str]:
    """Return the names of the metrics that are asked for.

    Raises
    ------
    ParameterError
        If there is none, or one twice.
    UnknownMetricError
        If a metric is unknown.
    """
    names = [class_metric(name).name for name in ([asked] if isinstance(asked, str) else asked)]
    if not names:
        raise ParameterError.out_of_range("metrics", asked, "at least one metric")
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"two metrics have the label {name!r}", hint="name it once")
    return names
