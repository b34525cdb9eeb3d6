"""The question about a log: the same object in Python, on the command line and in a job file."""

from dataclasses import dataclass
from numbers import Real

import polars as pl

from nci_frames.base.arguments import check_allowed, check_budget, check_confidence, check_cost
from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import Option
from nci_frames.evaluation.areas.area import Area, all_areas
from nci_frames.evaluation.metrics import asked_metric, better_sign, called_metric, curve_asked, find_metric
from nci_frames.evaluation.metrics.cost import expected_cost
from nci_frames.questions.places import LEAST_PREVALENCE


def check_measure(metric: str | None, cost: object) -> None:
    """Raise ParameterError if costs are given, and another metric than the expected cost."""
    if cost is not None and metric not in (None, "expected_cost"):
        raise ParameterError("give either a metric or a cost", found="metric and cost")


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Which model to choose, and at which threshold.

    Parameters
    ----------
    prevalence
        P(y=1) in the field, in (0, 1). None takes that of the log, or a middle one if it has only one class.
    metric
        Name or alias of a metric or an area, such as "pr_auc". None means expected cost if *cost* is given,
        recall if *alerts* is given, and F-beta otherwise.
    beta
        Weight of recall in F-beta, in [0, inf].
    cost
        Costs of a missed positive and of a false alarm, both >= 0, one of them above 0. An optional third
        number is the cost of reviewing an alert, right or wrong.
    alerts, volume
        Budget: at most *alerts* alerts among *volume* rows. Each model has the threshold within it that finds
        the most positives; of several, the highest.
    threshold
        Threshold of all models, without a budget of alerts. None takes each model's own best threshold.
    confidence
        Confidence that other rows keep the budget of *alerts* as well, whichever model is chosen, in
        (0.5, 1). None requires it of this log only.

    Raises
    ------
    ParameterError
        If a number is out of range, or options cannot be combined.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"], "threshold": 0.5, "tp": [600, 800], "fp": [10, 200], "fn": [400, 200],
    ...     "tn": [9990, 9800],
    ... })
    >>> question = nf.Question(prevalence=0.01, cost=(200, 5, 8), threshold=0.5)
    >>> answer = nf.compare_models(counts, prevalence=[0.005, 0.5], question=question).answer
    >>> answer.select("model", pl.col("value").round(3), "rank").rows()
    [('b', 0.721, 1), ('a', 0.861, 2)]
    """

    prevalence: float | None = None
    metric: str | None = None
    beta: float = 1.0
    cost: tuple[float, float] | tuple[float, float, float] | None = None
    alerts: float | None = None
    volume: float | None = None
    threshold: float | None = None
    confidence: float | None = None

    def __post_init__(self) -> None:
        """Check the types, ranges and combinations of the options."""
        for name in ("prevalence", "beta", "alerts", "volume", "threshold", "confidence"):
            given = getattr(self, name)
            check_allowed(given is None or _is_number(given), name, given, "a number or None")
        eta = self.prevalence
        check_allowed(eta is None or 0 < eta < 1, "prevalence", eta, "between 0 and 1, both excluded")
        allowed = eta is None or eta >= LEAST_PREVALENCE
        check_allowed(allowed, "prevalence", eta, f"at least {LEAST_PREVALENCE:g}")
        check_measure(self.metric, self.cost)
        if self.cost is not None:
            numbers = isinstance(self.cost, tuple | list) and all(map(_is_number, self.cost))
            check_allowed(numbers and len(self.cost) in (2, 3), "cost", self.cost, "two or three numbers")
            for cost in self.cost:
                check_cost("cost", cost)
            check_allowed(max(self.cost[:2]), "cost", self.cost, "two numbers >= 0, one of them above 0")
        volume = 1 if self.volume is None else self.volume
        check_allowed(0 < volume < float("inf"), "volume", volume, "a finite number > 0")
        # Raises before anything is counted if the metric is unknown or has no best value.
        better_sign(asked_metric(self.asked))
        area = curve_asked(self.asked)
        if area is not None and not isinstance(area, Area):
            msg = f"a report does not rank by {area.name!r}"
            known = ", ".join(repr(each.name) for each in all_areas())
            raise ParameterError(msg, hint=f"of areas it ranks by {known}")
        if area is None and not called_metric(self.asked).open:
            msg, hint = "the metric has a prevalence of its own", "give it to the question: prevalence=..."
            raise ParameterError(msg, found=repr(called_metric(self.asked).label), hint=hint)
        self._check_budget()

    def _check_budget(self) -> None:
        budget = f"e.g. {Option('alerts', 50)} {Option('volume', 1_000_000)}"
        if self.alerts is None:
            if self.confidence is not None:
                msg = "only a budget of alerts can be kept with confidence"
                found = f"confidence={self.confidence!r} without alerts"
                raise ParameterError(msg, found=found, hint=budget)
            return
        if self.volume is None:
            raise ParameterError("an alert budget needs both the alerts and the volume", hint=budget)
        if self.threshold is not None:
            msg = "a budget of alerts sets the threshold of each model, so none can be given"
            found = f"{Option('alerts', self.alerts)} {Option('threshold', self.threshold)}"
            raise ParameterError(msg, found=found, hint="omit one of them")
        check_budget(self.alerts, self.volume)
        if self.confidence is not None:
            check_confidence(self.confidence)
        if self.area is not None:
            msg = f"{self.area.name!r} has no threshold, so alerts cannot limit it"
            raise ParameterError(msg, hint="omit one of them")

    @property
    def asked(self) -> str | pl.Expr:
        """Metric of the question, as a name or an expression."""
        if self.cost is not None:
            missed, false, *review = self.cost
            return expected_cost(c_fp=false, c_fn=missed, c_alert=review[0] if review else 0)
        if self.metric is not None:
            return self.metric
        return "f_beta" if self.alerts is None else "recall"

    @property
    def area(self) -> Area | None:
        """Area of the question; None for a metric of operating points."""
        found = curve_asked(self.asked)
        return found if isinstance(found, Area) else None

    @property
    def f_beta(self) -> bool:
        """Whether the metric is F-beta."""
        return isinstance(self.asked, str) and find_metric(self.asked).name == "f_beta"

    @property
    def share(self) -> float | None:
        """Budget of alerts as a share of all rows; None without a budget."""
        return None if self.alerts is None or self.volume is None else self.alerts / self.volume

    @property
    def own(self) -> bool:
        """Whether each model has its own best threshold, chosen by the metric."""
        return self.alerts is None and self.threshold is None and self.area is None
