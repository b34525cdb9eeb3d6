"""A comparison -> one file: HTML, Markdown, JSON or text."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nci_frames.base.arguments import check_allowed
from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.base.files import file_kind, replacing
from nci_frames.questions.class_comparison import ClassComparison
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.report import CLASS_TITLE, TITLE
from nci_frames.questions.report_question import ReportQuestion
from nci_frames.reporting.content import Content
from nci_frames.reporting.html import render_class_page, render_report
from nci_frames.reporting.json import render_class_json, render_json
from nci_frames.reporting.markdown import render_markdown
from nci_frames.reporting.terminal import render_text
from nci_frames.schemas import checked

#: Writer of each format.
_FORMS: Mapping[str, Callable[..., str]] = {
    "html": render_report, "md": render_markdown, "json": render_json, "txt": render_text,
}  # fmt: skip
_OF_CLASSES = {**_FORMS, "html": render_class_page, "json": render_class_json}
REPORT_KINDS = tuple(_FORMS)


@checked
def write_report(
    comparison: Comparison | ClassComparison,
    /,
    path: str | Path,
    *,
    title: str | None = None,
    facts: Sequence[tuple[str, str]] = (),
    scenarios: Mapping[str, float] | None = None,
    questions: Sequence[ReportQuestion] | None = None,
) -> Path:
    """Write a comparison as one self-contained HTML page, as Markdown, as JSON, or as plain text.

    The file is replaced atomically: a reader sees the old report or the new one, and a failure leaves an
    existing file unchanged. Equal arguments give equal bytes.

    Parameters
    ----------
    comparison
        The result of ``compare_models`` or ``compare_classes``.
    path
        File to write. The format is given by the ending: ``.html``, a page with charts and sliders; ``.md``,
        the answer and the ranked tables; ``.json``, a summary for programs; ``.txt``, the terminal output.
        Missing folders are created.
    title
        Title of the report; by default it describes the comparison.
    facts
        Pairs of label and value about the data, such as files read and rows dropped.
    scenarios
        Prevalences by name, each in [0, 1]. The page gets a button for each one in its range, before those
        for powers of ten and for the prevalence of the log. It opens at the prevalence of the question, or
        without one at the first scenario that the log supports, or else at the first. Not for classes,
        whose mixes are part of the comparison.
    questions
        Questions of the report, with distinct names, in their order within each section; None means those of
        ``report_questions`` or ``class_report_questions``.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    ParameterError
        If *path* is a folder or has another ending; or if a scenario is not a prevalence, or given for
        classes.
    SchemaError
        If the name of a model is null, or there are no counts.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> comparison = nf.compare_models(nf.count_confusion(log, thresholds="exact"), prevalence=[0.01, 0.5])
    >>> folder = getfixture("tmp_path")
    >>> nf.write_report(comparison, folder / "report.html", facts=[("rows", "4")]).name
    'report.html'
    >>> text = nf.write_report(comparison, folder / "report.md", title="Four rows").read_text()
    >>> text.splitlines()[0]
    '# Four rows'
    """
    return write_form(comparison, path, title=title, facts=facts, scenarios=scenarios, questions=questions)


def write_form(
    comparison: Comparison | ClassComparison, path: str | Path, *, title: str | None = None, **more: Any
) -> Path:
    """Write one format of a report as ``write_report`` does; *more* are further fields of ``Content``."""
    of_classes = isinstance(comparison, ClassComparison)
    more["title"] = title or (CLASS_TITLE if of_classes else TITLE)
    kind, content = file_kind(path, REPORT_KINDS, what="report"), Content(comparison, **more)
    names = [question.name for question in content.questions or ()]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ParameterError("two questions of the report have one name", found=repr(twice))
    if isinstance(comparison, ClassComparison):
        if content.scenarios:
            hint = "give them as priors of compare_classes"
            raise ParameterError("scenarios are prevalences, and classes have none", hint=hint)
    elif comparison.points.is_empty():
        raise SchemaError("there are no rows to report on", hint="count a log that has rows")
    elif comparison.points["model"].has_nulls():
        raise SchemaError.unnamed_model()
    for name, prevalence in (content.scenarios or {}).items():
        check_allowed(0 <= prevalence <= 1, f"scenarios[{name!r}]", prevalence, "a prevalence in [0, 1]")
    with replacing(path, what="report") as file:
        forms: Mapping[str, Callable[..., str]] = _OF_CLASSES if of_classes else _FORMS
        text = forms[kind](comparison, **more)
        # File names and command arguments may contain bytes that are not UTF-8.
        file.write_bytes(text.encode("utf-8", errors="backslashreplace"))
    return Path(path)
