"""The mixes of classes at which metrics are evaluated, and the costs of decisions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np
import polars as pl

from nci_frames.base.arguments import beta_value, share_values
from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import Call, Option, listed
from nci_frames.base.typing import Flags, Floats, Frame
from nci_frames.counts.class_counts import by_scenario, read_priors, scenarios_of
from nci_frames.evaluation.classes.class_log import ClassLog, ClassLogs, class_logs, collected, rates_of
from nci_frames.evaluation.metrics.classes import ClassMetric, Mix
from nci_frames.schemas import CLASS_PRIORS, checked, collect, need_in_bounds


@dataclass(frozen=True, slots=True)
class Mixes:
    """The mixes of classes at which metrics are evaluated, with beta and costs."""

    names: list[str]
    #: Shares of the classes, of shape (mixes, names); NaN for the observed shares of each group.
    priors: Floats
    #: Which names are classes: those with rows or a share.
    classes: Flags
    beta: float
    cost: Floats
    #: Distances of estimated shares to their lower and upper bounds, of shape (mixes, 2, names).
    errors: Floats | None = None

    def __getitem__(self, some: slice) -> "Mixes":
        """Return some of the mixes."""
        errors = None if self.errors is None else self.errors[some]
        return replace(self, names=self.names[some], priors=self.priors[some], errors=errors)

    def of(self, log: ClassLog) -> "Mixes":
        """Return the mixes of a group; for a group with a scenario, the mix of that name, or the only one."""
        observed = rates_of(log.total.sum(axis=1))
        every = replace(self, priors=np.where(np.isnan(self.priors), observed, self.priors))
        own = log.group.get("scenario")
        if own is None:
            return every
        if own in self.names:
            place = self.names.index(own)
            return every[place : place + 1]
        if len(self.names) > 1:
            msg = f"{Option('priors')} must be one mix, or have those of the counts"
            found = f"the counts have the scenario {own!r}, the priors {listed(map(repr, self.names))}"
            raise ParameterError(msg, found=found)
        return replace(every, names=[own])

    def mix(self, rates: Floats) -> Mix:
        """Return the inputs of metrics for rates of shape (..., names, names), NaN without rows."""
        priors = np.broadcast_to(self.priors, np.broadcast_shapes(self.priors.shape, rates.shape[:-1]))
        recall, _ = np.broadcast_arrays(np.diagonal(rates, axis1=-2, axis2=-1), priors)
        known = np.nan_to_num(rates)
        told = np.where((priors != 0) & np.isnan(recall), np.nan, 0.0).sum(axis=-1)
        decided = np.einsum("...c,...cd->...d", priors, known) + told[..., None]
        ahead = np.einsum("...c,...cd->...d", priors, recall[..., None, :] - known)
        paid = np.einsum("...c,...c->...", priors, (known * self.cost).sum(axis=-1)) + told
        return Mix(priors, recall, decided, ahead, paid, self.classes, self.beta)

    def value(self, metric: ClassMetric, rates: Floats) -> Floats:
        """Return a metric at rates of shape (..., names, names), with a last axis for its outputs."""
        return np.asarray(metric.values(self.mix(rates)))

    def range(self, metric: ClassMetric) -> tuple[float, float]:
        """Return the range of a metric."""
        paid = metric.name == "expected_cost"
        return (float(self.cost.min()), float(self.cost.max())) if paid else (metric.lower, metric.upper)


def at_shares(mix: Floats, shares: Floats | float) -> Floats:
    """Return the mixes in which one class has its share, and the others keep their proportions.

    The shape is (..., classes, classes): one mix for each class. A mix of a single class stays unchanged.
    """
    alone = np.eye(mix.shape[-1], dtype=np.bool_)
    mixes, share = np.broadcast_arrays(mix[..., None, :], np.asarray(shares)[..., None])
    others = np.where(alone, 0.0, mixes)
    rest = others.sum(axis=-1, keepdims=True)
    return np.where(rest > 0, np.where(alone, share, (1 - share) * others / rest), mixes)


def read_mixes(
    class_counts: Frame,
    priors: Any,
    metrics: Sequence[ClassMetric] = (),
    *,
    beta: float = 1.0,
    cost: Mapping[Any, float] | None = None,
) -> tuple[ClassLogs, Mixes]:
    """Return the groups of class counts and the requested mixes, over the same classes.

    Raises
    ------
    ParameterError
        If a class has no prior, or priors are not shares; or if costs are needed but missing, are not finite,
        or name unknown classes or decisions.
    """
    frame, given = collected(class_counts), scenarios_of(priors)
    named = (name for shares in given.values() if not isinstance(shares, str) for name in shares)
    logs = class_logs(frame, list(dict.fromkeys(named)))
    names, observed = logs.names.to_list(), np.full(len(logs.names), np.nan)
    table = np.stack([*read_priors(given, logs.names, observed=observed, needed=logs.seen).values()])
    classes = logs.seen | (table > 0).any(axis=0)
    costs = _cost_table(cost, names, needed=any(metric.name == "expected_cost" for metric in metrics))
    return logs, Mixes([*given], table, classes, beta_value(beta), costs, _errors(priors, names))


def _errors(priors: Any, names: list[Any]) -> Floats | None:
    """Return the distances of estimated shares to their bounds; 0 for a share without bounds."""
    if not (isinstance(priors, Frame) and {"lower", "upper"} <= {*priors.collect_schema()}):
        return None
    frame = collect(priors, CLASS_PRIORS)
    need_in_bounds(frame, "prior", "an estimated share", ["class"])
    sides = (pl.col("prior") - pl.col("lower"), pl.col("upper") - pl.col("prior"))
    far = [by_scenario(frame.with_columns(prior=side.fill_null(0.0))).values() for side in sides]
    errors = [[[shares.get(name, 0.0) for name in names] for shares in side] for side in far]
    return np.array(errors).swapaxes(0, 1)


def _cost_table(cost: Mapping[Any, float] | None, names: list[Any], *, needed: bool) -> Floats:
    """Return the cost of each decision for each class.

    Raises
    ------
    ParameterError
        If costs are needed but missing, are not finite, or name unknown classes or decisions.
    """
    if cost is None and needed:
        hint = f"give {Call('cost={(label, decision): cost}', '--class-cost LABEL:DECISION=COST')}"
        raise ParameterError("'expected_cost' needs costs", hint=hint)
    table = np.zeros((len(names), len(names)))
    for pair, value in (cost or {}).items():
        if not (isinstance(pair, tuple) and len(pair) == 2):
            raise ParameterError("cost must be {(label, decision): cost}", found=repr(pair))
        if not np.isfinite(value):
            raise ParameterError("costs must be finite numbers", found=f"{value!r} of {pair!r}")
        table[tuple(place_of_class("a cost", name, names) for name in pair)] = value
    return table


def place_of_class(what: str, name: Any, names: list[Any]) -> int:
    """Return the place of a class or decision; raise ParameterError if *what* names an unknown one."""
    if name in names:
        return names.index(name)
    msg, known = f"{what} names an unknown class or decision", listed(map(repr, names), 20)
    raise ParameterError(msg, found=repr(name), hint=f"known are {known}")


@checked
def vary_class_share(
    class_counts: Frame, /, *, of: str | float | bool | date, shares: float | Sequence[float]
) -> pl.DataFrame:
    """Return mixes in which one class has given shares, and the others keep their proportions.

    Parameters
    ----------
    class_counts
        Class counts of a labelled log; their rows, or weights, give the proportions.
    of
        The class whose share varies.
    shares
        Shares of the class, each in [0, 1].

    Returns
    -------
    Priors for ``project_classes``, with one scenario per share, ascending and named after it:

    %(columns of class priors)s

    Raises
    ------
    ParameterError
        If the class, or all others, have no rows; or if a share is outside [0, 1].
    SchemaError
        If *class_counts* are not class counts of a labelled log.

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
    if len(names) < 2:
        raise ParameterError("no other class has rows", found=f"the classes {names.to_list()}")
    place = place_of_class(f"{Option('of')}", of, names.to_list())
    mixes = [at_shares(rows, share)[place] for share in every]
    scenarios = [f"{share:.12g}" for share in every]
    table = pl.DataFrame({"scenario": scenarios, "class": [names] * len(every), "prior": mixes})
    return CLASS_PRIORS.finish(table.explode("class", "prior"))
