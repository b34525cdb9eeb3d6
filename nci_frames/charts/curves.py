"""Projections -> values over prevalence or over beta, a line per model."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.docstrings import documented
from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import quantity
from nci_frames.charts.parts.axes import log_range, log_x, observed_rule, rate_axis, vertical_rule
from nci_frames.charts.parts.canvas import COARSE, compose, curves
from nci_frames.charts.parts.selection import (
    at,
    checked_observed,
    fitted,
    of_metric,
    operating_point,
    refuse_doubles,
    why_marked,
)
from nci_frames.charts.parts.theme import model_style
from nci_frames.schemas.checked import checked

__all__ = [
    "chart_f_beta_over_beta",
    "chart_f_beta_over_prevalence",
    "chart_p3",
    "draw_lines",
]


@checked
@documented
def chart_p3(
    projection: pl.DataFrame | pl.LazyFrame, /, *, observed: float | None = None, models: Sequence[str] = ()
) -> alt.LayerChart:
    """Draw the positive-prevalence precision (P3) curves: precision over prevalence, a line per model.

    Parameters
    ----------
    projection
        A projection or ranking frame with a row of metric ``precision`` for each model and prevalence;
        or a precision band (``precision_band``).
    observed
        %(observed)s
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        The curves on a logarithmic axis, with a band where the frame has bounds; prevalence 0 is not drawn
        and null values leave gaps.
        %(thinning)s

    Raises
    ------
    ParameterError
        If the frame has no precision, several rows for one model and prevalence, or too many rows.

    References
    ----------
    Brabec, Komárek, Franc, Machlica (2020), On Model Evaluation Under Non-constant Class Imbalance,
    https://arxiv.org/abs/2001.05571

    Examples
    --------
    >>> import polars as pl
    >>> projection = pl.DataFrame({
    ...     "model": ["forest", "forest"], "threshold": [0.5, 0.5], "metric": ["precision"] * 2,
    ...     "prevalence": [0.001, 0.1], "beta": [None, None], "value": [0.08, 0.91],
    ... })
    >>> chart_p3(projection, observed=0.02).to_dict()["title"]["subtitle"]
    'positive-prevalence precision (P3) curves at threshold 0.5'
    """
    names = projection.collect_schema().names()
    if "metric" not in names and "lower" in names:
        rows = schemas.collect(projection, schemas.BAND)
    else:
        rows = of_metric(schemas.collect(projection, schemas.PROJECTION), "precision")
    return draw_lines(
        rows,
        "prevalence",
        title="Precision over prevalence",
        subtitle=f"positive-prevalence precision (P3) curves at {operating_point(rows)}",
        value_title="precision",
        observed=checked_observed(observed),
        models=models,
    )


@checked
@documented
def chart_f_beta_over_prevalence(
    projection: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    beta: float = 1.0,
    observed: float | None = None,
    models: Sequence[str] = (),
) -> alt.LayerChart:
    """Draw F-beta over prevalence for one beta, a line per model.

    Parameters
    ----------
    projection
        A projection or ranking frame with rows of metric ``f_beta``.
    beta
        The weight of recall relative to precision; it must be in the frame.
    observed
        %(observed)s
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        The curves on a logarithmic axis, with a band where the frame has bounds; prevalence 0 is not drawn
        and null values leave gaps.
        %(thinning)s

    Raises
    ------
    ParameterError
        If the frame has no F-beta at this beta, several rows for one model and prevalence, or too many rows.

    Examples
    --------
    >>> import polars as pl
    >>> projection = pl.DataFrame({
    ...     "model": ["forest", "forest"], "threshold": [0.5, 0.5], "metric": ["f_beta"] * 2,
    ...     "prevalence": [0.001, 0.1], "beta": [2.0, 2.0], "value": [0.27, 0.82],
    ... })
    >>> chart_f_beta_over_prevalence(projection, beta=2).to_dict()["title"]["text"]
    'F2 over prevalence'
    """
    frame = schemas.collect(projection, schemas.PROJECTION)
    rows = at(of_metric(frame, "f_beta"), "beta", beta)
    return draw_lines(
        rows,
        "prevalence",
        title=f"F{beta:g} over prevalence",
        subtitle=f"F-beta with β = {beta:g} at {operating_point(rows)}",
        value_title=f"F{beta:g}",
        observed=checked_observed(observed),
        models=models,
    )


@checked
@documented
def chart_f_beta_over_beta(
    projection: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    prevalence: float,
    observed: float | None = None,
    models: Sequence[str] = (),
) -> alt.LayerChart:
    """Draw the F-beta plot: F-beta over beta at one prevalence, a line per model.

    Parameters
    ----------
    projection
        A projection or ranking frame with rows of metric ``f_beta``.
    prevalence
        The prevalence to draw; it must be in the frame.
    observed
        The prevalence of the log, stated in the subtitle for comparison.
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        The curves on a logarithmic axis with a rule at beta = 1; beta 0 and infinity are not drawn.
        %(thinning)s

    Raises
    ------
    ParameterError
        If the frame has no F-beta at this prevalence, several rows for one model and beta, or too many rows.

    References
    ----------
    Wojciechowski, Woźniak (2024), F-beta-plot, https://arxiv.org/abs/2404.08709

    Examples
    --------
    >>> import polars as pl
    >>> projection = pl.DataFrame({
    ...     "model": ["forest", "forest"], "threshold": [0.5, 0.5], "metric": ["f_beta"] * 2,
    ...     "prevalence": [0.01, 0.01], "beta": [0.5, 2.0], "value": [0.51, 0.69],
    ... })
    >>> chart_f_beta_over_beta(projection, prevalence=0.01).to_dict()["title"]["text"]
    'F-beta over beta at prevalence η = 0.01'
    """
    frame = schemas.collect(projection, schemas.PROJECTION)
    observed = checked_observed(observed)
    rows = at(of_metric(frame, "f_beta"), "prevalence", prevalence)
    seen = "" if observed is None else f"; the log's prevalence is {observed:.3g}"
    return draw_lines(
        rows,
        "beta",
        title=f"F-beta over beta at prevalence η = {prevalence:.3g}",
        subtitle=f"F-beta plot at {operating_point(rows)}{seen}",
        value_title="F-beta",
        models=models,
    )


def draw_lines(
    rows: pl.DataFrame,
    x: str,
    *,
    title: str,
    subtitle: str,
    value_title: str,
    models: Sequence[str],
    observed: float | None = None,
) -> alt.LayerChart:
    """Check that there is one row per model and x, and draw a line per model."""
    there = [c for c in ("threshold", "value", "lower", "upper") if c in rows.columns]
    # A logarithmic axis cannot show prevalence 0, beta 0 or beta infinity.
    shown = rows.filter(pl.col(x).is_finite(), pl.col(x) > 0).sort("model", x)
    refuse_doubles(shown, "model", x)
    if shown["value"].drop_nulls().is_empty():
        raise ParameterError(
            f"there is nothing to draw: every {value_title} is undefined, or is at {x} 0 or infinity",
            found=quantity(rows.height, "row"),
        )
    over_beta = x == "beta"
    mark = 1.0 if over_beta else observed
    low, high = log_range([*shown[x].unique(), *([mark] if mark else [])])
    titles = {
        x: x,
        "value": value_title,
        "lower": "lower bound",
        "upper": "upper bound",
        "threshold": "threshold",
    }
    style = model_style(rows["model"].unique(), among=models)
    heights = [name for name in there if name != "threshold"]
    told = [name for name in ("supported",) if name in rows.columns]
    drawn, note = fitted(shown.select("model", x, *there, *told), x, heights)
    note += why_marked("dotted", shown.drop_nulls("value"))
    lines = curves(
        drawn,
        log_x(x, x, low, high),
        alt.Y(**rate_axis("value", value_title)),
        style=style,
        numbers={name: text for name, text in titles.items() if name in (x, *there)},
        dots=shown[x].n_unique() <= COARSE,
        reach=220,
    )
    rule = vertical_rule(1, x, low, high, "β = 1") if over_beta else observed_rule(observed, x, low, high)
    return compose(
        [*lines, *rule],
        style=style,
        title=title,
        subtitle=subtitle + note,
        says=f"{value_title} on the vertical axis; a line per model.",
    )
