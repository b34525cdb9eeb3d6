"""Segments -> a panel for each: the models over prevalence, and the prevalence observed in the segment."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.docstrings import documented
from nci_frames.charts.parts import axes, canvas, lines, selection, theme
from nci_frames.charts.parts.segments import check_key, check_number, segment_names
from nci_frames.evaluation.metrics import title_of
from nci_frames.schemas.checked import checked

#: More panels than this are hard to compare; a table serves better.
_PANELS = 12


@checked
@documented
def chart_segments(
    values: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    segments: str,
    metric: str | None = None,
    observed: pl.DataFrame | pl.LazyFrame | None = None,
    models: Sequence[str] = (),
) -> alt.FacetChart:
    """Draw a metric over prevalence in a panel for each segment, a line per model.

    Parameters
    ----------
    values
        A projection, an areas frame, or the ranking of either, with the key *segments* and one row for each
        of its values, model and prevalence.
    segments
        The key that has a panel for each value, e.g. "country"; at most twelve values.
    metric
        The metric to draw. Required if the frame has several.
    observed
        A rates frame of the same segments: each panel marks the prevalence observed in its segment.
    models
        %(models)s

    Returns
    -------
    altair.FacetChart
        Panels sorted by the value of *segments*, null as "missing" at the end, with shared axes. Prevalence 0
        is not drawn, and null values leave gaps.
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
    'precision by segment'
    """
    schema = schemas.AREAS if "method" in values.collect_schema().names() else schemas.PROJECTION
    frame = schemas.collect(values, schema)
    check_key(frame, schema, segments, option="segments")
    every = selection.of_metric(frame, metric or selection.the_only(frame, "metric"))
    rows = every.filter(pl.col("prevalence") > 0).sort(segments, "model", "prevalence", nulls_last=True)
    selection.refuse_doubles(rows, segments, "model", "prevalence")
    selection.refuse_empty(rows["value"], "value", frame)
    panels = segment_names(rows, segments)
    key = schemas.key_text(segments, rows.schema[segments]).alias("key")
    places = rows.select(key, *panels).unique()
    marks = _observed(observed, segments, places)
    title = title_of(every["metric"][0])
    numbers = canvas.value_titles(rows, "prevalence", title)
    rows, note = selection.fitted(
        rows.select(*panels, "model", *numbers),
        "prevalence",
        [name for name in ("value", "lower", "upper") if name in numbers],
        by=["place", "model"],
        size=canvas.panel_size(check_number(rows[segments], _PANELS)),
    )
    axis = axes.LogAxis.through("prevalence", rows["prevalence"], *marks["observed"])
    y = alt.Y(**axes.rate_axis("value", title))
    if not rows["value"].drop_nulls().is_between(0, 1).all():
        y = alt.Y(field="value", type="quantitative", title=title, axis=alt.Axis(tickCount=5))
    style = theme.model_style(frame["model"], among=models)
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
        subtitle=f"over prevalence{_where(every)}{note}",
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


def _observed(rates: pl.DataFrame | pl.LazyFrame | None, segment: str, places: pl.DataFrame) -> pl.DataFrame:
    """Return the prevalence of each segment; there are several if its models have separate logs."""
    if rates is None:
        return pl.DataFrame(schema={"segment": pl.String, "place": pl.Int64, "observed": pl.Float64})
    frame = schemas.collect(rates, schemas.RATES)
    check_key(frame, schemas.RATES, segment, option="segments")
    key = schemas.key_text(segment, frame.schema[segment])
    seen = frame.select(key=key, observed="observed_prevalence").unique()
    return (
        places.join(seen.filter(pl.col("observed") > 0), on="key", nulls_equal=True)
        .select("segment", "place", "observed")
        .sort("place", "observed")
    )
