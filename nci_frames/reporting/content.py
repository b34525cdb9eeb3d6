"""What a report shows, whatever its form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nci_frames.questions.report import TITLE, Answered, answered
from nci_frames.questions.report_question import AnyComparison, ReportQuestion
from nci_frames.reporting.gates import RunSummary


@dataclass(frozen=True)
class Content:
    """What ``write_report`` is given, and the gates of the job that makes the report.

    A form leaves out what it has no place for: only the page has buttons for scenarios, and programs find the
    gates of a job in its verdicts.json.
    """

    comparison: AnyComparison
    title: str = TITLE
    facts: Sequence[tuple[str, str]] = ()
    scenarios: Mapping[str, float] | None = None
    questions: Sequence[ReportQuestion] | None = None
    gates: RunSummary | None = None

    @property
    def answered(self) -> list[Answered]:
        """The questions that the log has an answer to."""
        return answered(self.comparison, self.questions)
