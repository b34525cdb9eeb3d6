"""The questions of a report on decisions among classes."""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

import polars as pl

from nci_frames.base.arguments import LEAST_BUCKETS
from nci_frames.base.messages import listed, quantity
from nci_frames.charts import classes
from nci_frames.evaluation.metrics.classes import class_metric
from nci_frames.questions import answer_lines as words
from nci_frames.questions.class_comparison import ClassComparison
from nci_frames.questions.how_sure import of_strata, read_resampled
from nci_frames.questions.order import Lead, any_of, leads_in_words
from nci_frames.questions.report_question import (
    Chart,
    ReportQuestion,
    note,
    of_several,
    of_shown,
    picture,
    shown_models,
    which_models,
)
from nci_frames.questions.which_model import first_questions
from nci_frames.tables.numbers import format_value, sentence

#: Number of wrong decisions listed.
_MISTAKES = 20
#: Number of classes named whose share changes the best model.
_CHANGES = 3
#: Phrases for mixes with standard names.
_MIXES = {
    "observed": "the mix of the log",
    "uniform": "equal shares of all classes",
    "given": "the mix given",
}


def mix_in_words(comparison: ClassComparison) -> str:
    """Return a phrase for the mix of the question, with its largest shares."""
    name, each = comparison.scenario, sorted(comparison.shares.items(), key=lambda pair: -pair[1])
    called = f"the mix {name!r}" if comparison.named else _MIXES[name]
    shares = listed([f"{of_class}: {words.percent(share)}" for of_class, share in each], 3)
    return called if called == _MIXES["uniform"] else f"{called} ({shares})"


def class_answer_lines(comparison: ClassComparison) -> list[str]:
    """Return the answer in a few lines, most important first."""
    place, order = f"At {mix_in_words(comparison)}", order_in_words(comparison)
    return lines_at(place, comparison, comparison.answer.to_dicts(), order)


def lines_at(
    place: str, comparison: ClassComparison, rows: Sequence[dict[str, Any]], order: str
) -> list[str]:
    """Return the lines at a mix: *rows* are the models there, best first; *order* is the line on others."""
    name = comparison.measure
    lines = [f"{place}, by {name}:"]
    best, others = words.best_of(rows)
    # One model leads everywhere.
    orders = [order] if len(comparison.models) > 1 else []
    if not best:
        reason = rows[0]["reason"] if rows else None
        return [*lines, "No model has a defined value" + (f": {reason}" if reason else ""), *orders]
    first, tested = best[0], comparison.tested and "distinguishable" in best[0]
    near, compared = words.rivals(others) if tested else (words.none_near(others), "")
    per = "" if comparison.cost is None else " a row"
    value = f"{name} {format_value(first['value'])}{per}{words.bounds_in_words(best[:1] if near else best)}"
    doubted = not first["supported"]
    if doubted:
        told = f"This log cannot tell the value: {first['reason']}"
        near = words.none_near([*best[1:], *others])
        compared = words.with_known_order(told, best, others) if tested else told
    lines += [sentence(words.choice_in_words(best, near, value, doubted=doubted)), *orders]
    lines += [sentence(compared)] if compared else []
    # A model that lacks the rows of a class would otherwise seem to be worse.
    without = [row["model"] for row in rows if row["value"] is None]
    return [*lines, f"Not compared, since {rows[-1]['reason']}: {listed(without)}"] if without else lines


def order_in_words(comparison: ClassComparison) -> str:
    """Return for which classes the best model changes with the share, nearest change first."""
    found, changing = comparison.leads, comparison.changing
    if not changing:
        return _lead_whatever(chain(*found.values()), "any one class")
    here = {name: words.percent(comparison.shares[name]) for name in changing[:_CHANGES]}
    leads = {name: leads_in_words(found[name], number=words.percent) for name in here}
    told = "; ".join(f"of class {name} (here {here[name]}) {leads[name]}" for name in here)
    several = f" of {len(changing):,} of {len(found):,} classes, the others in proportion"
    return f"In this log the best model changes with the share{several}: {told}"


def order_along(comparison: ClassComparison, name: str) -> str:
    """Return how the best model changes with the share of a class."""
    leads, share = comparison.leads[name], f"class {name}, the others in proportion"
    if len(leads) < 2:
        return _lead_whatever(leads, share)
    changes = leads_in_words(leads, number=words.percent)
    return f"In this log the best model changes with the share of {share}: {changes}"


def _lead_whatever(leads: Iterable[Lead], share: str) -> str:
    each = [lead.models for lead in leads]
    every = dict.fromkeys(chain(*each))
    # Of equal models only some may have a value where a class occurs that the others lack.
    leaders = [name for name in every if all(name in models for models in each)] or [*every]
    verb = "lead" if len(leaders) > 1 else "leads"
    return f"In this log {any_of(leaders) if leaders else 'no model'} {verb} whatever the share of {share}"


def opening_class(comparison: ClassComparison) -> str:
    """Return the class whose share the page shows first: the one with the nearest change, if any."""
    return next(iter([*comparison.changing, *comparison.moved]))


def _one_share(comparison: ClassComparison) -> pl.DataFrame:
    rows = of_shown(comparison.curves.filter(pl.col("class") == opening_class(comparison)), comparison)
    return rows if rows["lower"].count() else rows.drop("lower", "upper")


def _counts(comparison: ClassComparison) -> pl.DataFrame:
    return of_shown(comparison.counts, comparison)


def _of_three_classes(comparison: ClassComparison) -> pl.DataFrame | None:
    return _counts(comparison) if len(comparison.classes) == 3 else None


def _draw_winners(table: pl.DataFrame, comparison: ClassComparison) -> Chart:
    # The classes of the table are texts.
    return classes.chart_class_winners(table, priors=comparison.shares, models=shown_models(comparison))


def _draw_simplex(table: pl.DataFrame, comparison: ClassComparison) -> Chart:
    marked, models = {comparison.scenario: comparison.mix}, shown_models(comparison)
    return classes.chart_class_simplex(
        table, metric=comparison.metric, priors=marked, models=models, **comparison.asked
    )


def _other_mixes(comparison: ClassComparison) -> pl.DataFrame:
    """Return the models at every mix, with columns on support only if some value is not supported."""
    table = comparison.other_mixes.drop("gap")
    silent = ["supported", "reason"] if table["supported"].all() and not table["reason"].count() else []
    return table.drop(silent)


def _mistakes(comparison: ClassComparison) -> pl.DataFrame:
    """Return the wrong decisions with the largest shares of the mix."""
    wrong = comparison.matrix.filter(pl.col("label") != pl.col("decision"), pl.col("rows") > 0)
    most = wrong.sort(-pl.col("share"), "model", "label", "decision").head(_MISTAKES)
    names = {"label": "class", "rows": _rows(comparison), "rate": "share of class", "share": "share of mix"}
    return most.with_columns(pl.col("rows").cast(comparison.counts.schema["rows"])).rename(names)


def _rows(comparison: ClassComparison) -> str:
    """Return the heading of rows, or of the sums of their weights."""
    return "rows" if comparison.counts.schema["rows"].is_integer() else "weight"


def _each_class(comparison: ClassComparison) -> pl.DataFrame:
    """Return each metric of each class and model with its bounds, as text."""
    shown = pl.struct("value", "lower", "upper", "supported").map_elements(_shown, pl.String)
    told = comparison.of_each_class.with_columns(shown.alias("shown"))
    rows = comparison.counts.group_by("model", pl.col("label").alias("class")).agg(pl.col("rows").sum())
    wide = told.pivot("metric", index=["model", "class"], values="shown")
    share = pl.col("class").replace_strict(comparison.mix, return_dtype=pl.Float64)
    return wide.join(rows, ["model", "class"], "left").sort("class", "model").select(
        pl.col("class").cast(pl.String), "model", pl.col("rows").fill_null(0).alias(_rows(comparison)),
        share.alias("share"), "precision", "recall",
        pl.col("f_beta").alias(f"F{comparison.beta:g}"),
    )  # fmt: skip


def _shown(row: dict[str, Any]) -> str | None:
    """Return a value with its bounds, and a question mark if it is not supported."""
    if row["value"] is None:
        return None
    value, lower, upper = (format_value(row[name]) for name in ("value", "lower", "upper"))
    bounds = "" if row["lower"] is None else f" ({lower} to {upper})"
    return f"{value}{bounds}{'' if row['supported'] else ' ?'}"


def assumption_lines(comparison: ClassComparison) -> list[str]:
    """Return lines on what intervals and tests resample, and what values at other mixes assume."""
    buckets, whole = comparison.buckets, comparison.counts.schema["rows"].is_integer()
    if not whole or comparison.by_units:
        drawn = read_resampled(buckets, weighted=not whole)
    else:
        few = f"There are {quantity(buckets or 0, 'group')} of units, and tests need {LEAST_BUCKETS}"
        there = "No unit was named" if buckets is None else few
        why = ", and models are not compared, since that needs the rows that they decided about"
        alone = len(comparison.models) == 1
        drawn = f"{there}: rows are taken as independent in intervals{'' if alone else why}."
    weights = comparison.counts["weight"].n_unique() if "weight" in comparison.counts.columns else 0
    drawn += of_strata(weights, buckets if comparison.by_units else None)
    assumed = "Values at other mixes assume that each class gets its decisions as in this log."
    return [drawn, f"{assumed} This was not tested."]


def _by(form: str) -> Callable[[ClassComparison], str]:
    """Return a title that contains the name of the metric."""
    return lambda comparison: sentence(form.format(comparison.measure))


def _at(question: str) -> Callable[[ClassComparison], str]:
    """Return a title that ends with the mix of the question."""
    return lambda comparison: f"{question}, at {mix_in_words(comparison)}?"


QUESTIONS = (
    *first_questions(
        class_answer_lines,
        lambda comparison: sentence(f"{comparison.measure} of {which_models(comparison)}"),
        metric=lambda comparison: class_metric(comparison.metric),
        measure=attrgetter("measure"),
        where=lambda comparison: f" at {mix_in_words(comparison)}",
    ),
    picture(
        "share",
        _by("{} over the share of a class"),
        _one_share,
        classes.chart_share_answer,
        section="answer",
        rule="share",
        recomputed="along",
    ),
    note("assumption", "What do intervals and values at other mixes rest on?", assumption_lines),
    picture(
        "winners",
        _by("Best model by {} over the share of each class"),
        of_several(attrgetter("winners")),
        _draw_winners,
        section="order",
    ),
    picture(
        "simplex",
        _by("Best model by {} at every mix of the three classes"),
        of_several(_of_three_classes),
        _draw_simplex,
        section="order",
    ),
    ReportQuestion("mixes", "Which model is best at other mixes?", "order", _other_mixes),
    ReportQuestion("classes", _at("How well is each class decided"), "segments", _each_class),
    picture("matrix", "How often does each class get each decision?", _counts, classes.chart_class_matrix),
    ReportQuestion("mistakes", _at("Which decisions are wrong most often"), "charts", _mistakes),
)
