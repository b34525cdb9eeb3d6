"""Which labels would tell the values that the log cannot tell, at the least cost?"""

import shlex

import polars as pl

from nci_frames.evaluation.labelling.cheapest import labels_in_words
from nci_frames.evaluation.metrics import COSTS_OF_ONE, called_metric
from nci_frames.questions.answer_lines import labels_for, measure_name
from nci_frames.questions.comparison import Comparison
from nci_frames.questions.report_question import ReportQuestion
from nci_frames.tables.numbers import format_grid, format_threshold


def _cheapest(comparison: Comparison) -> pl.DataFrame | None:
    """Return how many labels would tell the value of the best model at prevalences where the log cannot.

    None if there are none, or for costs, which the command does not take.
    """
    if comparison.question.cost is not None:
        return None
    first = comparison.answer_over_prevalence.filter(rank=1, supported=False).unique(
        "prevalence", keep="first", maintain_order=True
    )
    rows = []
    for row in first.sort("prevalence").iter_rows(named=True):
        found = labels_for(comparison.question, row["prevalence"], row)
        if found is not None:
            rows.append({**row, "labels": found[0], "random": found[1]})
    names = ("model", "threshold", "metric", "prevalence", "labels", "random")
    return pl.DataFrame(rows).select(names) if rows else None


def _say(table: pl.DataFrame, comparison: Comparison) -> list[str]:
    question = comparison.question
    asked, name = called_metric(question.asked).label, measure_name(question)
    # The command needs the costs, which are 1 each if nobody gave them.
    asked = shlex.quote(f"{asked}(c_fp=1, c_fn=1)" if asked in COSTS_OF_ONE else asked)
    if question.f_beta and question.beta != 1:
        asked += f" --beta {question.beta:.15g}"
    # If the value of the question is unknown, only that is reported.
    here = table.filter(prevalence=comparison.asked_prevalence)
    ends = table[sorted({0, len(table) - 1})]
    lines = []
    several = len(comparison.answer) > 1
    for row in (ends if here.is_empty() else here).iter_rows(named=True):
        at, threshold = format_grid(row["prevalence"]), format_threshold(row["threshold"])
        lines.append(
            f"At prevalence {at} this log cannot tell {name} of {row['model']} at threshold {threshold}; "
            f"{labels_in_words((row['labels'], row['random']))}: nci-frames plan-labels LOG "
            f"--pilot THIS_LOG --budget {row['labels']} --metric {asked} --threshold {row['threshold']!r}"
            + (f" --by-model {shlex.quote(row['model'])}" if several else "")
        )
    return lines


QUESTIONS = (ReportQuestion("cheapest", "What would tell what this log cannot?", "answer", _cheapest, _say),)
