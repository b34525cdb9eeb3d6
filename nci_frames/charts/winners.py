"""Winner ranges and rankings -> charts of the best model over prevalence or beta, and of all ranks."""

import math
from collections.abc import Sequence

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Frame
from nci_frames.charts.parts import axes, canvas, hatching, lines, selection, theme
from nci_frames.evaluation.metrics import title_of
from nci_frames.tables.numbers import format_grid

#: Minimum range of the axis.
_LEAST, _MOST = {"prevalence": 1e-5, "beta": 0.1}, {"prevalence": 1.0, "beta": 10.0}

#: Height of the bar and of the chart, and width of the label of a border, in pixels.
_BAR, _ROOM, _LABEL = 44, 110, 46

#: Maximum length of a name in the bar, and maximum number of labelled ranks.
_LETTERS, _RANKS = 24, 10


@schemas.checked
def chart_winner_ranges(
    winners: Frame, /, *, models: Sequence[str] = (), observed: float | None = None
) -> alt.LayerChart:
    """Draw the ranges of prevalence or beta where each model is best, as a bar.

    Parameters
    ----------
    winners
        The result of ``winner_ranges``, for one value of each key.
    models
        %(models)s
    observed
        Prevalence of the log, marked by a vertical line if the ranges are over prevalence.

    Returns
    -------
    altair.LayerChart
        The ranges over a logarithmic axis, coloured by model, with labels at borders and in wide ranges.
        Ranges that the log does not support are pale and hatched.

    Raises
    ------
    ParameterError
        If the frame has keys, is empty, or has too many rows; or if *observed* is outside [0, 1].

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"], "threshold": [0.5, 0.5],
    ...     "tp": [60, 80], "fp": [1, 20], "fn": [40, 20], "tn": [999, 980],
    ... })
    >>> ranges = nf.winner_ranges(nf.compute_rates(counts), metric="f_beta", over="prevalence")
    >>> nf.chart_winner_ranges(ranges).to_dict()["title"]["text"]
    'Best model over prevalence'
    """
    frame = schemas.collect(winners, schemas.WINNERS).sort("start")
    observed = selection.checked_observed(observed)
    selection.one_comparison(frame, schemas.WINNERS)
    if frame.is_empty():
        hint = "check that both rates of each model are defined"
        raise ParameterError("there is no winner to draw", hint=hint)
    over, metric = frame.select("over", "metric").row(0)
    if over not in _LEAST:
        raise ParameterError.unknown_choice("over", over, tuple(_LEAST))
    seen = observed if over == "prevalence" else None
    low, high = _range(frame, over, seen)
    axis = axes.LogAxis(over, low, high)
    written = selection.written_range("start", "end").alias("range")
    rows = frame.with_columns(pl.col("start").clip(low), pl.col("end").clip(upper_bound=high), written)
    selection.check_rows(rows)
    style = theme.ModelStyle(frame["model"], among=models)
    base = alt.Chart(selection.finite(rows)).encode(x=axis.x("start"), x2=alt.X2("end"))
    merged = selection.merged_ranges(rows, "start", "end")
    bars = base.properties(data=selection.finite(merged))
    bars = bars.mark_bar(height=_BAR, stroke=theme.GROUND, strokeWidth=1)
    # The thresholds of one model change too often to draw borders; tooltips show them.
    tooltip = canvas.tooltip({"threshold": "threshold"}, names=("model", "range"))
    targets = base.mark_bar(height=_BAR, opacity=0)
    pale = selection.unsupported_ranges(rows, "start", "end")
    untold = base.properties(data=selection.finite(pale), name="untold")
    untold = untold.mark_bar(height=_BAR, color=theme.GROUND, opacity=0.7)
    strips = [(axis.part(start), axis.part(end)) for start, end in pale.select("start", "end").rows()]
    up = alt.Y(field="up", type="quantitative", axis=None, scale={"domain": [0, 1]})
    known = selection.merged_ranges(rows.filter(selection.supported(rows)), "start", "end")
    width = (pl.col("end") / pl.col("start")).log() / math.log(high / low) * theme.WIDTH
    letters = pl.col("model").str.len_chars().clip(upper_bound=_LETTERS)
    places = known.filter(width > letters * theme.LETTER).select(
        name="model", middle=(pl.col("start") * pl.col("end")).sqrt(), up=0.5
    )
    return canvas.compose(
        [
            canvas.layer("bars", bars, **canvas.fills(style)),
            *([untold] if len(pale) else []),
            *hatching.hatching(strips, axis, up, height=_BAR, rise=_height),
            *canvas.named(places, axis.at("middle"), up, letters=_LETTERS),
            canvas.layer("targets", targets, tooltip=tooltip),
            _borders(merged["start"][1:].to_list(), axis),
            *axis.observed(seen),
        ],
        style=style,
        title=f"Best model over {over}",
        subtitle=f"by {title_of(metric)}{selection.why_marked('hatched', rows)}",
        says="One bar, coloured by model.",
        height=_ROOM,
    )


def _borders(starts: list[float], axis: axes.LogAxis) -> alt.Chart:
    """Label the borders that are far enough apart."""
    labels = [(start, format_grid(start)) for start in axis.apart(starts, _LABEL)]
    drawn = alt.Chart(pl.DataFrame(labels, schema={"start": pl.Float64, "at": pl.String}, orient="row"))
    text = alt.Text(field="at", type="nominal")
    return canvas.layer("borders", drawn.mark_text(dy=-32, **theme.NOTE), x=axis.x("start"), text=text)


def _range(winners: pl.DataFrame, over: str, observed: float | None) -> tuple[float, float]:
    """Return the ends of an axis that shows all borders, and part of every range."""
    inner = [place for place in (*winners["start"], *winners["end"]) if 0 < place < math.inf]
    low = min(_LEAST[over], *(place / 2 for place in inner), observed or 1.0)
    high = _MOST[over] if over == "prevalence" else max(_MOST[over], *(2 * place for place in inner), 0.0)
    return low, high


def _height(part: float) -> float:
    """Return the height in the chart of a fraction of the bar."""
    return (_ROOM - _BAR) / 2 / _ROOM + part * _BAR / _ROOM


@schemas.checked
def chart_rank_over_prevalence(
    ranking: Frame, /, *, observed: float | None = None, models: Sequence[str] = ()
) -> alt.LayerChart:
    """Draw the rank of every model over prevalence: a bump chart.

    Parameters
    ----------
    ranking
        The result of ``rank_models`` for one metric, with one row per model and prevalence.
    observed
        %(observed)s
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        The ranks over a logarithmic axis, with rank 1 on top; gaps where a model has no rank.
        %(thinning)s

    Raises
    ------
    ParameterError
        If the frame has several metrics, several rows for one model and prevalence, no rank, or too many
        rows; or if *observed* is outside [0, 1].

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"], "threshold": [0.5, 0.5],
    ...     "tp": [60, 80], "fp": [1, 20], "fn": [40, 20], "tn": [999, 980],
    ... })
    >>> points = nf.project_rates(nf.compute_rates(counts), metrics="f_beta", prevalence=[0.001, 0.01, 0.1])
    >>> nf.chart_rank_over_prevalence(nf.rank_models(points)).to_dict()["title"]["text"]
    'Rank over prevalence'
    """
    frame = schemas.collect(ranking, schemas.RANKING)
    rows = selection.pick(frame, "metric", hint="filter the ranking by one metric")
    last = max([2, *frame["rank"].drop_nulls()])
    # Vega ignores its minimum step between ticks on a reversed axis.
    shown = list(range(1, last + 1, math.ceil(last / _RANKS)))
    scale, axis = alt.Scale(reverse=True, domain=[0.5, last + 0.5]), alt.Axis(values=shown, format="d")
    y = alt.Y(field="rank", type="quantitative", title="rank (1 is best)", scale=scale, axis=axis)
    told, numbers = f"by {title_of(rows['metric'][0])}", canvas.own_titles("prevalence", "rank", "value")
    return lines.draw_lines(
        frame, y=y, what="rank", numbers=numbers, subtitle=told, models=models, observed=observed
    )
