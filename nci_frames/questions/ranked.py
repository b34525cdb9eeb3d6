"""A comparison -> the ranked tables of every format of a report, in their order."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

import polars as pl

from nci_frames.evaluation.support.reasons import why_doubtful
from nci_frames.questions.answer_lines import measure_name, value_name
from nci_frames.questions.comparison import Comparison
from nci_frames.tables.cells import RankedCells, ranked_cells
from nci_frames.tables.numbers import f_beta_name, format_grid, format_threshold, sentence

#: Measures that rank models: that of the question, F-beta at own best thresholds, F-beta at the threshold of
#: the comparison, or PR-AUC.
Measure = Literal["asked", "own", "f_beta", "pr_auc"]


class RankedTable(NamedTuple):
    """A ranked table: all rows of a measure over prevalence or beta, and its names."""

    #: Key of the table in the JSON report.
    name: str
    measure: Measure
    over: Literal["prevalence", "beta"]
    #: Heading, threshold of the models in words, and label of the button that shows the table.
    title: str
    where: str
    label: str
    rows: pl.DataFrame
    #: Prevalence or beta of the question, or the nearest one compared.
    asked: float

    def cells(self, shown: int) -> RankedCells:
        """Return the values and ranks at a few prevalences or betas."""
        return ranked_cells(self.rows, over=self.over, shown=shown, asked=self.asked)


def doubt_of(tables: Iterable[RankedTable], /) -> str | None:
    """Return in a few words why the log does not support some values; None if it supports all."""
    shown = (table.rows.drop_nulls("value") for table in tables)
    return why_doubtful(pl.concat(rows.select("supported", "reason") for rows in shown))


def own_threshold_words(comparison: Comparison, /) -> str:
    """Return the threshold of each model in words, and the rows on which it is evaluated."""
    apart = "optimistic" in comparison.best.columns
    rows = "rows that did not choose it" if apart else "the rows that chose it"
    return f"each model at its own best threshold, evaluated on {rows}"


def ranked_tables(comparison: Comparison, /) -> tuple[RankedTable, ...]:
    """Return the ranked tables of a report.

    >>> import nci_frames as nf
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> comparison = nf.compare_models(nf.count_confusion(log, thresholds="exact"), prevalence=[0.01, 0.5])
    >>> ranked_tables(comparison)[0].title
    'F1 over prevalence'
    """
    beta, prevalence, measures = comparison.main_beta, comparison.middle_prevalence, _measures(comparison)

    def over_prevalence(name: str, measure: Measure, rows: pl.DataFrame) -> RankedTable:
        what, where, briefly = measures[measure]
        title, label = sentence(f"{what} over prevalence"), f"{what} over η{briefly}"
        ranked = _grouped(rows, comparison, measure)
        return RankedTable(name, measure, "prevalence", title, where, label, ranked, prevalence)

    def over_beta(name: str, measure: Measure, table: pl.DataFrame) -> RankedTable:
        _, where, briefly = measures[measure]
        title = f"F-beta over beta at prevalence η = {format_grid(prevalence)}"
        rows = table.filter(prevalence=prevalence)
        return RankedTable(name, measure, "beta", title, where, f"F-beta over β{briefly}", rows, beta)

    question, asked = comparison.question, []
    # F-beta and areas have their own tables below.
    if question.area is None and (question.alerts is not None or not question.f_beta):
        asked = [over_prevalence("asked", "asked", comparison.answer_over_prevalence)]
    best, f_beta = comparison.best, comparison.projection.filter(metric="f_beta")
    return (
        *asked,
        over_prevalence("own_over_prevalence", "own", best.filter(beta=beta)),
        over_prevalence("f_beta_over_prevalence", "f_beta", f_beta.filter(beta=beta)),
        over_prevalence("pr_auc", "pr_auc", comparison.areas.filter(metric="pr_auc")),
        over_beta("own_over_beta", "own", best),
        over_beta("f_beta_over_beta", "f_beta", f_beta),
    )


def _measures(comparison: Comparison) -> dict[Measure, tuple[str, str, str]]:
    """Return the name of each measure, its threshold in words, and the threshold on a button."""
    at, f_beta = f"at threshold {format_threshold(comparison.threshold)}", f_beta_name(comparison.main_beta)
    return {
        "asked": (value_name(comparison.question), "as asked", ""),
        "own": (f_beta, own_threshold_words(comparison), ", own thresholds"),
        "f_beta": (f_beta, at, f" {at}"),
        "pr_auc": ("PR-AUC", "all thresholds", ""),
    }


def _grouped(rows: pl.DataFrame, comparison: Comparison, measure: Measure) -> pl.DataFrame:
    """Add the group of each model if models were compared with the best."""
    if comparison.contenders is None or measure == "asked":
        return rows
    groups = comparison.contenders.filter(measure=measure).select("model", "prevalence", "group")
    return rows.join(groups, on=["model", "prevalence"], how="left", maintain_order="left")


def measure_names(comparison: Comparison, /) -> dict[Measure, str]:
    """Return the names of the measures in sentences."""
    names = {measure: f"{what}{briefly}" for measure, (what, _, briefly) in _measures(comparison).items()}
    what, where, _ = _measures(comparison)["own"]
    return {**names, "asked": measure_name(comparison.question), "own": f"{what}, {where},"}
