"""Class counts of three classes -> the best model over all mixes, as a triangle."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from nci_frames.base.errors import ParameterError
from nci_frames.charts.parts import canvas, selection, theme
from nci_frames.counts.class_counts import scenarios_of
from nci_frames.evaluation.classes.simplex import winners_in_triangle
from nci_frames.schemas.checked import checked

#: The side of the triangle and the room around it, in pixels.
_SIDE, _ROOM = 420, 0.08
#: Letters of a name at a corner.
_LETTERS = 24
_SHARES = ("first", "second", "third")
#: The corners of a region: an end of a range, and a share of the third class.
_AROUND = (("start", "low"), ("end", "low"), ("end", "high"), ("start", "high"))


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
        first by name. Hover for all that are equal. The map is made of 120 strips, of which each is judged
        along its middle: exactly, as by ``class_winners``.

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
    found, classes = winners_in_triangle(class_counts, metric=metric, beta=beta, cost=cost)
    won = found.filter(pl.col("model").is_not_null())
    if won.is_empty():
        raise ParameterError("no model has a value", hint="check that each model has rows of all classes")
    won = won.with_row_index("region").with_columns(equal=pl.col("tied").list.join(", "))
    rows = pl.concat(
        _placed(won.with_columns(second=(1 - pl.col(third)) * pl.col(part), third=third, corner=number))
        for number, (part, third) in enumerate(_AROUND)
    ).select("region", "corner", "model", "equal", "across", "up")
    selection.check_rows(rows)
    style = theme.model_style(rows["model"], among=models)
    height = math.sqrt(3) / 2
    x, y = (
        alt.X(field="across", type="quantitative", axis=None, scale={"domain": [-_ROOM, 1 + _ROOM]}),
        alt.Y(field="up", type="quantitative", axis=None, scale={"domain": [-_ROOM, height + _ROOM]}),
    )
    base = alt.Chart(selection.finite(rows)).encode(x=x, y=y)
    # Without outlines, the ground would shine through between neighbours.
    outline = alt.Stroke(field="model", type="nominal", legend=None, scale=canvas.model_scale(style))
    regions = base.mark_line(filled=True, strokeWidth=0.5, interpolate="linear-closed").encode(
        detail=alt.Detail(field="region", type="nominal"),
        order=alt.Order(field="corner", type="quantitative"),
        stroke=outline,
    )
    shown = canvas.tooltip({}, names=("model", "equal"))
    # Each name stands a little further out than its corner.
    corners = pl.DataFrame({
        "name": map(str, classes), "second": [-0.04, 1.08, -0.04], "third": [-0.04, -0.04, 1.08],
    })  # fmt: skip
    mixes = {} if priors is None else scenarios_of(priors)
    of = [(name, *(mix.get(of_class, 0.0) for of_class in classes)) for name, mix in mixes.items()]
    named = {share: f"share of {name}" for share, name in zip(_SHARES, classes, strict=True)}
    marked = pl.DataFrame(of, {"scenario": pl.String, **dict.fromkeys(_SHARES, pl.Float64)}, orient="row")
    dots = alt.Chart(_placed(marked)).encode(x=x, y=y).mark_point(
        filled=True, size=90, color=theme.INK, stroke=theme.GROUND, strokeWidth=2, opacity=1
    )  # fmt: skip
    layers = [
        canvas.layer("regions", regions, **canvas.fills(style), tooltip=shown),
        *canvas.named(_placed(corners), x, y, letters=_LETTERS),
        canvas.layer("mixes", dots, tooltip=canvas.tooltip(named, names=("scenario",))),
    ]
    return canvas.compose(
        layers,
        style=style,
        title="Best model at each mix of three classes",
        subtitle=f"by {metric.replace('_', ' ')}; a corner is one class alone"
        + ("; dots: mixes" if mixes else ""),
        says="A triangle, coloured by model.",
        width=_SIDE,
        height=round(_SIDE * (height + 2 * _ROOM) / (1 + 2 * _ROOM)),
    )


def _placed(rows: pl.DataFrame) -> pl.DataFrame:
    """Add where a mix is drawn: the first class to the left, the second to the right, the third above."""
    across = pl.col("second") + pl.col("third") / 2
    return rows.with_columns(across=across, up=pl.col("third") * math.sqrt(3) / 2)
