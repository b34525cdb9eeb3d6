"""Resampled comparisons -> the probability that each model is the best."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.charts.parts import axes, canvas, selection, theme
from nci_frames.schemas.checked import checked

#: Top of the axis where there is a bar above the areas, and the bar's own place on it.
_TOP, _BAR = 1.18, (1.05, 1.16)

#: An area is named where its probability is at least this.
_LEAST_NAMED = 0.2
#: Places whose probability differs by less are as wide.
_AS_WIDE = 0.01


@checked
def chart_probability_best(
    best: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    ranking: pl.DataFrame | pl.LazyFrame | None = None,
    observed: float | None = None,
    models: Sequence[str] = (),
) -> alt.LayerChart:
    """Draw the probability that each model is the best, over prevalence.

    Parameters
    ----------
    best
        The result of ``probability_best``, for one metric, one beta and one value of each key.
    ranking
        A ranking frame of the same metric and beta: a bar above the areas then shows the model of rank 1 at
        each of its prevalences.
    observed
        %(observed)s
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        Stacked areas, coloured by model, over a logarithmic axis; names stand in the areas that have room.

    Raises
    ------
    ParameterError
        If the frame has several rows for one model and prevalence, no probability, or too many rows; or if
        *observed* is outside [0, 1].

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"], "threshold": [0.5, 0.5],
    ...     "tp": [60, 80], "fp": [1, 20], "fn": [40, 20], "tn": [999, 980],
    ... })
    >>> best = nf.probability_best(counts, metric="f_beta", prevalence=[0.001, 0.1], repeats=50)
    >>> nf.chart_probability_best(best).to_dict()["title"]["text"]
    'Probability of being the best'
    """
    observed = selection.checked_observed(observed)
    frame = schemas.collect(best, schemas.BEST_MODELS).filter(pl.col("prevalence") > 0)
    selection.refuse_doubles(frame, "model", "prevalence")
    selection.refuse_empty(frame["probability"], "probability", frame)
    share = pl.col("probability").fill_null(0)
    rows = (
        frame.select("model", "prevalence", "probability")
        .sort("prevalence", "model")
        .with_columns(to=share.cum_sum().over("prevalence"))
        .with_columns((pl.col("to") - share).alias("from"))
        .sort("model", "prevalence")
    )
    selection.check_rows(rows)
    axis = axes.LogAxis.through("prevalence", rows["prevalence"], observed)
    height = axes.rate_axis("to", "probability of being the best")
    subtitle, says = "share of resampled logs in which a model is the best", "Stacked areas, one per model."
    strip = pl.DataFrame(schema={"model": pl.String, "start": pl.Float64, "end": pl.Float64})
    if ranking is not None:
        strip = _leaders(schemas.collect(ranking, schemas.RANKING), axis)
        height["scale"] = alt.Scale(domain=[0, _TOP])
        height["axis"] = alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], format=".2~f")
        subtitle, says = f"{subtitle}; above, the best in this log", f"{says} A bar above, coloured by model."
    known, unknown = strip.drop_nulls("model"), strip.filter(pl.col("model").is_null())
    style = theme.model_style([*frame["model"], *known["model"]], among=models)
    areas = alt.Chart(selection.finite(rows)).mark_area(opacity=0.85, stroke=theme.GROUND, strokeWidth=0.7)
    numbers = canvas.tooltip({"prevalence": "prevalence", "probability": "probability"})
    fills = canvas.fills(style)
    untold = [pl.col("prevalence").is_between(*ends) for ends in unknown.select("start", "end").rows()]
    told = rows.filter(~pl.any_horizontal(pl.lit(value=False), *untold))
    # Resampled logs lack the same negatives as the log itself.
    cover = _across(unknown, axis, (0.0, 1.0), "untold", color=theme.GROUND, opacity=0.8)
    leaders = _across(known, axis, _BAR, "leaders", stroke=theme.GROUND, strokeWidth=1)
    seen = canvas.tooltip({"start": "from", "end": "to"})
    hollow = {"fill": None, "stroke": theme.SOFT, "strokeDash": [2, 3], "strokeWidth": 1}
    return canvas.compose(
        [
            canvas.layer("areas", areas, x=axis.x(), y=alt.Y(**height), y2="from", tooltip=numbers, **fills),
            *cover,
            *_names(_widest(told, axis), axis, "probability"),
            *(bar.encode(tooltip=seen, **fills) for bar in leaders),
            *_across(unknown, axis, _BAR, "unknown", **hollow),
            *_names(_titles(strip, axis), axis, "leader"),
            *axis.observed(observed),
        ],
        style=style,
        title="Probability of being the best",
        subtitle=subtitle,
        says=says,
    )


def _leaders(ranking: pl.DataFrame, axis: axes.LogAxis) -> pl.DataFrame:
    """Return the ranges of the models of rank 1, each from halfway to the prevalence before; null if unknown.

    A tie has the name of its first model.
    """
    first = (
        ranking.filter(pl.col("rank") == 1, pl.col("prevalence").is_between(axis.low, axis.high))
        .sort("prevalence", "model")
        .unique("prevalence", keep="first", maintain_order=True)
        .select("prevalence", model=pl.when(selection.supported(ranking)).then("model"))
    )
    halfway = (pl.col("prevalence") * pl.col("prevalence").shift()).sqrt().fill_null(axis.low)
    ranges = first.with_columns(start=halfway)
    ranges = ranges.with_columns(end=pl.col("start").shift(-1).fill_null(axis.high))
    return selection.merged_ranges(ranges, "start", "end")


def _across(
    ranges: pl.DataFrame, axis: axes.LogAxis, between: tuple[float, float], name: str, **mark: Any
) -> list[alt.Chart]:
    """Draw a rectangle for each range, between two heights."""
    if ranges.is_empty():
        return []
    bottom, top = between
    placed = ranges.with_columns(bottom=pl.lit(bottom), top=pl.lit(top))
    boxes = alt.Chart(selection.finite(placed)).mark_rect(**mark)
    return [canvas.layer(name, boxes, x=axis.x("start"), x2="end", y="bottom:Q", y2="top")]


def _titles(strip: pl.DataFrame, axis: axes.LogAxis) -> pl.DataFrame:
    """Return the names of the ranges that have room for them."""
    named = strip.select(
        prevalence=(pl.col("start") * pl.col("end")).sqrt(),
        middle=pl.lit(sum(_BAR) / 2),
        name=pl.col("model").fill_null("this log cannot tell"),
        room=(pl.col("end") / pl.col("start")).log(),
    )
    letters = theme.LETTER * pl.col("name").str.len_chars() + 8
    return named.filter(pl.col("room") >= math.log(axis.high / axis.low) / theme.WIDTH * letters)


def _widest(rows: pl.DataFrame, axis: axes.LogAxis) -> pl.DataFrame:
    """Return where each area is widest, if its name has room there."""
    # Of places that are as wide, the middle one: at the edge a name would stand on the axis.
    most = pl.col("probability").max().over("model")
    near = rows.filter(pl.col("probability") > most - _AS_WIDE).sort("model", "prevalence")
    middle = pl.int_range(pl.len()).over("model") == pl.len().over("model") // 2
    half = theme.LETTER / 2 / theme.WIDTH * math.log(axis.high / axis.low) * pl.col("model").str.len_chars()
    # A name stays among the rows.
    first, last = (
        pl.lit(end, pl.Float64).log() for end in (rows["prevalence"].min(), rows["prevalence"].max())
    )
    inside = pl.col("prevalence").log().clip(first + half, pl.max_horizontal(first + half, last - half)).exp()
    return (
        near.filter(middle)
        .filter(pl.col("probability") >= _LEAST_NAMED)
        .select(inside.alias("prevalence"), name="model", middle=(pl.col("from") + pl.col("to")) / 2)
    )


def _names(places: pl.DataFrame, axis: axes.LogAxis, name: str) -> list[alt.Chart]:
    """Write names with an outline, so that they are legible on any colour."""
    if places.is_empty():
        return []
    base = alt.Chart(places).encode(x=axis.x(), y="middle:Q", text="name:N")
    outlines = base.mark_text(fontSize=12, stroke=theme.GROUND, strokeWidth=3.5, strokeJoin="round")
    names = base.mark_text(fontSize=12, color=theme.INK)
    return [outlines.properties(name=f"{name}_outlines"), names.properties(name=f"{name}_names")]
