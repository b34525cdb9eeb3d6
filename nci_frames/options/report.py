"""Options of a report, defined once for the commands and the job file."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from nci_frames.base.arguments import USUAL_PREVALENCES
from nci_frames.options.kinds import COSTS, INSIDE, TEXT, grid, number, words
from nci_frames.options.setting import Setting

if TYPE_CHECKING:
    from nci_frames.questions.question import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """The question, the comparisons, and the output of a report."""

    at: Annotated[
        float | None,
        Setting(
            INSIDE,
            "Prevalence where the model will be used, for which to choose it.  [default: that of the log]",
        ),
    ] = None
    metric: Annotated[
        str | None,
        Setting(TEXT, "Metric or area to choose a model by.  [default: f_beta, or recall with alerts]"),
    ] = None
    cost: Annotated[
        tuple[float, float] | tuple[float, float, float] | None,
        Setting(
            COSTS,
            "Choose by expected cost: cost of a missed positive, of a false alarm and, optionally, of the "
            "review of each alert, e.g. 200:5:8.",
        ),
    ] = None
    alerts: Annotated[
        float | None,
        Setting(number(">= 0", least=0), "Maximum number of alerts among the rows of the volume."),
    ] = None
    volume: Annotated[
        float | None,
        Setting(
            number("a finite number > 0", least=0, open_ends=True),
            "Number of rows that the model will score, e.g. 2M a day; alerts and costs are for so many.",
        ),
    ] = None
    confidence: Annotated[
        float | None,
        Setting(
            number("between 0.5 and 1, both excluded", least=0.5, most=1, open_ends=True),
            "Confidence that other rows also keep the limit of alerts.  [default: only this log keeps it]",
        ),
    ] = None
    threshold: Annotated[
        float | None,
        Setting(
            number("a number"),
            "Compare models at this threshold (positive: score >= threshold), not each at its own best one. "
            "With alerts, which set the thresholds, it is only that of tables.  [default: 0.5, in tables]",
            short="t",
        ),
    ] = None
    prevalence: Annotated[
        tuple[float, ...] | Path,
        Setting(
            grid("within [0, 1]", most=1, files=True),
            "Prevalences to compare at: numbers separated by commas, start:stop:round or "
            "start:stop:log:count; or a CSV or Parquet file with the prevalence of each segment: columns of "
            "segments, prevalence and, optionally, share.",
            short="p",
        ),
    ] = USUAL_PREVALENCES  # type: ignore[assignment]
    beta: Annotated[
        tuple[float, ...],
        Setting(grid("a number >= 0"), "Weights of recall in F-beta: numbers, in the same form.", short="b"),
    ] = "0.25:4:log:33"  # type: ignore[assignment]
    formats: Annotated[
        tuple[str, ...],
        Setting(
            words("html", "md", "json", "txt", least=1),
            "Formats of the report: html (page with charts), md (for code hosts), json (for programs), txt "
            "(terminal output).",
            flag="format",
        ),
    ] = ("html",)
    tables: Annotated[
        tuple[str, ...],
        Setting(words("parquet", "csv", "md"), "Formats of the report's tables, in the folder tables."),
    ] = ("parquet",)
    charts: Annotated[
        tuple[str, ...],
        Setting(
            words("svg", "png", "pdf", "json"),
            "Also write each chart to the folder charts, in these formats; json is Vega-Lite.",
        ),
    ] = ()
    title: Annotated[str | None, Setting(TEXT, "Title of the report.")] = None

    #: Unknown keys in a job file are errors.
    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        """Parse grids given as strings, as the defaults are."""
        for name in ("prevalence", "beta"):
            kind = Setting.of(type(self), name).kind
            object.__setattr__(self, name, kind.read(getattr(self, name)))

    @property
    def prevalences(self) -> tuple[float, ...]:
        """The prevalences to compare at; none if a file has one for each segment."""
        return () if isinstance(self.prevalence, Path) else self.prevalence

    @property
    def table_threshold(self) -> float:
        """Decision threshold of the tables."""
        return 0.5 if self.threshold is None else self.threshold

    def question(self) -> "Question":
        """Return the question.

        Raises
        ------
        ParameterError
            If options contradict each other, there are too many values, or the metric is unknown.
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
    """Minimum sizes of segments; smaller ones are reported as one segment "other"."""

    min_positives: Annotated[
        float,
        Setting(
            number(">= 0", least=0),
            "Segments with fewer positives (independent ones, if rows belong to units) are merged into one "
            'segment "other".',
        ),
    ] = 0
    min_negatives: Annotated[float, Setting(number(">= 0", least=0), "The same for negatives.")] = 0

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}
