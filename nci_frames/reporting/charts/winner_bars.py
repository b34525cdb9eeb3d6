"""Winner ranges -> a bar of who is best where."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.errors import ParameterError
from nci_frames.reporting.charts.axes import log_x, observed_rule
from nci_frames.reporting.charts.canvas import SQUARES, colour, compose, tooltip
from nci_frames.reporting.charts.selection import check_rows, checked_observed, finite, one_comparison
from nci_frames.reporting.theme import GROUND, SOFT, model_style

__all__ = ["chart_winner_ranges"]

#: The axis reaches at least so far.
_LEAST, _MOST = {"prevalence": 1e-5, "beta": 0.1}, {"prevalence": 1.0, "beta": 10.0}


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
        What ``winner_ranges`` returned, of one value of the keys.
    models
        All models of the comparison, where the frame has but some of them: each keeps its colour.
    observed
        The prevalence of the log, marked by a vertical rule where the ranges are of prevalence.

    Returns
    -------
    altair.LayerChart
        The ranges over a logarithmic axis, coloured by model, borders labelled.

    Raises
    ------
    ParameterError
        The frame has keys, is empty, or has too many rows; or *observed* is no prevalence.

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
    'Who is best over prevalence'
    """
    frame = schemas.collect(winners, schemas.WINNERS)
    observed = checked_observed(observed)
    one_comparison(frame, schemas.WINNERS)
    if frame.is_empty():
        raise ParameterError("there is no winner to draw", hint="are both rates of the models defined?")
    over = frame["over"][0]
    inner = [place for place in frame["start"][1:] if place > 0]
    seen = observed if over == "prevalence" else None
    low = min(_LEAST[over], *(place / 2 for place in inner), seen or 1.0)
    high = _MOST[over] if over == "prevalence" else max(_MOST[over], *(2 * place for place in inner), 0.0)
    rows = frame.with_columns(pl.col("start").clip(low), pl.col("end").clip(upper_bound=high)).filter(
        pl.col("start") < pl.col("end")
    )
    check_rows(rows)
    style = model_style(frame["model"], among=models)
    x = log_x("start", over, low, high)
    bars = (
        alt.Chart(finite(rows))
        .mark_bar(height=44, stroke=GROUND, strokeWidth=1)
        .encode(
            x=x,
            x2=alt.X2(field="end"),
            color=colour(style, legend=SQUARES, title="model"),
            tooltip=tooltip({"threshold": "threshold", "start": "from", "end": "to"}),
        )
        .properties(name="bars")
    )
    # A border is named where a model takes over from another; thresholds of one model change too often.
    borders = rows.filter(pl.col("model").ne_missing(pl.col("model").shift()) & (pl.col("start") > low))
    labels = (
        alt.Chart(borders.head(6))
        .mark_text(dy=-32, fontSize=11, color=SOFT)
        .encode(x=x, text=alt.Text(field="start", type="quantitative", format=".3~g"))
        .properties(name="borders")
    )
    return compose(
        [bars, labels, *observed_rule(seen, over, low, high)],
        style=style,
        title=f"Who is best over {over}",
        subtitle=f"{frame['metric'][0]}; a border where another operating point takes over",
        says="One bar, coloured by model.",
        height=110,
    )
