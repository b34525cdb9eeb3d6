"""Class counts of three classes -> the best model over all mixes, as a triangle."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from nci_frames.charts.parts import canvas, selection, theme
from nci_frames.counts.class_counts import scenarios_of
from nci_frames.evaluation.classes.simplex import best_in_simplex
from nci_frames.schemas.checked import checked

#: The side of the triangle and the room around it, in pixels.
_SIDE, _ROOM = 420, 0.08
#: Letters of a name at a corner.
_LETTERS = 24
_SHARES = ("first", "second", "third")


@checked
def chart_class_simplex(
    class_counts: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    metric: str = "accuracy",
    beta: float = 1.0,
    cost: Mapping[Any, Any] | None = None,
    priors: Mapping[Any, Any] | pl.DataFrame | None = None,
    models: Sequence[str] = (),
) -> alt.LayerChart:
    """Draw which model is best at each mix of three classes, as a map of the triangle of all mixes.

    Parameters
    ----------
    class_counts
        Class counts of a labelled log with three classes, without keys.
    metric, beta, cost
        A metric of all classes, as in ``project_classes``.
    priors
        Mixes to be marked, ``{class: share}`` or several by name.
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        The triangle, whose corners are the classes alone, coloured by the best model; of equal models the
        first by name. Hover for all that are equal. By accuracy, mean recall and cost the regions are exact;
        by other metrics the map is one of 1,600 small triangles, each judged at its middle.

    Raises
    ------
    ParameterError
        If there are not three classes with rows, the counts have keys, no model has a value, or the metric is
        one of each class.
    UnknownMetricError
        If there is no such metric.
    SchemaError
        If *class_counts* are no counts of a labelled log.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 1, 1, 1, 2], "decision": [0, 1, 1, 2, 2]})
    >>> nf.chart_class_simplex(nf.count_classes(log)).to_dict()["title"]["text"]
    'Best model at each mix of three classes'
    """
    found, classes = best_in_simplex(class_counts, metric=metric, beta=beta, cost=cost)
    rows = _placed(found.filter(pl.col("model").is_not_null())).with_columns(
        equal=pl.col("tied").list.join(", ")
    )
    selection.check_rows(rows)
    style = theme.model_style(rows["model"], among=models)
    height = math.sqrt(3) / 2
    x, y = (
        alt.X(field="across", type="quantitative", axis=None, scale={"domain": [-_ROOM, 1 + _ROOM]}),
        alt.Y(field="up", type="quantitative", axis=None, scale={"domain": [-_ROOM, height + _ROOM]}),
    )
    named = {share: f"share of {name}" for share, name in zip(_SHARES, classes, strict=True)}
    shown = canvas.tooltip(named, names=("model", "equal"))
    base = alt.Chart(selection.finite(rows)).encode(x=x, y=y)
    fills = canvas.fills(style)
    # Without outlines, the ground would shine through between neighbours.
    outline = alt.Stroke(field="model", type="nominal", legend=None, scale=canvas.model_scale(style))
    regions = base.mark_line(filled=True, strokeWidth=0.5, interpolate="linear-closed").encode(
        detail=alt.Detail(field="region", type="nominal"),
        order=alt.Order(field="corner", type="quantitative"),
    )
    # Each name stands a little further out than its corner.
    out = {
        share: [1.08 if at == corner else -0.04 for at in range(3)] for corner, share in enumerate(_SHARES)
    }
    corners = _placed(pl.DataFrame({"name": [str(name) for name in classes], **out}))
    layers = [
        canvas.layer("regions", regions, **fills, stroke=outline, tooltip=shown),
        *canvas.named(corners, x, y, letters=_LETTERS),
    ]
    marked = _marked(priors, classes)
    if marked.height:
        points = alt.Chart(_placed(marked)).encode(x=x, y=y)
        dots = points.mark_point(
            filled=True, size=90, color=theme.INK, stroke=theme.GROUND, strokeWidth=2, opacity=1
        )
        layers.append(canvas.layer("mixes", dots, tooltip=canvas.tooltip(named, names=("scenario",))))
    return canvas.compose(
        layers,
        style=style,
        title="Best model at each mix of three classes",
        subtitle=f"by {metric.replace('_', ' ')}; a corner is one class alone"
        + ("; dots: mixes" if marked.height else ""),
        says="A triangle, coloured by model.",
        width=_SIDE,
        height=round(_SIDE * (height + 2 * _ROOM) / (1 + 2 * _ROOM)),
    )


def _placed(rows: pl.DataFrame) -> pl.DataFrame:
    """Add where a mix is drawn: the first class to the left, the second to the right, the third above."""
    across = pl.col("second") + pl.col("third") / 2
    return rows.with_columns(across=across, up=pl.col("third") * math.sqrt(3) / 2)


def _marked(priors: Any, classes: Sequence[Any]) -> pl.DataFrame:
    """Return the mixes that are marked."""
    mixes = {} if priors is None else scenarios_of(priors)
    rows = [(scenario, *(mix.get(name, 0.0) for name in classes)) for scenario, mix in mixes.items()]
    return pl.DataFrame(rows, {"scenario": pl.String, **dict.fromkeys(_SHARES, pl.Float64)}, orient="row")
