"""Rates and projections -> operating points: ROC, precision-recall and POSfrac curves, TPR over PPV."""

from collections.abc import Sequence

import altair as alt
import numpy as np
import polars as pl

from nci_frames import schemas
from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import quantity
from nci_frames.charts.parts import axes, canvas, lines, selection, theme
from nci_frames.schemas.checked import checked

#: Where every ROC curve begins and ends; between them is chance.
_CHANCE = pl.DataFrame({"fpr": [0.0, 1.0], "tpr": [0.0, 1.0]})


@checked
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


@checked
def chart_pos_fraction(
    projection: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    tpr: float | None = 0.8,
    log_x: bool = False,
    models: Sequence[str] = (),
) -> alt.LayerChart:
    """Draw the POSfrac operating characteristic: TPR over the share of predicted positives, by prevalence.

    Parameters
    ----------
    projection
        A projection of many thresholds with both metrics, at one prevalence or a few:
        ``project_rates(rates, metrics=["pos_fraction", "recall"], prevalence=[0.001, 0.1, 0.5])``. If it also
        has ``precision`` (purity), the tooltips show it.
    tpr
        The required recall, in [0, 1]: on each curve, the point that reaches it with the fewest predicted
        positives is marked; None for no mark.
    log_x
        Whether the share of predicted positives has a logarithmic axis; points at 0 are then not drawn.
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        A colour per model and a stroke per prevalence.
        %(thinning)s

    Raises
    ------
    ParameterError
        If the frame lacks a metric or a defined point, has more prevalences than there are strokes, several
        prevalences and more models than colours, several rows for one model, threshold and prevalence, or too
        many rows; or if *tpr* is outside [0, 1].

    References
    ----------
    Landgrebe et al. (2004), Figs. 3 and 4, doi:10.1007/978-3-540-27868-9_83.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> rates = nf.compute_rates(nf.count_confusion(log, thresholds="exact"))
    >>> projection = nf.project_rates(rates, metrics=["pos_fraction", "recall"], prevalence=[0.01, 0.1])
    >>> nf.chart_pos_fraction(projection).to_dict()["title"]["text"]
    'Recall over predicted positives at prevalence η = 0.01, 0.1'
    """
    if tpr is not None and not 0 <= tpr <= 1:
        raise ParameterError.out_of_range("tpr", tpr, "a rate in [0, 1], or None")
    frame = schemas.collect(projection, schemas.PROJECTION)
    rows = selection.with_recall(frame, "pos_fraction")
    titles = {"recall": "TPR", "pos_fraction": "predicted positive", "precision": "purity (precision)"}
    numbers = {name: titles.get(name, name) for name in ("recall", "pos_fraction", "threshold", "prevalence")}
    if "precision" in frame["metric"].unique():
        place = ["model", "threshold", "prevalence"]
        purity = frame.filter(pl.col("metric") == "precision").select(*place, precision="value")
        rows = rows.join(purity, on=place, how="left", nulls_equal=True)
        numbers["precision"] = titles["precision"]
    curve = ["model", "prevalence"]
    every = rows.filter(pl.col("pos_fraction") > 0 if log_x else pl.lit(True)).sort(
        *curve, "recall", "pos_fraction", "threshold", descending=[False, False, False, False, True]
    )
    selection.refuse_empty(every["recall"], "point", rows, ", each with a share of predicted positives of 0")
    size = (theme.WIDTH, lines.SQUARE)
    rows, note = selection.fitted(every, "pos_fraction", "recall", by=curve, log_x=log_x, size=size)
    style = theme.model_style(frame["model"].unique(), among=models)
    x = alt.X(**axes.rate_axis("pos_fraction", "POSfrac: share of rows predicted positive"))
    if log_x:
        x = axes.LogAxis("pos_fraction", min(rows["pos_fraction"]), 1.0).x()
    y = alt.Y(**axes.rate_axis("recall", "TPR (recall)"))
    below, above, held = [], [], ""
    if tpr is not None:
        rule = alt.Chart(pl.DataFrame({"recall": [tpr]})).mark_rule(color=theme.SOFT, strokeDash=[4, 3])
        below = [canvas.layer("fixed", rule, y=alt.Y("recall:Q"))]
        ring = alt.Chart(selection.finite(_fewest(every, tpr))).mark_point(
            filled=True, shape="circle", size=80, stroke=theme.INK, strokeWidth=1.25, opacity=1
        )
        colour, tooltip = canvas.colour(style), canvas.tooltip(numbers)
        above = [canvas.layer("held", ring, x=x, y=y, color=colour, tooltip=tooltip)]
        held = f"; ringed: the fewest that reach a TPR of {tpr:g}"
    return lines.draw_by_prevalence(
        rows,
        x,
        y,
        style=style,
        numbers=numbers,
        title="Recall over predicted positives",
        subtitle=f"POSfrac operating characteristic{held}{note}",
        below=below,
        above=above,
    )


def _fewest(rows: pl.DataFrame, tpr: float) -> pl.DataFrame:
    """Return the attained point of each curve that reaches *tpr* with the fewest predicted positives."""
    enough = rows.filter(pl.col("recall") >= tpr).sort("pos_fraction", "recall", descending=[False, True])
    curve = ["model", "prevalence"]
    return enough.group_by(curve, maintain_order=True).first().sort(curve)


#: What is drawn of a point, and the order of the points.
_POINT = ["model", "recall", "precision", "threshold"]


@checked
def chart_tpr_ppv(
    projection: pl.DataFrame | pl.LazyFrame,
    winners: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    prevalence: float,
    models: Sequence[str] = (),
) -> alt.LayerChart:
    """Draw every operating point by recall and precision, and highlight those that are best for some beta.

    Parameters
    ----------
    projection
        A projection of all operating points with both metrics:
        ``project_rates(rates, metrics=["precision", "recall"], prevalence=...)``.
    winners
        The decision map of the same rates, with one value of each key: ``decision_map(rates)``.
    prevalence
        The prevalence of the precision; it must be in *projection*.
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        All points in pale colours, with the winners ringed; points with an undefined precision are not drawn.

    Raises
    ------
    ParameterError
        If the projection lacks a metric, the prevalence or a defined point, or has several rows for one point
        or too many rows; or if a winner is not among its points.

    References
    ----------
    Wojciechowski, Woźniak (2024), F-beta-plot, https://arxiv.org/abs/2404.08709

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 0, 1, 1], "score": [0.1, 0.4, 0.35, 0.8]})
    >>> rates = nf.compute_rates(nf.count_confusion(log, thresholds="exact"))
    >>> projection = nf.project_rates(rates, metrics=["precision", "recall"], prevalence=0.01)
    >>> chart = nf.chart_tpr_ppv(projection, nf.decision_map(rates), prevalence=0.01)
    >>> chart.to_dict()["title"]["text"]
    'Recall and precision of every point at prevalence η = 0.01'
    """
    frame = schemas.collect(projection, schemas.PROJECTION)
    best = schemas.collect(winners, schemas.DECISION_MAP)
    rows = selection.pick(selection.with_recall(frame, "precision"), "prevalence", prevalence)
    rows = rows.select(_POINT).sort(_POINT)
    selection.check_rows(rows, f"{selection.EACH_POINT}use fewer thresholds, or draw fewer models")
    point = ["model", "threshold"]
    strangers = best.join(frame, on=point, how="anti", nulls_equal=True)
    if not strangers.is_empty():
        raise ParameterError(
            "a winner is not among the points",
            found=", ".join(
                f"{m!r} at {'no threshold' if t is None else f'{t:g}'}"
                for m, t in strangers.select(point).sort(point).head(3).rows()
            ),
            hint="make the projection and the decision map from the same rates",
        )
    ringed = rows.join(best, on=point, how="semi", nulls_equal=True, maintain_order="left")
    style = theme.model_style(frame["model"].unique(), among=models)
    chosen = alt.selection_point(name="chosen", fields=["model"], bind="legend")
    base = alt.Chart().encode(
        x=alt.X(**axes.rate_axis("recall", "recall (TPR)")),
        y=alt.Y(**axes.rate_axis("precision", "precision (PPV)")),
        color=canvas.colour(style, legend=canvas.DOTS),
        shape=canvas.shape(style),
        tooltip=canvas.tooltip({name: name for name in ("recall", "precision", "threshold")}),
    )
    every = base.properties(data=selection.finite(rows)).mark_point(filled=True, size=22)
    rings = base.properties(data=selection.finite(ringed))
    rings = rings.mark_point(filled=True, size=90, stroke=theme.INK, strokeWidth=1.25)
    return canvas.compose(
        [
            canvas.layer("points", every, opacity=canvas.opacity(chosen, 0.35, 0.04)).add_params(chosen),
            canvas.layer("winners", rings, opacity=canvas.opacity(chosen, 1.0, 0.12)),
        ],
        style=style,
        title=f"Recall and precision of every point at prevalence η = {prevalence:.3g}",
        subtitle=f"ringed: best F-beta for some β ({ringed.height} of {quantity(rows.height, 'point')})",
        says="A point per model and threshold.",
        height=420,
    )
