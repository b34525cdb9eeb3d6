"""Areas -> a chart of PR-AUC over prevalence, a line per model."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.base.docstrings import documented
from nci_frames.base.errors import ParameterError
from nci_frames.charts.parts import lines, selection
from nci_frames.schemas.checked import checked

_METHODS = {
    "average_precision": "average precision",
    "interpolated": "interpolated (Davis and Goadrich)",
    "trapezoid": "trapezoidal rule between attained points",
}


@checked
@documented
def chart_pr_auc_over_prevalence(
    areas: pl.DataFrame | pl.LazyFrame,
    /,
    *,
    method: str | None = None,
    observed: float | None = None,
    models: Sequence[str] = (),
) -> alt.LayerChart:
    """Draw the area under the precision-recall curve over prevalence, a line per model.

    Parameters
    ----------
    areas
        An areas frame, or its ranking, with rows of metric ``pr_auc``.
    method
        The integration method to draw. Required if the frame has several.
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
    rows = selection.of_metric(frame, "pr_auc")
    methods = sorted(rows["method"].drop_nulls().unique())
    if method is None:
        rule = selection.the_only(rows.drop_nulls("method"), "method") if methods else "method not stated"
    elif method not in methods:
        raise ParameterError.unknown_choice("method", method, methods)
    else:
        rule, rows = method, rows.filter(pl.col("method") == method)
    return lines.draw_lines(
        rows,
        "prevalence",
        title="PR-AUC over prevalence",
        subtitle=f"area under the precision-recall curve, all thresholds; {_METHODS.get(rule, rule)}",
        what="PR-AUC",
        observed=observed,
        models=models,
    )
