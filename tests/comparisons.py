"""Comparisons of a handful of models that have one operating point each.

The precision-recall curve of such a model has two steps, so that the average precision is
tpr * precision + (1 - tpr) * prevalence: an oracle in one line.
"""

import copy
import functools
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl
from rich.console import Console

from nci_frames.questions.comparison import Comparison, compare_models
from nci_frames.questions.report import report_questions
from nci_frames.questions.report_question import ReportQuestion
from tests.logs import counts_at

MODELS = {"boosted trees": (0.82, 0.012), "forest": (0.64, 0.004), "logistic": (0.90, 0.060)}
HOSTILE = (
    "<script>window.__pwned=1</script>",
    "</script><script>window.__pwned=1</script>",
    '"><img src=x onerror=window.__pwned=1>',
    "{{7*7}}",
    "${datum.value}",
    "=cmd|' /C calc'!A0",
    "datum['model']\u2028[0].name",
)
GRID = (1e-4, 1e-3, 0.01, 0.0158489, 0.0199526, 0.0398107, 0.0794328, 0.251189, 0.316228, 0.501187)
BETAS = tuple(float(f"{10 ** (-1 + i * 0.2):.6g}") for i in range(11))
POSITIVES, NEGATIVES, THRESHOLD = 2_000, 98_000, 0.5


Models = Mapping[str, tuple[float | None, float | None]]


def comparison(models: Models = MODELS, **options: Any) -> Comparison:
    """Return what ``make_comparison`` makes, once for equal arguments, as many tests read the same."""
    fixed = {name: value if isinstance(value, str | int) else tuple(value) for name, value in options.items()}
    return _made(tuple(models.items()), **fixed)


def questions(*names: str) -> list[ReportQuestion]:
    """Return questions of the report: a report of few is made quickly."""
    return [question for question in report_questions() if question.name in names]


def printed(show: Callable[..., None], shown: Any, *, width: int = 200, **options: Any) -> str:
    """Return what a function prints on a terminal of this width."""
    console = Console(file=io.StringIO(), width=width)
    show(shown, console, **options)
    return console.file.getvalue()


def altered(comparison: Comparison, **tables: Any) -> Comparison:
    """Return the comparison with some of its tables replaced."""
    other = copy.copy(comparison)
    other.__dict__.update(tables)
    return other


@functools.cache
def _made(models: Any, **options: Any) -> Comparison:
    return make_comparison(dict(models), **options)


def make_comparison(
    models: Models = MODELS,
    *,
    segments: Sequence[str | None] = (),
    key: str = "country",
    folds: int = 0,
    prevalence: Sequence[float] = GRID,
    beta: Sequence[float] = BETAS,
) -> Comparison:
    """Return the comparison of *models*, each given by its tpr and fpr at the one threshold.

    There may be segments or folds, but not both.
    """
    apart_by, values = ("fold", [str(i) for i in range(folds)]) if folds else (key, segments)
    # Each segment shifts the false-positive rate, so that the order of models differs between them.
    apart = [
        counts_of({m: _shifted(r, i) for m, r in models.items()}).with_columns(
            pl.lit(value, dtype=pl.String).alias(apart_by)
        )
        for i, value in enumerate(values)
    ]
    return compare_models(
        pl.concat(apart) if apart else counts_of(models),
        prevalence=prevalence,
        beta=beta,
        threshold=THRESHOLD,
        segments=key if segments else (),
        fold="fold" if folds else None,
        repeats=50,
    )


def _shifted(rates: tuple[float | None, float | None], step: int) -> tuple[float | None, float | None]:
    tpr, fpr = rates
    return (
        None if tpr is None else max(0.0, tpr * (1 - 0.1 * step * tpr)),
        None if fpr is None else fpr / (1 + step),
    )


def counts_of(models: Models) -> pl.DataFrame:
    """Return the exact counts of *models*, each given by its tpr and fpr at the one threshold."""
    rates = [models[name] for name in sorted(models)]
    tp = [round((tpr or 0) * POSITIVES) for tpr, _ in rates]
    fp = [round((fpr or 0) * NEGATIVES) for _, fpr in rates]
    positives = [0 if tpr is None else POSITIVES for tpr, _ in rates]
    points = counts_at(tp, fp, positives, NEGATIVES, model=sorted(models), threshold=THRESHOLD)
    # With the lowest score everything is positive, and no score lies between the two: the areas are exact.
    everything = points.with_columns(
        threshold=pl.lit(0.0), tp=pl.col("tp") + pl.col("fn"), fp=pl.col("fp") + pl.col("tn"), fn=0, tn=0
    ).with_columns(pl.col("fn", "tn").cast(pl.Int64))
    return pl.concat([points, everything]).with_columns(resolution=pl.lit("exact"))
