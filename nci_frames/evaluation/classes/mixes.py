"""The mixes of the classes at which counts are evaluated, and the costs of decisions."""

from collections.abc import Mapping, Sequence
from datetime import date
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.arguments import number_list
from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import Call, Option, listed
from nci_frames.base.typing import Floats
from nci_frames.counts.class_counts import GIVEN, scenarios_of
from nci_frames.evaluation.classes.class_log import ClassLog, ClassLogs, class_logs, collected
from nci_frames.schemas import CLASS_PRIORS
from nci_frames.schemas.checked import checked


class Given(NamedTuple):
    """The priors that are asked for."""

    #: The word, or the scenarios.
    word: str | None
    scenarios: dict[str, Floats]
    #: Which names are classes: they have rows, or a prior.
    classes: NDArray[np.bool_]
    #: Of scenarios that are estimates: how far below and above each share its bounds are, (2, names).
    errors: Mapping[str, Floats] = MappingProxyType({})

    def errors_of(self, mixes: list[tuple[str, Floats]]) -> Floats | None:
        """Return the errors of mixes by name, of shape (mixes, 2, names); None if there are none."""
        # A single scenario is that of counts whatever theirs is called.
        names = [*self.scenarios] * len(mixes) if len(self.scenarios) == 1 else [name for name, _ in mixes]
        found = [
            self.errors.get(name, np.zeros((2, len(mix))))
            for name, (_, mix) in zip(names, mixes, strict=True)
        ]
        return np.stack(found) if self.errors else None


def logs_and_priors(class_counts: pl.DataFrame | pl.LazyFrame, priors: Any) -> tuple[ClassLogs, Given]:
    """Return the groups of class counts, and the priors that are asked for, over the same classes.

    Raises
    ------
    ParameterError
        If a class has no prior, or priors are no shares.
    """
    frame = collected(class_counts)
    if isinstance(priors, str):
        logs = class_logs(frame)
        return logs, Given(priors, {}, logs.seen)
    scenarios = scenarios_of(priors)
    seen = frame.filter(pl.col("rows") > 0)["label"].unique().sort().to_list()
    for scenario, shares in scenarios.items():
        missing = [name for name in seen if name not in shares]
        if missing:
            msg = f"{Option('priors')} must have a share of every class"
            found = f"missing: {listed(map(repr, missing))}"
            raise ParameterError(msg, where=f"scenario {scenario!r}", found=found, hint="0 is a share")
    more = {name: None for shares in scenarios.values() for name in shares}
    logs = class_logs(frame, list(more))
    names = logs.names.to_list()
    given = {
        scenario: np.array([shares.get(name, 0.0) for name in names], np.float64)
        for scenario, shares in scenarios.items()
    }
    classes = np.any([logs.seen, *(shares > 0 for shares in given.values())], axis=0)
    return logs, Given(None, given, classes, _errors(priors, names))


def _errors(priors: Any, names: list[Any]) -> dict[str, Floats]:
    """Return how far the bounds of estimated shares are from them; nothing for a scenario without bounds."""
    if not isinstance(priors, pl.DataFrame | pl.LazyFrame):
        return {}
    frame = priors.lazy().collect()
    if not {"lower", "upper"} <= {*frame.columns}:
        return {}
    if "scenario" not in frame.columns:
        frame = frame.with_columns(scenario=pl.lit(GIVEN))
    below, above = pl.col("prior") - pl.col("lower"), pl.col("upper") - pl.col("prior")
    known = frame.select("scenario", "class", below=below, above=above).drop_nulls()
    found = {}
    for (scenario,), part in known.group_by("scenario", maintain_order=True):
        of_class = {name: far for name, *far in part.select("class", "below", "above").rows()}
        found[str(scenario)] = np.array([of_class.get(name, (0.0, 0.0)) for name in names], np.float64).T
    return found


def mixes_of(log: ClassLog, given: Given) -> list[tuple[str, Floats]]:
    """Return the name and the priors of each mix of a group."""
    own = log.group.get("scenario")
    if given.word is not None:
        shares = log.shares if given.word == "observed" else given.classes / max(given.classes.sum(), 1)
        return [(given.word if own is None else own, shares)]
    if own is None:
        return list(given.scenarios.items())
    if len(given.scenarios) == 1:
        return [(own, next(iter(given.scenarios.values())))]
    if own not in given.scenarios:
        msg = f"{Option('priors')} must be one mix, or have those of the counts"
        found = f"the counts have the scenario {own!r}, the priors {listed(map(repr, given.scenarios))}"
        raise ParameterError(msg, found=found)
    return [(own, given.scenarios[own])]


def cost_table(cost: Mapping[Any, Any] | None, logs: ClassLogs, *, needed: bool) -> Floats:
    """Return the cost of each decision for each class.

    Raises
    ------
    ParameterError
        If costs are needed and not given, are no finite numbers, or name what the counts do not have.
    """
    names = logs.names.to_list()
    table = np.zeros((len(names), len(names)))
    if cost is None:
        if needed:
            hint = f"give {Call('cost={(label, decision): cost}', '--class-cost LABEL:DECISION=COST')}"
            raise ParameterError("'expected_cost' needs costs", hint=hint)
        return table
    for pair, value in cost.items():
        if not (isinstance(pair, tuple) and len(pair) == 2):
            raise ParameterError("cost must be {(label, decision): cost}", found=repr(pair))
        if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
            raise ParameterError("costs must be finite numbers", found=f"{value!r} of {pair!r}")
        for name in pair:
            if name not in names:
                known = listed(map(repr, names), 20)
                raise ParameterError("a cost names an unknown class or decision", found=repr(name),
                                     hint=f"known are {known}")  # fmt: skip
        table[names.index(pair[0]), names.index(pair[1])] = value
    return table


@checked
def vary_class_share(
    class_counts: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    of: str | float | bool | date,
    shares: float | Sequence[float],
) -> pl.DataFrame:
    """Return mixes in which one class has given shares, and the others keep their proportions.

    Parameters
    ----------
    class_counts
        Class counts of a labelled log, whose rows, or weights, give the proportions.
    of
        The class whose share varies.
    shares
        Its shares, each in [0, 1].

    Returns
    -------
    Priors for ``project_classes``, a scenario for each share, named after it:

    %(columns of class priors)s

    Raises
    ------
    ParameterError
        If there are no rows of the class, or of no other; or a share is outside [0, 1].
    SchemaError
        If *class_counts* are no counts of a labelled log.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 1, 1, 1, 2], "decision": [0, 1, 1, 2, 2]})
    >>> nf.vary_class_share(nf.count_classes(log), of=0, shares=0.6).rows()
    [('0.6', 0, 0.6), ('0.6', 1, 0.30000000000000004), ('0.6', 2, 0.1)]
    """
    logs = class_logs(collected(class_counts))
    names = logs.names.filter(pl.Series(logs.seen))
    rows = np.sum([log.total.sum(axis=1) for log in logs.logs] or [np.zeros(len(logs.names))], axis=0)[
        logs.seen
    ]
    mine = np.array([name == of for name in names.to_list()], np.bool_)
    if not mine.any() or mine.all():
        msg = f"{Option('of')} must be one of several classes with rows"
        raise ParameterError(msg, found=f"{of!r}; the classes are {listed(map(repr, names), 20)}")
    parts = []
    for share in number_list(shares):
        if not 0 <= share <= 1:
            raise ParameterError.out_of_range("shares", share, "within [0, 1]")
        prior = np.where(mine, share, (1 - share) * rows / rows[~mine].sum())
        parts.append(
            names.alias("class")
            .to_frame()
            .with_columns(pl.lit(f"{share:.12g}").alias("scenario"), prior=prior)
        )
    if not parts:
        raise ParameterError.out_of_range("shares", shares, "at least one number")
    return CLASS_PRIORS.finish(pl.concat(parts).unique(maintain_order=True))
