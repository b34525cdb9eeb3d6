"""A comparison -> what every format of a report says: verdicts, changes of order, rows to show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import polars as pl

from nci_frames.questions.comparison import Comparison
from nci_frames.questions.ranked_tables import (
    Measure,
    RankedTable,
    own_threshold_words,
    ranked_tables,
)
from nci_frames.questions.verdicts import Order, Verdict, read_leads, read_order, read_verdict

__all__ = ["TITLE", "Answer", "Role", "Summary", "segment_areas", "summarise"]

TITLE = "How the models compare as the class balance changes"

Role = Literal["lowest", "observed", "middle", "highest"]


@dataclass(frozen=True, slots=True)
class Answer:
    """The best model at one prevalence, by each measure."""

    prevalence: float
    #: Why this prevalence is shown; "observed" is the one nearest to that of the log.
    roles: tuple[Role, ...]
    verdicts: Mapping[Measure, Verdict]


@dataclass(frozen=True, slots=True)
class Summary:
    """What a report says, by three measures; see ``Measure``."""

    #: The beta of F-beta over prevalence.
    beta: float
    #: The prevalence of everything that is shown at one prevalence only.
    prevalence: float
    #: Display names of the measures.
    measures: Mapping[Measure, str]
    #: The ranked tables, in their order.
    tables: tuple[RankedTable, ...]
    answers: tuple[Answer, ...]
    orders: Mapping[Measure, Order]
    #: F-beta at ``beta`` of the traffic, each segment at its own prevalence in the field: rows of a ranking;
    #: None where the shares of the segments are unknown.
    traffic: pl.DataFrame | None


def summarise(comparison: Comparison, /) -> Summary:
    """Read what a report says from the tables of a comparison.

    >>> import nci_frames as nf
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> comparison = nf.compare_models(nf.count_confusion(log, thresholds="exact"), prevalence=[0.01, 0.5])
    >>> summarise(comparison).answers[0].verdicts["pr_auc"].best
    ('a',)
    """
    beta, prevalence = comparison.main_beta, comparison.middle_prevalence
    tables = ranked_tables(comparison)
    rankings = {table.measure: table.rows for table in tables if table.over == "prevalence"}
    orders = {measure: read_order(rows) for measure, rows in rankings.items()}
    span = {"low": comparison.prevalence[0], "high": comparison.prevalence[-1]}
    # The own best thresholds have exact borders only on the rows that they were chosen on.
    exact: dict[Measure, pl.DataFrame] = {"f_beta": comparison.winners}
    if "optimistic" not in comparison.best.columns:
        exact["own"] = comparison.best_winners
    # Areas at prevalence 0 and 1 do not follow from those in between.
    if span["low"] > 0 and span["high"] < 1:
        exact["pr_auc"] = comparison.area_winners
    for measure, winners in exact.items():
        leads = read_leads(winners, **span)
        if leads:
            orders[measure] = replace(orders[measure], leads=leads, exact=True)
    return Summary(
        beta=beta,
        prevalence=prevalence,
        measures={
            "own": f"F{beta:g}, {own_threshold_words(comparison)}",
            "f_beta": f"F{beta:g} at threshold {comparison.threshold:g}",
            "pr_auc": "PR-AUC",
        },
        tables=tables,
        answers=_answers(comparison, rankings),
        orders=orders,
        traffic=_traffic(comparison),
    )


def _answers(comparison: Comparison, rankings: Mapping[Measure, pl.DataFrame]) -> tuple[Answer, ...]:
    inner: Role = "middle" if comparison.observed_prevalence is None else "observed"
    picked: Sequence[tuple[float, Role]] = [
        (comparison.prevalence[0], "lowest"),
        (comparison.middle_prevalence, inner),
        (comparison.prevalence[-1], "highest"),
    ]
    sure: dict[Measure, pl.DataFrame | None] = {
        "own": comparison.best_certainty,
        "f_beta": _of(comparison.certainty, "f_beta"),
        "pr_auc": _of(comparison.certainty, "pr_auc"),
    }
    # The bounds of an area certify the grid; they are not confidence bounds, as those of the other measures.
    areas = rankings["pr_auc"].drop("lower", "upper", strict=False)
    bounded: dict[Measure, pl.DataFrame] = {
        "own": _with_false_positives(rankings["own"], comparison.best_points),
        "f_beta": _with_false_positives(rankings["f_beta"], comparison.points),
        "pr_auc": areas,
    }
    return tuple(
        Answer(
            prevalence=eta,
            roles=tuple(role for at, role in picked if at == eta),
            verdicts={
                name: read_verdict(
                    rows.filter(prevalence=eta),
                    certainty=_at(sure[name], eta),
                    contenders=_contenders(comparison, name, eta),
                )
                for name, rows in bounded.items()
            },
        )
        for eta in comparison.main_prevalences
    )


def _with_false_positives(ranking: pl.DataFrame, points: pl.DataFrame) -> pl.DataFrame:
    return ranking.join(points.select("model", "threshold", "fp"), on=["model", "threshold"], how="left")


def _of(certainty: pl.DataFrame | None, metric: str) -> pl.DataFrame | None:
    return None if certainty is None else certainty.filter(pl.col("metric") == metric)


def _at(certainty: pl.DataFrame | None, prevalence: float) -> pl.DataFrame | None:
    return None if certainty is None else certainty.filter(pl.col("prevalence") == prevalence)


def _contenders(comparison: Comparison, measure: Measure, prevalence: float) -> pl.DataFrame | None:
    held = comparison.contenders
    return None if held is None else held.filter(measure=measure, prevalence=prevalence)


def segment_areas(comparison: Comparison, /) -> tuple[tuple[Mapping[str, object], pl.DataFrame], ...]:
    """Return the key values of each segment and its PR-AUC rows, at one prevalence or its own in the field.

    >>> import nci_frames as nf
    >>> log = pl.DataFrame({
    ...     "model": "a", "label": [0, 1] * 2, "score": [0.1, 0.4, 0.3, 0.8],
    ...     "country": ["DE", "DE", "US", "US"],
    ... })
    >>> counts = nf.count_confusion(log, thresholds="exact")
    >>> comparison = nf.compare_models(counts, prevalence=[0.1], segments="country", repeats=20)
    >>> [names for names, _ in segment_areas(comparison)]
    [{'country': 'DE'}, {'country': 'US'}]
    """
    if not comparison.segments or comparison.segment_areas is None:
        return ()
    keys = list(comparison.segments)
    rows = comparison.segment_areas.filter(metric="pr_auc", prevalence=comparison.middle_prevalence)
    if comparison.field_areas is not None:
        rows = comparison.field_areas.filter(metric="pr_auc")
    groups = rows.sort(*keys, "rank", "model", nulls_last=True).partition_by(
        keys, as_dict=True, maintain_order=True
    )
    return tuple((dict(zip(keys, values, strict=True)), group) for values, group in groups.items())


def _traffic(comparison: Comparison) -> pl.DataFrame | None:
    """Return F-beta of the traffic, ranked; None unless the shares of the segments are known."""
    averages = comparison.field_averages
    if averages is None or comparison.field is None or "share" not in comparison.field.columns:
        return None
    return averages.filter(average="micro", metric="f_beta", beta=comparison.main_beta)
