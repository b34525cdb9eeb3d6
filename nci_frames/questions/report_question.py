"""A question of a report: its table, its sentences, its chart and its section."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeVar

import altair as alt
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.questions.class_comparison import ClassComparison
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.log_tables import MOST_MODELS
from nci_frames.tables.numbers import format_grid

Chart = alt.LayerChart | alt.FacetChart
AnyComparison = Comparison | ClassComparison
Rows = TypeVar("Rows", pl.DataFrame, pl.DataFrame | None)

#: Sections of a report, in their order.
SECTIONS = ("answer", "order", "charts", "segments", "data")


@dataclass(frozen=True, slots=True)
class ReportQuestion:
    """A question of a report, answered in every format.

    Parameters
    ----------
    name
        Name of the chart's file and key in JSON: ASCII letters, digits, - and _.
    title
        The question, as the heading of its table and chart; sentences may appear without it. Or a function
        of the comparison that returns it.
    section
        Section of the report: "answer", "order", "charts", "segments" or "data".
    table
        Function of the comparison (``Comparison`` or ``ClassComparison``) that returns a frame with the
        answer. If it returns None, the question is omitted.
    say
        Function of the table that returns sentences, shown instead of the table. Without it the table is
        shown; on the page only if there is no chart.
    draw
        Function of the table that returns an Altair chart. If it raises ParameterError, there is no chart.
    under
        Heading under which the page folds it away, with others of the same heading; "" leaves it open.
    say_at
        Function of the comparison and several prevalences that returns the sentences at each of them. The
        page shows those at the position of its slider.
    live
        How the controls of the page change the question; for those of the library. "rule" names the x field
        of a line that marks the control, "points" the x and y fields of points. "recomputed" names what
        ``live_charts.js`` computes anew, "chosen" the table that chooses the rows; "answer" marks the answer.

    *say* and *draw* may take the comparison as a second argument.

    Raises
    ------
    ParameterError
        If the name has other characters, or the section is unknown.

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
    _: KW_ONLY
    say_at: Callable[[Comparison, Sequence[float]], list[list[str]]] | None = None
    under: str = ""
    live: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the name and the section."""
        if not self.name.replace("-", "").replace("_", "").isalnum() or not self.name.isascii():
            msg = "the name of a question of a report is made of letters, digits, - and _"
            raise ParameterError(msg, found=repr(self.name))
        if self.section not in SECTIONS:
            msg = f"a question stands in one of the sections {', '.join(map(repr, SECTIONS))}"
            raise ParameterError(msg, where=f"question {self.name!r}", found=repr(self.section))

    def heading(self, comparison: AnyComparison) -> str:
        """Return the title of the question for this comparison."""
        return self.title if isinstance(self.title, str) else self.title(comparison)

    def sentences(self, table: pl.DataFrame, comparison: AnyComparison) -> list[str] | None:
        """Return the sentences; None if the table is shown instead."""
        return None if self.say is None else _call(self.say, table, comparison)

    def chart(self, table: pl.DataFrame, comparison: AnyComparison) -> Chart | None:
        """Return the chart; None if the question has none."""
        return None if self.draw is None else _call(self.draw, table, comparison)


def _call(function: Callable[..., Any], table: pl.DataFrame, comparison: AnyComparison) -> Any:
    """Call a function with the table, and with the comparison if it takes two arguments."""
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
    """Return a question answered only by a chart, without sentences; its table appears elsewhere.

    If *draw* is a chart of several models, its parameters named in ``_SHARED`` are filled in.
    """
    shared = [parameter for parameter in _SHARED if parameter in inspect.signature(draw).parameters]

    def drawn(table: pl.DataFrame, comparison: AnyComparison) -> Chart:
        return draw(table, **{parameter: _SHARED[parameter](comparison) for parameter in shared})

    how = drawn if shared else draw
    return ReportQuestion(name, title, section, table, lambda _: [], how, under=under, live=live)


def note(name: str, title: str, say: Callable[[Any], list[str]]) -> ReportQuestion:
    """Return a question of the section "answer" that is answered by sentences without a table."""
    return ReportQuestion(name, title, "answer", lambda _: pl.DataFrame(), lambda _, asked: say(asked))


def shown_models(comparison: AnyComparison, /, *, most: int = MOST_MODELS) -> list[str]:
    """Return the models shown in charts, sorted: at most *most*, those that rank highest anywhere."""
    return sorted(comparison.leading[:most])


def which_models(comparison: AnyComparison, /) -> str:
    """Return a phrase for the models shown in charts."""
    shown, models = len(shown_models(comparison)), len(comparison.answer)
    return "each model" if shown == models else f"{shown} of {models:,} models"


def of_shown(table: Rows, comparison: AnyComparison, /, *, most: int = MOST_MODELS) -> Rows:
    """Return the rows of the models shown in charts; None without a table."""
    models = shown_models(comparison, most=most)
    return None if table is None else table.filter(pl.col("model").is_in(models, nulls_equal=True))


def of_several(table: Callable[[Any], pl.DataFrame | None], /) -> Callable[[Any], pl.DataFrame | None]:
    """Return a function with the table for a chart of the order of models; None of one model."""
    return lambda comparison: table(comparison) if len(comparison.answer) > 1 else None


def at_asked(title: str) -> Callable[[Comparison], str]:
    """Return a title with the prevalence of the chart; on the page it follows the slider."""
    return lambda comparison: f"{title} at prevalence {format_grid(comparison.asked_prevalence)}"


#: Parameters that charts of several models share, as functions of the comparison.
_SHARED: Mapping[str, Callable[[Any], Any]] = {
    "models": shown_models,
    "observed": lambda comparison: comparison.observed_prevalence,
    "prevalence": lambda comparison: comparison.asked_prevalence,
    "beta": lambda comparison: comparison.main_beta,
    "certified": lambda comparison: comparison.certified,
    "priors": lambda comparison: comparison.mix,
    "measure": lambda comparison: comparison.measure,
}
