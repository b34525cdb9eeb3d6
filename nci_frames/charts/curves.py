"""Values and areas over prevalence or over beta, one line per model."""

from collections.abc import Sequence

import altair as alt

from nci_frames import schemas
from nci_frames.base.typing import Frame
from nci_frames.charts.parts import lines, selection
from nci_frames.tables.numbers import f_beta_name, format_grid


@schemas.checked
def chart_p3(
    projection: Frame, /, *, observed: float | None = None, models: Sequence[str] = ()
) -> alt.LayerChart:
    """Draw the positive-prevalence precision (P3) curves: precision over prevalence, a line per model.

    Parameters
    ----------
    projection
        A projection or ranking frame with one row of metric ``precision`` per model and prevalence; or a
        precision band (``precision_band``).
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
        rows = selection.pick(schemas.collect(projection, schemas.PROJECTION), "metric", "precision")
    told = f"positive-prevalence precision (P3) curves at {selection.operating_point(rows)}"
    return lines.draw_lines(rows, what="precision", subtitle=told, observed=observed, models=models)


@schemas.checked
def chart_f_beta_over_prevalence(
    projection: Frame, /, *, beta: float = 1.0, observed: float | None = None, models: Sequence[str] = ()
) -> alt.LayerChart:
    """Draw F-beta over prevalence for one beta, a line per model.

    Parameters
    ----------
    projection
        A projection or ranking frame with rows of metric ``f_beta``.
    beta
        Weight of recall relative to precision; it must be in the frame.
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
    rows = selection.pick(selection.pick(frame, "metric", "f_beta"), "beta", beta)
    told = f"F-beta with β = {beta:g} at {selection.operating_point(rows)}"
    return lines.draw_lines(rows, what=f_beta_name(beta), subtitle=told, observed=observed, models=models)


@schemas.checked
def chart_f_beta_over_beta(
    projection: Frame, /, *, prevalence: float, observed: float | None = None, models: Sequence[str] = ()
) -> alt.LayerChart:
    """Draw the F-beta plot: F-beta over beta at one prevalence, a line per model.

    Parameters
    ----------
    projection
        A projection or ranking frame with rows of metric ``f_beta``.
    prevalence
        Prevalence to draw; it must be in the frame.
    observed
        Prevalence of the log, stated in the subtitle for comparison.
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
    observed = selection.checked_observed(observed)
    rows = selection.pick(selection.pick(frame, "metric", "f_beta"), "prevalence", prevalence)
    seen = "" if observed is None else f"; the log's prevalence is {format_grid(observed)}"
    told = f"F-beta plot at {selection.operating_point(rows)}{seen}"
    where = f" at prevalence η = {format_grid(prevalence)}"
    return lines.draw_lines(rows, "beta", what="F-beta", where=where, subtitle=told, models=models)


_METHODS = {
    "average_precision": "average precision",
    "interpolated": "interpolated (Davis and Goadrich)",
    "trapezoid": "trapezoidal rule between attained points",
}


@schemas.checked
def chart_pr_auc_over_prevalence(
    areas: Frame, /, *, method: str | None = None, observed: float | None = None, models: Sequence[str] = ()
) -> alt.LayerChart:
    """Draw the area under the precision-recall curve over prevalence, a line per model.

    Parameters
    ----------
    areas
        An areas frame, or its ranking, with rows of metric ``pr_auc``.
    method
        Integration method to draw. Required if the frame has several.
    observed
        %(observed)s
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        The curves on a logarithmic axis, with a band where the certified bounds differ from the value.
        %(thinning)s

    Raises
    ------
    ParameterError
        If the frame has no PR-AUC by this method, several rows for one model and prevalence, or too many
        rows.

    Examples
    --------
    >>> import polars as pl
    >>> areas = pl.DataFrame({
    ...     "model": ["forest", "forest"], "metric": ["pr_auc"] * 2, "method": ["average_precision"] * 2,
    ...     "prevalence": [0.001, 0.1], "value": [0.31, 0.93],
    ... })
    >>> chart_pr_auc_over_prevalence(areas).to_dict()["title"]["subtitle"]
    'area under the precision-recall curve, all thresholds; average precision'
    """
    frame = schemas.collect(areas, schemas.AREAS)
    rows = selection.pick(frame, "metric", "pr_auc")
    rule = "method not stated"
    if method is not None or rows["method"].is_not_null().any():
        rows = selection.pick(rows.drop_nulls("method"), "method", method)
        rule = rows["method"][0]
    told = f"area under the precision-recall curve, all thresholds; {_METHODS.get(rule, rule)}"
    return lines.draw_lines(rows, what="PR-AUC", subtitle=told, observed=observed, models=models)
