"""Rates and projections -> operating points: ROC, precision-recall and POSfrac curves."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from nci_frames import schemas
from nci_frames.base.arguments import check_allowed
from nci_frames.base.typing import Frame
from nci_frames.charts.parts import axes, canvas, lines, selection, steps, theme
from nci_frames.schemas import checked

#: End points of every ROC curve, and of the chance line.
_CHANCE = pl.DataFrame({"fpr": [0.0, 1.0], "tpr": [0.0, 1.0]})


@checked
def chart_roc(rates: Frame, /, *, log_x: bool = False, models: Sequence[str] = ()) -> alt.LayerChart:
    """Draw the receiver operating characteristic: TPR over FPR, a curve per model.

    Parameters
    ----------
    rates
        A rates frame with many thresholds per model, and one value of each key.
    log_x
        Whether the axis of FPR is logarithmic, which shows the relevant part if positives are rare. Curves
        are then steps, since on this axis a straight line would show recalls that neither a threshold nor a
        mixture of two attains. The highest point at FPR 0 is drawn at the left edge.
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
    rows = pl.concat([points, ends], how="diagonal").sort(
        "model", "fpr", "tpr", "threshold", descending=[False, False, False, True], nulls_last=True
    )
    beyond = rows.filter(pl.col("fpr") > 0 if log_x else pl.lit(True))
    why = ", none with both rates" if points.is_empty() else ", none with an FPR above 0"
    selection.refuse_empty(beyond["threshold"], "point", frame, why)
    style = theme.ModelStyle(frame["model"].unique(), among=models)
    numbers = {"fpr": "FPR", "tpr": "TPR", "threshold": "threshold"}
    y, size = alt.Y(**axes.rate_axis("tpr", "TPR (recall)")), (420, 420)
    x, chance, how, turn = alt.X(**axes.rate_axis("fpr", "FPR")), _CHANCE, "dashed: chance", "linear"
    if log_x:
        size = (theme.WIDTH, theme.HEIGHT)
        axis = axes.LogAxis("fpr", min(beyond["fpr"]) / 2, 1.0)
        # On a logarithmic axis, the diagonal is a curve.
        line = np.geomspace(axis.low, 1, 60)
        x, chance = axis.x("place"), pl.DataFrame({"place": line, "tpr": line})
        # Points without false alarms are drawn at the left edge.
        rows = rows.with_columns(place=pl.col("fpr").clip(lower_bound=axis.low))
        rows = rows.filter((pl.col("fpr") > 0) | (pl.col("tpr") > 0) & (pl.col("fpr").shift(-1) > 0))
        rows, note, turn = steps.stepped(
            rows, pl.col("place").log(), turn="step-after", recall="tpr", by="model", size=size[::-1]
        )
        how = "logarithmic: steps between attained points, FPR 0 at the left edge"
    else:
        rows, note = selection.fitted(rows, "fpr", "tpr", log_x=False, size=size)
    diagonal = alt.Chart(chance).mark_line(**theme.RULE).encode(x=x, y=y).properties(name="chance")
    return canvas.compose(
        [diagonal, *lines.curves(rows, x, y, style=style, numbers=numbers, interpolate=turn)],
        style=style,
        title="ROC curves",
        subtitle=f"true-positive rate over false-positive rate; {how}{note}",
        says="A curve per model; neither rate depends on the prevalence.",
        width=size[0],
        height=size[1],
    )


@checked
def chart_pr(projection: Frame, /, *, models: Sequence[str] = ()) -> alt.LayerChart:
    """Draw precision-recall curves, one colour per model and one stroke per prevalence.

    Parameters
    ----------
    projection
        A projection with many thresholds and both metrics, at one prevalence or a few:
        ``project_rates(rates, metrics=["precision", "recall"], prevalence=[0.01, 0.1])``.
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        Steps between the attained points, so that the area below is the average precision. Points with
        undefined precision are not drawn. Parts that the log does not support are dotted, or pale if there
        are several prevalences.
        %(thinning)s

    Raises
    ------
    ParameterError
        If the frame lacks a metric or a defined point, has more prevalences than strokes exist, several
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
    doubt = selection.why_faint(rows)
    # The first step starts at recall 0.
    first = rows.group_by(curve, maintain_order=True).first()
    first = first.with_columns(recall=pl.lit(0.0), threshold=pl.lit(None, pl.Float64)).select(rows.columns)
    rows = pl.concat([first, rows]).sort(curve, maintain_order=True)
    size = (theme.WIDTH, lines.SQUARE)
    right, wrong = pl.col("precision"), 1 - pl.col("precision")
    seen = (right * odds / (right * odds + wrong) for odds in steps.ODDS)
    rows, note, turn = steps.stepped(rows, *seen, turn="step-before", recall="recall", by=curve, size=size)
    return lines.draw_by_prevalence(
        rows,
        alt.X(**axes.rate_axis("recall", "recall (TPR)")),
        alt.Y(**axes.rate_axis("precision", "precision (PPV)")),
        style=theme.ModelStyle(frame["model"].unique(), among=models),
        numbers=canvas.own_titles(*order, "prevalence"),
        title="Precision-recall curves",
        subtitle=f"steps between attained points: the area below is the average precision{note}{doubt}",
        interpolate=turn,
    )


@checked
def chart_pos_fraction(
    projection: Frame, /, *, tpr: float | None = 0.8, log_x: bool = False, models: Sequence[str] = ()
) -> alt.LayerChart:
    """Draw recall over the share of rows predicted positive (POSfrac), by prevalence.

    Parameters
    ----------
    projection
        A projection with many thresholds and both metrics, at one prevalence or a few:
        ``project_rates(rates, metrics=["pos_fraction", "recall"], prevalence=[0.001, 0.1, 0.5])``. Tooltips
        show ``precision`` (purity) if the frame has it.
    tpr
        Required recall, in [0, 1]. On each curve, the point that reaches it with the fewest predicted
        positives is marked; None for no mark.
    log_x
        Whether the axis of the share is logarithmic: points at 0 are then not drawn, and curves are steps,
        since a straight line would show recalls that no threshold attains.
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        One colour per model and one stroke per prevalence. Parts that the log does not support are dotted, or
        pale if there are several prevalences.
        %(thinning)s

    Raises
    ------
    ParameterError
        If the frame lacks a metric or a defined point, has more prevalences than strokes exist, several
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
    check_allowed(tpr is None or 0 <= tpr <= 1, "tpr", tpr, "a rate in [0, 1], or None")
    frame = schemas.collect(projection, schemas.PROJECTION)
    rows = selection.with_recall(frame, "pos_fraction")
    titles = {"recall": "TPR", "pos_fraction": "predicted positive", "precision": "purity (precision)"}
    numbers = {name: titles.get(name, name) for name in ("recall", "pos_fraction", "threshold", "prevalence")}
    purity = frame.filter(metric="precision")
    if len(purity):
        place = ["model", "threshold", "prevalence"]
        rows = schemas.beside(rows, purity.select(*place, precision="value"), place)
        numbers["precision"] = titles["precision"]
    curve, doubt = ["model", "prevalence"], selection.why_faint(rows)
    every = rows.filter(pl.col("pos_fraction") > 0 if log_x else pl.lit(True)).sort(
        *curve, "recall", "pos_fraction", "threshold", descending=[False, False, False, False, True]
    )
    selection.refuse_empty(every["recall"], "point", rows, ", each with a share of predicted positives of 0")
    size = (theme.WIDTH, lines.SQUARE)
    style = theme.ModelStyle(frame["model"].unique(), among=models)
    if log_x:
        right, wrong = _right_and_wrong(every)
        seen = ((right * odds + wrong).log() for odds in steps.ODDS)
        # At lower prevalences (the page moves the curves), they end at the share of wrong alerts.
        least = every.select(pl.min_horizontal(pl.col("pos_fraction").min(), wrong.filter(wrong > 0).min()))
        x = axes.LogAxis("pos_fraction", least.item(), 1.0).x()
        tall = size[::-1]
        rows, note, turn = steps.stepped(
            every, *seen, turn="step-after", recall="recall", by=curve, size=tall
        )
    else:
        turn = "linear"
        x = alt.X(**axes.rate_axis("pos_fraction", "POSfrac: share of rows predicted positive"))
        rows, note = selection.fitted(every, "pos_fraction", "recall", by=curve, log_x=False, size=size)
    y = alt.Y(**axes.rate_axis("recall", "TPR (recall)"))
    shown = {"x": x, "y": y, "color": canvas.colour(style), "tooltip": canvas.tooltip(numbers)}
    below, above, held = ([], [], "") if tpr is None else _at_tpr(every, tpr, shown, clip=log_x)
    return lines.draw_by_prevalence(
        rows,
        x,
        y,
        style=style,
        numbers=numbers,
        title="Recall over predicted positives",
        subtitle=f"{'steps between' if log_x else 'through'} attained points{held}{note}{doubt}",
        interpolate=turn,
        clip=log_x,
        below=below,
        above=above,
    )


def _at_tpr(
    rows: pl.DataFrame, tpr: float, shown: dict[str, Any], *, clip: bool
) -> tuple[list[alt.Chart], list[alt.Chart], str]:
    """Return a line at a TPR, a ring at the fewest predicted positives that reach it, and a note."""
    rule = alt.Chart(pl.DataFrame({"recall": [tpr]})).mark_rule(color=theme.SOFT, strokeDash=[4, 3])
    # The attained point of each curve that reaches the TPR with the fewest predicted positives.
    enough = rows.filter(pl.col("recall") >= tpr).sort("pos_fraction", "recall", descending=[False, True])
    curve = ["model", "prevalence"]
    fewest = enough.group_by(curve, maintain_order=True).first().sort(curve)
    ring = alt.Chart(selection.finite(fewest)).mark_point(
        filled=True, shape="circle", size=80, stroke=theme.INK, strokeWidth=1.25, opacity=1, clip=clip
    )
    below, above = canvas.layer("fixed", rule, y=alt.Y("recall:Q")), canvas.layer("held", ring, **shown)
    return [below], [above], f"; ringed: the fewest that reach a TPR of {tpr:g}"


def _right_and_wrong(rows: pl.DataFrame) -> tuple[pl.Expr, pl.Expr]:
    """Return the shares of right and of wrong alerts among all rows; all are right if unknown."""
    flagged = pl.col("pos_fraction")
    precision = pl.col("precision") if "precision" in rows.columns else pl.lit(1.0)
    return flagged * precision, flagged * (1 - precision)
