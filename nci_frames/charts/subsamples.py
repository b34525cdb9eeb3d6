"""Sub-samples -> how they scatter around the adjusted precision-recall curve, a panel per model."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.docstrings import documented
from nci_frames.base.errors import ParameterError
from nci_frames.charts.parts.axes import rate_axis
from nci_frames.charts.parts.canvas import colour, facet, panel_size, tooltip
from nci_frames.charts.parts.selection import fitted, refuse_doubles
from nci_frames.charts.parts.theme import SOFT, model_style
from nci_frames.schemas.checked import checked

__all__ = ["chart_subsamples"]


@checked
@documented
def chart_subsamples(
    subsamples: pl.DataFrame | pl.LazyFrame, /, *, models: Sequence[str] = ()
) -> alt.FacetChart:
    """Draw the precision of sub-sampled logs over recall, with the curve adjusted by formula.

    Parameters
    ----------
    subsamples
        The result of ``subsample_study(counts, prevalence=...)``, with one value of each key.
    models
        %(models)s

    Returns
    -------
    altair.FacetChart
        A panel per model: the adjusted curve, the range of the sub-samples lightly shaded, their quartiles in
        a darker shade, and their mean dashed. Thresholds without predicted positives are not drawn.
        %(thinning)s

    Raises
    ------
    ParameterError
        If the frame has several prevalences or none, several rows for one model and threshold, or too many
        rows.

    References
    ----------
    Brabec et al. (2020), Fig. 6, doi:10.1007/978-3-030-50423-6_6.

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame(
    ...     {"model": ["a"], "threshold": [0.5], "tp": [30], "fp": [50], "fn": [20], "tn": [49950]}
    ... )
    >>> chart = nf.chart_subsamples(nf.subsample_study(counts, prevalence=0.01, repeats=10))
    >>> chart.to_dict()["title"]["text"]
    'Sub-samples against the adjusted curve at prevalence η = 0.01'
    """
    frame = schemas.collect(subsamples, schemas.SUBSAMPLES)
    refuse_doubles(frame, "model", "threshold")
    rows = frame.drop_nulls("adjusted").sort("model", "tpr", "threshold", descending=[False, False, True])
    prevalences = rows["prevalence"].unique().sort().to_list()
    if len(prevalences) != 1:
        raise ParameterError(
            "the chart shows sub-samples of one prevalence",
            found=", ".join(f"{p:g}" for p in prevalences[:20]) or "no row with a precision",
            hint="draw one chart for each",
        )
    numbers = {
        "tpr": "recall",
        "adjusted": "adjusted precision",
        "mean": "mean of sub-samples",
        "min": "minimum",
        "q25": "lower quartile",
        "q75": "upper quartile",
        "max": "maximum",
        "threshold": "threshold",
    }
    rows = rows.select("model", *numbers)
    drawn = ["min", "q25", "adjusted", "mean", "q75", "max"]
    rows, note = fitted(rows, "tpr", drawn, log_x=False, size=panel_size(rows["model"].n_unique()))
    style = model_style(frame["model"].unique(), among=models)
    base = alt.Chart().encode(x=alt.X(**rate_axis("tpr", "recall (TPR)")), color=colour(style, legend=None))
    precision = alt.Y(**rate_axis("adjusted", "precision (PPV)"))

    def area(low: str, high: str, opacity: float) -> alt.Chart:
        chart: alt.Chart = base.mark_area(opacity=opacity, order=False).encode(
            y=alt.Y(field=low, type="quantitative"), y2=alt.Y2(field=high)
        )
        return chart

    layers = [
        area("min", "max", 0.15).properties(name="range"),
        area("q25", "q75", 0.3).properties(name="quartiles"),
        base.mark_line(order=False).encode(y=precision).properties(name="lines"),
        base.mark_line(order=False, strokeDash=[4, 3], strokeWidth=1.25)
        .encode(y=alt.Y(field="mean", type="quantitative"), color=alt.value(SOFT))
        .properties(name="mean"),
        base.mark_point(filled=True, size=120, opacity=0)
        .encode(y=precision, tooltip=tooltip(numbers))
        .properties(name="targets"),
    ]
    return facet(
        rows,
        layers,
        style=style,
        title=f"Sub-samples against the adjusted curve at prevalence η = {prevalences[0]:.3g}",
        subtitle="line: adjusted, from all rows; dashed: mean of sub-samples; shades: quartiles and range"
        + note,
        says="A panel per model: precision over recall.",
    )
