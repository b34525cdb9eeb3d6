"""A real ``Comparison`` for a handful of models, made by hand from their rates.

Each model has one operating point (tpr, fpr). Its precision-recall curve then has two steps, so that the
average precision is tpr * precision + (1 - tpr) * prevalence: an oracle in one line.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from nci_frames.evaluation.comparison import Comparison
from nci_frames.schemas import RATES

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
GRID = tuple(float(f"{10 ** (-4 + i * 0.1):.6g}") for i in range(38))
BETAS = tuple(float(f"{10 ** (-1 + i * 0.05):.6g}") for i in range(41))
POSITIVES, NEGATIVES, THRESHOLD = 2_000, 98_000, 0.5
_RATES = frozenset(RATES.fixed)


def comparison(
    models: Mapping[str, tuple[float | None, float | None]] = MODELS,
    *,
    segments: Sequence[str | None] = (),
    segment: str = "country",
    prevalence: Sequence[float] = GRID,
    beta: Sequence[float] = BETAS,
) -> Comparison:
    """Return the comparison of *models*, each given by its tpr and fpr at the one threshold."""
    points = _points(models)
    apart = None
    if segments:
        # Each segment shifts the false-positive rate, so that the order of models differs between them.
        apart = pl.concat(
            _points({m: _shifted(r, i) for m, r in models.items()}).with_columns(
                pl.lit(name, dtype=pl.String).alias(segment)
            )
            for i, name in enumerate(segments)
        )
    undefined = points.filter(pl.col("tpr").is_null() | pl.col("fpr").is_null())
    return Comparison(
        prevalence=tuple(prevalence),
        beta=tuple(beta),
        threshold=THRESHOLD,
        segment=(segment,) if segments else (),
        observed_prevalence=POSITIVES / (POSITIVES + NEGATIVES),
        points=points,
        projection=_ranked(_projection(points, prevalence, beta), ("metric", "prevalence", "beta")),
        areas=_ranked(_areas(points, prevalence), ("metric", "prevalence")),
        segment_points=apart,
        segment_projection=None
        if apart is None
        else _ranked(_projection(apart, prevalence, beta), ("metric", "prevalence", "beta", segment)),
        segment_areas=None
        if apart is None
        else _ranked(_areas(apart, prevalence), ("metric", "prevalence", segment)),
        undefined=undefined.select(
            "model",
            *([pl.lit("DE").alias(segment)] if segments else []),
            "positives",
            "negatives",
            pl.lit("the group has no positives").alias("reason"),
        ),
    )


def _shifted(rates: tuple[float | None, float | None], step: int) -> tuple[float | None, float | None]:
    tpr, fpr = rates
    return (None if tpr is None else tpr * (1 - 0.1 * step * tpr), None if fpr is None else fpr / (1 + step))


def _points(models: Mapping[str, tuple[float | None, float | None]]) -> pl.DataFrame:
    names = sorted(models)
    rates = [models[name] for name in names]
    positives = [0 if tpr is None else POSITIVES for tpr, _ in rates]
    tp = [round((tpr or 0) * POSITIVES) for tpr, _ in rates]
    fp = [round((fpr or 0) * NEGATIVES) for _, fpr in rates]
    return pl.DataFrame(
        {
            "model": names,
            "threshold": THRESHOLD,
            "tp": tp,
            "fp": fp,
            "fn": [p - t for p, t in zip(positives, tp, strict=True)],
            "tn": [NEGATIVES - f for f in fp],
            "positives": positives,
            "negatives": NEGATIVES,
            "observed_prevalence": POSITIVES / (POSITIVES + NEGATIVES),
            "tpr": [tpr for tpr, _ in rates],
            "fpr": [fpr for _, fpr in rates],
        },
        schema_overrides={"tpr": pl.Float64, "fpr": pl.Float64, "negatives": pl.Int64},
    )


def _projection(points: pl.DataFrame, prevalence: Sequence[float], beta: Sequence[float]) -> pl.DataFrame:
    eta, b, tpr, fpr = pl.col("prevalence"), pl.col("beta"), pl.col("tpr"), pl.col("fpr")
    keys = [c for c in points.columns if c not in _RATES]
    grid = points.join(pl.DataFrame({"prevalence": list(prevalence)}), how="cross")
    no_beta = pl.lit(None, dtype=pl.Float64)
    values = {
        "precision": eta * tpr / (eta * tpr + (1 - eta) * fpr),
        "recall": tpr,
        "accuracy": eta * tpr + (1 - eta) * (1 - fpr),
        "pos_fraction": eta * tpr + (1 - eta) * fpr,
    }
    shape = ["model", *keys, "threshold", "metric", "prevalence", "beta", "value"]
    tables = [
        grid.with_columns(metric=pl.lit(name), beta=no_beta, value=value).select(shape)
        for name, value in values.items()
    ]
    f_beta = (1 + b**2) * eta * tpr / (b**2 * eta + eta * tpr + (1 - eta) * fpr)
    tables.append(
        grid.join(pl.DataFrame({"beta": list(beta)}), how="cross")
        .with_columns(metric=pl.lit("f_beta"), value=f_beta)
        .select(shape)
    )
    return pl.concat(tables)


def _areas(points: pl.DataFrame, prevalence: Sequence[float]) -> pl.DataFrame:
    eta, tpr, fpr = pl.col("prevalence"), pl.col("tpr"), pl.col("fpr")
    keys = [c for c in points.columns if c not in _RATES]
    precision = eta * tpr / (eta * tpr + (1 - eta) * fpr)
    grid = points.join(pl.DataFrame({"prevalence": list(prevalence)}), how="cross").with_columns(
        metric=pl.lit("pr_auc"),
        method=pl.lit("average_precision"),
        value=tpr * precision + (1 - tpr) * eta,
    )
    roc = points.with_columns(
        metric=pl.lit("roc_auc"),
        method=pl.lit(None, dtype=pl.String),
        prevalence=pl.lit(None, dtype=pl.Float64),
        value=(1 + tpr - fpr) / 2,
    )
    shape = ["model", *keys, "metric", "method", "prevalence", "value"]
    return pl.concat([grid.select(shape), roc.select(shape)]).with_columns(
        lower=pl.col("value"), upper=pl.col("value")
    )


def _ranked(table: pl.DataFrame, within: Sequence[str]) -> pl.DataFrame:
    ordered = pl.col("metric") != "pos_fraction"
    rank = pl.col("value").rank("min", descending=True).over(within).cast(pl.Int64)
    gap = pl.col("value").max().over(within) - pl.col("value")
    return table.with_columns(rank=pl.when(ordered).then(rank), gap=pl.when(ordered).then(gap)).sort(
        *within, "model", nulls_last=True
    )
