"""What can be asked of a report: one statement, from which come options of commands and keys of job files."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from nci_frames.options.kinds import COSTS, INSIDE, TEXT, grid, number, words
from nci_frames.options.setting import Setting

if TYPE_CHECKING:
    from nci_frames.questions.question import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """What is asked, what is compared, and what is written."""

    at: Annotated[
        float | None,
        Setting(
            INSIDE,
            "The prevalence of the field, at which a model is to be chosen.  [default: that of the log]",
        ),
    ] = None
    metric: Annotated[
        str | None,
        Setting(TEXT, "Metric or area to choose by.  [default: f_beta, or recall with alerts]"),
    ] = None
    cost: Annotated[
        tuple[float, float] | tuple[float, float, float] | None,
        Setting(
            COSTS,
            "Choose by expected cost: what a missed positive and a false alarm cost, and perhaps the review "
            "of every alert, e.g. 200:5:8.",
        ),
    ] = None
    alerts: Annotated[
        float | None,
        Setting(number(">= 0", least=0), "At most this many alerts among the rows of volume."),
    ] = None
    volume: Annotated[
        float | None,
        Setting(
            number("a finite number > 0", least=0, open_ends=True),
            "Rows in the field, e.g. 2M of a day: alerts and costs are then given for this many.",
        ),
    ] = None
    confidence: Annotated[
        float | None,
        Setting(
            number("between 0.5 and 1, both excluded", least=0.5, most=1, open_ends=True),
            "Confidence that other rows keep the budget of alerts, too.  [default: this log keeps it]",
        ),
    ] = None
    threshold: Annotated[
        float | None,
        Setting(
            number("a number"),
            "A row is predicted positive if its score is at or above this. If it is given without alerts, "
            "models are chosen at it, otherwise each at its own best one.  [default: 0.5, in tables]",
            short="t",
        ),
    ] = None
    prevalence: Annotated[
        tuple[float, ...] | Path,
        Setting(
            grid("within [0, 1]", most=1, files=True),
            "Prevalences to compare at: numbers separated by commas, start:stop:round or "
            "start:stop:log:count; or a CSV or Parquet file with the prevalence of each segment: columns of "
            "segments, prevalence and perhaps share.",
            short="p",
        ),
    ] = "1e-4:0.5:round"  # type: ignore[assignment]
    beta: Annotated[
        tuple[float, ...],
        Setting(grid("a number >= 0"), "Weights of recall in F-beta, in the same form.", short="b"),
    ] = "0.25:4:log:33"  # type: ignore[assignment]
    formats: Annotated[
        tuple[str, ...],
        Setting(
            words("html", "md", "json", "txt", least=1),
            "The report: a page with charts, a page for code hosts, a summary for programs, and what a "
            "terminal shows.",
            flag="format",
        ),
    ] = ("html",)
    tables: Annotated[
        tuple[str, ...],
        Setting(words("parquet", "csv", "md"), "The tables behind the report, in the folder tables."),
    ] = ("parquet",)
    charts: Annotated[
        tuple[str, ...],
        Setting(
            words("svg", "png", "pdf", "json"),
            "Also write each chart to a file, in the folder charts; json is Vega-Lite.",
        ),
    ] = ()
    title: Annotated[str | None, Setting(TEXT, "Title of the report.")] = None

    #: A key that a job file does not know is an error.
    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        """Read the grids that are texts, as the default ones are."""
        for name in ("prevalence", "beta"):
            kind = Setting.of(type(self), name).kind
            object.__setattr__(self, name, kind.read(getattr(self, name)))

    @property
    def prevalences(self) -> tuple[float, ...]:
        """The prevalences to compare at; none where a file has one for each segment."""
        return () if isinstance(self.prevalence, Path) else self.prevalence

    @property
    def decided_at(self) -> float:
        """The decision threshold of the tables."""
        return 0.5 if self.threshold is None else self.threshold

    def question(self) -> "Question":
        """Return what is asked.

        Raises
        ------
        ParameterError
            If what is asked does not go together, is too much, or there is no such metric.
        """
        from nci_frames.questions.places import check_few, main_beta
        from nci_frames.questions.question import Question

        check_few(self.prevalences)
        return Question(
            prevalence=self.at,
            metric=self.metric,
            beta=main_beta(self.beta),
            cost=self.cost,
            alerts=self.alerts,
            volume=self.volume,
            confidence=self.confidence,
            threshold=self.threshold if self.alerts is None else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentOptions:
    """Which segments are reported together, as one called "other"."""

    min_positives: Annotated[
        float,
        Setting(
            number(">= 0", least=0),
            "Segments with fewer positives (independent ones where rows belong to units) become one segment, "
            '"other".',
        ),
    ] = 0
    min_negatives: Annotated[float, Setting(number(">= 0", least=0), "The same of negatives.")] = 0

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}
