"""Segments -> panels with the models over prevalence, and the decomposition of their differences."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import quantity
from nci_frames.base.typing import Frame
from nci_frames.charts.parts import axes, canvas, lines, selection, theme
from nci_frames.evaluation.metrics import title_of

#: Maximum number of panels: more are hard to compare, and a table is better.
_PANELS = 12


@schemas.checked
def chart_segments(
    values: Frame,
    /,
    *,
    segments: str,
    metric: str | None = None,
    observed: Frame | None = None,
    models: Sequence[str] = (),
) -> alt.FacetChart:
    """Draw a metric over prevalence in one panel per segment, one line per model.

    Parameters
    ----------
    values
        A projection, an areas frame, or the ranking of either, with the key *segments*, and one row per
        segment, model and prevalence.
    segments
        Key whose values get a panel each, such as "country"; at most twelve values.
    metric
        Metric to draw. Required if the frame has several.
    observed
        A rates frame of the same segments; each panel marks the observed prevalence of its segment.
    models
        %(models)s

    Returns
    -------
    altair.FacetChart
        Panels with shared axes, sorted by the value of *segments*, with null as "missing" at the end.
        Prevalence 0 is not drawn, and null values leave gaps. Parts that the log does not support are dotted.
        %(thinning)s

    Raises
    ------
    SchemaError
        If a frame has no key *segments*.
    ParameterError
        If there are more than twelve segments, several metrics and none is selected, no rows of *metric*,
        several rows for one segment, model and prevalence, nothing to draw, or too many rows.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": "a", "country": ["at", "de"], "threshold": 0.5,
    ...     "tp": [80, 60], "fp": [10, 5], "fn": [20, 40], "tn": [990, 395],
    ... })
    >>> rates = nf.compute_rates(counts)
    >>> projection = nf.project_rates(rates, metrics="precision", prevalence=[0.001, 0.01, 0.1])
    >>> nf.chart_segments(projection, segments="country", observed=rates).to_dict()["title"]["text"]
    'Precision by segment'
    """
    schema = schemas.AREAS if "method" in values.collect_schema().names() else schemas.PROJECTION
    frame = schemas.collect(values, schema)
    schema.need_keys(frame, [segments], "segments")
    every = selection.pick(frame, "metric", metric)
    rows = every.filter(pl.col("prevalence") > 0).sort(segments, "model", "prevalence", nulls_last=True)
    selection.refuse_doubles(rows, segments, "model", "prevalence")
    selection.refuse_empty(rows["value"], "value", frame)
    panels = _segment_names(rows, segments)
    key = schemas.key_text(segments, rows.schema[segments]).alias("key")
    places = rows.select(key, *panels).unique()
    marks = _observed(observed, segments, places)
    title = title_of(every["metric"][0])
    numbers = canvas.value_titles(rows, "prevalence", title)
    heights = [name for name in ("value", "lower", "upper") if name in numbers]
    size = canvas.panel_size(_check_number(rows[segments], _PANELS))
    told = ["supported"] if "supported" in rows.columns else []
    untold = selection.why_dotted(rows.drop_nulls("value"))
    drawn = rows.select(*panels, "model", *numbers, *told)
    rows, note = selection.fitted(drawn, "prevalence", heights, by=["place", "model"], size=size)
    axis = axes.LogAxis.through("prevalence", rows["prevalence"], *marks["observed"])
    y = alt.Y(**axes.rate_axis("value", title))
    if not rows["value"].drop_nulls().is_between(0, 1).all():
        y = alt.Y(field="value", type="quantitative", title=title, axis=alt.Axis(tickCount=5))
    style = theme.ModelStyle(frame["model"], among=models)
    names = ("segment", "model")
    layers = lines.curves(rows, axis.x(), y, style=style, numbers=numbers, names=names, inherited=True)
    if len(marks):
        seen = canvas.tooltip({"observed": "observed"}, names=())
        rule = alt.Chart().mark_rule(**theme.RULE)
        layers.append(canvas.layer("observed", rule, x=axis.at("observed"), tooltip=seen))
        note = "; dashed: observed prevalence" + note
    return canvas.facet(
        pl.concat([rows, marks], how="diagonal"),
        layers,
        style=style,
        title=f"{title} by segment",
        subtitle=f"over prevalence{_where(every)}{untold}{note}",
        says="A panel per segment, a line per model.",
        by="segment",
        order="place",
    )


def _where(rows: pl.DataFrame) -> str:
    """Describe the threshold and beta of the values, or the method of an area."""
    if "method" in rows.columns:
        return f", {rows['method'][0]}".replace("_", " ") if rows["method"].n_unique() == 1 else ""
    betas = rows["beta"].drop_nulls().unique().to_list()
    return f" at {selection.operating_point(rows)}" + (f", β = {betas[0]:g}" if len(betas) == 1 else "")


def _observed(rates: Frame | None, segment: str, places: pl.DataFrame) -> pl.DataFrame:
    """Return the prevalences of each segment: several, if its models have separate logs."""
    if rates is None:
        return pl.DataFrame(schema={"segment": pl.String, "place": pl.Int64, "observed": pl.Float64})
    frame = schemas.collect(rates, schemas.RATES)
    schemas.RATES.need_keys(frame, [segment], "segments")
    key = schemas.key_text(segment, frame.schema[segment])
    seen = frame.select(key=key, observed="observed_prevalence").unique()
    found = places.join(seen.filter(pl.col("observed") > 0), on="key", nulls_equal=True)
    return found.select("segment", "place", "observed").sort("place", "observed")


#: Maximum number of bars in a panel: more are hard to read.
_SEGMENTS = 40

#: Height of a segment, in pixels.
_STEP = 26

_PARTS = {"due_to_prevalence": "class balance", "due_to_rates": "model (TPR and FPR)"}
_NUMBERS = {
    "difference": "difference from the reference",
    "due_to_prevalence": "due to the class balance",
    "due_to_rates": "due to the model",
    "value": "value in the segment",
    "reference_value": "value in the reference",
    "prevalence": "prevalence in the segment",
    "reference_prevalence": "prevalence in the reference",
}


@schemas.checked
def chart_decomposition(decomposition: Frame, /, *, over: str | None = None) -> alt.FacetChart:
    """Draw how much of each segment's difference is due to prevalence and how much to the model.

    Parameters
    ----------
    decomposition
        The result of ``decompose_difference``, with one row per segment and model.
    over
        Key whose values were compared. Required if the frame has several keys.

    Returns
    -------
    altair.FacetChart
        One panel per model, with the reference at the top and one bar per segment. The two parts are stacked
        if they have the same sign, and otherwise drawn on both sides of zero; a diamond marks their sum, the
        difference from the reference. Segments without a decomposition are labelled.

    Raises
    ------
    SchemaError
        If the frame has no key *over*.
    ParameterError
        If the frame has several keys and none is selected, several metrics, several rows for one segment and
        model, more than forty segments, or too many rows.

    References
    ----------
    Kitagawa (1955), Components of a difference between two rates, doi:10.1080/01621459.1955.10501299.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "a"], "month": ["1", "2"], "threshold": [0.5, 0.5],
    ...     "tp": [90, 18], "fp": [10, 10], "fn": [10, 2], "tn": [90, 90],
    ... })
    >>> parts = nf.decompose_difference(nf.compute_rates(counts), metric="precision", over="month")
    >>> nf.chart_decomposition(parts).to_dict()["title"]["text"]
    'Why segments differ in precision'
    """
    frame = schemas.collect(decomposition, schemas.DECOMPOSITION)
    keys = schemas.DECOMPOSITION.need_keys(frame, [over], "over")
    if over is None and len(keys) != 1:
        msg = "the frame has several keys" if keys else "the frame has no key"
        found = ", ".join(map(repr, keys)) or None
        raise ParameterError(msg, found=found, hint="pass over=, the key whose values were compared")
    key = over or keys[0]
    frame = selection.pick(frame, "metric", hint="select one metric before drawing")
    selection.refuse_doubles(frame, key, "model")
    segments = _check_number(frame[key], _SEGMENTS)
    reason = pl.when(pl.col("reason").is_not_null()).then(pl.lit("no decomposition"))
    rows = frame.select(
        *_segment_names(frame, key), "model", *_NUMBERS, "reason", against="reference", note=reason
    ).sort("model", "place")
    # The reference has its own row at the top, where its name is data.
    named = pl.col("reference").fill_null(schemas.missing_name(frame[key]))
    reference = frame.select("model", segment=named).unique().sort("model")
    reference = reference.with_columns(place=pl.lit(0, pl.Int64), note=pl.lit("reference"))
    parts = rows.unpivot(
        list(_PARTS), index=["segment", "place", "model"], variable_name="part", value_name="amount"
    ).with_columns(pl.col("part").replace_strict(_PARTS))
    shown = pl.concat([reference, rows, parts.drop_nulls("amount")], how="diagonal")
    selection.check_rows(shown)
    order = alt.EncodingSortField(field="place", op="min")
    y = alt.Y(field="segment", type="nominal", title=None, sort=order, axis=alt.Axis(labelLimit=160))
    total = alt.Chart().transform_filter("!isValid(datum.part)")
    zero = total.mark_rule(color=theme.SOFT, strokeWidth=1)
    names = ("model", "segment", "against")
    numbers, reasons = canvas.tooltip(_NUMBERS, names=names), canvas.tooltip({}, names=(*names, "reason"))
    diamonds = total.mark_point(shape="diamond", filled=True, size=70, color=theme.INK, opacity=1)
    notes = total.transform_filter("isValid(datum.note)").mark_text(align="left", dx=4, **theme.NOTE)
    return canvas.facet(
        shown,
        [
            canvas.layer("zero", zero, x=alt.XDatum(0)),
            _bars(y),
            canvas.layer("total", diamonds, x=alt.X("difference:Q"), y=y, tooltip=numbers),
            canvas.layer("undefined", notes, x=alt.XDatum(0), y=y, text=alt.Text("note:N"), tooltip=reasons),
        ],
        style=theme.ModelStyle(()),
        title=f"Why segments differ in {title_of(frame['metric'][0])}",
        subtitle="bars: parts of the difference from the reference; diamond: their sum",
        says="A panel per model, a bar per segment.",
        height=_STEP * (segments + 1),
    )


def _bars(y: alt.Y) -> alt.Chart:
    """Draw the parts of each difference, stacked from zero."""
    bars = alt.Chart().transform_filter("isValid(datum.part)").mark_bar(height=12)
    x = alt.X("amount:Q", title=_NUMBERS["difference"], axis=alt.Axis(tickCount=5), stack="zero")
    scale = alt.Scale(domain=list(_PARTS.values()), range=list(theme.PARTS))
    # On paper the letters are larger than those for which Vega leaves room.
    legend = alt.Legend(**canvas.SQUARES, columns=2, columnPadding=45)
    colour = alt.Color("part:N", title="part of the difference", scale=scale, legend=legend)
    shown = canvas.tooltip({"amount": "contribution to the difference"}, names=("model", "segment", "part"))
    return canvas.layer("parts", bars, x=x, y=y, color=colour, tooltip=shown)


def _check_number(segments: pl.Series, most: int) -> int:
    """Return the number of segments; raise ParameterError if there are more than a chart shows."""
    number = segments.n_unique()
    if number > most:
        msg, hint = f"a chart shows at most {most} segments", "select the segments to compare before drawing"
        raise ParameterError(msg, found=f"{quantity(number, 'value')} of {segments.name!r}", hint=hint)
    return number


def _segment_names(rows: pl.DataFrame, segment: str) -> list[pl.Expr]:
    """Return the label and the position of each row's segment; null is "missing" and comes last."""
    name = schemas.key_text(segment, rows.schema[segment])
    place = pl.col(segment).rank("dense").cast(pl.Int64)
    missing, last = schemas.missing_name(rows[segment]), rows[segment].n_unique()
    return [name.fill_null(missing).alias("segment"), place.fill_null(last).alias("place")]
