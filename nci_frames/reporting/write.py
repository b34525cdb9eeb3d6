"""A comparison -> one file: a page, Markdown, or JSON."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.base.files import file_kind, replacing
from nci_frames.questions.class_comparison import ClassComparison
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.report import CLASS_TITLE, TITLE
from nci_frames.questions.report_question import ReportQuestion
from nci_frames.reporting.class_page import render_class_page
from nci_frames.reporting.content import Content
from nci_frames.reporting.html import render_report
from nci_frames.reporting.json import render_class_json, render_json
from nci_frames.reporting.markdown import render_markdown
from nci_frames.reporting.terminal import render_text
from nci_frames.schemas import checked

#: How each form is written.
_FORMS: Mapping[str, Callable[..., str]] = {
    "html": render_report, "md": render_markdown, "json": render_json, "txt": render_text,
}  # fmt: skip
_OF_CLASSES: Mapping[str, Callable[..., str]] = {
    **_FORMS,
    "html": render_class_page,
    "json": render_class_json,
}
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

    The file is written beside its target and then moved over it: a reader sees the old report or the new
    one, and a failure leaves the old one as it was. Equal arguments give equal bytes.

    Parameters
    ----------
    comparison
        The tables to show: of ``compare_models``, or of ``compare_classes``.
    path
        The file to write; its ending gives the format: ``.html`` is the page with charts and sliders, ``.md``
        the answer and the ranked tables, ``.json`` a summary for programs, ``.txt`` what a terminal shows.
        Folders above it are created if missing.
    title
        Title of the report; by default one that says what changes.
    facts
        Pairs of label and value about the data, e.g. files read and rows dropped.
    scenarios
        Prevalences by name, each in [0, 1]: the page has a button for each of those that it covers, before
        the powers of ten and the log's own, and opens at the first of them. Not of classes, whose mixes are
        those of the comparison.
    questions
        The questions that the report answers, in their order within each section; None stands for those of
        ``report_questions``, or of ``class_report_questions``. Each has a name of its own.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    ParameterError
        The path is a folder, or has another ending; or a scenario is not a prevalence, or given of classes.
    SchemaError
        The name of a model is null, or there are no counts.

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
    """Write one form of a report as ``write_report`` does; *more* is other ``Content``."""
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
        if not 0 <= prevalence <= 1:
            raise ParameterError.out_of_range(f"scenarios[{name!r}]", prevalence, "a prevalence in [0, 1]")
    with replacing(path, what="report") as file:
        forms: Mapping[str, Callable[..., str]] = _OF_CLASSES if of_classes else _FORMS
        text = forms[kind](comparison, **more)
        # A file's name, or an argument of a command, may hold bytes that are no text.
        file.write_bytes(text.encode("utf-8", errors="backslashreplace"))
    return Path(path)
