"""Options of a report on decisions among more than two classes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nci_frames.options.kinds import Kind, named_numbers
from nci_frames.options.setting import setting


def _priors(value: Any) -> Any:
    if not isinstance(value, str) or value in ("observed", "uniform"):
        return value
    if value.lower().endswith((".csv", ".parquet")):
        return Path(value)
    return named_numbers(value, "CLASS=SHARE,CLASS=SHARE")


def _costs(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    form = "LABEL:DECISION=COST,LABEL:DECISION=COST"
    costs = {tuple(pair.split(":", 1)): cost for pair, cost in named_numbers(value, form).items()}
    for pair in costs:
        if len(pair) < 2:
            raise ValueError(f"{pair[0]!r} names no label and decision: write {form}")
    return costs


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassOptions:
    """The mix of the classes at which models are compared, and the costs of decisions."""

    priors: Any = setting(
        Kind("mix or file", _priors, {}),
        "With --classes: mix of the classes: observed, uniform, shares such as cat=0.1,dog=0.9, or a CSV "
        "or Parquet file with the columns class, prior and, optionally, scenario; the first scenario is "
        "the one to choose at.",
        default="observed",
    )
    class_cost: Any = setting(
        Kind("label:decision=cost", _costs, {}),
        "With --classes: choose by expected cost, given the costs of decisions, e.g. "
        "cat:dog=5,dog:cat=1; all others cost nothing.",
    )
