"""Projections and decision maps -> every operating point by recall and precision, the best ones ringed."""

from collections.abc import Sequence

import altair as alt

from nci_frames import schemas
from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import quantity
from nci_frames.base.typing import Frame
from nci_frames.charts.parts import axes, canvas, selection, theme

#: What is drawn of a point, and the order of the points.
_POINT = ["model", "recall", "precision", "threshold"]


@schemas.checked
def chart_tpr_ppv(
    projection: Frame, winners: Frame, /, *, prevalence: float, models: Sequence[str] = ()
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
