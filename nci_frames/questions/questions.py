"""One question about a log, and its answer."""

from dataclasses import dataclass

import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import Option
from nci_frames.evaluation.metrics import (
    PR_AUC,
    ROC_AUC,
    Metric,
    asked_metric,
    curve_asked,
    expected_cost,
    find_metric,
)
from nci_frames.evaluation.metrics.directions import better_sign

__all__ = ["Answer", "Question"]


#: The areas that a comparison has.
_AREAS = (PR_AUC.name, ROC_AUC.name)


@dataclass(frozen=True, slots=True)
class Question:
    """Which model to choose, and at which threshold."""

    #: P(y=1) in the field; None takes that of the log, or a middle one where the log has one class.
    prevalence: float | None = None
    #: Name or alias of a metric, "pr_auc" or "roc_auc"; None is F-beta, or recall where alerts are limited.
    metric: str | None = None
    beta: float = 1.0
    #: What a missed positive and a false alarm cost.
    cost: tuple[float, float] | None = None
    #: At most so many alerts among *volume* rows.
    alerts: float | None = None
    volume: float | None = None
    #: A threshold for all models; None takes each model's own best one.
    threshold: float | None = None

    def __post_init__(self) -> None:
        """Check what belongs together."""
        eta = self.prevalence
        if eta is not None and not 0 < eta < 1:
            raise ParameterError.out_of_range("at", eta, "between 0 and 1, both excluded")
        if self.cost is not None and self.metric is not None:
            raise ParameterError("give either a metric or a cost", found="metric and cost")
        if self.cost is not None and (min(self.cost) < 0 or max(self.cost) == 0):
            raise ParameterError.out_of_range("cost", self.cost, "two numbers >= 0, one of them above 0")
        if self.alerts is not None and self.volume is None:
            msg = "an alert budget needs both the alerts and the volume"
            raise ParameterError(msg, hint=f"e.g. {Option('alerts', 50)} {Option('volume', 1_000_000)}")
        if self.volume is not None and not 0 < self.volume < float("inf"):
            raise ParameterError.out_of_range("volume", self.volume, "a finite number > 0")
        # Raises if there is no such metric, or no best value of it, before anything is counted.
        better_sign(asked_metric(self.asked))
        area = self.area
        if area is not None and area.name not in _AREAS:
            msg = f"a report does not rank by {area.name!r}"
            raise ParameterError(msg, hint=f"of areas it ranks by {' and '.join(map(repr, _AREAS))}")
        if self.alerts is not None and area is not None:
            msg = f"{area.name!r} has no threshold, so alerts cannot limit it"
            raise ParameterError(msg, hint="omit one of them")

    @property
    def asked(self) -> str | pl.Expr:
        """The metric, ready to be evaluated."""
        if self.cost is not None:
            missed, false = self.cost
            return expected_cost(c_fp=false, c_fn=missed)
        if self.metric is not None:
            return self.metric
        return "f_beta" if self.alerts is None else "recall"

    @property
    def area(self) -> Metric | None:
        """The area that is asked for; None for a metric of operating points."""
        return curve_asked(self.asked)

    @property
    def f_beta(self) -> bool:
        """Whether F-beta is asked for."""
        return isinstance(self.asked, str) and find_metric(self.asked).name == "f_beta"

    @property
    def own(self) -> bool:
        """Whether each model is at its own best threshold, chosen for the metric."""
        return self.alerts is None and self.threshold is None and self.area is None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a log says to a question."""

    question: Question
    prevalence: float
    #: Whether that is the prevalence of the log itself.
    observed: bool
    #: The label of the metric.
    metric: str
    #: A row per model, the best first: ``model``, ``threshold``, ``value``, ``lower``, ``upper``, ``rank``,
    #: ``distinguishable`` (from the best; null where the log cannot tell), ``recall``, ``precision``,
    #: ``pos_fraction``, ``supported``, ``reason``.
    models: pl.DataFrame
    #: The best model over prevalence: ``start``, ``end``, ``model``, ``supported``; and where the start is in
    #: 95 % of the resampled logs, ``lower`` and ``upper``, where known.
    winners: pl.DataFrame
    #: The lowest and the highest prevalence over which the winners were searched.
    span: tuple[float, float]
