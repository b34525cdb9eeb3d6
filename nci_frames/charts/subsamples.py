"""Sub-samples -> how they scatter around the adjusted precision-recall curve, a panel per model."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.docstrings import documented
from nci_frames.charts.parts import axes, canvas, selection, theme
from nci_frames.schemas.checked import checked


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
    selection.refuse_doubles(frame, "model", "threshold")
    rows = frame.drop_nulls("adjusted").sort("model", "tpr", "threshold", descending=[False, False, True])
    prevalence = selection.the_only(rows, "prevalence", hint="draw one chart for each")
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
    drawn = ["min", "q25", "adjusted", "mean", "q75", "max"]
    size = canvas.panel_size(rows["model"].n_unique())
    rows, note = selection.fitted(rows.select("model", *numbers), "tpr", drawn, log_x=False, size=size)
    style = theme.model_style(frame["model"].unique(), among=models)
    base = alt.Chart().encode(
        x=alt.X(**axes.rate_axis("tpr", "recall (TPR)")), color=canvas.colour(style, legend=None)
    )
    adjusted = base.encode(y=alt.Y(**axes.rate_axis("adjusted", "precision (PPV)")))
    layers = [
        canvas.area(base, "min", "max", "range", opacity=0.15, order=False),
        canvas.area(base, "q25", "q75", "quartiles", opacity=0.3, order=False),
        adjusted.mark_line(order=False).properties(name="lines"),
        canvas.layer(
            "mean", base.mark_line(order=False, **theme.RULE), y="mean:Q", color=alt.value(theme.SOFT)
        ),
        canvas.targets(adjusted, numbers),
    ]
    return canvas.facet(
        rows,
        layers,
        style=style,
        title=f"Sub-samples against the adjusted curve at prevalence η = {prevalence:.3g}",
        subtitle="line: adjusted, from all rows; dashed: mean of sub-samples; shades: quartiles and range"
        + note,
        says="A panel per model: precision over recall.",
    )
