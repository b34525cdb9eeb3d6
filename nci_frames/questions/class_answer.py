"""What a comparison of decisions among classes says: the answer at a mix, and where another model is best."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from nci_frames.questions.answer_lines import any_of, leads_in_words, percent, rivals, sentence
from nci_frames.questions.class_comparison import ClassComparison
from nci_frames.questions.order import Lead, read_leads
from nci_frames.tables.numbers import format_value

#: Classes of a mix, and classes whose share changes the best model, that are named.
_NAMED, _CHANGES = 3, 3
_WORDS = {"mcc": "MCC"}
#: How the mixes that need no name of their own are called.
_MIXES = {
    "observed": "the mix of the log",
    "uniform": "equal shares of all classes",
    "given": "the mix given",
}


def measure_of(comparison: ClassComparison) -> str:
    """Return what the metric is called."""
    name = comparison.metric
    if name.endswith("f_beta"):
        return f"{name.removesuffix('_f_beta')} F{comparison.beta:g}"
    return _WORDS.get(name, name.replace("_", " "))


def mix_in_words(comparison: ClassComparison) -> str:
    """Name the mix that is asked for, with its largest shares."""
    name = comparison.scenario
    each = sorted(comparison.shares.items(), key=lambda pair: -pair[1])
    shown = ", ".join(f"{of_class}: {percent(share)}" for of_class, share in each[:_NAMED])
    more = len(each) - _NAMED
    rest = f" and {more:,} more" if more > 0 else ""
    called = _MIXES.get(name, f"the mix {name!r}")
    return called if name == "uniform" else f"{called} ({shown}{rest})"


def class_answer_lines(comparison: ClassComparison) -> list[str]:
    """Return the answer in a few lines, the most important first."""
    place = f"At {mix_in_words(comparison)}"
    rows = comparison.answer.iter_rows(named=True)
    return [*lines_at(place, comparison, list(rows)), order_in_words(comparison)]


def lines_at(place: str, comparison: ClassComparison, rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return what is said at a mix: *rows* are the models there, the best first."""
    name = measure_of(comparison)
    lines = [f"{place}, by {name}:"]
    ranked = [row for row in rows if row["rank"] is not None]
    best = [row for row in ranked if row["rank"] == 1]
    if not best:
        reason = rows[0]["reason"] if rows else None
        return [*lines, "No model has a defined value" + (f": {reason}" if reason else "")]
    first, tested = best[0], comparison.tested and "distinguishable" in best[0]
    bounds = ""
    if first["lower"] is not None:
        bounds = f" (95 %: {format_value(first['lower'])} to {format_value(first['upper'])})"
    near = [row for row in ranked[len(best) :] if tested and row["distinguishable"] is False]
    rest = [row for row in ranked[len(best) :] if row not in near]
    chosen = any_of([row["model"] for row in (*best, *near)])
    apart = f", which this log cannot tell apart: {first['model']} has" if near else ":"
    lines.append(f"Choose {chosen}{apart} {name} {format_value(first['value'])}{bounds}")
    if not first["supported"]:
        lines.append(f"This log cannot tell the value: {first['reason']}")
    elif tested and rest:
        lines.append(sentence(rivals(rest, all_others=not near)))
    return lines


def leads_of(comparison: ClassComparison, of_class: str) -> list[Lead]:
    """Return which models lead along the share of a class; none where no model has a value."""
    leads = read_leads(comparison.winners.filter(pl.col("class") == of_class), low=0, high=1)
    return [lead for lead in leads if lead.models and lead.models[0] is not None]


def order_in_words(comparison: ClassComparison) -> str:
    """Say along which classes' shares another model becomes the best, the nearest change first."""
    own = comparison.shares
    found = {name: leads_of(comparison, name) for name in comparison.winners["class"].unique().sort()}
    changing = {
        name: min(abs(lead.start - own[name]) for lead in leads[1:])
        for name, leads in found.items()
        if len(leads) > 1
    }
    if not changing:
        leaders = list(dict.fromkeys(any_of(lead.models) for leads in found.values() for lead in leads))
        return f"In this log {' or '.join(leaders) or 'no model'} leads whatever the share of any one class"
    nearest = sorted(changing, key=lambda name: changing[name])
    told = "; ".join(
        f"of class {name} (here {percent(own[name])}) {leads_in_words(found[name])}"
        for name in nearest[:_CHANGES]
    )
    several = f" of {len(changing):,} of {len(found):,} classes, the others in proportion"
    return f"In this log the best model changes with the share{several}: {told}"
