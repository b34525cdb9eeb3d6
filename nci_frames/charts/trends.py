"""The history of a gate -> a chart of its values over the runs, with bounds and limits."""

from collections.abc import Mapping

import altair as alt
import polars as pl

from nci_frames.charts.parts import canvas, theme

#: Colour of the ring around failures.
FAILED = "#cf222e"
_ARRIVALS = {"in time": "circle", "late": "triangle-up", "corrected": "square"}
_VERDICTS = {"pass": "circle", "undecided": "diamond", "fail": "cross"}


def chart_trend(history: pl.DataFrame) -> alt.LayerChart:
    """Draw the values of one gate in one segment over the runs.

    Parameters
    ----------
    history
        Rows of a job's history for one gate and segment: ``run``, ``sequence``, ``model``, ``metric``,
        ``value``, ``lower``, ``upper``, ``limit_lower``, ``limit_upper``, ``verdict``, ``kind``.

    Returns
    -------
    altair.LayerChart
        One line per model with its bounds, a symbol per verdict, and a dashed line per limit.
    """
    limits = ["limit_lower", "limit_upper"]
    rows = history.with_columns(
        pl.col("model", "run").fill_null(""),
        # A change is limited relative to the last good run; the value itself has no fixed limit.
        pl.when(pl.col("kind").ne_missing("change_threshold")).then(pl.col(limits)),
    ).select("run", "sequence", "model", "value", "lower", "upper", *limits, "verdict")
    title = ""
    if len(history):
        title = f"{'lead in ' if history['kind'][0] == 'champion' else ''}{history['metric'][0]}"
    x = alt.X(field="sequence", type="ordinal", title="run", axis=alt.Axis(labelAngle=0, labelOverlap=True))
    ring = alt.Chart(rows).transform_filter("isValid(datum.value) && datum.verdict == 'fail'")
    ring = ring.mark_point(filled=False, size=220, shape="circle", color=FAILED, strokeWidth=2, opacity=1)
    dashes = alt.Chart(rows).mark_line(strokeDash=[4, 3], color=theme.INK, order=False).encode(x=x)
    dashed = [
        dashes.transform_filter(f"isValid(datum.{limit})").encode(y=alt.Y(field=limit, type="quantitative"))
        for limit in limits
    ]
    ring = ring.encode(x=x, y=_height(title), color=alt.value(FAILED))
    return _trend(rows, x, title, "verdict", _VERDICTS, ring, *dashed)


def _height(title: str) -> alt.Y:
    return alt.Y(field="value", type="quantitative", title=title, scale=alt.Scale(zero=False))


def _trend(
    rows: pl.DataFrame, x: alt.X, title: str, told: str, symbols: Mapping[str, str], *more: alt.Chart
) -> alt.LayerChart:
    """Draw the values of each model in the order of the rows, with bounds, symbols by *told*, and *more*."""
    style = theme.ModelStyle(rows["model"].unique())
    base = alt.Chart(rows).encode(x=x, color=canvas.colour(style))
    known = base.transform_filter("isValid(datum.value)").encode(y=_height(title))
    bars = base.transform_filter("isValid(datum.lower)").mark_rule(opacity=0.5)
    shapes = alt.Scale(domain=list(symbols), range=list(symbols.values()))
    names = [name for name in ("run", "model", told) if name in rows.columns]
    points = known.mark_point(filled=True, size=60, opacity=1).encode(
        shape=alt.Shape(field=told, type="nominal", scale=shapes, legend=None),
        tooltip=canvas.tooltip({name: name for name in ("value", "lower", "upper")}, names=names),
    )
    lines = [bars.encode(y=alt.Y("lower:Q"), y2=alt.Y2("upper")), known.mark_line(order=False)]
    config = alt.Config(**theme.config_for(style))
    return alt.LayerChart(layer=[*lines, points, *more], width=330, height=160, config=config)


def chart_by_date(dated: pl.DataFrame, *, rate: str) -> alt.LayerChart:
    """Draw a rate of each window of a job over the dates.

    Parameters
    ----------
    dated
        One row per window and model: ``window_start``, ``model``, the rates with bounds, ``arrival``.
    rate
        "tpr" or "fpr".
    """
    rows = dated.select(
        pl.col("model").fill_null(""),
        pl.col("window_start").dt.replace_time_zone(None).alias("date"),
        pl.col("arrival").fill_null("in time"),
        value=rate,
        lower=f"{rate}_lower",
        upper=f"{rate}_upper",
    )
    x = alt.X(field="date", type="temporal", title="date (UTC)", scale=alt.Scale(type="utc"))
    return _trend(rows.sort("model", "date"), x, rate.upper(), "arrival", _ARRIVALS)
