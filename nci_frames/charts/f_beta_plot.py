"""Folds over beta -> the F-beta plot: means, standard deviations, winners, and their significance."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Frame
from nci_frames.charts.parts import axes, canvas, lines, selection, theme
from nci_frames.tables.numbers import format_grid

#: Width of the label at a change of winner, in pixels.
_LABEL = 74

_RANGES = 'the winners are winner_ranges(rates, metric="f_beta", over="beta", prevalence=...)'

#: Height of the two bars below the plot, in pixels.
_BARS = 42


@schemas.checked
def chart_f_beta_plot(
    comparisons: Frame,
    winners: Frame,
    /,
    *,
    prevalence: float | None = None,
    models: Sequence[str] = (),
    shown: Sequence[str] = (),
) -> alt.LayerChart:
    """Draw the F-beta plot: fold means and standard deviations over beta, winners, and their significance.

    Parameters
    ----------
    comparisons
        Folds compared at many betas: ``compare_folds(rates, beta=..., prevalence=...)``.
    winners
        Best model of each range of beta, ``winner_ranges(rates, metric="f_beta", over="beta", ...)``, at the
        same prevalence. The ranges are exact, also between the betas; for pooled rates, they are those of the
        pooled rows.
    prevalence
        Prevalence to draw. Required if *comparisons* has several.
    models
        %(models)s
    shown
        Models to draw, if the bands of all models would hide one another. The bars below always include all
        models.

    Returns
    -------
    altair.LayerChart
        Means with a band of one standard deviation. Below them, a bar in the colour of the winner, with each
        change labelled by its beta where there is room, and a mark at each beta where the best model is
        significantly better than all others. The bar is pale where the log does not support the winner. Beta
        0 and infinity are not drawn.
        %(thinning)s

    Raises
    ------
    ParameterError
        If the frames have no F-beta, several prevalences, or several rows for one model and beta; if the
        winners are not over beta; if nothing is defined; or if there are too many rows.

    References
    ----------
    Wojciechowski, Woźniak (2024), F-beta-plot, https://arxiv.org/abs/2404.08709

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> rates = nf.compute_rates(pl.DataFrame({
    ...     "model": ["a"] * 3 + ["b"] * 3, "fold": ["1", "2", "3"] * 2, "threshold": 0.5,
    ...     "tp": [8, 7, 9, 9, 8, 9], "fp": [2, 2, 1, 7, 6, 9], "fn": [2, 3, 1, 1, 2, 1], "tn": [98] * 6,
    ... }))
    >>> comparisons = nf.compare_folds(rates, beta=[0.5, 1, 2, 4, 8], prevalence=0.01)
    >>> pooled = nf.compute_rates(nf.pool_counts(rates, over="fold"))
    >>> winners = nf.winner_ranges(pooled, metric="f_beta", over="beta", prevalence=0.01)
    >>> nf.chart_f_beta_plot(comparisons, winners).to_dict()["title"]["text"]
    'F-beta plot at prevalence η = 0.01'
    """
    frame = selection.pick(schemas.collect(comparisons, schemas.FOLD_COMPARISONS), "metric", "f_beta")
    ranges = schemas.collect(winners, schemas.WINNERS)
    for column, value in (("over", "beta"), ("metric", "f_beta")):
        ranges = selection.pick(ranges, column, value, hint=_RANGES)
    selection.refuse_doubles(ranges, "metric", "start")
    frame = selection.pick(frame, "prevalence", prevalence)
    where = frame["prevalence"][0]
    everyone = _drawn(frame)
    rows = everyone.filter(pl.col("model").is_in(list(shown))) if len(shown) else everyone
    if rows.is_empty():
        raise ParameterError("none of the models to draw has a mean", found=", ".join(map(repr, shown[:20])))
    axis = axes.LogAxis("beta", min(everyone["beta"]), max(everyone["beta"]))
    if axis.low == axis.high:
        raise ParameterError("a curve over beta needs at least two betas", found=f"beta {axis.low:g}")
    ranges = ranges.filter(pl.col("start") < axis.high, pl.col("end") > axis.low).sort("start")
    style = theme.ModelStyle([*rows["model"], *ranges["model"]], among=models)
    here = "each fold's own prevalence" if where is None else f"prevalence η = {format_grid(where)}"
    # The bars lie between the plot and its axis.
    labels = axis.labels | {"offset": _BARS}
    x = alt.X(field="beta", type="quantitative", scale=axis.scale, axis=labels)
    numbers = {"beta": "β", "mean": "mean", "std": "standard deviation", "p_value": "p-value against best"}
    drawn, note = selection.fitted(rows, "beta", ["mean", "lower", "upper"])
    y = alt.Y(**axes.rate_axis("mean", "F-beta"))
    bars = [_winners(ranges, axis, style), _significance(everyone, axis)]
    for text, place in (("winner", 14), ("significant", 31)):
        name = alt.Chart(pl.DataFrame({"text": [text]}))
        name = name.mark_text(align="right", baseline="middle", **theme.NOTE)
        left = {"x": alt.XValue(-6), "y": alt.YValue(theme.HEIGHT + place)}
        bars.append(canvas.layer(f"name_{text}", name, text=alt.Text("text:N"), **left))
    return canvas.compose(
        [*lines.curves(drawn, x, y, style=style, numbers=numbers), *_switches(ranges, axis), *bars],
        style=style,
        title=f"F-beta plot at {here}",
        subtitle="fold mean ± standard deviation; below: the winner, and where it is significantly best"
        + selection.why_marked("pale", ranges)
        + note,
        says="A line per model over beta, on a logarithmic axis.",
    )


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    """Select the rows that a logarithmic axis can show, with the ends of the band."""
    selection.refuse_doubles(frame, "model", "beta")
    rows = frame.filter(pl.col("beta").is_finite(), pl.col("beta") > 0, pl.col("mean").is_not_null())
    selection.refuse_empty(rows["mean"], "mean", frame)
    mean, std = pl.col("mean"), pl.col("std")
    # Otherwise bands near 0 and 1 would extend beyond the axis.
    ends = {"lower": (mean - std).clip(lower_bound=0), "upper": (mean + std).clip(upper_bound=1)}
    drawn = rows.select("model", "beta", "mean", "std", "p_value", "distinguishable", **ends)
    return drawn.sort("model", "beta")


def _switches(ranges: pl.DataFrame, axis: axes.LogAxis) -> list[alt.Chart]:
    """Mark each change of winner and label it with its beta, where there is room for a label."""
    changes = ranges.filter(pl.col("model") != pl.col("model").shift())["start"].to_list()
    if not changes:
        return []
    labels = {beta: f"β = {beta:.4g}" for beta in axis.apart(changes, _LABEL)}
    marks = pl.DataFrame({"beta": changes, "label": list(map(labels.get, changes))})
    base = alt.Chart(marks).encode(x=alt.X("beta:Q"))
    exact = canvas.tooltip({"beta": "the winner changes at β"}, names=())
    text = base.transform_filter("isValid(datum.label)").mark_text(baseline="bottom", dy=-4, **theme.NOTE)
    rules = canvas.layer("switches", base.mark_rule(**theme.RULE), tooltip=exact)
    return [rules, canvas.layer("switch_labels", text, y=alt.YValue(0), text=alt.Text("label:N"))]


def _winners(ranges: pl.DataFrame, axis: axes.LogAxis, style: theme.ModelStyle) -> alt.Chart:
    """Draw the bar of winners."""
    clipped = ranges.select(
        "model",
        "threshold",
        selection.written_range("start", "end").alias("range"),
        first=pl.col("start").clip(axis.low, axis.high),
        last=pl.col("end").clip(axis.low, axis.high),
        supported=selection.supported(ranges),
    )
    pale: dict[str, Any] = {}
    if selection.marks_support(ranges):
        pale["opacity"] = alt.OpacityValue(0.3, condition={"test": "datum.supported", "value": 1})
    return canvas.layer(
        "winners",
        alt.Chart(selection.finite(clipped)).mark_rect(),
        x=axis.at("first"),
        x2=alt.X2("last"),
        y=alt.YValue(theme.HEIGHT + 8),
        y2=alt.Y2Value(theme.HEIGHT + 20),
        color=canvas.colour(style),
        tooltip=canvas.tooltip({"threshold": "threshold"}, names=("model", "range")),
        **pale,
    )


def _significance(rows: pl.DataFrame, axis: axes.LogAxis) -> alt.Chart:
    """Draw a mark at each beta where the best model is significantly better than all others."""
    # Null means that there is no test, so the model may be as good.
    best = pl.col("p_value").is_null() & pl.col("distinguishable").eq_missing(other=False)
    others = pl.col("distinguishable").fill_null(value=False).filter(~best)
    winner, told = pl.col("model").filter(best).first(), others.any() & others.all()
    of_beta = rows.group_by("beta").agg(winner, others=(~others).cast(pl.Int64).sum(), told=told)
    alone = of_beta.sort("beta")
    selection.check_rows(alone)
    return canvas.layer(
        "significance",
        alt.Chart(alone).mark_tick(thickness=5, size=12, color=theme.INK),
        x=axis.at("beta"),
        y=alt.YValue(theme.HEIGHT + 31),
        opacity=alt.OpacityValue(0.2, condition={"test": "datum.told", "value": 0.85}),
        tooltip=canvas.tooltip({"beta": "β", "others": "models not significantly worse"}),
    )
