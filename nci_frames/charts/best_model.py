"""Resampled comparisons -> the probability that each model is the best."""

import math
from collections.abc import Sequence

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.docstrings import documented
from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import quantity
from nci_frames.charts.parts.axes import log_range, log_x, observed_rule, rate_axis
from nci_frames.charts.parts.canvas import compose, fills, tooltip
from nci_frames.charts.parts.selection import (
    check_rows,
    checked_observed,
    finite,
    merged_ranges,
    refuse_doubles,
)
from nci_frames.charts.parts.theme import GROUND, INK, LETTER, SOFT, WIDTH, ModelStyle, model_style
from nci_frames.schemas.checked import checked

__all__ = ["chart_probability_best"]

#: Top of the axis where there is a bar above the areas, and the bar's own place on it.
_TOP, _BAR = 1.18, (1.05, 1.16)

#: An area is named where its probability is at least this.
_LEAST_NAMED = 0.2
#: Places whose probability differs by less are as wide.
_AS_WIDE = 0.01


@checked
@documented
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
    observed = checked_observed(observed)
    frame = schemas.collect(best, schemas.BEST_MODELS).filter(pl.col("prevalence") > 0)
    refuse_doubles(frame, "model", "prevalence")
    if frame["probability"].drop_nulls().is_empty():
        raise ParameterError("there is no probability to draw", found=quantity(frame.height, "row"))
    below = pl.col("to") - pl.col("probability").fill_null(0)
    rows = (
        frame.select("model", "prevalence", "probability")
        .sort("prevalence", "model")
        .with_columns(to=pl.col("probability").fill_null(0).cum_sum().over("prevalence"))
        .with_columns(below.alias("from"))
        .sort("model", "prevalence")
    )
    check_rows(rows)
    low, high = log_range([*rows["prevalence"], *([observed] if observed else [])])
    strip = None if ranking is None else _leaders(schemas.collect(ranking, schemas.RANKING), low, high)
    named = [] if strip is None else strip["model"].drop_nulls().to_list()
    style = model_style([*frame["model"], *named], among=models)
    x = log_x("prevalence", "prevalence", low, high)
    numbers = {"prevalence": "prevalence", "probability": "probability"}
    axis = rate_axis("to", "probability of being the best")
    if strip is not None:
        axis["scale"] = alt.Scale(domain=[0, _TOP])
        axis["axis"] = alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], format=".2~f")
    areas = (
        alt.Chart(finite(rows))
        .mark_area(opacity=0.85, stroke=GROUND, strokeWidth=0.7)
        .encode(x=x, y=alt.Y(**axis), y2=alt.Y2(field="from"), tooltip=tooltip(numbers), **fills(style))
        .properties(name="areas")
    )
    return compose(
        [
            areas,
            *_cover(strip, low, high),
            *_names(_widest(_outside(rows, strip), low, high), x, "probability"),
            *([] if strip is None else _bar(strip, low, high, style)),
            *observed_rule(observed, "prevalence", low, high),
        ],
        style=style,
        title="Probability of being the best",
        subtitle="share of resampled logs in which a model is the best"
        + ("" if strip is None else "; above, the best in this log"),
        says="Stacked areas, one per model." + ("" if strip is None else " A bar above, coloured by model."),
    )


def _leaders(ranking: pl.DataFrame, low: float, high: float) -> pl.DataFrame:
    """Return the ranges of the models of rank 1, each from halfway to the prevalence before; null if unknown.

    A tie has the name of its first model.
    """
    told = pl.col("supported").fill_null(value=True) if "supported" in ranking.columns else pl.lit(value=True)
    first = (
        ranking.filter(pl.col("rank") == 1, pl.col("prevalence").is_between(low, high))
        .sort("prevalence", "model")
        .unique("prevalence", keep="first", maintain_order=True)
        .select("prevalence", model=pl.when(told).then("model"))
    )
    halfway = (pl.col("prevalence") * pl.col("prevalence").shift()).sqrt().fill_null(low)
    ranges = first.with_columns(start=halfway).with_columns(end=pl.col("start").shift(-1).fill_null(high))
    return merged_ranges(ranges, "start", "end").with_columns(bottom=pl.lit(_BAR[0]), top=pl.lit(_BAR[1]))


def _unknown(strip: pl.DataFrame | None) -> pl.DataFrame | None:
    """Return the ranges in which the log cannot tell who is the best, if there are any."""
    unknown = None if strip is None else strip.filter(pl.col("model").is_null())
    return None if unknown is None or unknown.is_empty() else unknown.drop("model")


def _outside(rows: pl.DataFrame, strip: pl.DataFrame | None) -> pl.DataFrame:
    """Return the rows at prevalences at which the log can tell."""
    unknown = _unknown(strip)
    if unknown is None:
        return rows
    inside = [
        pl.col("prevalence").is_between(start, end) for start, end in unknown.select("start", "end").rows()
    ]
    return rows.filter(~pl.any_horizontal(inside))


def _cover(strip: pl.DataFrame | None, low: float, high: float) -> list[alt.Chart]:
    """Cover the areas where the log cannot tell: resampled logs lack the same negatives as the log itself."""
    unknown = _unknown(strip)
    if unknown is None:
        return []
    cover = alt.Chart(finite(unknown.with_columns(bottom=pl.lit(0.0), top=pl.lit(1.0))))
    return [cover.mark_rect(color=GROUND, opacity=0.8).encode(**_place(low, high)).properties(name="untold")]


def _place(low: float, high: float) -> dict[str, alt.X | alt.X2 | alt.Y | alt.Y2]:
    return {
        "x": log_x("start", "prevalence", low, high),
        "x2": alt.X2(field="end"),
        "y": alt.Y(field="bottom", type="quantitative"),
        "y2": alt.Y2(field="top"),
    }


def _bar(strip: pl.DataFrame, low: float, high: float, style: ModelStyle) -> list[alt.Chart]:
    """Draw who is the best in the log, and where it cannot tell."""
    at = _place(low, high)
    known, unknown = strip.drop_nulls("model"), _unknown(strip)
    layers = []
    if known.height:
        bars = alt.Chart(finite(known)).mark_rect(stroke=GROUND, strokeWidth=1)
        seen = tooltip({"start": "from", "end": "to"})
        layers.append(bars.encode(**at, tooltip=seen, **fills(style)).properties(name="leaders"))
    if unknown is not None:
        hollow = alt.Chart(finite(unknown)).mark_rect(
            fill=None, stroke=SOFT, strokeDash=[2, 3], strokeWidth=1
        )
        layers.append(hollow.encode(**at).properties(name="unknown"))
    middle = pl.DataFrame(
        {
            "prevalence": (strip["start"] * strip["end"]).sqrt(),
            "middle": [sum(_BAR) / 2] * len(strip),
            "name": strip["model"].fill_null("this log cannot tell"),
            "room": (strip["end"] / strip["start"]).log(),
        }
    )
    wide = math.log(high / low) / WIDTH
    fits = middle.filter(pl.col("room") >= wide * (LETTER * pl.col("name").str.len_chars() + 8))
    return [*layers, *_names(fits, log_x("prevalence", "prevalence", low, high), "leader")]


def _widest(rows: pl.DataFrame, low: float, high: float) -> pl.DataFrame:
    """Return where each area is widest, if its name has room there."""
    if rows.is_empty():
        return pl.DataFrame()
    # Of places that are as wide, the middle one: at the edge a name would stand on the axis.
    most = pl.col("probability").max().over("model")
    near = rows.filter(pl.col("probability") > most - _AS_WIDE).sort("model", "prevalence")
    middle = pl.int_range(pl.len()).over("model") == pl.len().over("model") // 2
    widest = near.filter(middle)
    half = LETTER / 2 / WIDTH * math.log(high / low) * pl.col("model").str.len_chars()
    # A name stays among the rows.
    first, last = pl.lit(rows["prevalence"].min()).log(), pl.lit(rows["prevalence"].max()).log()
    inside = pl.col("prevalence").log().clip(first + half, pl.max_horizontal(first + half, last - half)).exp()
    return widest.filter(pl.col("probability") >= _LEAST_NAMED).select(
        inside.alias("prevalence"), name="model", middle=(pl.col("from") + pl.col("to")) / 2
    )


def _names(places: pl.DataFrame, x: alt.X, name: str) -> list[alt.Chart]:
    """Write names with an outline, so that they are legible on any colour."""
    if places.is_empty():
        return []
    base = alt.Chart(places).encode(
        x=x,
        y=alt.Y(field="middle", type="quantitative"),
        text=alt.Text(field="name", type="nominal"),
    )
    return [
        base.mark_text(fontSize=12, stroke=GROUND, strokeWidth=3.5, strokeJoin="round").properties(
            name=f"{name}_outlines"
        ),
        base.mark_text(fontSize=12, color=INK).properties(name=f"{name}_names"),
    ]
