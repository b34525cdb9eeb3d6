"""Content of a report, independent of its format."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nci_frames.questions.report import TITLE, Answered, answered
from nci_frames.questions.report_question import AnyComparison, ReportQuestion
from nci_frames.reporting.gates import RunSummary


@dataclass(frozen=True)
class Content:
    """The arguments of ``write_report``, and the gates of the job that makes the report.

    A format may leave out parts: only the page has buttons for scenarios, and programs find the gates of a
    job in its verdicts.json.
    """

    comparison: AnyComparison
    title: str = TITLE
    facts: Sequence[tuple[str, str]] = ()
    scenarios: Mapping[str, float] | None = None
    questions: Sequence[ReportQuestion] | None = None
    gates: RunSummary | None = None

    @property
    def answered(self) -> list[Answered]:
        """The questions that the log can answer."""
        return answered(self.comparison, self.questions)
