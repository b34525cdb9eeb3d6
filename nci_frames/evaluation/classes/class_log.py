"""Class counts -> arrays of each group, over common classes."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.base.messages import listed
from nci_frames.base.typing import Flags, Floats, Frame
from nci_frames.counts.class_counts import class_values, collect_class_counts
from nci_frames.evaluation.arrays.buckets import need_buckets, need_every_unit
from nci_frames.schemas import BUCKET, CLASS_COUNTS, FrameSchema, beside, need_each_once

#: Least rows of a class.
LEAST_ROWS = 10
#: The keys of one log; the others divide it into groups.
_WHOLE = ("model", "scenario")


@dataclass(frozen=True)
class ClassLog:
    """The rows of one group."""

    #: The model, the keys and, if the counts have it, the scenario.
    group: dict[str, Any]
    #: Rows by stratum (one weight), class and decision, of shape (strata, names, names); with buckets, sums
    #: of weights by bucket, class and decision.
    rows: Floats
    #: Weight of a row in each stratum.
    weights: Floats
    #: Of the model in all groups together: rows of each stratum; rows of the traffic that they stand for, if
    #: the lightest ones are all that there were; and weight of the heaviest row with each decision, 0 if
    #: weights do not differ within a class.
    drawn: Floats
    traffic: Floats
    heaviest: Floats
    #: Whether the first axis of ``rows`` is that of buckets.
    in_buckets: bool

    @cached_property
    def total(self) -> Floats:
        """Rows, or sums of weights, by class and decision."""
        return np.asarray(np.tensordot(self.weights, self.rows, 1))

    @cached_property
    def rates(self) -> Floats:
        """Shares of the decisions among the rows of each class; NaN for a class without rows."""
        return rates_of(self.total)

    @cached_property
    def independent(self) -> Floats:
        """Effective number of rows, or of buckets, of each class (Kish)."""
        of_class = self.rows.sum(axis=2)
        squares = self.weights**2 @ (of_class**2 if self.in_buckets else of_class)
        total = self.weights @ of_class
        return np.asarray(np.divide(total**2, squares, out=np.zeros(len(total)), where=squares > 0))

    @cached_property
    def unseen(self) -> Floats:
        """Weight of one more row of each class and decision, which the log may lack by chance."""
        of_class = self.total.sum(axis=1)
        mean = np.divide(of_class, self.independent, out=np.zeros(len(of_class)), where=of_class > 0)
        return np.asarray(np.where(mean > 0, np.maximum(mean, self.heaviest[:, None]), 0.0).T)

    @cached_property
    def scattered(self) -> Floats:
        """Change of ``total`` if as many wrong decisions were spread as with one more row of each."""
        apart = 1 - np.eye(len(self.total))
        wrong, spread = self.total * apart, (self.total + self.unseen) * apart
        return np.asarray(np.nan_to_num(rates_of(spread)) * wrong.sum(axis=1, keepdims=True) - wrong)


def rates_of(total: Floats) -> Floats:
    """Return the shares along the last axis, the decisions; NaN without rows.

    >>> rates_of(np.array([[3, 1], [0, 0]])).tolist()
    [[0.75, 0.25], [nan, nan]]
    """
    whole = total.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(total, whole, out=np.full(total.shape, np.nan), where=whole > 0))


@dataclass(frozen=True, slots=True)
class ClassLogs:
    """All groups of class counts, over the same classes."""

    #: For each value of the keys, the logs of the models, in order.
    groups: list[list[ClassLog]]
    #: All classes and other decisions, sorted.
    names: pl.Series
    #: Which names are labels of rows in some group.
    seen: Flags
    #: Whether rows are whole numbers, not sums of many weights.
    whole: bool
    #: The buckets of units; None if rows are taken as independent.
    buckets: pl.Series | None
    #: The keys (without the model) and the scenario, with their types.
    keys: dict[str, pl.DataType]

    @property
    def rows(self) -> Floats:
        """Rows, or sums of weights, of each class over all groups."""
        of_each = (log.total.sum(axis=1) for models in self.groups for log in models)
        return np.asarray(sum(of_each, np.zeros(len(self.names))))

    def table(
        self, kind: FrameSchema, rows_of: Callable[[list[ClassLog]], Iterable[dict[str, Any]]], *order: str
    ) -> pl.DataFrame:
        """Return the rows of *rows_of* for each value of the keys, as a frame sorted by keys and *order*."""
        rows = [models[0].group | row for models in self.groups for row in rows_of(models)]
        types = kind.dtypes() | self.keys
        types |= {"class": self.names.dtype} if "class" in types else {}
        finished = kind.finish(pl.DataFrame(rows, types).fill_nan(None))
        return finished.sort([name for name in finished.columns if name in (*self.keys, *order)])

    def check_buckets(self) -> None:
        """Raise an error if there are too few buckets of units, or rows that belong to none."""
        if self.groups and self.buckets is not None:
            need_every_unit(self.buckets)
            need_buckets(BUCKET, len(self.buckets))

    def need_no_keys(self, what: str) -> None:
        """Raise ParameterError if the counts have keys besides the model."""
        if self.keys:
            hint = "count with by=[], or keep one value of each key and drop it"
            found = f"keys {[*self.keys]}"
            raise ParameterError(f"{what} is that of models without keys", found=found, hint=hint)


def collected(class_counts: Frame, *, scenarios: bool = True) -> pl.DataFrame:
    """Return checked class counts of a labelled log, with or without *scenarios*.

    Raises
    ------
    ParameterError
        If they have scenarios and *scenarios* is false.
    SchemaError
        If they are no class counts, have no labels, or a pair of class and decision occurs twice.
    """
    frame = collect_class_counts(class_counts)
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
    axes, of_group = [names.alias("label").to_frame(), names.alias("decision").to_frame()], ["model", *types]
    strata = frame.select("__weight").unique().sort("__weight")
    weights, whole_log = strata["__weight"].to_numpy(), [key for key in of_group if key in _WHOLE]
    of_log = arrays_of(frame, whole_log, [strata, *axes])
    samples = {values: _sample(rows, weights) for values, rows in of_log}
    if in_buckets:  # the rows of all weights of a bucket are added
        frame = frame.with_columns(rows=pl.col("rows") * weight)
        strata = frame.select(BUCKET).unique().sort(BUCKET)
        weights = np.ones(len(strata))
    groups = defaultdict[Any, list[ClassLog]](list)
    for values, rows in arrays_of(frame, of_group, [strata, *axes]):
        group = dict(zip(of_group, values, strict=True))
        there, sample = rows.any(axis=(1, 2)) | in_buckets, samples[tuple(group[key] for key in whole_log)]
        drawn, traffic = sample[:2] if in_buckets else (side[there] for side in sample[:2])
        its = rows[there], weights[there], drawn, traffic, sample[2]
        groups[values[1:]].append(ClassLog(group, *its, in_buckets))
    return ClassLogs([*groups.values()], names, seen, whole, strata[BUCKET] if in_buckets else None, types)


def _sample(rows: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Return ``drawn``, ``traffic`` and ``heaviest`` of rows by stratum, class and decision."""
    drawn, some = rows.sum(axis=(1, 2)), weights > 0
    traffic = drawn * weights / min(weights[(drawn > 0) & some], default=1.0)
    differ = ((rows.sum(axis=2) > 0)[some].sum(axis=0) > 1).any()
    return drawn, traffic, np.where(rows.any(axis=1), weights[:, None], 0.0).max(axis=0) * differ


def arrays_of(
    frame: pl.DataFrame, keys: list[str], axes: list[pl.DataFrame]
) -> Iterator[tuple[tuple[Any, ...], Floats]]:
    """Yield the values of the keys, and an array of the rows with the given axes."""
    for number, axis in enumerate(axes):
        frame = beside(frame, axis.with_row_index(f"__{number}"), axis.columns)
    for values, part in frame.group_by(keys, maintain_order=True):
        rows = np.zeros([len(axis) for axis in axes])
        places = tuple(part[f"__{number}"].to_numpy() for number in range(len(axes)))
        np.add.at(rows, places, part["rows"].to_numpy())
        yield values, rows


def why_not(log: ClassLog, names: list[Any], matters: Flags) -> str | None:
    """Return the reason why the rows of some classes are too few; None if they suffice."""
    empty = matters & (log.total.sum(axis=1) == 0)
    few = matters & (log.independent < LEAST_ROWS)
    if not log.total.any():
        return "the group has no rows"
    if empty.any():
        return f"no row of {some_of(names, empty)}"
    return f"fewer than {LEAST_ROWS} independent rows of {some_of(names, few)}" if few.any() else None


def some_of(names: list[Any], some: Flags) -> str:
    """Return the names of some classes, for messages."""
    return listed(repr(names[place]) for place in np.flatnonzero(some))
