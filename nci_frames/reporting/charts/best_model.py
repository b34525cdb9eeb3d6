"""Resampled comparisons -> the probability that each model is the best."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from nci_frames import schemas
from nci_frames.checked import checked
from nci_frames.docstrings import documented
from nci_frames.errors import ParameterError
from nci_frames.reporting.charts.parts.axes import log_range, log_x, observed_rule, rate_axis
from nci_frames.reporting.charts.parts.canvas import compose, fills, tooltip
from nci_frames.reporting.charts.parts.selection import check_rows, checked_observed, finite, refuse_doubles
from nci_frames.reporting.charts.parts.theme import GROUND, model_style

__all__ = ["chart_probability_best"]


@checked
@documented
def chart_probability_best(
    best: pl.DataFrame | pl.LazyFrame, /, *, observed: float | None = None, models: Sequence[str] = ()
) -> alt.LayerChart:
    """Draw the probability that each model is the best, over prevalence.

    Parameters
    ----------
    best
        The result of ``probability_best``, for one metric, one beta and one value of each key.
    observed
        %(observed)s
    models
        %(models)s

    Returns
    -------
    altair.LayerChart
        Stacked areas, coloured by model, over a logarithmic axis.

    Raises
    ------
    ParameterError
        If the frame has several rows for one model and prevalence, no probability, or too many rows; or if
        *observed* is outside [0, 1].

    Examples
    --------
    >>> import nci_frames as nf
    >>> import polars as pl
    >>> counts = pl.DataFrame({
    ...     "model": ["a", "b"], "threshold": [0.5, 0.5],
    ...     "tp": [60, 80], "fp": [1, 20], "fn": [40, 20], "tn": [999, 980],
    ... })
    >>> best = nf.probability_best(counts, metric="f_beta", prevalence=[0.001, 0.1], repeats=50)
    >>> nf.chart_probability_best(best).to_dict()["title"]["text"]
    'Probability of being the best'
    """
    observed = checked_observed(observed)
    frame = schemas.collect(best, schemas.BEST_MODELS).filter(pl.col("prevalence") > 0)
    refuse_doubles(frame, "model", "prevalence")
    if frame["probability"].drop_nulls().is_empty():
        raise ParameterError("there is no probability to draw", found=f"{frame.height:,} rows")
    rows = frame.select("model", "prevalence", "probability").sort("model", "prevalence")
    check_rows(rows)
    low, high = log_range([*rows["prevalence"], *([observed] if observed else [])])
    style = model_style(frame["model"], among=models)
    numbers = {"prevalence": "prevalence", "probability": "probability"}
    areas = (
        alt.Chart(finite(rows))
        .mark_area(opacity=0.85, stroke=GROUND, strokeWidth=0.7)
        .encode(
            x=log_x("prevalence", "prevalence", low, high),
            y=alt.Y(**rate_axis("probability", "probability of being the best"), stack="zero"),
            tooltip=tooltip(numbers),
            **fills(style),
        )
        .properties(name="areas")
    )
    return compose(
        [areas, *observed_rule(observed, "prevalence", low, high)],
        style=style,
        title="Probability of being the best",
        subtitle="share of resampled logs in which a model is the best",
        says="Stacked areas, one per model.",
    )
