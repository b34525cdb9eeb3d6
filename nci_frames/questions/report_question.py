"""What a question of a report is: its table, its sentences, its chart of which models, and its place."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import altair as alt
import polars as pl

from nci_frames.base.arguments import check_utf8
from nci_frames.base.errors import ParameterError
from nci_frames.questions.class_comparison import ClassComparison
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.log_tables import MOST_MODELS
from nci_frames.tables.numbers import format_grid

Chart = alt.LayerChart | alt.FacetChart
AnyComparison = Comparison | ClassComparison
Rows = TypeVar("Rows", pl.DataFrame, pl.DataFrame | None)

#: Where a question may stand in a report, in their order.
SECTIONS = ("answer", "order", "charts", "segments", "data")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportQuestion:
    """One question of a report, whole: every format of a report has its answer.

    Parameters
    ----------
    name
        A name that is valid as a file name; that of its chart, and its key in JSON.
    title
        The question, as the heading of its table and of its chart; sentences may stand without it. Or a
        function of the comparison that returns it.
    section
        Where it stands: "answer", "order", "charts", "segments" or "data".
    table
        A function of the comparison (``Comparison`` or ``ClassComparison``) that returns the frame that
        answers it; None where the log has no answer, and the question is left out.
    say
        A function of the table that returns sentences, which stand instead of the table. Without it the table
        is shown; on the page only if there is no chart.
    draw
        A function of the table that returns an Altair chart. One that raises ParameterError is not drawn.
    under
        The heading under which the page folds it away, with others of the same heading; "" leaves it open.
    say_at
        A function of the comparison and of several prevalences that returns the sentences at each of them:
        the page shows those at the place of its slider.
    live
        What the controls of the page do to the chart; for the questions of the library.

    *say* and *draw* may take the comparison as a second argument.

    Raises
    ------
    ParameterError
        If the name is no file name, or there is no such section.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> comparison = nf.compare_models(nf.count_confusion(log, thresholds="exact"), prevalence=[0.01, 0.5])
    >>> rows = nf.ReportQuestion(
    ...     name="rows", title="How many rows were counted?", section="data",
    ...     table=lambda comparison: comparison.points.select("model", "positives", "negatives"),
    ...     say=lambda table: [f"{table['positives'][0]} positives and {table['negatives'][0]} negatives."],
    ... )
    >>> path = getfixture("tmp_path") / "report.txt"
    >>> text = nf.write_report(comparison, path, questions=(*nf.report_questions(), rows)).read_text()
    >>> "2 positives and 2 negatives." in text
    True
    """

    name: str
    title: str | Callable[[Any], str]
    section: str
    table: Callable[[Any], pl.DataFrame | None]
    say: Callable[..., list[str]] | None = None
    draw: Callable[..., Chart] | None = None
    say_at: Callable[[Comparison, Sequence[float]], list[list[str]]] | None = None
    under: str = ""
    live: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the name and the section."""
        check_utf8("name", self.name)
        if not self.name.replace("-", "").replace("_", "").isalnum() or not self.name.isascii():
            msg = "the name of a question of a report is made of letters, digits, - and _"
            raise ParameterError(msg, found=repr(self.name))
        if self.section not in SECTIONS:
            msg = f"a question stands in one of the sections {', '.join(map(repr, SECTIONS))}"
            raise ParameterError(msg, where=f"question {self.name!r}", found=repr(self.section))

    def heading(self, comparison: AnyComparison) -> str:
        """Return the question."""
        return self.title if isinstance(self.title, str) else self.title(comparison)

    def sentences(self, table: pl.DataFrame, comparison: AnyComparison) -> list[str] | None:
        """Return what is said; None where the table is to be shown."""
        return None if self.say is None else _call(self.say, table, comparison)

    def chart(self, table: pl.DataFrame, comparison: AnyComparison) -> Chart | None:
        """Return what is drawn."""
        return None if self.draw is None else _call(self.draw, table, comparison)


def _call(function: Callable[..., Any], table: pl.DataFrame, comparison: AnyComparison) -> Any:
    """Call with the comparison, too, if the function takes two arguments."""
    try:
        inspect.signature(function).bind(table, comparison)
    except TypeError:
        return function(table)
    return function(table, comparison)


def picture(
    name: str,
    title: str | Callable[[Any], str],
    table: Callable[[Any], pl.DataFrame | None],
    draw: Callable[..., Chart],
    *,
    section: str = "charts",
    under: str = "",
    **live: str,
) -> ReportQuestion:
    """Return a question that only a chart answers: its table stands elsewhere, and nothing is said.

    *draw* may be a chart of several models, which is given what such charts share as far as it takes it.
    """
    if {"models", "priors"} & {*inspect.signature(draw).parameters}:
        draw = _of_models(draw)
    return ReportQuestion(
        name=name, title=title, section=section, table=table, draw=draw, under=under, live=live,
        say=lambda _: [],
    )  # fmt: skip


def said(name: str, title: str, say: Callable[[Any], list[str]]) -> ReportQuestion:
    """Return a question of the answer that sentences answer, which have no table."""
    return ReportQuestion(
        name=name, title=title, section="answer", table=lambda _: pl.DataFrame(),
        say=lambda _, comparison: say(comparison),
    )  # fmt: skip


def shown_models(comparison: AnyComparison, /, *, most: int = MOST_MODELS) -> list[str]:
    """Return the models that charts show: the few that rank highest anywhere, sorted."""
    return sorted(comparison.leading[:most])


def of_shown(table: Rows, comparison: AnyComparison, /, *, most: int = MOST_MODELS) -> Rows:
    """Return the rows of these models, if there is a table."""
    models = shown_models(comparison, most=most)
    return None if table is None else table.filter(pl.col("model").is_in(models, nulls_equal=True))


def at_asked(title: str) -> Callable[[Comparison], str]:
    """Return a title that says at which prevalence a chart holds; on the page it follows the slider."""
    return lambda comparison: f"{title} at prevalence {format_grid(comparison.asked_prevalence)}"


#: What charts of several models share: these models, the prevalence of the log, and what is asked; of classes
#: the mix, and what the metric is called.
_SHARED: Mapping[str, Callable[[Any], Any]] = {
    "models": shown_models,
    "observed": lambda comparison: comparison.observed_prevalence,
    "prevalence": lambda comparison: comparison.asked_prevalence,
    "beta": lambda comparison: comparison.main_beta,
    "certified": lambda comparison: comparison.certified,
    "priors": lambda comparison: comparison.mix,
    "measure": lambda comparison: comparison.measure,
}


def marks(comparison: Comparison, /, *names: str) -> dict[str, Any]:
    """Return some of what charts share, by default these models and the prevalence of the log."""
    return {name: _SHARED[name](comparison) for name in names or ("models", "observed")}


def _of_models(chart: Callable[..., Chart]) -> Callable[[pl.DataFrame, Comparison], Chart]:
    names = [name for name in _SHARED if name in inspect.signature(chart).parameters]
    return lambda table, comparison: chart(table, **marks(comparison, *names))
