"""Values with intervals -> a forest plot, also of mean ranks; and precision bands."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.errors import ParameterError
from nci_frames.base.typing import Frame
from nci_frames.charts.parts import axes, canvas, selection, theme
from nci_frames.evaluation.metrics import title_of
from nci_frames.tables.numbers import f_beta_name, format_grid, format_value


@schemas.checked
def chart_intervals(table: Frame, /, *, metric: str = "f_beta", models: Sequence[str] = ()) -> alt.LayerChart:
    """Draw the value of each model with its interval, the highest value first.

    Parameters
    ----------
    table
        A projection or ranking frame with ``lower`` and ``upper``, at one prevalence and one beta.
    metric
        Metric to show.
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        One line per model, with a point at its value and a bar from the lower to the upper bound. Points of
        values that the log does not support are hollow.

    Raises
    ------
    ParameterError
        If the frame has no rows of the metric, several rows for one model, or no value.
    SchemaError
        If a column is missing.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"], "threshold": [0.5, 0.5],
    ...     "tp": [60, 80], "fp": [1, 20], "fn": [40, 20], "tn": [999, 980],
    ... })
    >>> rates = nf.compute_rates(counts, interval="wilson")
    >>> table = nf.project_rates(rates, metrics="f_beta", prevalence=0.01, band=True)
    >>> nf.chart_intervals(table).to_dict()["title"]["text"]
    'F1 of each model at prevalence 0.01, with its interval'
    """
    frame = schemas.collect(table, schemas.PROJECTION)
    rows = selection.pick(frame, "metric", metric)
    selection.refuse_doubles(rows, "model", "metric")
    selection.refuse_empty(rows["value"], "value", frame)
    rows = rows.drop_nulls("value").sort("value", "model", descending=[True, False])
    betas, prevalence = (rows[name].drop_nulls().unique() for name in ("beta", "prevalence"))
    name = f_beta_name(betas[0]) if metric == "f_beta" and len(betas) == 1 else title_of(metric)
    one = len(prevalence) == 1
    at = f"at prevalence {format_grid(prevalence[0])}" if one else "each at its own prevalence"
    title = f"{name} of each model {at}{', with its interval' if _known_bounds(rows) else ''}"
    return draw_forest(rows, name=name, title=title, models=models)


@schemas.checked
def chart_critical_difference(mean_ranks: Frame, /, *, models: Sequence[str] = ()) -> alt.LayerChart:
    """Draw the critical-difference diagram: mean ranks over data sets, and which models do not differ.

    Parameters
    ----------
    mean_ranks
        The result of ``compare_data_sets``.
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        One line per model, the best first, with a point at its mean rank and a bar as long as Nemenyi's
        critical difference. Models whose bars overlap do not differ.

    Raises
    ------
    ParameterError
        If the frame has fewer than two models, or several rows for one model.

    References
    ----------
    Demsar (2006), https://www.jmlr.org/papers/v7/demsar06a.html.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"] * 3, "data": ["x", "x", "y", "y", "z", "z"], "threshold": 0.5,
    ...     "tp": [8, 7, 5, 4, 9, 3], "fp": [10] * 6, "fn": [2, 3, 5, 6, 1, 7], "tn": [90] * 6,
    ... })
    >>> recall = nf.project_rates(nf.compute_rates(counts), metrics="recall", prevalence=0.1)
    >>> found = nf.compare_data_sets(nf.rank_models(recall), over="data")
    >>> nf.chart_critical_difference(found).to_dict()["title"]["text"]
    'Mean ranks over 3 data sets'
    """
    frame = schemas.collect(mean_ranks, schemas.MEAN_RANKS)
    selection.refuse_doubles(frame, "model", "data_sets")
    if len(frame) < 2:
        raise ParameterError("there are no models to compare", hint="compare at least two models")
    statistic, p_value, distance, sets = frame.select(
        "statistic", "p_value", "critical_difference", "data_sets"
    ).row(0)
    test = (
        f"Friedman's chi-squared {statistic:.3g}, p = {format_value(p_value)}"
        if statistic
        else "all are equal"
    )
    rank, half = pl.col("mean_rank"), pl.col("critical_difference") / 2
    return draw_forest(
        frame.select("model", value=rank, lower=rank - half, upper=rank + half),
        name="mean rank (1 is best)",
        title=f"Mean ranks over {sets} data sets",
        subtitle=f"{test}; models whose bars (critical difference {distance:.3g}) overlap do not differ",
        models=models,
        rising=True,
    )


def _known_bounds(rows: pl.DataFrame) -> list[str]:
    """Return the columns of bounds that have values."""
    return [name for name in ("lower", "upper") if name in rows.columns and rows[name].count()]


def draw_forest(
    rows: pl.DataFrame,
    *,
    name: str,
    title: str,
    models: Sequence[str],
    subtitle: str | None = None,
    rising: bool = False,
    whole: float | None = None,
) -> alt.LayerChart:
    """Draw one line per model, the highest value first, or per ``segment``, in the order of ``place``.

    With *rising*, the lowest value is first. *name* is the name of the values, *whole* the value of all rows.
    Segments whose ``verdict`` shows no difference from the rest are pale. Without bounds there are no bars.
    """
    selection.check_rows(rows)
    selection.refuse_empty(rows["value"], "value", rows)
    style = theme.ModelStyle(rows["model"], among=models)
    of, by, pixels = ("segment", "place", 18) if "segment" in rows.columns else ("model", "value", 26)
    if by == "value" and rows["value"].is_infinite().any():
        # JSON has no infinity, by which to sort.
        rows, by = rows.with_columns(place=pl.col("value").rank("ordinal", descending=not rising)), "place"
    rises = rising or by == "place"
    sort = alt.EncodingSortField(field=by, op="max", order="ascending" if rises else "descending")
    bounds = _known_bounds(rows)
    if subtitle is None:
        subtitle = "bars: from the lower to the upper bound" if bounds else "without intervals"
    told = [column for column in ("segment", "place", "verdict") if column in rows.columns]
    shown = rows.select("model", "value", *bounds, *told, supported=selection.supported(rows))
    if "upper" in bounds and shown["upper"].is_infinite().any():
        shown = shown.with_columns(open=pl.col("upper").is_infinite().fill_null(value=False))
    y = alt.Y(field=of, type="nominal", title=None, sort=sort, axis=alt.Axis(labelLimit=240))
    base = alt.Chart(selection.finite(shown)).encode(y=y, color=canvas.colour(style, legend=None))
    if "verdict" in told:
        rest = {"test": "datum.verdict === 'as the rest'", "value": 0.5}
        base = base.encode(opacity=alt.OpacityValue(1, condition=rest))
    few = {"axis": {"tickCount": 8, "labelSeparation": 8}}
    along = axes.value_axis("value", name, zero=False, nice=True) | few
    points = base.mark_point(filled=True, size=90, opacity=1).encode(
        x=alt.X(**along),
        tooltip=canvas.tooltip({"value": name} | {bound: bound for bound in bounds}, names=[of, *told[2:]]),
        fillOpacity=alt.FillOpacityValue(0, condition={"test": "datum.supported", "value": 1}),
        stroke=alt.Stroke(field="model", type="nominal", legend=None, scale=canvas.model_scale(style)),
        strokeWidth=alt.StrokeWidthValue(2),
    )
    layers = [points.properties(name="points")]
    if bounds:
        bars = base.mark_rule(strokeWidth=3, opacity=0.55)
        if "open" in shown.columns:
            # JSON has no infinity, so that bars without an end are drawn to the edge.
            ends = bars.transform_filter("datum.open")
            layers.insert(0, canvas.layer("open", ends, x=alt.X("lower:Q"), x2=alt.X2Value("width")))
        layers.insert(0, canvas.layer("bars", bars, x=alt.X("lower:Q"), x2=alt.X2("upper")))
    if whole is not None:
        mark = alt.Chart(pl.DataFrame({"whole": [whole]})).mark_rule(**theme.RULE)
        layers.insert(0, canvas.layer("whole", mark, x=alt.X("whole:Q")))
    return canvas.compose(
        layers,
        style=style,
        title=title,
        subtitle=subtitle + selection.why_marked("hollow", rows),
        says=f"A line per {of}.",
        height=pixels * shown.height + 10,
    )


@schemas.checked
def chart_precision_uncertainty(
    band: Frame, uncertainty: Frame, /, *, observed: float | None = None, models: Sequence[str] = ()
) -> alt.FacetChart:
    """Draw the precision band of each model, and mark the prevalence where it is widest.

    Parameters
    ----------
    band
        A precision band over prevalence: ``precision_band(rates, prevalence=...)``.
    uncertainty
        Maximum width of the band: ``max_precision_uncertainty(rates)`` of the same operating points.
    observed
        Prevalence of the log, marked by a dotted line.
    models
        %(models)s

    Returns
    -------
    altair.FacetChart
        One panel per model. If the width is undefined, the curve has no mark.
        %(thinning)s

    Raises
    ------
    ParameterError
        If the frames have different models, several rows for one model (and prevalence), nothing to draw, or
        too many rows.

    References
    ----------
    Brabec et al. (2020), theorem 1, doi:10.1007/978-3-030-50423-6_6.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame(
    ...     {"model": "a", "threshold": 0.5, "tp": [80], "fp": [10], "fn": [20], "tn": [990]}
    ... )
    >>> rates = nf.compute_rates(counts, interval="wilson")
    >>> band = nf.precision_band(rates, prevalence=[0.001, 0.01, 0.1])
    >>> chart = nf.chart_precision_uncertainty(band, nf.max_precision_uncertainty(rates))
    >>> chart.to_dict()["title"]["text"]
    'Where precision is least certain'
    """
    bands, widest = schemas.collect(band, schemas.BAND), schemas.collect(uncertainty, schemas.UNCERTAINTY)
    observed = selection.checked_observed(observed) or None
    selection.refuse_doubles(bands, "model", "prevalence")
    selection.refuse_doubles(widest, "model")
    if strangers := set(bands["model"]) ^ set(widest["model"]):
        msg = "the two frames have different models"
        names = sorted("null" if name is None else repr(name) for name in strangers)
        found = f"{', '.join(names[:5])} in only one of them"
        raise ParameterError(msg, found=found, hint="make both from the same rates")
    curve = bands.filter(pl.col("prevalence") > 0).select("model", "prevalence", "value", "lower", "upper")
    selection.refuse_empty(curve["value"], "precision", bands)
    written = [pl.col(c).map_elements(format_grid, pl.String) for c in ("delta", "at")]
    label = pl.format("Δ = {} at η = {}", *written)
    marks = widest.select("model", "delta", at="prevalence").with_columns(
        label.fill_null("Δ undefined").alias("label"), pl.lit(observed, pl.Float64).alias("observed")
    )
    heights, size = ["value", "lower", "upper"], canvas.panel_size(bands["model"].n_unique())
    curve, note = selection.fitted(curve.sort("model", "prevalence"), "prevalence", heights, size=size)
    rows = pl.concat([curve, marks.sort("model")], how="diagonal")
    selection.check_rows(rows)
    style = theme.ModelStyle(bands["model"].unique(), among=models)
    axis = axes.LogAxis.through("prevalence", [*curve["prevalence"], *marks["at"].drop_nulls()], observed)
    base = alt.Chart().encode(x=axis.x(), color=canvas.colour(style, legend=None))
    middle = base.encode(y=alt.Y(**axes.rate_axis("value", "precision")))
    # Rows of the curve have no label and would be drawn as the text "null".
    mark = alt.Chart().transform_filter("isValid(datum.label)")
    width = canvas.tooltip({"delta": "Δ, width of the band", "at": "prevalence"})
    text = mark.mark_text(align="left", baseline="bottom", dy=-4, **theme.NOTE)
    dots = mark.mark_rule(color=theme.SOFT, strokeDash=[1, 3], strokeWidth=1.5)
    layers = [
        canvas.area(base, "lower", "upper", "band", opacity=0.25),
        middle.mark_line().properties(name="lines"),
        canvas.targets(middle, canvas.tooltip(canvas.value_titles(rows, "prevalence", "precision"))),
        canvas.layer("widest", mark.mark_rule(**theme.RULE), x=axis.at("at"), tooltip=width),
        canvas.layer("label", text, x=alt.XValue(0), y=alt.YValue(0), text=alt.Text("label:N")),
        canvas.layer("observed", dots, x=axis.at("observed")),
    ]
    seen = f"; dotted: observed {format_grid(observed)}" if observed else ""
    return canvas.facet(
        rows,
        layers,
        style=style,
        title="Where precision is least certain",
        subtitle=f"precision with its bounds; dashed: maximum width Δ of the band{seen}{note}",
        says="A panel per model: precision over prevalence, its band, and where the band is widest.",
    )
