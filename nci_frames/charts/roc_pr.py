"""Rates and projections -> ROC and precision-recall curves."""

from collections.abc import Sequence

import altair as alt
import numpy as np
import polars as pl

from nci_frames import schemas
from nci_frames.base.docstrings import documented
from nci_frames.charts.parts import axes, canvas, lines, selection, theme
from nci_frames.schemas.checked import checked

#: Where every ROC curve begins and ends; between them is chance.
_CHANCE = pl.DataFrame({"fpr": [0.0, 1.0], "tpr": [0.0, 1.0]})


@checked
@documented
def chart_roc(
    rates: pl.DataFrame | pl.LazyFrame, /, *, log_x: bool = False, models: Sequence[str] = ()
) -> alt.LayerChart:
    """Draw the receiver operating characteristic: TPR over FPR, a curve per model.

    Parameters
    ----------
    rates
        A rates frame with many thresholds of each model, and one value of each key.
    log_x
        Whether FPR has a logarithmic axis, which shows the part that matters if positives are rare; points at
        FPR 0 are then not drawn.
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        The curves from (0, 0) to (1, 1), and the chance line; points with an undefined rate are not drawn.
        %(thinning)s

    Raises
    ------
    ParameterError
        If the frame has no defined point, several rows for one model and threshold, or too many rows.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> rates = nf.compute_rates(nf.count_confusion(log, thresholds="exact"))
    >>> nf.chart_roc(rates).to_dict()["title"]["text"]
    'ROC curves'
    """
    frame = schemas.collect(rates, schemas.RATES)
    keys = schemas.RATES.keys(frame.columns)
    selection.refuse_doubles(frame.select("model", "threshold", *keys), "model", "threshold")
    points = frame.select("model", "threshold", "fpr", "tpr").drop_nulls(["fpr", "tpr"])
    ends = points.select("model").unique().join(_CHANCE, how="cross")
    rows = (
        pl.concat([points, ends], how="diagonal")
        .filter(pl.col("fpr") > 0 if log_x else pl.lit(True))
        .sort("model", "fpr", "tpr", "threshold", descending=[False, False, False, True], nulls_last=True)
    )
    selection.refuse_empty(rows["threshold"], "point", frame, ", none with both rates")
    width, height = (theme.WIDTH, theme.HEIGHT) if log_x else (420, 420)
    rows, note = selection.fitted(rows, "fpr", "tpr", log_x=log_x, size=(width, height))
    style = theme.model_style(frame["model"].unique(), among=models)
    y = alt.Y(**axes.rate_axis("tpr", "TPR (recall)"))
    x, chance = alt.X(**axes.rate_axis("fpr", "FPR")), _CHANCE
    if log_x:
        low = min(rows["fpr"])
        x = axes.LogAxis("fpr", low, 1.0).x()
        # The diagonal is a curve on a logarithmic axis.
        line = np.geomspace(low, 1, 60)
        chance = pl.DataFrame({"fpr": line, "tpr": line})
    numbers = {"fpr": "FPR", "tpr": "TPR", "threshold": "threshold"}
    diagonal = alt.Chart(chance).mark_line(**theme.RULE).encode(x=x, y=y).properties(name="chance")
    return canvas.compose(
        [diagonal, *lines.curves(rows, x, y, style=style, numbers=numbers)],
        style=style,
        title="ROC curves",
        subtitle="true-positive rate over false-positive rate"
        + (", logarithmic: points at FPR 0 are not drawn" if log_x else "; dashed: chance")
        + note,
        says="A curve per model; neither rate depends on the prevalence.",
        width=width,
        height=height,
    )


@checked
@documented
def chart_pr(projection: pl.DataFrame | pl.LazyFrame, /, *, models: Sequence[str] = ()) -> alt.LayerChart:
    """Draw precision-recall curves, a colour per model and a stroke per prevalence.

    Parameters
    ----------
    projection
        A projection of many thresholds with both metrics, at one prevalence or a few:
        ``project_rates(rates, metrics=["precision", "recall"], prevalence=[0.01, 0.1])``.
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        Steps between the attained points, so that the area below is the average precision; points with an
        undefined precision are not drawn.
        %(thinning)s

    Raises
    ------
    ParameterError
        If the frame lacks a metric or a defined point, has more prevalences than there are strokes, several
        prevalences and more models than colours, several rows for one model, threshold and prevalence, or too
        many rows.

    References
    ----------
    Brabec et al. (2020), doi:10.1007/978-3-030-50423-6_6: the curves move with the prevalence.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> rates = nf.compute_rates(nf.count_confusion(log, thresholds="exact"))
    >>> projection = nf.project_rates(rates, metrics=["precision", "recall"], prevalence=[0.01, 0.1])
    >>> nf.chart_pr(projection).to_dict()["title"]["text"]
    'Precision-recall curves at prevalence η = 0.01, 0.1'
    """
    frame = schemas.collect(projection, schemas.PROJECTION)
    curve, order = ["model", "prevalence"], ["recall", "precision", "threshold"]
    rows = selection.with_recall(frame, "precision").sort(
        *curve, *order, descending=[False, False, False, True, True]
    )
    # The first step starts at recall 0.
    first = rows.group_by(curve, maintain_order=True).first()
    first = first.with_columns(recall=pl.lit(0.0), threshold=pl.lit(None, pl.Float64)).select(rows.columns)
    rows = pl.concat([first, rows]).sort(curve, maintain_order=True)
    thinned = rows.height > selection.MAX_ROWS
    rows = _with_corners(rows) if thinned else rows
    size = (theme.WIDTH, lines.SQUARE)
    rows, note = selection.fitted(rows, "recall", "precision", by=curve, log_x=False, size=size)
    return lines.draw_by_prevalence(
        rows,
        alt.X(**axes.rate_axis("recall", "recall (TPR)")),
        alt.Y(**axes.rate_axis("precision", "precision (PPV)")),
        style=theme.model_style(frame["model"].unique(), among=models),
        numbers={name: name for name in (*order, "prevalence")},
        title="Precision-recall curves",
        subtitle=f"steps between attained points: the area below is the average precision{note}",
        # The area below these steps is the average precision.
        interpolate="linear" if thinned else "step-before",
    )


def _with_corners(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the corner of each step, so that straight lines draw the steps."""
    before = pl.col("recall").shift().over("model", "prevalence")
    turns = rows.with_columns(recall=before.fill_null(0.0), threshold=pl.lit(None, pl.Float64))
    numbered = [frame.with_row_index("step") for frame in (turns, rows)]
    return pl.concat(numbered).sort("step", maintain_order=True).drop("step")
