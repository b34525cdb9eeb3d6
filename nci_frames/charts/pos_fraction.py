"""Projections -> how many rows must be reviewed for a recall: TPR over the share of predicted positives."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.docstrings import documented
from nci_frames.base.errors import ParameterError
from nci_frames.charts.parts import axes, canvas, lines, selection, theme
from nci_frames.schemas.checked import checked


@checked
@documented
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
        below = [canvas.layer("fixed", rule, y="recall:Q")]
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
