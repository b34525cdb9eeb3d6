"""Resampled comparisons -> the probability that each model is the best."""

import math
from collections.abc import Sequence

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.typing import Frame
from nci_frames.charts.parts import axes, canvas, hatching, selection, theme

#: Minimum probability for the name of a model in its area.
_LEAST_NAMED = 0.2
#: Tolerance for equal probabilities.
_AS_WIDE = 0.01
#: Maximum length of a name, and width in pixels of a chart on a telephone, within which names must stay.
_LETTERS, _NARROW = 24, 240


@schemas.checked
def chart_probability_best(
    best: Frame, /, *, observed: float | None = None, models: Sequence[str] = ()
) -> alt.LayerChart:
    """Draw the probability that each model is the best, over prevalence.

    Parameters
    ----------
    best
        The result of ``probability_best``, for one metric, one beta and one value of each key.
    observed
        %(observed)s
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        Stacked areas, coloured by model, over a logarithmic axis, with names in areas of sufficient size.
        Areas are pale and hatched where the log does not support the value of a model that may be the best.

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
    share, doubtful = pl.col("probability").fill_null(0), frame.filter(pl.col("probability") > 0)
    rows, to = frame.select("model", "prevalence", "probability"), share.cum_sum().over("prevalence")
    rows = rows.sort("prevalence", "model").with_columns(to.alias("to"), (to - share).alias("from"))
    rows = rows.sort("model", "prevalence")
    selection.check_rows(rows)
    axis = axes.LogAxis.through("prevalence", rows["prevalence"], observed)
    style = theme.ModelStyle(frame["model"], among=models)
    areas = alt.Chart(selection.finite(rows)).mark_area(opacity=0.85, stroke=theme.GROUND, strokeWidth=0.7)
    numbers = canvas.tooltip({"prevalence": "prevalence", "probability": "probability"})
    height = alt.Y(**axes.rate_axis("to", "probability of being the best"))
    areas = areas.encode(x=axis.x(), y=height, y2=alt.Y2("from"))
    # Resampled logs lack the same negatives as the log, so their probabilities cannot show its limits.
    untold = doubtful.filter(~selection.supported(doubtful))["prevalence"].unique()
    places = rows.select("prevalence").unique().sort("prevalence")
    pale = places["prevalence"].is_in(untold.implode())
    # Pale areas extend to the next supported prevalence, as dotted lines do.
    beside = pale | pale.shift(1, fill_value=False) | pale.shift(-1, fill_value=False)
    cover = alt.Chart(places.with_columns(to=pl.when(beside).then(1.0)))
    cover = cover.mark_area(color=theme.GROUND, opacity=0.7)
    strips = _strips(beside, places, axis)
    told = rows.filter(~pl.col("prevalence").is_in(untold.implode()))
    return canvas.compose(
        [
            canvas.layer("areas", areas, tooltip=numbers, **canvas.fills(style)),
            *([canvas.layer("untold", cover, x=axis.x(), y=height)] if len(untold) else []),
            *hatching.hatching(strips, axis, alt.Y("up:Q"), height=theme.HEIGHT),
            *canvas.named(_widest(told, axis), axis.x(), alt.Y("middle:Q"), letters=_LETTERS),
            *axis.observed(observed),
        ],
        style=style,
        title="Probability of being the best",
        subtitle="share of resampled logs in which a model is the best"
        + selection.why_marked("hatched", doubtful),
        says="Stacked areas, one per model.",
    )


def _strips(covered: pl.Series, places: pl.DataFrame, axis: axes.LogAxis) -> list[tuple[float, float]]:
    """Return the parts of the axis that are covered without a gap, from first to last place."""
    runs = places.with_columns(run=covered.rle_id()).filter(covered).group_by("run", maintain_order=True)
    ends = runs.agg(start=pl.col("prevalence").min(), end=pl.col("prevalence").max())
    return [(axis.part(start), axis.part(end)) for _, start, end in ends.iter_rows()]


def _widest(rows: pl.DataFrame, axis: axes.LogAxis) -> pl.DataFrame:
    """Return the widest place of each area, if its name has room there."""
    # The middle one of equally wide places: at the edge a name would overlap the axis.
    most = pl.col("probability").max().over("model")
    near = rows.filter(pl.col("probability") > most - _AS_WIDE).sort("model", "prevalence")
    middle = pl.int_range(pl.len()).over("model") == pl.len().over("model") // 2
    letters = pl.col("model").str.len_chars().clip(upper_bound=_LETTERS)
    half = theme.LETTER / 2 / _NARROW * math.log(axis.high / axis.low) * letters
    # Keep the name within the rows.
    first, last = (
        pl.lit(end, pl.Float64).log() for end in (rows["prevalence"].min(), rows["prevalence"].max())
    )
    inside = pl.col("prevalence").log().clip(first + half, pl.max_horizontal(first + half, last - half)).exp()
    wide = near.filter(middle, pl.col("probability") >= _LEAST_NAMED)
    return wide.select(prevalence=inside, name="model", middle=(pl.col("from") + pl.col("to")) / 2)
