"""Precision bands -> where precision is least certain, a panel per model."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.docstrings import documented
from nci_frames.base.errors import ParameterError
from nci_frames.charts.parts import axes, canvas, selection, theme
from nci_frames.schemas.checked import checked


@checked
@documented
def chart_precision_uncertainty(
    band: pl.DataFrame | pl.LazyFrame,
    uncertainty: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    observed: float | None = None,
    models: Sequence[str] = (),
) -> alt.FacetChart:
    """Draw the precision band of each model, and mark the prevalence where it is widest.

    Parameters
    ----------
    band
        A precision band over prevalence: ``precision_band(rates, prevalence=...)``.
    uncertainty
        The maximum width of the band: ``max_precision_uncertainty(rates)`` of the same operating points.
    observed
        The prevalence of the log, marked by a dotted line.
    models
        %(models)s

    Returns
    -------
    altair.FacetChart
        A panel per model. If the width is undefined, the curve has no mark.
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
    _check_same_models(bands, widest)
    curve = bands.filter(pl.col("prevalence") > 0).select("model", "prevalence", "value", "lower", "upper")
    selection.refuse_empty(curve["value"], "precision", bands)
    label = pl.format(
        "Δ = {} at η = {}", *(pl.col(c).map_elements("{:.3g}".format, pl.String) for c in ("delta", "at"))
    )
    marks = widest.select("model", "delta", at="prevalence").with_columns(
        label.fill_null("Δ undefined").alias("label"), pl.lit(observed, pl.Float64).alias("observed")
    )
    curve, note = selection.fitted(
        curve.sort("model", "prevalence"),
        "prevalence",
        ["value", "lower", "upper"],
        size=canvas.panel_size(bands["model"].n_unique()),
    )
    rows = pl.concat([curve, marks.sort("model")], how="diagonal")
    selection.check_rows(rows)
    style = theme.model_style(bands["model"].unique(), among=models)
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
        canvas.targets(middle, canvas.value_titles(rows, "prevalence", "precision")),
        canvas.layer("widest", mark.mark_rule(**theme.RULE), x=axis.at("at"), tooltip=width),
        canvas.layer("label", text, x=alt.XValue(0), y=alt.YValue(0), text="label:N"),
        canvas.layer("observed", dots, x=axis.at("observed")),
    ]
    seen = f"; dotted: observed {observed:.3g}" if observed else ""
    return canvas.facet(
        rows,
        layers,
        style=style,
        title="Where precision is least certain",
        subtitle=f"precision with its bounds; dashed: maximum width Δ of the band{seen}{note}",
        says="A panel per model: precision over prevalence, its band, and where the band is widest.",
    )


def _check_same_models(bands: pl.DataFrame, widest: pl.DataFrame) -> None:
    strangers = set(bands["model"]) ^ set(widest["model"])
    if strangers:
        raise ParameterError(
            "the two frames have different models",
            found=f"{', '.join(map(repr, sorted(strangers)[:5]))} in only one of them",
            hint="make both from the same rates",
        )
