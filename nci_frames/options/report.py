"""Options of a report, defined once for the commands and the job file."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from nci_frames.base.arguments import USUAL_PREVALENCES
from nci_frames.options.kinds import COSTS, INSIDE, TEXT, grid, number, words
from nci_frames.options.setting import Setting, setting, settings

if TYPE_CHECKING:
    from nci_frames.questions.question import Question


@settings
@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """The question, the comparisons, and the output of a report."""

    at: float | None = setting(
        INSIDE, "Prevalence where the model will be used, for which to choose it.  [default: that of the log]"
    )
    metric: str | None = setting(
        TEXT, "Metric or area to choose a model by.  [default: f_beta, or recall with alerts]"
    )
    cost: tuple[float, float] | tuple[float, float, float] | None = setting(
        COSTS,
        "Choose by expected cost: cost of a missed positive, of a false alarm and, optionally, of the "
        "review of each alert, e.g. 200:5:8.",
    )
    alerts: float | None = setting(
        number(">= 0", least=0), "Maximum number of alerts among the rows of the volume."
    )
    volume: float | None = setting(
        number("a finite number > 0", least=0, open_ends=True),
        "Number of rows that the model will score, e.g. 2M a day; alerts and costs are for so many.",
    )
    confidence: float | None = setting(
        number("between 0.5 and 1, both excluded", least=0.5, most=1, open_ends=True),
        "Confidence that other rows also keep the limit of alerts.  [default: only this log keeps it]",
    )
    threshold: float | None = setting(
        number("a number"),
        "Compare models at this threshold (positive: score >= threshold), not each at its own best one. "
        "With alerts, which set the thresholds, it is only that of tables.  [default: 0.5, in tables]",
        short="t",
    )
    prevalence: tuple[float, ...] | Path = setting(
        grid("within [0, 1]", most=1, files=True),
        "Prevalences to compare at: numbers separated by commas, start:stop:round or "
        "start:stop:log:count; or a CSV or Parquet file with the prevalence of each segment: columns of "
        "segments, prevalence and, optionally, share.",
        short="p",
        default=USUAL_PREVALENCES,
    )
    beta: tuple[float, ...] = setting(
        grid("a number >= 0"),
        "Weights of recall in F-beta: numbers, in the same form.",
        short="b",
        default="0.25:4:log:33",
    )
    formats: tuple[str, ...] = setting(
        words("html", "md", "json", "txt", least=1),
        "Formats of the report: html (page with charts), md (for code hosts), json (for programs), txt "
        "(terminal output).",
        flag="format",
        default=("html",),
    )
    tables: tuple[str, ...] = setting(
        words("parquet", "csv", "md"),
        "Formats of the report's tables, in the folder tables.",
        default=("parquet",),
    )
    charts: tuple[str, ...] = setting(
        words("svg", "png", "pdf", "json"),
        "Also write each chart to the folder charts, in these formats; json is Vega-Lite.",
        default=(),
    )
    title: str | None = setting(TEXT, "Title of the report.")

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
        from nci_frames.questions.places import check_grid, main_beta
        from nci_frames.questions.question import Question

        check_grid(self.prevalences)
        same = {name: getattr(self, name) for name in ("metric", "cost", "alerts", "volume", "confidence")}
        threshold = self.threshold if self.alerts is None else None
        return Question(prevalence=self.at, beta=main_beta(self.beta), threshold=threshold, **same)


@settings
@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentOptions:
    """Minimum sizes of segments; smaller ones are reported as one segment "other"."""

    min_positives: float = setting(
        number(">= 0", least=0),
        "Segments with fewer positives (independent ones, if rows belong to units) are merged into one "
        'segment "other".',
        default=0,
    )
    min_negatives: float = setting(number(">= 0", least=0), "The same for negatives.", default=0)

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}
