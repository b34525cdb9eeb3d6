"""Decompositions -> the parts of a segment's difference due to its class balance and to the model."""

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.errors import ParameterError
from nci_frames.charts.parts import canvas, selection, theme
from nci_frames.charts.parts.segments import check_key, check_number, missing_name, segment_names
from nci_frames.evaluation.metrics import title_of
from nci_frames.schemas.checked import checked

#: A panel with more bars than this is hard to read.
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


@checked
def chart_decomposition(
    decomposition: pl.DataFrame | pl.LazyFrame, /, *, over: str | None = None
) -> alt.FacetChart:
    """Draw how much of each segment's difference is due to its class balance and how much to the model.

    Parameters
    ----------
    decomposition
        The result of ``decompose_difference``, with one row for each segment and model.
    over
        The key whose values were compared. Required if the frame has several keys.

    Returns
    -------
    altair.FacetChart
        A panel per model, with the reference at the top and a bar per segment. The two parts are stacked if
        they have the same sign, and on either side of zero otherwise; a diamond marks their sum, the
        difference from the reference. A segment without a decomposition is labelled so.

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
    key = _key(frame, over)
    metric = selection.the_only(frame, "metric", hint="select one metric before drawing")
    selection.refuse_doubles(frame, key, "model")
    segments = check_number(frame[key], _SEGMENTS)
    reason = pl.when(pl.col("reason").is_not_null()).then(pl.lit("no decomposition"))
    rows = frame.select(
        *segment_names(frame, key), "model", *_NUMBERS, "reason", against="reference", note=reason
    ).sort("model", "place")
    # The reference has its own row at the top, where its name is data.
    named = pl.col("reference").fill_null(missing_name(frame[key]))
    reference = frame.select("model", segment=named).unique().sort("model")
    reference = reference.with_columns(place=pl.lit(0, pl.Int64), note=pl.lit("reference"))
    parts = rows.unpivot(
        list(_PARTS), index=["segment", "place", "model"], variable_name="part", value_name="amount"
    ).with_columns(pl.col("part").replace_strict(_PARTS))
    shown = pl.concat([reference, rows, parts.drop_nulls("amount")], how="diagonal")
    selection.check_rows(shown)
    order = alt.EncodingSortField(field="place", op="min")
    y = alt.Y(field="segment", type="nominal", title=None, sort=order, axis=alt.Axis(labelLimit=160))
    bars = alt.Chart().transform_filter("isValid(datum.part)").mark_bar(height=12)
    bars = bars.encode(
        x=alt.X(
            field="amount",
            type="quantitative",
            title="difference from the reference",
            axis=alt.Axis(tickCount=5),
            stack="zero",
        ),
        y=y,
        color=alt.Color(
            field="part",
            type="nominal",
            title="part of the difference",
            scale=alt.Scale(domain=list(_PARTS.values()), range=list(theme.PARTS)),
            legend=alt.Legend(**canvas.SQUARES, columns=2),
        ),
        tooltip=canvas.tooltip(
            {"amount": "contribution to the difference"}, names=("model", "segment", "part")
        ),
    )
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
            bars.properties(name="parts"),
            canvas.layer("total", diamonds, x="difference:Q", y=y, tooltip=numbers),
            canvas.layer("undefined", notes, x=alt.XDatum(0), y=y, text="note:N", tooltip=reasons),
        ],
        style=theme.model_style(()),
        title=f"Why segments differ in {title_of(metric)}",
        subtitle="bars: parts of the difference from the reference; diamond: their sum",
        says="A panel per model, a bar per segment.",
        height=_STEP * (segments + 1),
    )


def _key(frame: pl.DataFrame, over: str | None) -> str:
    keys = schemas.DECOMPOSITION.keys(frame.columns)
    if over is None and len(keys) != 1:
        raise ParameterError(
            "the frame has several keys" if keys else "the frame has no key",
            found=", ".join(map(repr, keys)) or None,
            hint="pass over=, the key whose values were compared",
        )
    key = over or keys[0]
    check_key(frame, schemas.DECOMPOSITION, key, option="over")
    return key
