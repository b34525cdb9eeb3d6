"""The mixes of the classes at which counts are evaluated, and the costs of decisions."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.arguments import share_values
from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import Call, Option, listed
from nci_frames.base.typing import Floats
from nci_frames.counts.class_counts import scenarios_of, with_scenario
from nci_frames.evaluation.classes.class_log import ClassLog, ClassLogs, class_logs, collected
from nci_frames.schemas import CLASS_PRIORS
from nci_frames.schemas.checked import checked


class Mixes(NamedTuple):
    """Some mixes of the classes."""

    #: Their names.
    scenarios: list[str]
    #: The shares of the classes: (mixes, names).
    priors: Floats
    #: Of estimates, how far below and above each share its bounds are: (mixes, 2, names).
    errors: Floats | None = None

    def only(self, scenario: str) -> "Mixes":
        """Return one of them."""
        place = [self.scenarios.index(scenario)]
        return Mixes([scenario], self.priors[place], None if self.errors is None else self.errors[place])


class Given(NamedTuple):
    """The priors that are asked for: a word, or mixes."""

    asked: str | Mixes
    #: Which names are classes: they have rows, or a prior.
    classes: NDArray[np.bool_]


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
        return logs, Given(priors, logs.seen)
    seen = frame.filter(pl.col("rows") > 0)["label"].unique().sort().to_list()
    scenarios = scenarios_of(priors, seen)
    more = {name: None for shares in scenarios.values() for name in shares}
    logs = class_logs(frame, list(more))
    names = logs.names.to_list()
    given = np.array([[shares.get(name, 0.0) for name in names] for shares in scenarios.values()], np.float64)
    asked = Mixes(list(scenarios), given, _errors(priors, scenarios, names))
    return logs, Given(asked, logs.seen | (given > 0).any(axis=0))


def _errors(priors: Any, scenarios: Iterable[str], names: list[Any]) -> Floats | None:
    """Return how far the bounds of estimated shares are from them, 0 for a share without bounds."""
    frame = priors.lazy().collect() if isinstance(priors, pl.DataFrame | pl.LazyFrame) else pl.DataFrame()
    if not {"lower", "upper"} <= {*frame.columns}:
        return None
    known = with_scenario(frame).select(
        pl.col("scenario").cast(pl.String), "class",
        below=pl.col("prior") - pl.col("lower"), above=pl.col("upper") - pl.col("prior"),
    )  # fmt: skip
    far = {(name, of): sides for name, of, *sides in known.drop_nulls().rows()}
    errors = [[far.get((scenario, name), (0.0, 0.0)) for name in names] for scenario in scenarios]
    return np.array(errors, np.float64).swapaxes(1, 2)


def mixes_of(log: ClassLog, given: Given) -> Mixes:
    """Return the mixes of a group."""
    own, asked = log.group.get("scenario"), given.asked
    if isinstance(asked, str):
        shares = log.shares if asked == "observed" else given.classes / max(given.classes.sum(), 1)
        return Mixes([asked if own is None else own], shares[None])
    if own is None:
        return asked
    if len(asked.scenarios) == 1:
        return asked._replace(scenarios=[own])
    if own not in asked.scenarios:
        msg = f"{Option('priors')} must be one mix, or have those of the counts"
        found = f"the counts have the scenario {own!r}, the priors {listed(map(repr, asked.scenarios))}"
        raise ParameterError(msg, found=found)
    return asked.only(own)


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
    Priors for ``project_classes``, a scenario for each share, ascending and named after it:

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
    every = share_values("shares", shares)
    logs = class_logs(collected(class_counts))
    names, rows = logs.names.filter(pl.Series(logs.seen)), logs.rows[logs.seen]
    mine = np.array([name == of for name in names.to_list()], np.bool_)
    if not mine.any() or mine.all():
        msg = f"{Option('of')} must be one of several classes with rows"
        raise ParameterError(msg, found=f"{of!r}; the classes are {listed(map(repr, names), 20)}")
    each = np.array(every)[:, None]
    priors = np.where(mine, each, (1 - each) * rows / rows[~mine].sum())
    parts = (
        pl.DataFrame({"scenario": f"{share:.12g}", "class": names, "prior": mix})
        for share, mix in zip(every, priors, strict=True)
    )
    return CLASS_PRIORS.finish(pl.concat(parts))
