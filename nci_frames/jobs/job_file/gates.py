"""Gates of a job file: conditions that each run must meet."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import core_schema

from nci_frames.base.errors import NciFramesError
from nci_frames.evaluation.areas.area import Area
from nci_frames.evaluation.metrics import asked_metric, called_metric
from nci_frames.options.kinds import as_number


@contextmanager
def as_problem() -> Iterator[None]:
    """Convert an error of this package into one of pydantic, which adds the key of the file."""
    try:
        yield
    except NciFramesError as error:
        raise ValueError("; ".join(filter(None, (error.what, error.hint)))) from error


def passing(check: Callable[[Any], object]) -> AfterValidator:
    """Return a validator that accepts values for which *check* does not raise."""

    def checked(value: Any) -> Any:
        with as_problem():
            check(value)
        return value

    return AfterValidator(checked)


S = TypeVar("S", bound=Sequence[object])


def _distinct(values: S) -> S:
    for value in values:
        if values.count(value) > 1:
            raise ValueError(f"{value!r} is given twice")
    return values


def _no_nan(value: float) -> float:
    if math.isnan(value):
        raise ValueError("a threshold is a number")
    return value


class _Written:
    """Marker of a number that may also be a string such as `1/5000`, `0.02%` or `1M`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        return core_schema.no_info_before_validator_function(as_number, handler(source))

    def __get_pydantic_json_schema__(self, core: Any, handler: Callable[[Any], Any]) -> dict[str, Any]:
        found = handler(core)
        return {**found, "type": [found["type"], "string"]}


#: Validator of a list without duplicates.
Distinct = AfterValidator(_distinct)
Number = Annotated[float, _Written()]
Probability = Annotated[float, Field(ge=0, le=1), _Written()]
Level = Annotated[float, Field(gt=0, lt=1, description="Confidence level of the bounds."), _Written()]
#: Decision threshold (score >= threshold is positive); it may be infinite.
Threshold = Annotated[float, AfterValidator(_no_nan), _Written()]
Finite = Annotated[float, Field(allow_inf_nan=False), _Written()]
#: Maximum change.
Change = Annotated[float, Field(allow_inf_nan=False, ge=0), _Written()]
#: The kinds of conditions; a gate has exactly one.
_PROMISES = ("value_threshold", "change_threshold", "champion")


class Model(BaseModel):
    """A table of a job file; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    @model_validator(mode="after")
    def _no_contradictions(self) -> Self:
        for problem, there in self.contradictions().items():
            if there:
                raise ValueError(problem)
        return self

    def contradictions(self) -> dict[str, bool]:
        """Return the possible problems between keys of the table, and whether each of them is there."""
        return {}


class ValueThreshold(Model):
    """Range of the value: `lower`, `upper`, or both."""

    lower: Finite | None = None
    upper: Finite | None = None

    def contradictions(self) -> dict[str, bool]:
        """Return the problems of the bounds."""
        low, high = self.lower, self.upper
        return {
            "give lower, upper, or both": low is None and high is None,
            "lower must not be above upper": low is not None and high is not None and low > high,
        }


class ChangeThreshold(Model):
    """Maximum deterioration of the value since the last good run."""

    absolute: Change | None = None
    #: Share of the earlier value.
    relative: Change | None = None
    direction: Literal["higher_is_better", "lower_is_better"] | None = None
    """Direction of improvement; by default that of the metric."""

    def contradictions(self) -> dict[str, bool]:
        """Return the problem of the limits."""
        return {"give either absolute or relative": (self.absolute is None) == (self.relative is None)}


class Champion(Model):
    """Model that must be the best one at these prevalences."""

    model: str
    prevalence: Annotated[list[Probability], Field(min_length=1), Distinct]


def _bounded(name: str) -> None:
    """Refuse a metric without bounds."""
    found = asked_metric(name)
    # Areas over a range cannot be resampled.
    bounded = isinstance(found, Area) if found.kind == "curve" else found.monotone
    if found.kind != "curve":
        called_metric(name)
    if not bounded:
        raise ValueError(f"{name} has no bounds that a gate could be judged on")


class Gate(Model):
    """One condition on a metric of each model, or on the best model."""

    name: Annotated[str, Field(min_length=1)]
    """Name of the gate in verdicts."""
    metric: Annotated[str, passing(_bounded)] = "pr_auc"
    """Metric such as precision or f_beta, or area such as pr_auc."""
    models: Annotated[tuple[str, ...], Distinct] = ()
    """Models to check; all if empty."""
    segments: Annotated[tuple[str, ...], Distinct] = ()
    """Keys whose segments are checked, each separately; if empty, all rows together are checked."""
    scenario: str | None = None
    """Name of a scenario that gives the prevalence."""
    prevalence: Probability | Literal["observed"] = "observed"
    """P(y=1) at which to check."""
    beta: Annotated[float, Field(ge=0), _Written()] = 1.0
    """Weight of recall, for metrics that depend on it."""
    threshold: Threshold | None = None
    """Decision threshold; by default that of the report."""
    level: Level = 0.95
    min_positives: Annotated[int, Field(ge=0), _Written()] = 1
    """With fewer positives or negatives (independent ones, if there are units), the gate is undecided."""
    severity: Literal["block", "warn"] = "block"
    """Effect of a failure: "block" ends the run with exit code 10."""
    undecided: Literal["warn", "fail"] = "warn"
    """Effect of an undecided gate: "fail" ends the run with exit code 11."""
    window: Literal["all", "last"] = "all"
    """Rows to check: all reported rows, or only the last window."""
    sequential: bool = False
    """Use a test that stays valid when repeated every night."""
    owner: str | None = None
    """Owner named in the summary of incidents."""
    tags: Annotated[tuple[str, ...], Distinct] = ()
    """Tags of incidents."""
    value_threshold: ValueThreshold | None = None
    change_threshold: ChangeThreshold | None = None
    champion: Champion | None = None

    @property
    def kind(self) -> str:
        """The kind of condition."""
        return next(name for name in _PROMISES if getattr(self, name) is not None)

    @property
    def worse_above(self) -> bool:
        """Whether a larger value is worse."""
        named = None if self.change_threshold is None else self.change_threshold.direction
        less = asked_metric(self.metric).direction == "minimize"
        return less if named is None else named == "lower_is_better"

    def contradictions(self) -> dict[str, bool]:
        """Return the problems of the metric, of the condition, and of a sequential gate."""
        found, value, change = asked_metric(self.metric), self.value_threshold, self.change_threshold
        bounds = [] if value is None else [bound for bound in (value.lower, value.upper) if bound is not None]
        outside = [bound for bound in bounds if not found.lower <= bound <= found.upper]
        limits = change or ChangeThreshold(absolute=0)
        # A value that is never negative falls by its whole at most.
        vanishes = not self.worse_above and found.lower >= 0 and (limits.relative or 0) > 1
        endless = vanishes or (limits.absolute or 0) > found.upper - found.lower
        scenario, own = self.scenario is not None, self.prevalence != "observed"
        leads, elsewhere = self.champion is not None, scenario or own
        directed = leads or (change is not None and change.direction is None)
        aimless = directed and found.direction == "target"
        sequential, last = self.sequential, self.window == "last"
        no_share = sequential and (value is None or found.name not in ("recall", "fpr"))
        kinds = sum(getattr(self, name) is not None for name in _PROMISES)
        span = f"which is {found.lower:g} to {found.upper:g}"
        return {
            **{f"{bound:g} is no value of {self.metric}, {span}": True for bound in outside},
            f"{self.metric}, {span}, cannot get worse by more than the limit; 20 % is 0.2": endless,
            f"{self.metric} is neither better nor worse when higher": aimless,
            "give one of value_threshold, change_threshold and champion": kinds != 1,
            "give either scenario or prevalence": scenario and own,
            "a champion has prevalences of its own: omit scenario and prevalence": leads and elsewhere,
            "a champion is compared with all other models: omit models": leads and self.models != (),
            "sequential needs a value_threshold of recall or fpr, which are shares of rows": no_share,
            "sequential takes one bound: lower or upper": sequential and len(bounds) > 1,
            'sequential counts all rows since the beginning: omit window = "last"': sequential and last,
        }

    @property
    def of_class(self) -> Literal["positives", "negatives"]:
        """The class whose rows a sequential gate counts."""
        return "negatives" if asked_metric(self.metric).name == "fpr" else "positives"
