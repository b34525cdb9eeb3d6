"""Class counts -> arrays: of each group the rows by class and decision, in strata or buckets of units."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nci_frames.base.arguments import LEAST_BUCKETS
from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.base.typing import Floats
from nci_frames.counts.class_counts import class_values
from nci_frames.schemas import CLASS_COUNTS, collect
from nci_frames.schemas.columns import BUCKET


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

    @property
    def shares(self) -> Floats:
        """The shares of the classes among the rows of the group; NaN if it has none."""
        of_class = self.total.sum(axis=1)
        with np.errstate(invalid="ignore"):
            return np.asarray(of_class / of_class.sum())

    @cached_property
    def independent(self) -> Floats:
        """Of each class, how many rows of equal weight, or equal buckets, are worth its rows."""
        of_class = self.rows.sum(axis=2)
        squares = self.weights**2 @ (of_class**2 if self.in_buckets else of_class)
        total = self.weights @ of_class
        return np.asarray(np.divide(total**2, squares, out=np.zeros(len(total)), where=squares > 0))


@dataclass(frozen=True, slots=True)
class ClassLogs:
    """All groups of class counts, over the same classes."""

    logs: list[ClassLog]
    #: Every class and every other decision, sorted.
    names: pl.Series
    #: Which of them have rows somewhere.
    seen: NDArray[np.bool_]
    #: Whether rows are whole, or sums of many weights.
    whole: bool
    #: The model, the keys and the scenario, with their types.
    keys: dict[str, pl.DataType]


def collected(class_counts: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
    """Return class counts of a labelled log.

    Raises
    ------
    SchemaError
        If they are none, or a pair stands twice.
    """
    frame = collect(class_counts, CLASS_COUNTS)
    if "label" not in frame.columns:
        msg, hint = "the class counts have no labels", "count a labelled log"
        raise SchemaError(msg, found="no column 'label'", hint=hint)
    twice = frame.filter(frame.drop("rows").is_duplicated())
    if len(twice):
        found = ", ".join(f"{name} {value!r}" for name, value in twice.row(0, named=True).items())
        raise SchemaError("two rows have the same class and decision", found=found,
                          hint="add class counts with merge_class_counts")  # fmt: skip
    return frame


def class_logs(frame: pl.DataFrame, more: Sequence[object] = ()) -> ClassLogs:
    """Return the groups of class counts; *more* names further classes.

    Raises
    ------
    ParameterError
        If a further class has another type.
    """
    named = [frame["label"], frame["decision"]]
    if more:
        try:
            named.append(pl.Series(list(more), dtype=frame.schema["label"], strict=True))
        except (TypeError, pl.exceptions.PolarsError, OverflowError):
            msg = "a class has another type than the labels"
            found = f"{list(more)!r}; {frame.schema['label']} labels"
            raise ParameterError(msg, found=found) from None
    names = class_values(*named)
    place = {name: number for number, name in enumerate(names.to_list())}
    seen = np.zeros(len(names), np.bool_)
    for name in frame.filter(pl.col("rows") > 0)["label"].unique().to_list():
        seen[place[name]] = True
    scenario = ["scenario"] if "scenario" in frame.columns else []
    keys = ["model", *(key for key in CLASS_COUNTS.keys(frame.columns) if key != BUCKET), *scenario]
    groups = list(_each(frame, keys, place))
    return ClassLogs(
        groups, names, seen, frame.schema["rows"].is_integer(), {key: frame.schema[key] for key in keys}
    )


def _each(frame: pl.DataFrame, keys: list[str], place: dict[Any, int]) -> Iterator[ClassLog]:
    in_buckets = BUCKET in frame.columns
    weight = pl.col("weight").cast(pl.Float64) if "weight" in frame.columns else pl.lit(1.0)
    frame = frame.with_columns(__weight=weight)
    # With buckets, the rows of all weights of a bucket are added.
    stratum = BUCKET if in_buckets else "__weight"
    buckets = frame[BUCKET].unique().sort() if in_buckets else None
    for values, part in frame.group_by(keys, maintain_order=True):
        part = part.filter(pl.col("rows") > 0)  # noqa: PLW2901
        strata = part[stratum].unique().sort() if buckets is None else buckets
        number = strata.search_sorted(part[stratum]).to_numpy()
        rows = np.zeros((len(strata), len(place), len(place)))
        pairs = ([place[name] for name in part[column].to_list()] for column in ("label", "decision"))
        added = part["rows"].cast(pl.Float64) * (part["__weight"] if in_buckets else 1.0)
        np.add.at(rows, (number, *(np.array(places, np.int64) for places in pairs)), added.to_numpy())
        weights = np.ones(len(strata)) if in_buckets else strata.to_numpy()
        yield ClassLog(dict(zip(keys, values, strict=True)), rows, weights, in_buckets)


def check_buckets(logs: ClassLogs) -> None:
    """Raise ParameterError if there are too few buckets of units to see how they differ."""
    for log in logs.logs:
        if log.in_buckets and len(log.rows) < LEAST_BUCKETS:
            raise ParameterError(
                f"there are too few values of {BUCKET!r} to see how they differ",
                found=f"{len(log.rows)}; {LEAST_BUCKETS} are needed",
                hint="count by more, e.g. by unit_buckets(predictions, buckets=256)",
            )
