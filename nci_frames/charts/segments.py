"""Segments -> a panel for each: the models over prevalence, and the prevalence observed in the segment."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.docstrings import documented
from nci_frames.base.errors import ParameterError, SchemaError
from nci_frames.base.messages import quantity
from nci_frames.charts.parts.axes import log_range, log_scale, log_x, rate_axis
from nci_frames.charts.parts.canvas import curves, facet, panel_size
from nci_frames.charts.parts.selection import (
    fitted,
    of_metric,
    operating_point,
    refuse_doubles,
)
from nci_frames.charts.parts.theme import SOFT, model_style
from nci_frames.evaluation.metrics import title_of
from nci_frames.schemas.checked import checked

__all__ = ["chart_segments", "check_key", "missing_name", "segment_names"]

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
    areas = "method" in values.collect_schema().names()
    schema = schemas.AREAS if areas else schemas.PROJECTION
    frame = schemas.collect(values, schema)
    check_key(frame, schema, segments, option="segments")
    rows = _of_one_metric(frame, metric)
    rows = rows.filter(pl.col("prevalence") > 0).sort(segments, "model", "prevalence", nulls_last=True)
    refuse_doubles(rows, segments, "model", "prevalence")
    if rows["value"].drop_nulls().is_empty():
        raise ParameterError("there is no value to draw", found=quantity(frame.height, "row"))
    name = rows["metric"][0]
    title = title_of(name)
    there = [column for column in ("threshold", "value", "lower", "upper") if column in rows.columns]
    panels = segment_names(rows, segments)
    names = rows.select(schemas.key_text(segments, rows.schema[segments]).alias("key"), *panels).unique()
    if names.height > _PANELS:
        raise ParameterError(
            f"a chart shows at most {_PANELS} segments",
            found=f"{quantity(names.height, 'value')} of {segments!r}",
            hint="select the segments to compare before drawing",
        )
    rows = rows.select(*panels, "model", "prevalence", *there)
    heights = [column for column in there if column != "threshold"]
    rows, note = fitted(rows, "prevalence", heights, by=["place", "model"], size=panel_size(names.height))
    marks = _observed(observed, segments, names)
    low, high = log_range([*rows["prevalence"], *marks["observed"]])
    style = model_style(frame["model"], among=models)
    numbers = {
        "prevalence": "prevalence",
        "value": title,
        "lower": "lower bound",
        "upper": "upper bound",
        "threshold": "threshold",
    }
    y = alt.Y(**rate_axis("value", title))
    if not rows["value"].drop_nulls().is_between(0, 1).all():
        y = alt.Y(field="value", type="quantitative", title=title, axis=alt.Axis(tickCount=5))
    lines = curves(
        rows,
        log_x("prevalence", "prevalence", low, high),
        y,
        style=style,
        numbers={field: text for field, text in numbers.items() if field in rows.columns},
        names=("segment", "model"),
        inherited=True,
    )
    seen_there = "" if marks.is_empty() else "; dashed: observed prevalence"
    seen = (
        alt.Chart()
        .mark_rule(color=SOFT, strokeDash=[4, 3], strokeWidth=1.25)
        .encode(
            x=alt.X(field="observed", type="quantitative", scale=log_scale(low, high)),
            tooltip=[alt.Tooltip(field="observed", type="quantitative", title="observed", format=".6~g")],
        )
        .properties(name="observed")
    )
    return facet(
        pl.concat([rows, marks], how="diagonal"),
        [*lines, *([] if marks.is_empty() else [seen])],
        style=style,
        title=f"{title} by segment",
        subtitle=f"over prevalence{_where(frame, name)}{seen_there}{note}",
        says="A panel per segment, a line per model.",
        by="segment",
        order="place",
    )


def segment_names(rows: pl.DataFrame, segment: str) -> list[pl.Expr]:
    """Return the label and the position of each row's segment; null is "missing" and comes last."""
    name = schemas.key_text(segment, rows.schema[segment])
    place = pl.col(segment).rank("dense").cast(pl.Int64)
    return [
        name.fill_null(missing_name(rows[segment])).alias("segment"),
        place.fill_null(rows[segment].n_unique()).alias("place"),
    ]


def missing_name(segments: pl.Series) -> str:
    """Return the label of null: "missing", or "missing (null)" if a segment has that name."""
    text = schemas.key_text(segments.name, segments.dtype)
    named = set(segments.to_frame().select(text).to_series().drop_nulls())
    name = "missing"
    while name in named:
        name += " (null)"
    return name


def check_key(frame: pl.DataFrame, schema: schemas.FrameSchema, key: str, *, option: str) -> None:
    """Raise SchemaError unless the frame has the key."""
    keys = schema.keys(frame.columns)
    if key not in keys:
        raise SchemaError.missing_column(key, option, f"a {schema.name} frame", keys)


def _of_one_metric(frame: pl.DataFrame, metric: str | None) -> pl.DataFrame:
    metrics = sorted(frame["metric"].drop_nulls().unique())
    if metric is None and len(metrics) != 1:
        raise ParameterError(
            "the frame has several metrics" if metrics else "the frame has no rows",
            found=", ".join(map(repr, metrics[:20])) or None,
            hint="select one with metric=" if metrics else None,
        )
    return of_metric(frame, metric or metrics[0])


def _where(frame: pl.DataFrame, metric: str) -> str:
    """Describe the threshold and beta of the values, or the method of an area."""
    rows = frame.filter(pl.col("metric") == metric)
    if "method" in rows.columns:
        return f", {rows['method'][0]}".replace("_", " ") if rows["method"].n_unique() == 1 else ""
    betas = rows["beta"].drop_nulls().unique().to_list()
    return f" at {operating_point(rows)}" + (f", β = {betas[0]:g}" if len(betas) == 1 else "")


def _observed(rates: pl.DataFrame | pl.LazyFrame | None, segment: str, names: pl.DataFrame) -> pl.DataFrame:
    """Return the prevalence of each segment; there are several if its models have separate logs."""
    if rates is None:
        return pl.DataFrame(schema={"segment": pl.String, "place": pl.Int64, "observed": pl.Float64})
    frame = schemas.collect(rates, schemas.RATES)
    check_key(frame, schemas.RATES, segment, option="segments")
    key = schemas.key_text(segment, frame.schema[segment])
    seen = frame.select(key=key, observed="observed_prevalence").unique()
    return (
        names.join(seen.filter(pl.col("observed") > 0), on="key", nulls_equal=True)
        .select("segment", "place", "observed")
        .sort("place", "observed")
    )
