"""Class counts and winners -> confusion matrix at a mix, best models on lines or on the triangle of mixes."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from nci_frames import schemas
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Frame
from nci_frames.charts.parts import axes, canvas, lines, selection, theme
from nci_frames.counts.class_counts import Priors, one_mix, read_priors, scenarios_of
from nci_frames.evaluation.classes.class_winners import LINES, winners_in_triangle
from nci_frames.evaluation.classes.project_classes import matrix_at
from nci_frames.evaluation.metrics.classes import class_metric

#: Minimum width of a cell in pixels, so that numbers, or slanting names, do not overlap.
_CELL, _NAME = 30, 15
#: Height of a bar with its margin in pixels, and minimum width of a labelled range.
_LINE, _APART = 26, 0.06
#: Side of the triangle in pixels, and the relative margin around it.
_SIDE, _ROOM = 420, 0.08
#: Maximum length of a name at a corner.
_LETTERS = 24
_SHARES = ("first", "second", "third")
_OF_CLASS, _PERCENT = "share of the class", ".0%"


@schemas.checked
def chart_class_matrix(class_counts: Frame, /, *, priors: Priors = "observed") -> alt.FacetChart:
    """Draw the confusion matrix of several classes, at a mix of the classes.

    Parameters
    ----------
    class_counts
        Class counts of a labelled log, without keys.
    priors
        A single mix, as in ``project_classes``.

    Returns
    -------
    altair.FacetChart
        One panel per model with a row per class and a column per decision. The colour shows the share of the
        decision among the rows of the class, which does not depend on the mix; the number is the share of the
        cell in the mix, in percent. Tooltips show rows; the subtitle names classes with too few.

    Raises
    ------
    ParameterError
        If the counts have keys or scenarios, if there are several mixes, or too many cells.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": ["cat", "cat", "dog"], "decision": ["cat", "dog", "dog"]})
    >>> nf.chart_class_matrix(nf.count_classes(log)).to_dict()["title"]["text"]
    'Decisions by class'
    """
    table, order, doubts = matrix_at(class_counts, priors)
    selection.refuse_empty(table["label"], "class", table)
    selection.check_rows(table)
    named: dict[str, Any] = {"type": "nominal", "sort": order}
    width = min(420, canvas.panel_size(table["model"].n_unique())[0])
    cell = width / max(table["label"].n_unique(), table["decision"].n_unique())
    plain: dict[str, Any] = {"domain": False, "ticks": False}
    angle = -45
    if cell < _NAME:  # names that overlap are left to the tooltips
        angle, plain = -90, plain | {"labelOverlap": True}
    x = alt.X(field="decision", title="decision", axis={**plain, "labelAngle": angle}, **named)
    base = alt.Chart().encode(x=x, y=alt.Y(field="label", title="true class", axis=plain, **named))
    scale = {"domain": [0, 1], "range": [theme.GROUND, theme.PALETTE[0]], "interpolate": "rgb"}
    legend = {"format": _PERCENT, "orient": "bottom", "gradientLength": 160, "title": _OF_CLASS}
    colour = alt.Color(field="rate", type="quantitative", scale=scale, legend=legend)
    numbers = {"rows": "rows", "rate": _OF_CLASS, "share": "share of the mix"}
    shown = canvas.tooltip(numbers, names=("model", "label", "decision"))
    cells = base.mark_rect(stroke=theme.LINE, strokeWidth=1)
    layers = [canvas.layer("cells", cells, color=colour, tooltip=shown)]
    told = "colour: share among the rows of a class"
    if cell >= _CELL:
        ink = alt.ColorValue(theme.INK, condition={"test": "datum.rate > 0.5", "value": theme.GROUND})
        text = alt.Text(field="percent", type="nominal")
        told = f"{told}; numbers: percent of the mix, {priors if isinstance(priors, str) else 'as given'}"
        layers.append(canvas.layer("shares", base.mark_text(fontSize=11), text=text, color=ink))
    tenths = (1000 * pl.col("share")).round().cast(pl.Int64)
    percent = pl.when(tenths > 0).then(pl.format("{}.{}", tenths // 10, tenths % 10)).otherwise(pl.lit(""))
    return canvas.facet(
        table.with_columns(percent=percent),
        layers,
        style=theme.ModelStyle(table["model"]),
        title="Decisions by class",
        subtitle="; ".join([told, *doubts]),
        says="A matrix of true classes and decisions for each model.",
        square=True,
    )


@schemas.checked
def chart_class_winners(
    winners: Frame, /, *, models: Sequence[str] = (), priors: Mapping[Any, Any] | None = None
) -> alt.LayerChart:
    """Draw the ranges between two mixes of classes where each model is best, one bar per line of mixes.

    Parameters
    ----------
    winners
        The result of ``class_winners``, with at most one key; each of its values gets a bar, in their order.
    models
        %(models)s
    priors
        A mix ``{class: share}`` to mark in the bars of the key ``class``.

    Returns
    -------
    altair.LayerChart
        The ranges, coloured by model, with labelled borders. Tooltips show tied models.

    Raises
    ------
    ParameterError
        If the frame has several keys, names no model, or has too many rows.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": ["cat", "cat", "dog"], "decision": ["cat", "dog", "dog"]})
    >>> mixes = {"start": {"cat": 1.0, "dog": 0.0}, "end": {"cat": 0.0, "dog": 1.0}}
    >>> winners = nf.class_winners(nf.count_classes(log), metric="accuracy", **mixes)
    >>> nf.chart_class_winners(winners).to_dict()["title"]["text"]
    'Best model between two mixes of the classes'
    """
    frame = schemas.collect(winners, schemas.CLASS_WINNERS)
    keys = schemas.CLASS_WINNERS.keys(frame.columns)
    selection.one_comparison(frame.drop(keys[:1]), schemas.CLASS_WINNERS)
    missing = schemas.missing_name(frame[keys[0]]) if keys else ""
    line = (pl.col(keys[0]).cast(pl.String) if keys else pl.lit("")).fill_null(missing)
    rows = _won(frame).with_columns(line=line).sort(*keys, "start")
    style = theme.ModelStyle(rows["model"], among=models)
    title = _OF_CLASS if keys == ["class"] else "share of the way from the first mix to the last"
    named = rows["line"].unique(maintain_order=True).to_list()
    name = {"domain": False, "ticks": False, "title": keys[0] if keys else None}
    up = alt.Y(field="line", type="nominal", sort=named, axis=name)
    x = alt.X(**axes.rate_axis("start", title, _PERCENT))
    bars = alt.Chart(selection.finite(rows)).encode(x=x, x2=alt.X2("end"), y=up)
    bars = bars.mark_bar(height=_LINE - 4, stroke=theme.GROUND, strokeWidth=1)
    # A narrow range has no room for a label at its start.
    starts = rows.filter(pl.col("start") > 0, pl.col("end") - pl.col("start") >= _APART)
    borders = alt.Chart(selection.finite(starts)).encode(y=up)
    borders = borders.mark_text(**theme.NOTE | {"align": "left", "dx": 3, "color": theme.GROUND})
    shown = canvas.tooltip({"start": "from", "end": "to"}, names=(*keys, "model", "equal"))
    mix = {} if priors is None else one_mix("priors", scenarios_of(priors, words=False))
    of = {"line": pl.Series([*mix], strict=False).cast(pl.String), "share": [*mix.values()]}
    marked = pl.DataFrame(of, {"line": pl.String, "share": pl.Float64}).filter(pl.col("line").is_in(named))
    ticks = alt.Chart(marked).encode(y=up).mark_tick(color=theme.INK, opacity=1, thickness=3, size=_LINE)
    text = alt.Text(field="start", type="quantitative", format=".3~p")
    return canvas.compose(
        [
            canvas.layer("bars", bars, **canvas.fills(style), tooltip=shown),
            canvas.layer("mix", ticks, x=alt.X(**axes.rate_axis("share", title, _PERCENT))),
            canvas.layer("borders", borders, x=x, text=text),
        ],
        style=style,
        title="Best model between two mixes of the classes",
        subtitle="in this log; a border is where two models are equal"
        + ("; upright: the mix" if len(marked) else ""),
        says="A bar for each line, coloured by model.",
        height=_LINE * len(named) + 10,
    )


def chart_share_answer(rows: pl.DataFrame, /, *, measure: str, models: Sequence[str] = ()) -> alt.LayerChart:
    """Draw the value of each model over the share of a class, from ``ClassComparison.curves``.

    Parameters
    ----------
    rows
        Rows of one class.
    measure
        Name of the metric.
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        The curves with their bounds.

    Raises
    ------
    ParameterError
        If no model has a value.
    """
    shown = rows.sort("model", "share")
    selection.refuse_empty(shown["value"], "value", rows)
    style = theme.ModelStyle(rows["model"].unique(), among=models)
    numbers = canvas.value_titles(shown, "share", measure) | {"share": _OF_CLASS}
    x, y = axes.rate_axis("share", _OF_CLASS, _PERCENT), axes.value_axis("value", measure)
    shaded = "; shaded: the 95 % bounds" if "lower" in numbers else ""
    return canvas.compose(
        lines.curves(
            shown.select("model", *numbers), alt.X(**x), alt.Y(**y), style=style, numbers=numbers, reach=220
        ),
        style=style,
        title=f"{measure} over the share of {rows['class'][0]}",
        subtitle=f"the other classes in proportion{shaded}" + selection.why_marked("in doubt", shown),
        says=f"{measure} on the vertical axis; a line per model.",
    )


@schemas.checked
def chart_class_simplex(
    class_counts: Frame,
    /,
    *,
    metric: str = "accuracy",
    beta: float = 1.0,
    cost: Mapping[Any, float] | None = None,
    priors: Mapping[Any, Any] | pl.DataFrame | None = None,
    models: Sequence[str] = (),
) -> alt.LayerChart:
    """Draw the best model at each mix of three classes, as a map of the triangle of all mixes.

    Parameters
    ----------
    class_counts
        Class counts of a labelled log with three classes, without keys.
    metric, beta, cost
        A metric of all classes, as in ``project_classes``.
    priors
        Mixes to mark: ``{class: share}``, or several by name.
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        The triangle, coloured by the best model; the corners are the single classes. Among tied models, the
        first by name is drawn, and tooltips show all. The map has 200 mixes on each of 200 lines.

    Raises
    ------
    ParameterError
        Unless exactly three classes have rows; or if the counts have keys, no model has a value, or the
        metric is one of each class.
    UnknownMetricError
        If the metric is unknown.
    SchemaError
        If *class_counts* are not counts of a labelled log.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": "a", "label": [0, 1, 1, 1, 2], "decision": [0, 1, 1, 2, 2]})
    >>> nf.chart_class_simplex(nf.count_classes(log)).to_dict()["title"]["text"]
    'Best model at each mix of three classes'
    """
    found, classes = winners_in_triangle(class_counts, metric=metric, beta=beta, cost=cost)
    # Coordinates: height is the share of the third class; across is that of the second plus half the height.
    rows = _won(found).with_columns(pl.col("start", "end") + pl.col("third") / 2)
    style = theme.ModelStyle(rows["model"], among=models)
    place: dict[str, Any] = {"type": "quantitative", "axis": None, "scale": {"domain": [-_ROOM, 1 + _ROOM]}}
    x, y = alt.X(field="across", **place), alt.Y(field="third", **place)
    height = round(_SIDE * math.sqrt(3) / 2)
    # Slightly higher than a line, so that no background shows between neighbours.
    bars = alt.Chart(selection.finite(rows)).mark_bar(opacity=1, height=height / (1 + 2 * _ROOM) / LINES + 1)
    shown = canvas.tooltip({}, names=("model", "equal"))
    # Names are placed slightly outside the corners.
    outside = {"across": [-0.06, 1.06, 0.5], "third": [-0.04, -0.04, 1.08]}
    optional, three = np.zeros(3, np.bool_), pl.Series(classes)
    mixes = {} if priors is None else read_priors(priors, three, observed=None, needed=optional)
    of = [(name, *mix) for name, mix in mixes.items()]
    named = {share: f"share of {name}" for share, name in zip(_SHARES, classes, strict=True)}
    marked = pl.DataFrame(of, {"scenario": pl.String, **dict.fromkeys(_SHARES, pl.Float64)}, orient="row")
    dots = alt.Chart(marked.with_columns(across=pl.col("second") + pl.col("third") / 2)).mark_point(
        filled=True, size=90, color=theme.INK, stroke=theme.GROUND, strokeWidth=2, opacity=1
    )  # fmt: skip
    layers = [
        canvas.layer("regions", bars, x=alt.X(field="start", **place), x2=alt.X2("end"), y=y,
                     tooltip=shown, **canvas.fills(style)),
        *canvas.named(pl.DataFrame({"name": map(str, classes), **outside}), x, y, letters=_LETTERS),
        canvas.layer("mixes", dots, x=x, y=y, tooltip=canvas.tooltip(named, names=("scenario",))),
    ]  # fmt: skip
    return canvas.compose(
        layers,
        style=style,
        title="Best model at each mix of three classes",
        subtitle=f"by {class_metric(metric).in_words(beta)}, in this log; a corner is one class alone"
        + ("; dots: mixes" if mixes else ""),
        says="A triangle, coloured by model.",
        width=_SIDE,
        height=height,
    )


def _won(ranges: pl.DataFrame) -> pl.DataFrame:
    """Return the ranges where a model is best, with the names of all tied models."""
    rows = ranges.filter(pl.col("model").is_not_null()).with_columns(equal=pl.col("tied").list.join(", "))
    if rows.is_empty():
        hint = "check that each model has rows of all classes of the mixes"
        raise ParameterError("there is no winner to draw", hint=hint)
    selection.check_rows(rows)
    return rows
