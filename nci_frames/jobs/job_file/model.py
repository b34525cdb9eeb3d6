"""The tables of a job file, their defaults and ranges."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, cast

import polars as pl
from pydantic import BeforeValidator, Field, model_validator

from nci_frames.base.arguments import LEAST_BUCKETS
from nci_frames.counting.logs.rows import check_key
from nci_frames.counting.thresholds.grids import check_thresholds, named_thresholds
from nci_frames.jobs.job_file.gates import (
    Distinct,
    Gate,
    Level,
    Model,
    Number,
    Probability,
    as_problem,
    passing,
)
from nci_frames.jobs.job_file.windows import check_template
from nci_frames.jobs.ledger.settings import CountingSettings
from nci_frames.options.report import ReportOptions, SegmentOptions
from nci_frames.schemas import key_text

#: An empty path would be the folder of the job file.
LogPath = Annotated[str, Field(min_length=1), passing(check_template)]
#: As windows are days or hours: more of them than there are years.
_MOST_WINDOWS = 100_000_000


class Source(Model):
    """Which files are counted."""

    path: Annotated[
        LogPath | Annotated[list[LogPath], Field(min_length=1)],
        Field(
            description="Parquet or CSV file, folder or glob, or a list of them, relative to the job file. "
            "{date:%Y-%m-%d} stands for the date of a window (with %H: of an hour), in UTC."
        ),
    ]
    lookback: Annotated[int | None, Field(ge=0, le=_MOST_WINDOWS)] = None
    """Windows before the newest that are looked at again; all if absent."""
    on_changed: Literal["raise", "keep", "recount"] = "raise"
    """What to do with a file that was counted with another content."""

    @property
    def paths(self) -> list[str]:
        """The paths."""
        return [self.path] if isinstance(self.path, str) else self.path


class TrafficColumns(Model):
    """Which column of the logs without labels plays which part."""

    model: str = "model"
    score: str = "score"
    scores: Annotated[dict[str, str], Field(default_factory=dict)]
    """Score column by model."""
    on_invalid: Literal["raise", "drop"] = "raise"
    """What to do with rows without a valid label or score."""


class Traffic(Source):
    """Logs without labels, whose prevalence is estimated from their scores."""

    columns: TrafficColumns | None = None
    """Columns of these logs; those of the job if absent."""
    segments: tuple[str, ...] | None = None
    """Keys by whose values it is estimated, too; all of segments.keys if absent."""
    windows: Annotated[int, Field(ge=1)] | Literal["all"] = 1
    """Newest windows whose rows are taken together."""
    method: Literal["em", "adjusted_count", "matching"] = "em"
    """How the mixture is fitted."""
    level: Level = 0.95


def _thresholds(value: Any) -> Any:
    """Read thresholds that are written as a text."""
    if not isinstance(value, str):
        return value
    with as_problem():
        return named_thresholds(value)


Thresholds = Annotated[
    list[Number] | Literal["exact"],
    BeforeValidator(_thresholds, json_schema_input_type=list[Number] | str),
    passing(lambda value: value == "exact" or check_thresholds(value)),
]


def _check_keys(names: tuple[str, ...]) -> None:
    for name in names:
        check_key(name, "rename the column in the logs")


class Columns(TrafficColumns):
    """Which column of the logs plays which part."""

    label: str = "label"
    fold: str | None = None
    repeat: str | None = None
    """Repeat of a cross-validation: values are taken within each, and averaged."""
    unit: str | None = None
    """User, host or patient: its rows are kept together in every interval and test."""
    weight: str | None = None
    """How many rows of the traffic a row stands for; at most 1,000 values in a file."""
    positive: str | int | float | bool | None = None
    """The label that means positive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segments(SegmentOptions):
    """The keys that split traffic."""

    keys: Annotated[tuple[str, ...], passing(_check_keys), Distinct] = ()


class SegmentScenario(Model):
    """A scenario with a prevalence of its own for each value of a key."""

    by: str
    """The key."""
    prevalence: Annotated[dict[str, Probability] | None, Field(min_length=1)] = None
    """Prevalence by value of the key."""
    table: str | None = None
    """Parquet or CSV file with the columns of the key and `prevalence`, relative to the job file."""

    @model_validator(mode="after")
    def _one_of_both(self) -> "SegmentScenario":
        if (self.prevalence is None) == (self.table is None):
            raise ValueError("give either prevalence or table")
        return self

    def named(self, counts: pl.DataFrame) -> tuple[pl.Expr, pl.DataFrame]:
        """Return which rows are of values of the key that it names, and the prevalence of each of these."""
        text = key_text(self.by, counts.schema[self.by])
        there = set(counts.select(text).to_series())
        rows = [(value, eta) for value, eta in (self.prevalence or {}).items() if value in there]
        field = pl.DataFrame(rows, schema={self.by: pl.String, "prevalence": pl.Float64}, orient="row")
        return text.is_in(field[self.by].to_list()).fill_null(value=False), field


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(ReportOptions):
    """What is asked, what is compared, and what is written."""

    windows: Annotated[
        int | None, Field(ge=1, description="Newest windows that are reported; all if absent.")
    ] = None


class Output(Model):
    """Where results go."""

    ledger: Annotated[str, Field(min_length=1)] = "ledger"
    """Folder or URL of the ledger."""
    folder: Annotated[str, Field(min_length=1)] = "out"
    """Folder or URL of the published runs."""
    keep: Annotated[int, Field(ge=1)] = 30
    """Runs that are kept."""
    metrics_file: Annotated[str | None, Field(min_length=1)] = None
    """OpenMetrics text file for a node exporter's collector."""
    storage_options: Annotated[dict[str, str], Field(default_factory=dict)]
    """For a ledger, or a folder, by URL."""


class Feed(NamedTuple):
    """Files that are counted, and how."""

    source: Source
    settings: CountingSettings
    #: How many of the newest windows are reported; None reports all.
    windows: int | None


class Job(Model):
    """A scheduled reporting job."""

    version: Literal[1] = 1
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
    source: Source
    columns: Annotated[Columns, Field(default_factory=Columns)]
    thresholds: Annotated[Thresholds, Field(validate_default=True)] = cast("Any", "logit:501")
    """"exact", "logit:501", "uniform:101", start:stop:lin:count or ascending numbers."""
    buckets: Annotated[int | None, Field(ge=LEAST_BUCKETS, le=1_000_000)] = None
    """Into how many buckets units are divided; 256 if absent. Needs columns.unit."""
    segments: Segments = Segments()
    traffic: Traffic | None = None
    """Logs without labels, whose prevalence is estimated."""
    scenarios: Annotated[
        dict[Annotated[str, Field(min_length=1)], Probability | SegmentScenario], Field(default_factory=dict)
    ]
    """Prevalences that have a name."""
    report: Annotated[Report, Field(default_factory=Report), passing(Report.question)]
    output: Annotated[Output, Field(default_factory=Output)]
    gates: tuple[Gate, ...] = ()

    @model_validator(mode="after")
    def _names_exist(self) -> "Job":
        if self.buckets is not None and self.columns.unit is None:
            raise ValueError("buckets divide units, and columns.unit names none")
        if self.traffic is not None and self.thresholds == "exact":
            raise ValueError("traffic is compared at thresholds that both logs have: give them as numbers")
        by = {name: s.by for name, s in self.scenarios.items() if isinstance(s, SegmentScenario)}
        keys = [(f"scenario {name!r}", key) for name, key in by.items()]
        keys += [(f"gate {gate.name!r}", key) for gate in self.gates for key in gate.segments]
        keys += [("traffic", key) for key in self.traffic_keys]
        for what, key in keys:
            if key not in self.segments.keys:
                raise ValueError(f"{what}: {key!r} is not among segments.keys")
        names = [gate.name for gate in self.gates]
        for gate in self.gates:
            told, scenario = f"gate {gate.name!r}", gate.scenario
            if gate.sequential and self.columns.weight is not None:
                raise ValueError(
                    f"{told}: sequential bets on each row, and rows of other weights are other bets: "
                    "omit sequential, or columns.weight"
                )
            if names.count(gate.name) > 1:
                raise ValueError(f"two gates have the name {gate.name!r}")
            if scenario is not None and scenario not in self.scenarios:
                raise ValueError(f"{told}: there is no scenario {scenario!r}")
            if scenario in by and by[scenario] not in gate.segments:
                raise ValueError(f"{told}: scenario {scenario!r} needs the segment {by[scenario]!r}")
        return self

    @property
    def traffic_keys(self) -> tuple[str, ...]:
        """The keys by which the prevalence of the traffic is estimated."""
        own = None if self.traffic is None else self.traffic.segments
        return self.segments.keys if own is None else own

    @property
    def feeds(self) -> list[Feed]:
        """The logs with labels, and those without if it names any, at the thresholds of the others."""
        settings = self.counting_settings()
        found = [Feed(self.source, settings, self.report.windows)]
        if self.traffic is not None:
            newest = None if self.traffic.windows == "all" else self.traffic.windows
            columns = (self.traffic.columns or self.columns).model_dump(
                include={*TrafficColumns.model_fields}
            )
            columns |= {"segments": self.traffic_keys, "label": None}
            seen = CountingSettings.of(thresholds=settings.thresholds or "exact", **columns)
            found.append(Feed(self.traffic, seen, newest))
        return found

    def counting_settings(self) -> CountingSettings:
        """Return how the logs are counted.

        Decision thresholds of the report and of gates are counted at, too.
        """
        thresholds = self.thresholds
        if thresholds != "exact":
            own = [gate.threshold for gate in self.gates if gate.threshold is not None]
            thresholds = sorted({*thresholds, self.report.decided_at, *own})
        columns = self.columns.model_dump() | {"segments": self.segments.keys, "buckets": self.buckets}
        return CountingSettings.of(thresholds=thresholds, **columns)
