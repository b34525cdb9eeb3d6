"""A comparison -> what a report says of it, in whatever form: verdicts, changes of order, rows to show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from nci_frames.evaluation.comparison import Comparison
from nci_frames.evaluation.grids import nearest
from nci_frames.reporting.answers import Order, Verdict, read_order, read_verdict

__all__ = ["TITLE", "Answer", "Role", "Summary", "main_beta", "main_prevalence", "summarise"]

TITLE = "How the models compare as the class balance changes"

Role = Literal["lowest", "observed", "middle", "highest"]


@dataclass(frozen=True, slots=True)
class Answer:
    """Who is best at one prevalence, by each measure."""

    prevalence: float
    #: Why this prevalence was picked; "observed" is the nearest to that of the log.
    roles: tuple[Role, ...]
    verdicts: Mapping[str, Verdict]


@dataclass(frozen=True, slots=True)
class Summary:
    """What a report says; "pr_auc" and "f_beta" are the two measures."""

    #: The beta of F-beta over prevalence.
    beta: float
    #: The prevalence of what is shown at one prevalence only.
    prevalence: float
    #: The names of the measures for people.
    measures: Mapping[str, str]
    #: The rows of each measure over prevalence.
    rankings: Mapping[str, pl.DataFrame]
    #: The rows of F-beta over beta.
    over_beta: pl.DataFrame
    answers: tuple[Answer, ...]
    orders: Mapping[str, Order]
    #: The values of each segment's keys, and its rows of PR-AUC at the one prevalence.
    segments: tuple[tuple[Mapping[str, object], pl.DataFrame], ...]


def main_beta(comparison: Comparison, /) -> float:
    """Pick the beta that is shown where only one can be: 1 if it was compared."""
    return nearest([b for b in comparison.beta if 0 < b < float("inf")] or comparison.beta, 1.0)


def main_prevalence(comparison: Comparison, /) -> float:
    """Pick the prevalence that is shown where only one can be: that of the log if it was compared."""
    grid, observed = comparison.prevalence, comparison.observed_prevalence
    return nearest(grid, grid[len(grid) // 2] if observed is None else observed)


def summarise(comparison: Comparison, /) -> Summary:
    """Read what a report says from the tables of a comparison.

    >>> import nci_frames as nf
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> comparison = nf.compare_models(nf.count_confusion(log, thresholds="exact"), prevalence=[0.01, 0.5])
    >>> summarise(comparison).answers[0].verdicts["pr_auc"].best
    ('a',)
    """
    beta, prevalence = main_beta(comparison), main_prevalence(comparison)
    f_beta = comparison.projection.filter(metric="f_beta")
    rankings = {
        "pr_auc": comparison.areas.filter(metric="pr_auc"),
        "f_beta": f_beta.filter(beta=beta),
    }
    return Summary(
        beta=beta,
        prevalence=prevalence,
        measures={"pr_auc": "PR-AUC", "f_beta": f"F{beta:g} at threshold {comparison.threshold:g}"},
        rankings=rankings,
        over_beta=f_beta.filter(prevalence=prevalence),
        answers=_answers(comparison, rankings, prevalence),
        orders={measure: read_order(rows) for measure, rows in rankings.items()},
        segments=_segments(comparison, prevalence),
    )


def _answers(
    comparison: Comparison, rankings: Mapping[str, pl.DataFrame], prevalence: float
) -> tuple[Answer, ...]:
    grid = comparison.prevalence
    inner: Role = "middle" if comparison.observed_prevalence is None else "observed"
    picked: Sequence[tuple[float, Role]] = [
        (min(grid), "lowest"),
        (prevalence, inner),
        (max(grid), "highest"),
    ]
    return tuple(
        Answer(
            prevalence=eta,
            roles=tuple(role for at, role in picked if at == eta),
            verdicts={name: read_verdict(rows.filter(prevalence=eta)) for name, rows in rankings.items()},
        )
        for eta in sorted({at for at, _ in picked})
    )


def _segments(
    comparison: Comparison, prevalence: float
) -> tuple[tuple[Mapping[str, object], pl.DataFrame], ...]:
    if not comparison.segment or comparison.segment_areas is None:
        return ()
    keys = list(comparison.segment)
    rows = comparison.segment_areas.filter(metric="pr_auc", prevalence=prevalence)
    groups = rows.sort(*keys, "rank", "model", nulls_last=True).partition_by(
        keys, as_dict=True, maintain_order=True
    )
    return tuple((dict(zip(keys, values, strict=True)), group) for values, group in groups.items())
