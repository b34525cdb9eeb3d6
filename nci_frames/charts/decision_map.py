"""Decision maps -> the best model at every prevalence and beta."""

import math
from collections.abc import Callable, Sequence

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.docstrings import documented
from nci_frames.charts.parts.axes import log_scale, log_x, observed_rule
from nci_frames.charts.parts.canvas import compose, fills, tooltip, veil
from nci_frames.charts.parts.selection import (
    check_rows,
    checked_observed,
    finite,
    merged_ranges,
    one_comparison,
    unsupported_ranges,
    why_marked,
)
from nci_frames.charts.parts.theme import GROUND, LINE, model_style
from nci_frames.schemas.checked import checked

__all__ = ["chart_decision_map"]

#: Ranges of the axes: the odds of the prevalence, and beta.
_ODDS, _BETA = (1e-6, 1.0), (0.1, 10.0)


@checked
@documented
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
    observed = checked_observed(observed)
    on_map = observed is not None and _ODDS[0] <= observed <= 0.5
    one_comparison(frame, schemas.DECISION_MAP)
    told = None if certified is None else _verdicts(schemas.collect(certified, schemas.CERTIFIED_MAP))
    style = model_style(frame["model"], among=models)
    ends = pl.DataFrame({"t": [math.log(odds) for odds in _ODDS]})
    # lambda = 1/(odds·beta²): at fixed odds, a range of lambda is a range of log beta.
    ln_beta = {
        side: (-pl.col(f"lambda_{end}").log() - pl.col("t")) / 2
        for side, end in (("beta_high", "start"), ("beta_low", "end"))
    }
    bottom, top = (math.log(beta) for beta in _BETA)

    def placed(ranges: pl.DataFrame) -> pl.DataFrame:
        return (
            ranges.with_row_index("range")
            .join(ends, how="cross")
            .with_columns(**ln_beta)
            .with_columns(
                pl.col("beta_high").clip(upper_bound=top + 20).exp(),
                pl.col("beta_low").clip(bottom - 20).exp(),
            )
            .with_columns(odds=pl.col("t").exp())
        )

    rows = placed(frame if told is None else _cut(frame, told))
    check_rows(rows)
    base = alt.Chart(finite(rows)).encode(
        x=log_x("odds", "odds", *_ODDS),
        y=alt.Y(
            field="beta_low",
            type="quantitative",
            title="β, log scale",
            scale=log_scale(*_BETA),
            axis=alt.Axis(values=[0.1, 0.2, 0.5, 1, 2, 5, 10], format="~g"),
        ),
        y2=alt.Y2(field="beta_high"),
        detail=alt.Detail(field="range", type="nominal"),
    )
    bands = (
        base.properties(data=finite(placed(merged_ranges(frame, "lambda_start", "lambda_end"))), name="bands")
        .mark_area(clip=True, opacity=0.75, stroke=GROUND, strokeWidth=0.7)
        .encode(**fills(style))
    )
    # The thresholds of one model change too often to be drawn; the tooltips show them.
    numbers = {"threshold": "threshold", "lambda_start": "λ from", "lambda_end": "λ to"}
    names = ("model",) if told is None else ("model", "verdict", "may be best")
    shown = tooltip(numbers, names=names)
    targets = base.mark_area(clip=True, opacity=0).encode(tooltip=shown).properties(name="targets")
    if told is None:
        cover = veil(placed(unsupported_ranges(frame, "lambda_start", "lambda_end")), base)
        note = why_marked("pale", frame)
    else:
        cover, note = _veiled(told, placed, base), ""
    says = "the best model at every point; borders are exact; hover for thresholds" + note
    if told is not None:
        says = "the best model of this log; solid: certified; pale: one of several; grey: nobody knows"
    return compose(
        [bands, *cover, targets, *observed_rule(observed if on_map else None, "odds", *_ODDS)],
        style=style,
        title="Decision map of F-beta",
        subtitle=says,
        says="Bands over the odds of the prevalence and beta, both logarithmic.",
        height=380,
    )


def _verdicts(certified: pl.DataFrame) -> pl.DataFrame:
    """Return a row per range, with all models that may be the best there."""
    one_comparison(certified, schemas.CERTIFIED_MAP)
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


def _veiled(
    told: pl.DataFrame, placed: Callable[[pl.DataFrame], pl.DataFrame], base: alt.Chart
) -> list[alt.Chart]:
    """Return what makes bands pale where several models may be the best, and hides what nobody knows."""
    covers = []
    for verdict, colour, opacity in (("several", GROUND, 0.6), ("unknown", LINE, 1.0)):
        ranges = told.filter(verdict=verdict)
        if not ranges.is_empty():
            data = finite(placed(ranges.select("lambda_start", "lambda_end")))
            area = base.properties(data=data, name=verdict)
            covers.append(area.mark_area(clip=True, color=colour, opacity=opacity))
    return covers
