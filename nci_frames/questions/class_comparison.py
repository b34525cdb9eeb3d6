"""Class counts of a log and a question -> every table of the answer, computed on first access."""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from nci_frames.base.arguments import LEAST_BUCKETS, beta_value
from nci_frames.base.errors import SchemaError
from nci_frames.base.typing import Frame
from nci_frames.counts.class_counts import GIVEN, Priors, added_rows, scenarios_of
from nci_frames.evaluation.classes.class_log import collected, rates_of
from nci_frames.evaluation.classes.class_winners import winners_along
from nci_frames.evaluation.classes.compare_class_models import compare_class_models
from nci_frames.evaluation.classes.mixes import at_shares, read_mixes
from nci_frames.evaluation.classes.project_classes import matrix_at, project_classes
from nci_frames.evaluation.metrics.classes import class_metric, metric_of_all
from nci_frames.evaluation.projection.ranking import rank_models
from nci_frames.questions.chosen_model import for_the_first
from nci_frames.questions.compared import computed
from nci_frames.questions.order import Lead, read_leads
from nci_frames.questions.question import check_measure
from nci_frames.questions.units import with_names
from nci_frames.schemas import BUCKET, CLASS_COUNTS, checked

#: Largest number of values along the shares of all classes; of classes with so many, as a value takes time by
#: the square of the classes; and of steps along each share.
_MOST_VALUES, _CLASSES, _STEPS, _FEWEST = 12_000, 40, 50, 10


@checked
def compare_classes(
    class_counts: Frame,
    /,
    *,
    priors: Priors = "observed",
    metric: str | None = None,
    beta: float = 1.0,
    cost: Mapping[Any, float] | None = None,
) -> "ClassComparison":
    """Compare the models of a log of decisions among classes at a class mix.

    Parameters
    ----------
    class_counts
        Class counts of a labelled log. With the key ``bucket`` of ``unit_buckets``, models are compared on
        the same units, and intervals resample whole units; all other keys are pooled.
    priors
        The mix, as in ``project_classes``; "observed" is the mix of the rows of all models together. The
        first of several scenarios is the one of the question; the others are compared as well.
    metric
        Metric over all classes to rank by. By default "expected_cost" if *cost* is given, and "macro_f_beta"
        otherwise.
    beta, cost
        As in ``project_classes``.

    Returns
    -------
    A ClassComparison, for ``write_report``. Each of its tables is computed on first access.

    Raises
    ------
    ParameterError
        If the metric is one of each class, or another one than "expected_cost" is given with *cost*; if a mix
        lacks a class; or if an option is out of range.
    UnknownMetricError
        If the metric is unknown.
    SchemaError
        If *class_counts* are not counts of a labelled log, have no rows, or a model name is null.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a"] * 4 + ["b"] * 4, "label": ["cat", "cat", "dog", "dog"] * 2,
    ...     "decision": ["cat", "dog"] * 4, "rows": [90, 10, 30, 70, 60, 40, 10, 90],
    ... })
    >>> comparison = nf.compare_classes(counts, priors={"cat": 0.1, "dog": 0.9}, metric="accuracy")
    >>> comparison.answer.select("model", pl.col("value").round(2), "rank").rows()
    [('b', 0.87, 1), ('a', 0.72, 2)]
    >>> comparison.winners.filter(pl.col("class") == "cat").select(pl.col("end").round(9), "model").rows()
    [(0.4, 'b'), (1.0, 'a')]
    """
    return ClassComparison(class_counts, priors, metric, beta, cost)


class ClassComparison:
    """Result of ``compare_classes``: the question, and every table of a report as an attribute.

    Each table is computed once, on first access; ``tables`` has them all.
    """

    def __init__(self, class_counts: Frame, priors: Any, metric: str | None, beta: float, cost: Any) -> None:
        known = metric_of_all(metric or ("macro_f_beta" if cost is None else "expected_cost"))
        check_measure(known.name, cost)
        #: The question, its options for ``project_classes``, and the metric in words.
        self.metric, self.beta, self.cost = known.name, beta_value(beta), cost
        self.asked: dict[str, Any] = {"beta": self.beta, "cost": cost}
        self.measure = known.in_words(self.beta)
        frame = with_names(collected(class_counts, scenarios=False))
        if frame["model"].has_nulls():
            raise SchemaError.unnamed_model()
        by = [name for name in ("model", BUCKET, "weight", "label", "decision") if name in frame.columns]
        #: Counts by bucket of units if there are any, and counts by weight, class and decision.
        self.by_unit = CLASS_COUNTS.finish(added_rows(frame, by))
        self.counts = CLASS_COUNTS.finish(added_rows(frame, [name for name in by if name != BUCKET]))
        #: Number of buckets of units; None if rows are independent.
        self.buckets: int | None = frame[BUCKET].n_unique() if BUCKET in by else None
        #: Whether there are enough buckets for intervals and tests.
        self.by_units = (self.buckets or 0) >= LEAST_BUCKETS
        self.models: list[str] = frame["model"].unique().sort().to_list()
        #: Whether the models are compared on the same units.
        self.tested = self.by_units and len(self.models) > 1 and self.counts.schema["rows"].is_integer()
        given = scenarios_of(priors)
        logs, mixes = read_mixes(self.counts, given | {"observed": "observed", "uniform": "uniform"} | given)
        if not logs.rows.sum():
            raise SchemaError("there are no rows to compare", hint="count a log that has rows")
        #: The classes, sorted, and their names as text.
        self.names: pl.Series = logs.names.filter(pl.Series(mixes.classes))
        self.classes: list[str] = self.names.cast(pl.String).to_list()
        shares = np.where(np.isnan(mixes.priors), rates_of(logs.rows), mixes.priors)[:, mixes.classes]
        #: The share of each class in every mix, by name of the mix; the mix of the question is first.
        named = zip(mixes.names, shares.tolist(), strict=True)
        self.mixes = {name: dict(zip(self.names, mix, strict=True)) for name, mix in named}
        #: The mix of the question: its name, and the share of each class, by class and by class name.
        self.scenario, self.mix = next(iter(self.mixes.items()))
        #: Whether the user gave it this name, which may be that of another mix, as "uniform".
        self.named = self.scenario != GIVEN and given[self.scenario] != self.scenario
        self.shares = dict(zip(self.classes, self.mix.values(), strict=True))
        #: Names of the classes whose share can vary, as other classes have a share.
        self.varied = [name for name, share in self.shares.items() if share < 1]
        #: The mix of the question; a frame may have other mixes, and bounds of estimated shares.
        self.asked_priors: Any = priors if isinstance(priors, Frame) else {self.scenario: self.mix}

    @computed
    def answer(self) -> pl.DataFrame:
        """The models at the mix of the question, best first.

        ``model``, ``metric``, ``value``, ``lower``, ``upper``, ``rank``, ``gap``, ``distinguishable`` (from
        the best; null if the log cannot tell, or has no units), ``supported``, ``reason``. The bounds of the
        first model allow for its choice.
        """
        found = self.ranked(self.asked_priors, interval="delta").filter(scenario=self.scenario)
        apart = pl.lit(None, pl.Boolean)
        if self.tested:
            first = found["model"][0]
            pairs = compare_class_models(self.by_unit, metric=self.metric, priors=self.mix, **self.asked)
            each = pairs.select("model_a", "model_b", "distinguishable").rows()
            known = {b if a == first else a: differ for a, b, differ in each if first in (a, b)}
            apart = pl.col("model").replace_strict(known, default=None, return_dtype=pl.Boolean)
        told = pl.when(pl.col("rank") > 1).then(apart).alias("distinguishable")
        of_value = ("model", "metric", "value", "lower", "upper", "rank", "gap")
        return found.select(*of_value, told, "supported", "reason")

    @property
    def leading(self) -> list[str]:
        """Names of the models, best first at the mix of the question."""
        return self.answer["model"].to_list()

    @computed
    def other_mixes(self) -> pl.DataFrame:
        """The models at every mix, ranked: the question's, other scenarios, the log's own, uniform."""
        order = pl.col("scenario").cast(pl.Enum([*self.mixes]))
        found = self.ranked(self.mixes).sort(order, "rank", "model", nulls_last=True)
        return found.select("scenario", "model", "value", "rank", "gap", "supported", "reason")

    @computed
    def of_each_class(self) -> pl.DataFrame:
        """Precision, recall and F-beta of each class at this mix, with bounds: see ``project_classes``."""
        metrics = ("precision", "recall", "f_beta")
        return self._projected(self.asked_priors, metrics, interval="delta").filter(scenario=self.scenario)

    @computed
    def matrix(self) -> pl.DataFrame:
        """Rows of each class and decision, and their shares of the class and of the mix."""
        return matrix_at(self.counts, self.mix)[0]

    @computed
    def winners(self) -> pl.DataFrame:
        """Exact ranges of the best model over the share of each class, with the others in proportion.

        ``class`` (as text), ``start``, ``end``, ``model``, ``tied``. Raises SchemaError if there is only one
        class.
        """
        if not self.varied:
            hint = "add rows of other classes; project_classes evaluates a single class"
            found = f"the class {self.classes[0]!r}"
            raise SchemaError("no other class has a share to vary", found=found, hint=hint)
        lines = {name: (self._mix_at(name, 0.0), self._mix_at(name, 1.0)) for name in self.varied}
        return winners_along(self.counts, lines, metric=self.metric, **self.asked)

    @cached_property
    def leads(self) -> dict[str, list[Lead]]:
        """The leading models along the share of each class; empty if no model has a value."""
        parts = self.winners.partition_by("class", maintain_order=True, as_dict=True)
        read = {str(name): read_leads(part, low=0, high=1) for (name,), part in parts.items()}
        return {name: [lead for lead in leads if lead.models[0] is not None] for name, leads in read.items()}

    def _mix_at(self, name: str, share: float) -> dict[Any, float]:
        """Return the mix in which a class has this share, with the others in proportion."""
        mix = at_shares(np.array([*self.mix.values()]), share)[self.classes.index(name)]
        return dict(zip(self.names, mix.tolist(), strict=True))

    @cached_property
    def changing(self) -> list[str]:
        """Classes whose share changes the best model, nearest change first."""
        own, found = self.shares, self.leads
        several = [name for name, leads in found.items() if len(leads) > 1]
        return sorted(several, key=lambda name: min(abs(lead.start - own[name]) for lead in found[name][1:]))

    @cached_property
    def moved(self) -> list[str]:
        """Classes whose share a page moves: of many, those that change the best model, then the largest."""
        largest = sorted(self.varied, key=lambda name: -self.shares[name])
        # The largest number n with n(n + fewest steps) values of each model.
        most = int(math.sqrt(self._most_values + _FEWEST**2 / 4) - _FEWEST / 2)
        kept = [*dict.fromkeys([*self.changing, *largest])][: max(1, most)]
        return [name for name in self.varied if name in kept]

    @property
    def _most_values(self) -> float:
        """Largest number of values of each model."""
        return _MOST_VALUES * min(1.0, _CLASSES / len(self.classes)) ** 2 / len(self.models)

    @cached_property
    def places(self) -> list[float]:
        """Positions of the share slider of a page: even steps, and the shares of the mix."""
        own = [self.shares[name] for name in self.moved]
        steps = int(max(_FEWEST, min(_STEPS, self._most_values / len(own) - len(own))))
        return sorted({*np.linspace(0, 1, steps + 1).tolist(), *own})

    @computed
    def curves(self) -> pl.DataFrame:
        """The models at ``places`` of the share of each class of ``moved``, the others in proportion, ranked.

        ``class`` (as text), ``share``, ``model``, ``value``, ``lower``, ``upper``, ``rank``, ``supported``,
        ``reason``.
        """
        places = [(name, share) for name in self.moved for share in self.places]
        mixes = {str(number): self._mix_at(*place) for number, place in enumerate(places)}
        at = pl.DataFrame(places, ["class", "share"], orient="row").with_columns(scenario=pl.Series([*mixes]))
        # One call for all mixes reads the log once.
        found = self.ranked(mixes, interval="delta").drop("class").join(at, on="scenario")
        columns = ["class", "share", "model", "value", "lower", "upper", "rank", "supported", "reason"]
        return found.select(columns).sort("class", "share", "rank", "model", nulls_last=True)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Every table by its name."""
        names = ("answer", "other_mixes", "of_each_class", "matrix", "winners", "curves")
        return {name: getattr(self, name) for name in names}

    def ranked(self, priors: Any, **interval: Any) -> pl.DataFrame:
        """Return the models at several mixes, ranked; the bounds of the first allow for its choice."""
        ranked = rank_models(self._projected(priors, self.metric, **interval))
        return for_the_first(ranked, class_metric(self.metric), at="scenario")

    def _projected(self, priors: Any, metrics: str | Sequence[str], **interval: Any) -> pl.DataFrame:
        counts = self.by_unit if interval and self.by_units else self.counts
        return project_classes(counts, priors=priors, metrics=metrics, **self.asked, **interval)
