"""Winner ranges -> a bar of the best model in each range."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.docstrings import documented
from nci_frames.base.errors import ParameterError
from nci_frames.charts.parts import axes, canvas, selection, theme
from nci_frames.evaluation.metrics import title_of
from nci_frames.schemas.checked import checked

#: The axis covers at least this range.
_LEAST, _MOST = {"prevalence": 1e-5, "beta": 0.1}, {"prevalence": 1.0, "beta": 10.0}

#: Height of the bar, and width of the label of a border, in pixels.
_BAR, _LABEL = 44, 46


@checked
@documented
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
    base = alt.Chart(selection.finite(rows)).encode(x=axis.x("start"), x2="end")
    merged = selection.merged_ranges(rows, "start", "end")
    bars = base.properties(data=selection.finite(merged))
    bars = bars.mark_bar(height=_BAR, stroke=theme.GROUND, strokeWidth=1)
    # The thresholds of one model change too often to be drawn; the tooltips show them.
    numbers = {"threshold": "threshold", "start": "from", "end": "to"}
    targets = base.mark_bar(height=_BAR, opacity=0)
    starts = merged["start"][1:].to_list()
    borders = alt.Chart(merged.filter(pl.col("start").is_in(_apart(starts, axis))))
    borders = borders.mark_text(dy=-32, **theme.NOTE)
    text = alt.Text(field="start", type="quantitative", format=".3~g")
    return canvas.compose(
        [
            canvas.layer("bars", bars, **canvas.fills(style)),
            *canvas.veil(selection.unsupported_ranges(rows, "start", "end"), base, height=_BAR),
            canvas.layer("targets", targets, tooltip=canvas.tooltip(numbers)),
            canvas.layer("borders", borders, x=axis.x("start"), text=text),
            *axis.observed(seen),
        ],
        style=style,
        title=f"Best model over {over}",
        subtitle=f"by {title_of(metric)}; hover for thresholds{selection.why_marked('pale', rows)}",
        says="One bar, coloured by model.",
        height=110,
    )


def _apart(borders: list[float], axis: axes.LogAxis) -> list[float]:
    """Return the borders whose labels do not overlap the labels before them."""
    kept: list[float] = []
    for border in borders:
        if not kept or axis.pixels(border) - axis.pixels(kept[-1]) >= _LABEL:
            kept.append(border)
    return kept
