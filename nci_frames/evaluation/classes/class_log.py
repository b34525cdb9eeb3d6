"""Class counts, and the mixes that are asked for -> arrays over the same classes, and metrics there."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.arguments import beta_value, share_values
from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.base.messages import Call, Option, listed
from nci_frames.base.typing import Floats
from nci_frames.counts.class_counts import by_scenario, class_values, read_priors, scenarios_of
from nci_frames.evaluation.arrays.buckets import need_buckets
from nci_frames.evaluation.metrics.classes import ClassMetric, Mix
from nci_frames.schemas import (
    BUCKET,
    CLASS_COUNTS,
    CLASS_PRIORS,
    FrameSchema,
    beside,
    checked,
    collect,
    need_each_once,
)

#: A class with fewer rows tells too little.
LEAST_ROWS = 10


@dataclass(frozen=True)
class ClassLog:
    """The rows of one group."""

    #: The model, the keys and, if the counts have one, the scenario.
    group: dict[str, Any]
    #: Of shape (strata, names, names): rows by class and decision, in each stratum of one weight. With units
    #: in buckets: sums of weights in each bucket.
    rows: Floats
    #: The weight of a row in each stratum.
    weights: Floats
    #: Whether the first axis of the rows is that of buckets.
    in_buckets: bool

    @cached_property
    def total(self) -> Floats:
        """The rows, or their weights, by class and decision."""
        return np.asarray(np.tensordot(self.weights, self.rows, 1))

    @cached_property
    def rates(self) -> Floats:
        """The shares of the decisions among the rows of each class; NaN for a class without rows."""
        return rates_of(self.total)

    @cached_property
    def independent(self) -> Floats:
        """Of each class, how many rows of equal weight, or equal buckets, are worth its rows."""
        of_class = self.rows.sum(axis=2)
        squares = self.weights**2 @ (of_class**2 if self.in_buckets else of_class)
        total = self.weights @ of_class
        return np.asarray(np.divide(total**2, squares, out=np.zeros(len(total)), where=squares > 0))


def rates_of(total: Floats) -> Floats:
    """Return the shares along the last axis, that of decisions; NaN where there are no rows.

    >>> rates_of(np.array([[3, 1], [0, 0]])).tolist()
    [[0.75, 0.25], [nan, nan]]
    """
    whole = total.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(total, whole, out=np.full(total.shape, np.nan), where=whole > 0))


@dataclass(frozen=True, slots=True)
class ClassLogs:
    """All groups of class counts, over the same classes."""

    #: Of each value of the keys, those of the models in order.
    groups: list[list[ClassLog]]
    #: Every class and every other decision, sorted.
    names: pl.Series
    #: Which of them have rows somewhere.
    seen: NDArray[np.bool_]
    #: Whether rows are whole, or sums of many weights.
    whole: bool
    #: Buckets of units; None where rows are taken as independent.
    buckets: int | None
    #: The keys besides the model, and the scenario, with their types.
    keys: dict[str, pl.DataType]

    @property
    def rows(self) -> Floats:
        """The rows of each class in all groups, or their weights."""
        of_each = (log.total.sum(axis=1) for models in self.groups for log in models)
        return np.asarray(sum(of_each, np.zeros(len(self.names))))

    def table(
        self, kind: FrameSchema, rows_of: Callable[[list[ClassLog]], Iterable[dict[str, Any]]], *order: str
    ) -> pl.DataFrame:
        """Return rows of the models of each value of the keys as a frame, sorted by keys and *order*."""
        rows = [models[0].group | row for models in self.groups for row in rows_of(models)]
        types = kind.dtypes() | self.keys
        types |= {"class": self.names.dtype} if "class" in types else {}
        finished = kind.finish(pl.DataFrame(rows, types).fill_nan(None))
        return finished.sort([name for name in finished.columns if name in (*self.keys, *order)])

    def check_buckets(self) -> None:
        """Raise ParameterError if there are too few buckets of units to see how they differ."""
        if self.groups and self.buckets is not None:
            need_buckets(BUCKET, self.buckets)

    def need_no_keys(self, what: str) -> None:
        """Raise ParameterError unless the groups are those of models alone."""
        if self.keys:
            hint = "count with by=[], or keep one value of each key and drop it"
            found = f"keys {[*self.keys]}"
            raise ParameterError(f"{what} is that of models without keys", found=found, hint=hint)


def collected(class_counts: pl.DataFrame | pl.LazyFrame, *, scenarios: bool = True) -> pl.DataFrame:
    """Return class counts of a labelled log, which may have scenarios, or not.

    Raises
    ------
    ParameterError
        If they have scenarios and must not.
    SchemaError
        If they are none, or a pair stands twice.
    """
    frame = collect(class_counts, CLASS_COUNTS)
    if "label" not in frame.columns:
        msg, hint = "the class counts have no labels", "count a labelled log"
        raise SchemaError(msg, found="no column 'label'", hint=hint)
    if "scenario" in frame.columns and not scenarios:
        hint = "keep one of them, and drop the column 'scenario'"
        raise ParameterError("the class counts have scenarios", hint=hint)
    twice, hint = "two rows have the same class and decision", "add class counts with merge_class_counts"
    need_each_once(frame, frame.drop("rows").columns, twice, hint, SchemaError)
    return frame


def class_logs(frame: pl.DataFrame, more: Sequence[object] = ()) -> ClassLogs:
    """Return the groups of class counts; *more* names further classes.

    Raises
    ------
    ParameterError
        If a further class has another type.
    """
    try:
        further = pl.Series(list(more), dtype=frame.schema["label"], strict=True)
    except (TypeError, pl.exceptions.PolarsError, OverflowError):
        found = f"{list(more)!r}; {frame.schema['label']} labels"
        raise ParameterError("a class has another type than the labels", found=found) from None
    names = class_values(frame["label"], frame["decision"], further)
    seen = names.is_in(frame.filter(pl.col("rows") > 0)["label"].unique().implode()).to_numpy()
    in_buckets = BUCKET in frame.columns
    own = {*CLASS_COUNTS.keys(frame.columns), "scenario"} - {BUCKET}
    types = {key: dtype for key, dtype in frame.schema.items() if key in own}
    weight = pl.col("weight").cast(pl.Float64) if "weight" in frame.columns else pl.lit(1.0)
    whole, frame = frame.schema["rows"].is_integer(), frame.sort("model").with_columns(__weight=weight)
    if in_buckets:  # the rows of all weights of a bucket are added
        frame = frame.with_columns(rows=pl.col("rows") * weight, __weight=pl.lit(1.0))
    strata = frame.select("__weight", pl.col(f"^{BUCKET}$")).unique().sort(pl.all())
    axes = [strata, names.alias("label").to_frame(), names.alias("decision").to_frame()]
    groups, weights = defaultdict[Any, list[ClassLog]](list), strata["__weight"].to_numpy()
    for values, rows in arrays_of(frame, ["model", *types], axes):
        there, group = rows.any(axis=(1, 2)) | in_buckets, dict(zip(["model", *types], values, strict=True))
        groups[values[1:]].append(ClassLog(group, rows[there], weights[there], in_buckets))
    return ClassLogs([*groups.values()], names, seen, whole, len(strata) if in_buckets else None, types)


def arrays_of(
    frame: pl.DataFrame, keys: list[str], axes: list[pl.DataFrame]
) -> Iterator[tuple[tuple[Any, ...], Floats]]:
    """Yield the values of some keys, and the rows by what the axes have."""
    for number, axis in enumerate(axes):
        frame = beside(frame, axis.with_row_index(f"__{number}"), axis.columns)
    for values, part in frame.group_by(keys, maintain_order=True):
        rows = np.zeros([len(axis) for axis in axes])
        places = tuple(part[f"__{number}"].to_numpy() for number in range(len(axes)))
        np.add.at(rows, places, part["rows"].to_numpy())
        yield values, rows


def why_not(log: ClassLog, names: list[Any], matters: NDArray[np.bool_]) -> str | None:
    """Say why the rows of some classes tell too little; None if they do not."""
    empty = matters & (log.total.sum(axis=1) == 0)
    few = matters & (log.independent < LEAST_ROWS)
    if not log.total.any():
        return "the group has no rows"
    if empty.any():
        return f"no row of {some_of(names, empty)}"
    return f"fewer than {LEAST_ROWS} independent rows of {some_of(names, few)}" if few.any() else None


def some_of(names: list[Any], some: NDArray[np.bool_]) -> str:
    """Name some of the classes."""
    return listed(repr(names[place]) for place in np.flatnonzero(some))


@dataclass(frozen=True, slots=True)
class Mixes:
    """The mixes of the classes at which metrics are evaluated, and what these depend on besides the rows."""

    names: list[str]
    #: The shares of the classes, of shape (mixes, classes and other decisions); NaN for those of each group.
    priors: Floats
    #: Which of these are classes: they have rows, or a share.
    classes: NDArray[np.bool_]
    beta: float
    cost: Floats
    #: Of estimated shares, how far below and above them their bounds are: (mixes, 2, names).
    errors: Floats | None = None

    def __getitem__(self, some: slice) -> "Mixes":
        """Return some of the mixes."""
        errors = None if self.errors is None else self.errors[some]
        return replace(self, names=self.names[some], priors=self.priors[some], errors=errors)

    def of(self, log: ClassLog) -> "Mixes":
        """Return the mixes of a group: of one with a scenario, that of the same name, or the only one."""
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
        """Return the mix of the priors (..., names) and rates (..., names, names), NaN without rows."""
        priors = np.broadcast_to(self.priors, np.broadcast_shapes(self.priors.shape, rates.shape[:-1]))
        recall, _ = np.broadcast_arrays(np.diagonal(rates, axis1=-2, axis2=-1), priors)
        known = np.nan_to_num(rates)
        told = np.where((priors != 0) & np.isnan(recall), np.nan, 0.0).sum(axis=-1)
        decided = np.einsum("...c,...cd->...d", priors, known) + told[..., None]
        paid = np.einsum("...c,...c->...", priors, (known * self.cost).sum(axis=-1)) + told
        return Mix(priors, recall, decided, paid, self.classes, self.beta)

    def value(self, metric: ClassMetric, rates: Floats) -> Floats:
        """Return a metric at rates of shape (..., names, names), with an axis for its outputs."""
        return np.asarray(metric.values(self.mix(rates)))

    def range(self, metric: ClassMetric) -> tuple[float, float]:
        """Return the range of a metric."""
        paid = metric.name == "expected_cost"
        return (float(self.cost.min()), float(self.cost.max())) if paid else (metric.lower, metric.upper)


def at_shares(mix: Floats, shares: Floats | float) -> Floats:
    """Return the mixes in which one class has its share, and the others keep their proportions.

    Of shape (..., classes, classes): of each class that has its share. A mix of one class alone stays itself.
    """
    alone = np.eye(mix.shape[-1], dtype=np.bool_)
    mixes, share = np.broadcast_arrays(mix[..., None, :], np.asarray(shares)[..., None])
    others = np.where(alone, 0.0, mixes)
    rest = others.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(rest > 0, np.where(alone, share, (1 - share) * others / rest), mixes)


def read_mixes(
    class_counts: pl.DataFrame | pl.LazyFrame,
    priors: Any,
    metrics: Sequence[ClassMetric] = (),
    *,
    beta: float = 1.0,
    cost: Mapping[Any, Any] | None = None,
) -> tuple[ClassLogs, Mixes]:
    """Return the groups of class counts, and the mixes that are asked for, over the same classes.

    Raises
    ------
    ParameterError
        If a class has no prior, or priors are no shares; or if costs are needed and not given, are no finite
        numbers, or name what the counts do not have.
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
    """Return how far the bounds of estimated shares are from them, 0 for a share without bounds."""
    frame = priors.lazy().collect() if isinstance(priors, pl.DataFrame | pl.LazyFrame) else pl.DataFrame()
    if not {"lower", "upper"} <= {*frame.columns}:
        return None
    sides = (pl.col("prior") - pl.col("lower"), pl.col("upper") - pl.col("prior"))
    far = [by_scenario(frame.with_columns(prior=side.fill_null(0.0))).values() for side in sides]
    errors = [[[shares.get(name, 0.0) for name in names] for shares in side] for side in far]
    return np.array(errors).swapaxes(0, 1)


def _cost_table(cost: Mapping[Any, Any] | None, names: list[Any], *, needed: bool) -> Floats:
    """Return the cost of each decision for each class.

    Raises
    ------
    ParameterError
        If costs are needed and not given, are no finite numbers, or name what the counts do not have.
    """
    if cost is None and needed:
        hint = f"give {Call('cost={(label, decision): cost}', '--class-cost LABEL:DECISION=COST')}"
        raise ParameterError("'expected_cost' needs costs", hint=hint)
    table = np.zeros((len(names), len(names)))
    for pair, value in (cost or {}).items():
        if not (isinstance(pair, tuple) and len(pair) == 2):
            raise ParameterError("cost must be {(label, decision): cost}", found=repr(pair))
        if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
            raise ParameterError("costs must be finite numbers", found=f"{value!r} of {pair!r}")
        unknown = [name for name in pair if name not in names]
        if unknown:
            msg, known = "a cost names an unknown class or decision", listed(map(repr, names), 20)
            raise ParameterError(msg, found=repr(unknown[0]), hint=f"known are {known}")
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
    if len(names) < 2 or of not in names.to_list():
        msg = f"{Option('of')} must be one of several classes with rows"
        raise ParameterError(msg, found=f"{of!r}; the classes are {listed(map(repr, names), 20)}")
    mixes = [at_shares(rows, share)[names.to_list().index(of)] for share in every]
    scenarios = [f"{share:.12g}" for share in every]
    table = pl.DataFrame({"scenario": scenarios, "class": [names] * len(every), "prior": mixes})
    return CLASS_PRIORS.finish(table.explode("class", "prior"))
