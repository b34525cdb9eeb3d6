"""Decision maps, winner ranges and rankings -> the best model at every prevalence and beta, and all ranks."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.errors import ParameterError
from nci_frames.charts.parts import axes, canvas, lines, selection, theme
from nci_frames.evaluation.metrics import title_of
from nci_frames.schemas.checked import checked

_ODDS, _BETA = axes.LogAxis("odds", 1e-6, 1.0), axes.LogAxis("beta", 0.1, 10.0)


@checked
def chart_decision_map(
    decisions: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    certified: pl.DataFrame | pl.LazyFrame | None = None,
    models: Sequence[str] = (),
    observed: float | None = None,
) -> alt.LayerChart:
    """Draw which model has the highest F-beta at every prevalence and beta.

    Parameters
    ----------
    decisions
        The result of ``decision_map``, for one value of each key.
    certified
        The result of ``certify_decision_map`` for the same counts: colours are full only where one model is
        certified, and grey hides them where nobody knows.
    models
        %(models)s
    observed
        The prevalence of the log, marked by a vertical line if it is on the map, which ends at 1/2.

    Returns
    -------
    altair.LayerChart
        Bands, coloured by model, over the odds of the prevalence and beta, both logarithmic: on these axes
        the borders are exactly straight. Pale bands are those of a model that the log does not support; with
        *certified*, those where several may be the best. Hover for the model and the threshold.

    Raises
    ------
    ParameterError
        If the frame has keys or too many rows, or *observed* is outside [0, 1].

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"], "threshold": [0.5, 0.5],
    ...     "tp": [60, 80], "fp": [1, 20], "fn": [40, 20], "tn": [999, 980],
    ... })
    >>> decisions = nf.decision_map(nf.compute_rates(counts))
    >>> nf.chart_decision_map(decisions).to_dict()["title"]["text"]
    'Decision map of F-beta'
    """
    frame = schemas.collect(decisions, schemas.DECISION_MAP)
    observed = selection.checked_observed(observed)
    on_map = observed is not None and _ODDS.low <= observed <= 0.5
    selection.one_comparison(frame, schemas.DECISION_MAP)
    told = None if certified is None else _verdicts(schemas.collect(certified, schemas.CERTIFIED_MAP))
    rows = _placed(frame if told is None else _cut(frame, told))
    selection.check_rows(rows)
    beta = alt.Axis(values=[0.1, 0.2, 0.5, 1, 2, 5, 10], format="~g")
    base = alt.Chart(selection.finite(rows)).encode(
        x=_ODDS.x(),
        y=alt.Y(field="beta_low", type="quantitative", title="β, log scale", scale=_BETA.scale, axis=beta),
        y2=alt.Y2("beta_high"),
        detail=alt.Detail("range:N"),
    )

    def areas(ranges: pl.DataFrame, name: str, **mark: Any) -> alt.Chart:
        """Draw the areas of other ranges."""
        marks = base.properties(data=selection.finite(_placed(ranges)))
        return canvas.layer(name, marks.mark_area(clip=True, **mark))

    merged = selection.merged_ranges(frame, "lambda_start", "lambda_end")
    style = theme.model_style(frame["model"], among=models)
    bands = areas(merged, "bands", opacity=0.75, stroke=theme.GROUND, strokeWidth=0.7)
    # The thresholds of one model change too often to be drawn; the tooltips show them.
    numbers = {"threshold": "threshold", "lambda_start": "λ from", "lambda_end": "λ to"}
    if told is None:
        untold = selection.unsupported_ranges(frame, "lambda_start", "lambda_end")
        cover = [areas(untold, "untold", color=theme.GROUND, opacity=0.7)] if len(untold) else []
        why = selection.why_marked("pale", frame)
        subtitle = f"the best model at every point; borders are exact{why}"
    else:
        cover = [
            areas(ranges, verdict, color=color, opacity=opacity)
            for verdict, color, opacity in (("several", theme.GROUND, 0.6), ("unknown", theme.LINE, 1.0))
            if len(ranges := told.filter(verdict=verdict).select("lambda_start", "lambda_end"))
        ]
        subtitle = "the best model of this log; solid: certified; pale: one of several; grey: nobody knows"
    names = ("model",) if told is None else ("model", "verdict", "may be best")
    targets = base.mark_area(clip=True, opacity=0)
    shown = canvas.tooltip(numbers, names=names)
    rule = _ODDS.observed(observed if on_map else None)
    return canvas.compose(
        [bands.encode(**canvas.fills(style)), *cover, canvas.layer("targets", targets, tooltip=shown), *rule],
        style=style,
        title="Decision map of F-beta",
        subtitle=subtitle,
        says="Bands over the odds of the prevalence and beta, both logarithmic.",
        height=380,
    )


def _placed(ranges: pl.DataFrame) -> pl.DataFrame:
    """Return the lower and the upper beta of each range of lambda, at both ends of the odds."""
    ends = pl.DataFrame({"odds": [_ODDS.low, _ODDS.high]})
    # lambda = 1/(odds·beta²): at fixed odds, a range of lambda is a range of log beta.
    high, low = (-(pl.col(f"lambda_{end}").log() + pl.col("odds").log()) / 2 for end in ("start", "end"))
    beyond = 20  # far outside the axis, and finite
    return (
        ranges.with_row_index("range")
        .join(ends, how="cross")
        .with_columns(
            beta_high=high.clip(upper_bound=math.log(_BETA.high) + beyond).exp(),
            beta_low=low.clip(math.log(_BETA.low) - beyond).exp(),
        )
    )


def _verdicts(certified: pl.DataFrame) -> pl.DataFrame:
    """Return a row per range, with all models that may be the best there."""
    selection.one_comparison(certified, schemas.CERTIFIED_MAP)
    named = pl.col("model").fill_null("null").str.join(", ")
    return certified.group_by("lambda_start", "lambda_end", "verdict", maintain_order=True).agg(
        pl.when(pl.col("verdict").first() != "unknown").then(named).alias("may be best")
    )


def _cut(frame: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    """Cut the ranges of a decision map where the verdict changes."""
    inside = frame.join_where(
        told.rename({"lambda_start": "from", "lambda_end": "to"}),
        pl.col("lambda_start") < pl.col("to"),
        pl.col("from") < pl.col("lambda_end"),
    )
    parts = inside.with_columns(
        lambda_start=pl.max_horizontal("lambda_start", "from"),
        lambda_end=pl.min_horizontal("lambda_end", "to"),
    )
    return parts.drop("from", "to").sort("lambda_start")


#: The axis covers at least this range.
_LEAST, _MOST = {"prevalence": 1e-5, "beta": 0.1}, {"prevalence": 1.0, "beta": 10.0}

#: Height of the bar, and width of the label of a border, in pixels.
_BAR, _LABEL = 44, 46


@checked
def chart_winner_ranges(
    winners: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    models: Sequence[str] = (),
    observed: float | None = None,
) -> alt.LayerChart:
    """Draw the ranges of prevalence or beta in which each model is best, as a bar.

    Parameters
    ----------
    winners
        The result of ``winner_ranges``, for one value of each key.
    models
        %(models)s
    observed
        The prevalence of the log, marked by a vertical line if the ranges are over prevalence.

    Returns
    -------
    altair.LayerChart
        The ranges over a logarithmic axis, coloured by model, borders labelled.

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
        raise ParameterError(
            "there is no winner to draw", hint="check that both rates of each model are defined"
        )
    over, metric = frame.select("over", "metric").row(0)
    if over not in _LEAST:
        raise ParameterError.unknown_choice("over", over, tuple(_LEAST))
    inner = [place for place in frame["start"][1:] if place > 0]
    seen = observed if over == "prevalence" else None
    low = min(_LEAST[over], *(place / 2 for place in inner), seen or 1.0)
    high = _MOST[over] if over == "prevalence" else max(_MOST[over], *(2 * place for place in inner), 0.0)
    axis = axes.LogAxis(over, low, high)
    rows = frame.with_columns(pl.col("start").clip(low), pl.col("end").clip(upper_bound=high))
    rows = rows.filter(pl.col("start") < pl.col("end"))
    selection.check_rows(rows)
    style = theme.model_style(frame["model"], among=models)
    base = alt.Chart(selection.finite(rows)).encode(x=axis.x("start"), x2=alt.X2("end"))
    merged = selection.merged_ranges(rows, "start", "end")
    bars = base.properties(data=selection.finite(merged))
    bars = bars.mark_bar(height=_BAR, stroke=theme.GROUND, strokeWidth=1)
    # The thresholds of one model change too often to be drawn; the tooltips show them.
    numbers = {"threshold": "threshold", "start": "from", "end": "to"}
    targets = base.mark_bar(height=_BAR, opacity=0)
    starts = merged["start"][1:].to_list()
    borders = alt.Chart(merged.filter(pl.col("start").is_in(axis.apart(starts, _LABEL))))
    borders = borders.mark_text(dy=-32, **theme.NOTE)
    text = alt.Text(field="start", type="quantitative", format=".3~g")
    pale = selection.unsupported_ranges(rows, "start", "end")
    untold = base.properties(data=selection.finite(pale), name="untold")
    untold = untold.mark_bar(height=_BAR, color=theme.GROUND, opacity=0.7)
    return canvas.compose(
        [
            canvas.layer("bars", bars, **canvas.fills(style)),
            *([untold] if len(pale) else []),
            canvas.layer("targets", targets, tooltip=canvas.tooltip(numbers)),
            canvas.layer("borders", borders, x=axis.x("start"), text=text),
            *axis.observed(seen),
        ],
        style=style,
        title=f"Best model over {over}",
        subtitle=f"by {title_of(metric)}{selection.why_marked('pale', rows)}",
        says="One bar, coloured by model.",
        height=110,
    )


@checked
def chart_rank_over_prevalence(
    ranking: pl.DataFrame | pl.LazyFrame, /, *, observed: float | None = None, models: Sequence[str] = ()
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
        Rank 1 on top, over a logarithmic axis; a model leaves a gap where it has no rank.
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
    scale, axis = alt.Scale(reverse=True, domain=[0.5, last + 0.5]), alt.Axis(tickMinStep=1, format="d")
    return lines.draw_lines(
        frame,
        "prevalence",
        y=alt.Y(field="rank", type="quantitative", title="rank (1 is best)", scale=scale, axis=axis),
        what="rank",
        numbers={"prevalence": "prevalence", "rank": "rank", "value": "value"},
        title="Rank over prevalence",
        subtitle=f"by {title_of(rows['metric'][0])}",
        models=models,
        observed=observed,
    )
