"""The tables of a job file, with defaults and ranges."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, cast

import polars as pl
from pydantic import BeforeValidator, Field

from nci_frames.base.arguments import LEAST_BUCKETS
from nci_frames.counting.logs.rows import check_key
from nci_frames.counting.thresholds.grids import check_thresholds, named_thresholds
from nci_frames.jobs.job_file import gates
from nci_frames.jobs.job_file.gates import Distinct, Gate, Level, Model, Number, Probability, passing
from nci_frames.jobs.job_file.windows import check_template
from nci_frames.jobs.ledger.settings import CountingSettings
from nci_frames.options.report import ReportOptions, SegmentOptions
from nci_frames.schemas import key_text

#: A non-empty path: an empty one would mean the folder of the job file.
LogPath = Annotated[str, Field(min_length=1), passing(check_template)]
#: Upper limit that no number of days or hours reaches.
_MOST_WINDOWS = 100_000_000


class Source(Model):
    """Files to count."""

    path: Annotated[
        LogPath | Annotated[list[LogPath], Field(min_length=1)],
        Field(
            description="Parquet or CSV file, folder, glob, or a list of these, relative to the job file. "
            "{date:%Y-%m-%d} is replaced by the date of each window in UTC (with %H, windows are hours)."
        ),
    ]
    lookback: Annotated[int | None, Field(ge=0, le=_MOST_WINDOWS)] = None
    """Number of windows before the newest that are searched again for new files; by default all."""
    on_changed: Literal["raise", "keep", "recount"] = "raise"
    """How to treat a counted file whose content has changed."""

    @property
    def paths(self) -> list[str]:
        """The paths."""
        return [self.path] if isinstance(self.path, str) else self.path


class TrafficColumns(Model):
    """Columns of the logs without labels."""

    model: str = "model"
    score: str = "score"
    scores: Annotated[dict[str, str], Field(default_factory=dict)]
    """Score column of each model, for logs with one column per model."""
    on_invalid: Literal["raise", "drop"] = "raise"
    """How to treat rows without a valid label or score."""


class Traffic(Source):
    """Logs without labels, whose prevalence is estimated from the scores."""

    columns: TrafficColumns | None = None
    """Columns of these logs; by default those of the job."""
    segments: tuple[str, ...] | None = None
    """Keys whose segments also get separate estimates; by default segments.keys."""
    windows: Annotated[int, Field(ge=1)] | Literal["all"] = 1
    """Number of newest windows to pool."""
    method: Literal["em", "adjusted_count", "matching"] = "em"
    """Method to fit the mixture."""
    level: Level = 0.95


def _thresholds(value: Any) -> Any:
    """Parse thresholds given as a string."""
    if not isinstance(value, str):
        return value
    with gates.as_problem():
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
    """Columns of the logs."""

    label: str = "label"
    fold: str | None = None
    repeat: str | None = None
    """Column with the repeat of a cross-validation; values are computed per repeat and averaged."""
    unit: str | None = None
    """Column with the unit (user, host, patient); its rows are kept together in intervals and tests."""
    weight: str | None = None
    """Column with the number of traffic rows that a row represents; at most 1,000 values per file."""
    positive: str | int | float | bool | None = None
    """Label that means positive; not needed for 0/1 and Boolean labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segments(SegmentOptions):
    """Keys that split the traffic."""

    keys: Annotated[tuple[str, ...], passing(_check_keys), Distinct] = ()


class SegmentScenario(Model):
    """A scenario with a separate prevalence for each value of a key."""

    by: str
    """Name of the key."""
    prevalence: Annotated[dict[str, Probability] | None, Field(min_length=1)] = None
    """Prevalence of each value of the key."""
    table: str | None = None
    """Parquet or CSV file with a column for the key and a column `prevalence`, relative to the job file."""

    def contradictions(self) -> dict[str, bool]:
        """Return the problem of the prevalences."""
        return {"give either prevalence or table": (self.prevalence is None) == (self.table is None)}

    def named(self, counts: pl.DataFrame) -> tuple[pl.Expr, pl.DataFrame]:
        """Return a filter for rows whose key value the scenario names, and the prevalence of each value."""
        text = key_text(self.by, counts.schema[self.by])
        there = set(counts.select(text).to_series())
        rows = [(value, eta) for value, eta in (self.prevalence or {}).items() if value in there]
        field = pl.DataFrame(rows, schema={self.by: pl.String, "prevalence": pl.Float64}, orient="row")
        return text.is_in(field[self.by].to_list()).fill_null(value=False), field


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(ReportOptions):
    """The question, the comparisons, and the output of a report."""

    windows: Annotated[
        int | None, Field(ge=1, description="Number of newest windows to report; by default all.")
    ] = None


class Output(Model):
    """Places of the results."""

    ledger: Annotated[str, Field(min_length=1)] = "ledger"
    """Folder or URL of the ledger."""
    folder: Annotated[str, Field(min_length=1)] = "out"
    """Folder or URL of the published runs."""
    keep: Annotated[int, Field(ge=1)] = 30
    """Number of published runs to keep."""
    metrics_file: Annotated[str | None, Field(min_length=1)] = None
    """OpenMetrics text file for the textfile collector of a node exporter."""
    storage_options: Annotated[dict[str, str], Field(default_factory=dict)]
    """Options for object stores, if the ledger or the folder is a URL."""


class Feed(NamedTuple):
    """Files to count, with their settings."""

    source: Source
    settings: CountingSettings
    #: Number of newest windows to report; None means all.
    windows: int | None


class Job(Model):
    """A scheduled reporting job."""

    version: Literal[1] = 1
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
    source: Source
    columns: Annotated[Columns, Field(default_factory=Columns)]
    thresholds: Annotated[Thresholds, Field(validate_default=True)] = cast("Any", "logit:501")
    """Thresholds to count at: "exact", "logit:501", "uniform:101", start:stop:lin:count, or a list."""
    buckets: Annotated[int | None, Field(ge=LEAST_BUCKETS, le=1_000_000)] = None
    """Number of buckets of units; by default 256. Needs columns.unit."""
    segments: Segments = Segments()
    traffic: Traffic | None = None
    """Logs without labels, whose prevalence is estimated from the scores."""
    scenarios: Annotated[
        dict[Annotated[str, Field(min_length=1)], Probability | SegmentScenario], Field(default_factory=dict)
    ]
    """Named prevalences."""
    report: Annotated[Report, Field(default_factory=Report), passing(Report.question)]
    output: Annotated[Output, Field(default_factory=Output)]
    gates: tuple[Gate, ...] = ()

    def contradictions(self) -> dict[str, bool]:
        """Return the problems between tables: names that do not exist, and settings that exclude others."""
        by = {name: s.by for name, s in self.scenarios.items() if isinstance(s, SegmentScenario)}
        keys = [(f"scenario {name!r}", key) for name, key in by.items()]
        keys += [(f"gate {gate.name!r}", key) for gate in self.gates for key in gate.segments]
        keys += [("traffic", key) for key in self.traffic_keys]
        no_unit, weighted = self.columns.unit is None, self.columns.weight is not None
        exact = self.traffic is not None and self.thresholds == "exact"
        found = {
            "buckets divide units, and columns.unit names none": no_unit and self.buckets is not None,
            "traffic is compared at thresholds that both logs have: give them as numbers": exact,
            **{
                f"{what}: {key!r} is not among segments.keys": key not in self.segments.keys
                for what, key in keys
            },
        }
        names = [gate.name for gate in self.gates]
        bets = "sequential bets on each row, and rows of other weights are other bets"
        for gate in self.gates:
            told, at = f"gate {gate.name!r}", gate.scenario
            key = by.get(at or "")
            lacking = key is not None and key not in gate.segments
            found |= {
                f"{told}: {bets}: omit sequential, or columns.weight": gate.sequential and weighted,
                f"two gates have the name {gate.name!r}": names.count(gate.name) > 1,
                f"{told}: there is no scenario {at!r}": at is not None and at not in self.scenarios,
                f"{told}: scenario {at!r} needs the segment {key!r}": lacking,
            }
        return found

    @property
    def traffic_keys(self) -> tuple[str, ...]:
        """The keys whose values get separate estimates of the prevalence of the traffic."""
        own = None if self.traffic is None else self.traffic.segments
        return self.segments.keys if own is None else own

    @property
    def feeds(self) -> list[Feed]:
        """The logs with labels, and those without (if any) at the same thresholds."""
        settings = self.counting_settings()
        found = [Feed(self.source, settings, self.report.windows)]
        if self.traffic is not None:
            newest = None if self.traffic.windows == "all" else self.traffic.windows
            columns, names = self.traffic.columns or self.columns, {*TrafficColumns.model_fields}
            given = columns.model_dump(include=names) | {"segments": self.traffic_keys, "label": None}
            seen = CountingSettings.of(thresholds=settings.thresholds or "exact", **given)
            found.append(Feed(self.traffic, seen, newest))
        return found

    def counting_settings(self) -> CountingSettings:
        """Return the counting settings of the logs.

        The thresholds include the decision thresholds of the report and the gates.
        """
        thresholds = self.thresholds
        if thresholds != "exact":
            own = [gate.threshold for gate in self.gates if gate.threshold is not None]
            thresholds = sorted({*thresholds, self.report.table_threshold, *own})
        columns = self.columns.model_dump() | {"segments": self.segments.keys, "buckets": self.buckets}
        return CountingSettings.of(thresholds=thresholds, **columns)
